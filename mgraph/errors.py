"""The errors that mgraph raises on purpose.

Each message is one sentence or two: what was expected, what came, what to do next. The command
line prints the message alone, and exits with the class's ``exit_status``.
"""

import re

_SECRET = re.compile(r"(?i)(\bs3://[^/?#@:\s]*):[^/?#@\s]*@")


def without_secrets(text: str) -> str:
    """The text with dots for the secret key of each ``s3://KEY:SECRET@bucket`` in it."""
    return _SECRET.sub(r"\1:…@", text)


class MgraphWarning(UserWarning):
    """Something that was asked for works, and perhaps not as the user thinks.

    The command line prints it as one line on standard error.
    """


class MgraphError(Exception):
    """The root of the tree: something failed that the user can read and act on."""

    exit_status = 1

    def __str__(self) -> str:
        """The message; it is read by others than who gave the command, so it tells no secret."""
        return without_secrets(super().__str__())


class UsageError(MgraphError, ValueError):
    """A parameter is wrong; nothing was started and nothing changed."""

    exit_status = 2


class DatasetError(MgraphError):
    """A folder is not the dataset it should be, or its files do not hold what they say."""


class DisconnectedError(MgraphError):
    """Terminals lie in different components of the graph, so that no tree holds them all."""


class StorageError(MgraphError, OSError):
    """Reading or writing failed: a full disk, a folder without permission, a store out of reach."""


class ClusterError(MgraphError):
    """No Dask cluster could be reached or started, or it lost its workers."""


class ConnectionLostError(ClusterError):
    """The scheduler was there and is gone; what is finished is kept."""

    exit_status = 75  # "try again" of sysexits.h: a submitted workflow is started again


class TaskError(MgraphError):
    """Something failed that should not: a fault of mgraph or of a library, which is the cause."""


class DeviceError(MgraphError, RuntimeError):
    """A GPU was asked for and there is none, or it cannot do what was asked."""


class OutOfMemoryError(MemoryError, MgraphError):
    """There is no room in memory, this machine's or a GPU's, for what was asked."""
