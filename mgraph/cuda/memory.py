"""The free memory of a device."""


def free_bytes() -> int:
    """Return the bytes that this process may still allocate on the current device."""
    import cupy

    pooled = cupy.get_default_memory_pool().free_bytes()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + int(pooled)
