"""A frontier, the nearest of whose vertices a heap picks where there are many: on a GPU.

Source: section 5.7.1 of "Accelerating concurrent heap on GPUs"; ``heap_search_cpu`` tells the
method. The whole search is one launch of ``heap_search.cu``. An iteration has a barrier, and where
the heap is used two more: blocks put the vertices that came nearer into the heaps, then some take
batches of the nearest out, then all relax their arcs, a thread an arc. There are several heaps, a
batch of each an iteration, since all that a heap does goes through its root; vertices are dealt to
them in turn, so that the nearest of each are about the nearest of all.
A vertex of many arcs is expanded by all blocks, an iteration later.
Device bytes beside the graph and the distances, for n vertices and lengths of b bytes: 12 n, and in
the heaps 4 n (4 + b), more by up to twice for places that stay empty.
"""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.source import Source, resident_blocks
from mgraph.heap import batch_heap_gpu
from mgraph.shortest_paths.heap_search_cpu import MANY
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of
from mgraph.shortest_paths.trace import FIELDS

NODE, BLOCK_THREADS = 1024, 512
LARGE = 4096  # arcs of a vertex beyond which all blocks share them
MOST_HEAPS = 64
ENTRIES = 2  # in the heaps, for each vertex
_SUMS = 6  # words of 8 bytes of an iteration's sums
_ROW = 5  # columns of the kernel's trace: expanded, arcs, updated, in the heaps, nanoseconds


def defines(weight: str, length: str, node: int, block_threads: int, large: int) -> dict[str, str]:
    """The kernel's macros for weights and lengths of these types."""
    return {
        **length_defines(weight, length),
        "MGRAPH_NODE": str(node),
        "MGRAPH_THREADS": str(block_threads),
        "MGRAPH_LARGE": str(large),
    }


def shared_bytes(length: np.dtype, node: int, block_threads: int) -> int:
    """What a block needs: the heap's, and of each thread its vertex and places on the way."""
    word = np.dtype(f"u{length.itemsize}")
    own = block_threads * (8 + 4 + length.itemsize) + -(-block_threads // 32) * (4 + 256)
    return batch_heap_gpu.shared_bytes(word, np.dtype(np.uint32), node) + own + 64


KERNELS = Source(
    __package__,
    "heap_search.cu",
    check=tuple(
        tuple(defines(*types, NODE, BLOCK_THREADS, LARGE).items()) for types in LENGTH_TYPES
    ),
)


class Searcher:
    """Working memory for searches on one graph, on the device."""

    def __init__(self, graph: Graph, length: np.dtype, many: int = MANY) -> None:
        """Allocate. length: the type of distances. many: vertices that need no heap."""
        import cupy

        n = graph.n
        self.graph, self.length, self.many = graph, np.dtype(length), many
        weights = graph.weights
        weight = str(self.length) if weights is None else str(weights.dtype)
        macros = defines(weight, str(self.length), NODE, BLOCK_THREADS, LARGE)
        self.shared = shared_bytes(self.length, NODE, BLOCK_THREADS)
        self.kernel = KERNELS.kernel("heap_search", **macros)
        self.blocks = resident_blocks(
            self.kernel, BLOCK_THREADS, self.shared, "method heap", "use method near_far"
        )
        self.indices = graph.indices.astype(np.int32, copy=False)
        self.stamps = cupy.empty(n, np.uint32)
        self.updated = cupy.empty(2 * n, np.int32)
        degrees = graph.indptr[1:] - graph.indptr[:-1]
        self.most_large = int((degrees > LARGE).sum()) if graph.max_degree > LARGE else 0
        self.large = cupy.empty(2 * max(1, self.most_large), np.int32)
        self.pops = max(1, min(-(-many // NODE), self.blocks))
        self.heaps = min(self.pops, MOST_HEAPS) if n > many else 1
        wanted = ENTRIES * n if n > many else 1
        nodes = -(-wanted // (self.heaps * NODE)) + 2
        self.places = (1 << nodes.bit_length()) - 1
        rows = (self.places + batch_heap_gpu.SPARE_ROWS) * self.heaps
        self.keys = cupy.empty(rows * NODE, f"u{self.length.itemsize}")
        self.values = cupy.empty(rows * NODE, np.uint32)
        self.words = cupy.empty(rows * 8, np.uint32)
        self.counts = cupy.empty(self.heaps * batch_heap_gpu.COUNT_WORDS, np.uint64)

    def run(
        self,
        sources: Any,
        distance: Any,
        *,
        targets: Any,
        first_target: bool,
        cutoff: Any,
        trace_rows: int = 0,
    ) -> tuple[Any, Any]:
        """Fill ``distance`` (``(n,)``, on the device) from one array of sources, without waiting.

        targets: on the device, int32, perhaps none. Returns the iterations, uint64 of shape (1,),
        and the trace's columns for as many rows, or None.
        """
        import cupy

        graph, key = self.graph, key_dtype(self.length)
        distance.fill(infinity_of(self.length))
        seeds = cupy.asarray(sources.astype(np.int32))
        distance[seeds] = 0
        self.updated[: seeds.size] = seeds
        self.stamps.fill(0)
        self.words.fill(0)
        self.counts.fill(0)
        sums = cupy.zeros(3 * _SUMS, np.uint64)
        sums[0] = seeds.size
        trace = cupy.zeros((trace_rows, _ROW)) if trace_rows else None
        iterations = cupy.zeros(1, np.uint64)
        arguments = (
            graph.indptr, self.indices, 0 if graph.weights is None else graph.weights,
            np.int64(graph.n), distance, self.stamps, self.updated, self.large,
            np.int64(self.most_large), self.keys, self.values, self.words, self.counts,
            np.uint32(self.heaps), np.uint32(self.places), np.uint32(self.places),
            np.uint64(ENTRIES * graph.n), np.uint32(min(self.many, (1 << 32) - 1)),
            np.uint32(self.pops), targets,
            np.int32(targets.size), np.int32(first_target),
            np.array(cutoff, self.length).view(key)[()], sums, cupy.zeros(1, np.uint64),
            0 if trace is None else trace, np.uint64(trace_rows), iterations,
        )  # fmt: skip
        grid = (self.blocks,), (BLOCK_THREADS,)
        self.kernel.kernel(*grid, arguments, self.shared, enable_cooperative_groups=True)
        return iterations, trace


def rows_of(trace: Any, iterations: Any) -> Any:
    """The trace as ``trace.as_records`` takes it: rows of ``FIELDS``, on the host."""
    told = trace[: int(iterations[0]) + 1].get()  # row 0: of the sources
    rows = np.zeros((len(told) - 1, len(FIELDS)))
    rows[:, :3] = told[1:, :3]
    rows[:, FIELDS.index("far_size")] = told[1:, 3]
    rows[:, -1] = np.diff(told[:, 4])
    return rows
