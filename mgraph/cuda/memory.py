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
def room_for(what: str) -> Iterator[None]:
    """Raise DeviceError where the device, or the machine, has no room for ``what``."""
    try:
        yield
    except MemoryError as error:  # CuPy's is one
        raise DeviceError(
            f"there is no room for {what}; use a GPU with more memory, ask for less at a time "
            "(--batch), or use --backend cpu"
        ) from error
