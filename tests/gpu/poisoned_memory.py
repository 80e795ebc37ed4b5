"""Fresh device memory full of nonsense: negative integers, and no valid index.

Otherwise a kernel that reads what nothing has written may find the zeros of memory that no one has
used yet, and pass its tests.
"""


def poison():
    """Fill all memory that CuPy's pool gives from now on, on the stream that asks for it."""
    import cupy

    allocate = cupy.get_default_memory_pool().malloc

    def allocate_poisoned(size):
        memory = allocate(size)
        if size:
            memory.memset_async(0xA5, size)
        return memory

    cupy.cuda.set_allocator(allocate_poisoned)
