"""How much memory this process may take, and the error where that is too little."""

from collections.abc import Iterator
from contextlib import contextmanager

from mgraph.core.host import available_memory
from mgraph.errors import OutOfMemoryError

LARGER_GPU = 'use a larger GPU or pass `backend="cpu"`'
_limits: list[int] = []  # this process's limit in bytes, if it has one


def limit_memory(limit: int | None) -> None:
    """Limit this process to that many bytes, as Dask limits a worker; None: no limit."""
    _limits[:] = [] if not limit else [int(limit)]


def free_memory() -> int:
    """Bytes that this process may still allocate, its own limit included."""
    return available_memory(_limits[0] if _limits else None)


@contextmanager
def memory_guard(purpose: str, remedy: str) -> Iterator[None]:
    """Turn a MemoryError of the block into OutOfMemoryError that names its purpose and a remedy."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:  # NumPy's, Arrow's and CuPy's are such
        raise OutOfMemoryError(
            f"there is not enough memory for {purpose} ({error}); {remedy}", remedy=remedy
        ) from error
