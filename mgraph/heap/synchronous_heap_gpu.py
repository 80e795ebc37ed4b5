"""The synchronous heap on a GPU, to compare the concurrent one with.

Source: X. He, D. Agarwal, S. K. Prasad, "Design and implementation of a parallel priority queue on
many-core architectures", HiPC 2012. The nodes are those of ``batch_heap_cpu``. All operations are
full batches and begin at the root; at any time there is one at most at a level. Even and odd levels
take turns, and all blocks meet between them: so an operation that is at a level may change the
next one, too. One begins at each turn of the even levels. A deletion takes the last node's keys
from wherever they are on their way; meanwhile all others wait.
Cost: two barriers of the device an insertion, three a deletion, and between them the longest merge
of a level.
"""

from typing import Any

import numpy as np

from mgraph.cuda.source import Source, launch_resident
from mgraph.heap import batch_heap_gpu

DEPTH = 32  # levels at most
BLOCKS = DEPTH // 2


def defines(word: Any, node: int, block_threads: int) -> dict[str, str]:
    """The kernel's macros."""
    macros = batch_heap_gpu.defines(word, None, node, block_threads)
    del macros["MGRAPH_VALUE_T"]
    return macros


KERNELS = Source(
    __package__,
    "synchronous_heap.cu",
    check=(tuple(defines(np.dtype(np.uint32), 1024, 512).items()),),
)


def run(sizes: Any, keys: Any, node: int, block_threads: int = 512) -> None:
    """Do operations one after another, of a heap that is empty at first.

    sizes: CuPy array uint32, shape (operations,): not 0 for an insertion, 0 for a deletion, before
    which there must be as many insertions. keys: uint32 or uint64, shape (operations * node,); an
    insertion's, sorted, stand at its place, and a deletion's come there.
    """
    import cupy

    nodes = int(cupy.max(cupy.cumsum(cupy.where(sizes > 0, 1, -1))))
    places = (1 << nodes.bit_length()) - 1
    kernel = KERNELS.kernel("synchronous_heap_run", **defines(keys.dtype, node, block_threads))
    shared = 3 * node * keys.dtype.itemsize
    kernel.max_dynamic_shared_size_bytes = shared
    arguments = (
        cupy.empty((places + 1) * node, keys.dtype), cupy.zeros(places + 1, np.uint32),
        np.uint32(places), cupy.empty((DEPTH + 1) * node, keys.dtype),
        cupy.zeros(3 * (DEPTH + 1), np.uint32), sizes,
        np.uint64(sizes.size), keys, np.uint32(DEPTH), cupy.zeros(1, np.uint64),
    )  # fmt: skip
    launch_resident(kernel, BLOCKS, block_threads, arguments, shared)
