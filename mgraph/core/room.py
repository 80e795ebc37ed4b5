"""What is said where memory, this machine's or a GPU's, is too little."""

from collections.abc import Iterator
from contextlib import contextmanager

from mgraph.errors import OutOfMemoryError

LARGER_GPU = "use a larger GPU or --backend cpu"


@contextmanager
def room_for(what: str, instead: str) -> Iterator[None]:
    """Raise OutOfMemoryError where the block has no room for ``what``; do ``instead``."""
    try:
        yield
    except MemoryError as error:  # NumPy's, Arrow's and CuPy's are such
        raise OutOfMemoryError(f"there is no room for {what} ({error}); {instead}") from error
