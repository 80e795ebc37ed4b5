"""What is left of a device's memory."""


def free_bytes() -> int:
    """Memory of the current device that this process may still take, in bytes."""
    import cupy

    kept = cupy.get_default_memory_pool().free_bytes()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + int(kept)
