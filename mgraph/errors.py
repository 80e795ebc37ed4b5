"""The errors that mgraph raises on purpose.

Each message is one or two sentences: what was expected, what came, and what to do. The command line
prints the message alone and exits with the class's ``exit_status``. Where a message names a
parameter it writes `` `name=value` ``, which the command line prints as its own option.
"""

import re
from typing import Any

_SECRET = re.compile(r"(?i)(\bs3://[^/?#@:\s]*):[^/?#@\s]*@")


def without_secrets(text: str) -> str:
    """Return the text with dots for the secret key of each ``s3://KEY:SECRET@bucket`` in it."""
    return _SECRET.sub(r"\1:…@", text)


class MgraphWarning(UserWarning):
    """A request that was carried out, perhaps with another effect than the user expects.

    The command line prints it as one line on standard error.

    Examples
    --------
    >>> import networkx, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     graph = mgraph.from_networkx(networkx.Graph([(5, 7)]))
    >>> caught[0].category.__name__
    'MgraphWarning'
    """


class MgraphError(Exception):
    """The base class of all errors that mgraph raises on purpose.

    Parameters
    ----------
    message : str
        What was expected, what came, and what to do.
    parameter : str, optional
        The name of the parameter that is wrong.
    remedy : str, optional
        The part of the message that says what to do.

    Attributes
    ----------
    parameter : str or None
        As given; None if no single parameter is wrong.
    remedy : str or None
        As given; None if the message alone says what to do.
    exit_status : int
        The exit status of a command that ends with this error.

    Notes
    -----
    ``str(error)`` hides the secret keys of S3 addresses, since others than the caller may read it.
    Errors survive pickling with both attributes: Dask sends them from workers to the client.

    Examples
    --------
    >>> try:
    ...     mgraph.sssp(mgraph.from_edges(mgraph.EdgeList([0], [1])), 0, backend="tpu")
    ... except mgraph.MgraphError as error:
    ...     print(error.parameter, error.exit_status)
    backend 2
    """

    exit_status = 1

    def __init__(
        self, message: str, *, parameter: str | None = None, remedy: str | None = None
    ) -> None:
        """Keep the message, and what a program may want to know of it."""
        super().__init__(message)
        self.parameter, self.remedy = parameter, remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes; copies are made by the constructor alone."""
        return type(self), self.args, vars(self)

    def __str__(self) -> str:
        """Return the message without secret keys, since others than the caller may read it."""
        return without_secrets(super().__str__())


class UsageError(MgraphError, ValueError):
    """A parameter is wrong. Nothing was started, and nothing changed.

    Also a ``ValueError``. See ``MgraphError`` for its parameters and attributes.

    Examples
    --------
    >>> mgraph.from_edges(mgraph.EdgeList([0], [-1]))
    Traceback (most recent call last):
    mgraph.errors.UsageError: vertices must be numbered from 0 (got -1)
    """

    exit_status = 2


class DatasetError(MgraphError):
    """A folder is not a dataset, a file is damaged, or its content contradicts its manifest.

    See ``MgraphError`` for its parameters and attributes.

    Examples
    --------
    >>> mgraph.read_graph("/nowhere/graph.mtx")
    Traceback (most recent call last):
    mgraph.errors.DatasetError: /nowhere/graph.mtx does not exist
    """


class DisconnectedError(MgraphError):
    """Terminals lie in different components of the graph, so that no tree connects them.

    See ``MgraphError`` for its parameters and attributes.

    Examples
    --------
    >>> graph = mgraph.from_edges(mgraph.EdgeList([0, 2], [1, 3]), directed=False, backend="cpu")
    >>> try:
    ...     mgraph.steiner_tree(graph, [0, 2], backend="cpu")
    ... except mgraph.DisconnectedError:
    ...     print("no tree")
    no tree
    """


class StorageError(MgraphError, OSError):
    """Reading or writing failed: the disk is full, permission is missing, a store did not answer.

    Also an ``OSError``. See ``MgraphError`` for its parameters and attributes.

    Examples
    --------
    >>> graph = mgraph.from_edges(mgraph.EdgeList([0], [1]), backend="cpu")
    >>> mgraph.write_graph(graph, "/dev/null/graph")
    Traceback (most recent call last):
    mgraph.errors.StorageError: /dev/null/graph is not a folder, or a file is on its path
    """


class ClusterError(MgraphError):
    """A Dask cluster could not be reached or started, or lost its workers.

    See ``MgraphError`` for its parameters and attributes.
    """


class ConnectionLostError(ClusterError):
    """The connection to the scheduler was lost; what is finished is kept.

    See ``MgraphError`` for its parameters and attributes.
    """

    exit_status = 75  # "try again" of sysexits.h: a submitted workflow is started again


class TaskError(MgraphError):
    """A task failed because of a fault in mgraph or in a library, which is the error's cause.

    See ``MgraphError`` for its parameters and attributes.
    """


class DeviceError(MgraphError, RuntimeError):
    """A GPU was requested and none is available, or it cannot carry out the request.

    Also a ``RuntimeError``. See ``MgraphError`` for its parameters and attributes.
    """


class OutOfMemoryError(MemoryError, MgraphError):
    """The memory of this machine or of a GPU does not suffice for the request.

    Also a ``MemoryError``. See ``MgraphError`` for its parameters and attributes.
    """

    __init__ = MgraphError.__init__  # MemoryError stands first, since it alone can make instances
