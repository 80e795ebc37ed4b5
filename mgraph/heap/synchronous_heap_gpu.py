"""The synchronous heap on a GPU, to compare the concurrent one with.

Source: X. He, D. Agarwal, S. K. Prasad, "Design and implementation of a parallel priority queue on
many-core architectures", HiPC 2012. The nodes are those of ``batch_heap_cpu``. All operations are
full batches and begin at the root; a level has at most one operation at a time. Even and odd levels
take turns, with a barrier of all blocks between them, so an operation at a level may change the
next level as well. One operation begins at each turn of the even levels. A deletion takes the last
node's keys from wherever an operation is carrying them, while all others wait.
Cost: two barriers of the device per insertion, three per deletion, and between them the longest
merge of a level.
"""

from typing import Any

import numpy as np

from mgraph.cuda.source import Source, launch_resident
from mgraph.heap.batch_heap_gpu import defines

DEPTH = 32  # the maximum number of levels
BLOCKS = DEPTH // 2


KERNELS = Source(
    __package__,
    "synchronous_heap.cu",
    check=(tuple(defines(np.dtype(np.uint32), 1024, 512).items()),),
)


def run(sizes: Any, keys: Any, node: int, block_threads: int = 512) -> None:
    """Do operations one after another, on a heap that is empty at first.

    sizes: CuPy array of uint32, shape (operations,): not 0 for an insertion, 0 for a deletion,
    before which there must be as many insertions. keys: uint32 or uint64, shape
    (operations * node,): an insertion reads its sorted keys from its row, and a deletion writes
    its keys there.
    """
    import cupy

    nodes = int(cupy.max(cupy.cumsum(cupy.where(sizes > 0, 1, -1))))
    places = (1 << nodes.bit_length()) - 1
    macros = defines(keys.dtype, node, block_threads)
    level_words = KERNELS.struct("level_operation").dtype.itemsize // 4
    memory = {
        "keys": cupy.empty((places + 1) * node, keys.dtype),
        "present": cupy.zeros(places + 1, np.uint32),
        "places": places,
        "rows": cupy.empty((DEPTH + 1) * node, keys.dtype),
        "levels": cupy.zeros(level_words * (DEPTH + 1), np.uint32),
        "depth": DEPTH,
        "arrived": cupy.zeros(1, np.uint64),
    }
    operations = {"sizes": sizes, "keys": keys, "count": sizes.size}
    arguments = (
        KERNELS.struct("synchronous_heap_arrays", None, **macros).pack(memory),
        KERNELS.struct("operation_list", None, **macros).pack(operations),
    )
    shared = KERNELS.constant("scratch_lists") * node * keys.dtype.itemsize
    _launch(macros, block_threads, arguments, shared)


def _launch(
    macros: dict[str, str], block_threads: int, arguments: tuple[Any, ...], shared: int
) -> None:
    kernel = KERNELS.kernel("synchronous_heap_run", **macros)
    kernel.max_dynamic_shared_size_bytes = shared
    launch_resident(kernel, BLOCKS, block_threads, arguments, shared)
