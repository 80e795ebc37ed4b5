"""Any exception as an error that a user can act on: one sentence, with the cause.

A task may raise whatever its libraries raise, and Dask has errors of its own. The code that runs
tasks and the command line pass them through ``explained``. Python's traceback stays with the error
as its cause; the command line prints it if ``MGRAPH_DEBUG`` is set.
"""

import contextlib
import os
from collections.abc import Iterator

from mgraph.errors import (
    ClusterError,
    ConnectionLostError,
    DeviceError,
    MgraphError,
    OutOfMemoryError,
    StorageError,
    TaskError,
)

DEBUG = "MGRAPH_DEBUG"
SCHEDULER_LOST = (
    "the connection to the scheduler was lost; finished parts are kept, and `resume=True` "
    "continues from them"
)
WORKERS_KILLED = (
    "workers died repeatedly while they worked on the same part, mostly because they ran out of "
    "memory; use fewer workers, more parts (`parts=N`) or a smaller batch (`batch=N`)"
)
_MESSAGE_LETTERS = 300  # of another library's message
_LOST_NAMES = {"CommClosedError", "FutureCancelledError", "FuturesCancelledError", "CancelledError"}
_PICKLING_WORDS = ("pickle", "serialize", "marshal")  # in messages of TypeError and others


def debugging() -> bool:
    """Return whether the environment asks for tracebacks."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


@contextlib.contextmanager
def explaining(work: str) -> Iterator[None]:
    """Replace an exception of the block that is not an MgraphError by what ``explained`` returns.

    work: what the block does, for the sentence.
    """
    try:
        yield
    except Exception as error:
        replacement = explained(error, work)
        if replacement is error:
            raise
        raise replacement from error


def explained(error: BaseException, work: str) -> MgraphError:
    """Return the error as an MgraphError, or itself if it is one.

    work: what was being done, for the sentence.
    """
    if isinstance(error, MgraphError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return explained(error.exceptions[0], work)
    cause, names = cause_of(error), {base.__name__ for base in type(error).__mro__}
    if "KilledWorker" in names:
        return ClusterError(WORKERS_KILLED)
    if names & _LOST_NAMES:
        return ConnectionLostError(SCHEDULER_LOST)
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            f"{work} ran out of memory ({cause}); use fewer workers, more parts (`parts=N`), a "
            "smaller batch (`batch=N`) or a machine with more memory"
        )
    if any(base.__module__.partition(".")[0] in ("cupy", "cupy_backends", "cuda")
           for base in type(error).__mro__):  # fmt: skip
        return DeviceError(f"{work} failed on the GPU: {cause}; run mgraph doctor to examine it")
    if isinstance(error, TimeoutError):  # Dask's, and an OSError
        return ClusterError(f"{work} got no answer in time: {cause}; see the cluster's logs")
    if isinstance(error, OSError):
        return StorageError(f"{work} could not read or write: {cause}")
    if _is_pickling_error(error):
        return ClusterError(
            f"{work} could not be sent to the workers, or its result could not be sent back: "
            f"{cause}; install the same versions of mgraph, Python and Dask everywhere"
        )
    if isinstance(error, ImportError):
        return ClusterError(
            f"{work} needs a module that is missing ({cause}); install the same packages for every "
            "worker"
        )
    return TaskError(
        f"{work} failed unexpectedly: {cause}; set {DEBUG}=1 in the environment to see where, and "
        "report it"
    )


def cause_of(error: BaseException) -> str:
    """Return the exception's type and message in one line of limited length."""
    name = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:
        message = ""
    if len(message) > _MESSAGE_LETTERS:
        message = f"{message[:_MESSAGE_LETTERS]}…"
    return f"{name}: {message}" if message else name


def _is_pickling_error(error: BaseException) -> bool:
    text = cause_of(error).lower()
    if "PickleError" in {base.__name__ for base in type(error).__mro__}:
        return True
    return isinstance(error, (TypeError, AttributeError, ValueError)) and any(
        word in text for word in _PICKLING_WORDS
    )
