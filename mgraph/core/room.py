"""What is said where memory, this machine's or a GPU's, is too little."""

from collections.abc import Iterator
from contextlib import contextmanager

from mgraph.core.host import available_memory
from mgraph.errors import OutOfMemoryError

LARGER_GPU = "use a larger GPU or --backend cpu"
_limits: list[int] = []  # of this process, in bytes, the latest last


def limit_memory(limit: int | None) -> None:
    """From here on this process is to take no more memory than so many bytes, as a worker is."""
    _limits[:] = [] if not limit else [int(limit)]


def free_memory() -> int:
    """How many bytes of memory this process may still allocate, within its own limit, too."""
    return available_memory(_limits[0] if _limits else None)


@contextmanager
def room_for(what: str, instead: str) -> Iterator[None]:
    """Raise OutOfMemoryError where the block has no room for ``what``; do ``instead``."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:  # NumPy's, Arrow's and CuPy's are such
        raise OutOfMemoryError(f"there is no room for {what} ({error}); {instead}") from error
