"""The memory of a device: what is free, and copies within it."""

from typing import Any


def import_cupy() -> None:
    """Import CuPy before threads do, which might find its modules half imported."""
    import cupy  # noqa: F401


def free_bytes() -> int:
    """Return the bytes that this process may still allocate on the current device."""
    import cupy

    pooled = cupy.get_default_memory_pool().free_bytes()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + int(pooled)


def copy_into(target: Any, source: Any) -> None:
    """Copy a contiguous device array into another of its type, on the current stream.

    CuPy's own assignment compiles a kernel for each type.
    """
    import cupy

    if target.size:
        to_device = 3  # cudaMemcpyDeviceToDevice
        stream = cupy.cuda.get_current_stream().ptr
        cupy.cuda.runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, target.nbytes, to_device, stream
        )


def copy(array: Any) -> Any:
    """Return a copy of a contiguous device array."""
    import cupy

    result = cupy.empty(array.shape, array.dtype)
    copy_into(result, array)
    return result


def release_unused() -> None:
    """Give the device's and the pinned memory that CuPy keeps for later back to the driver."""
    import gc

    import cupy

    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
