"""Any exception as an error that people can act on: one sentence, with the cause.

Tasks may raise whatever their libraries raise, and Dask has errors of its own. What runs tasks
(``tasks``) and the command line pass them through ``explained``; Python's traceback stays with the
error as its cause, and the command line prints it where ``MGRAPH_DEBUG`` is set.
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
    "the connection to the scheduler was lost; what is finished is kept, and --resume goes on from "
    "there"
)
WORKERS_KILLED = (
    "workers died again and again while they worked on one part; mostly they ran out of memory: "
    "use fewer workers, more --parts or a smaller --batch"
)
_MOST_LETTERS = 300  # of another library's message
_LOST = {"CommClosedError", "FutureCancelledError", "FuturesCancelledError", "CancelledError"}
_NOT_SENT = ("pickle", "serialize", "marshal")  # in messages of TypeError and others


def debugging() -> bool:
    """Whether the environment asks for tracebacks."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


@contextlib.contextmanager
def explaining(work: str) -> Iterator[None]:
    """Raise what the block raises, but for exceptions that are no MgraphErrors, ``explained``."""
    try:
        yield
    except Exception as error:
        told = explained(error, work)
        if told is error:
            raise
        raise told from error


def explained(error: BaseException, work: str) -> MgraphError:
    """The error as one of mgraph's, itself if it is one. work: what was done, for the sentence."""
    if isinstance(error, MgraphError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return explained(error.exceptions[0], work)
    cause, names = cause_of(error), {kind.__name__ for kind in type(error).__mro__}
    if "KilledWorker" in names:
        return ClusterError(WORKERS_KILLED)
    if names & _LOST:
        return ConnectionLostError(SCHEDULER_LOST)
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            f"{work} ran out of memory ({cause}); use fewer workers, more --parts, a smaller "
            "--batch or a machine with more memory"
        )
    if any(kind.__module__.partition(".")[0] in ("cupy", "cupy_backends", "cuda")
           for kind in type(error).__mro__):  # fmt: skip
        return DeviceError(f"{work} failed on the GPU: {cause}; mgraph doctor examines it")
    if isinstance(error, TimeoutError):  # Dask's, and an OSError
        return ClusterError(f"{work} had no answer in time: {cause}; see the logs of the cluster")
    if isinstance(error, OSError):
        return StorageError(f"{work} could not read or write: {cause}")
    if _is_of_sending(error):
        return ClusterError(
            f"{work} could not be sent to the workers, or its answer back: {cause}; see that "
            "mgraph, Python and Dask have the same versions everywhere"
        )
    if isinstance(error, ImportError):
        return ClusterError(
            f"{work} lacks a module ({cause}); install the same packages for every worker"
        )
    return TaskError(
        f"{work} failed, which it should not: {cause}; {DEBUG}=1 in the environment shows where, "
        "for a report"
    )


def cause_of(error: BaseException) -> str:
    """The exception's type and message in one line that is not too long."""
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:
        message = ""
    if len(message) > _MOST_LETTERS:
        message = f"{message[:_MOST_LETTERS]}…"
    return f"{kind}: {message}" if message else kind


def _is_of_sending(error: BaseException) -> bool:
    text = cause_of(error).lower()
    if "PickleError" in {kind.__name__ for kind in type(error).__mro__}:
        return True
    return isinstance(error, (TypeError, AttributeError, ValueError)) and any(
        word in text for word in _NOT_SENT
    )
