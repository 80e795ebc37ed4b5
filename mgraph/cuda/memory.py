"""What is left of a device's memory, and what is said when it is too little."""

from collections.abc import Iterator
from contextlib import contextmanager

from mgraph.errors import DeviceError


def free_bytes() -> int:
    """Memory of the current device that this process may still take, in bytes."""
    import cupy

    kept = cupy.get_default_memory_pool().free_bytes()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + int(kept)


@contextmanager
def room_for(what: str, instead: str = "use a larger GPU or --backend cpu") -> Iterator[None]:
    """Raise DeviceError where memory is short: there is no room for ``what``; do ``instead``."""
    try:
        yield
    except MemoryError as error:  # CuPy's is one
        raise DeviceError(f"there is no room for {what}; {instead}") from error
