"""Near-far and self-tuning searches on a GPU: memory and the one launch of ``near_far.cu``.

Device bytes beside the graph and the distances, for k searches at a time on n vertices, with
lengths of b bytes: k·n·(4 + b)·14, less where memory is short, and with heaps one to two times
k·n·(4 + b) more; the pieces of large vertices; 4 an arc where indices are int64. One launch,
however many searches and iterations; one barrier an iteration among the blocks of a search.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.errors import DeviceError
from mgraph.heap import batch_heap_gpu
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of
from mgraph.shortest_paths.trace import FIELDS

THREADS = 1024  # a block, one to a multiprocessor
FEW_ARCS = 8  # a vertex, on average: as on roads, where searches go far in small steps
HOPS = 16, 128  # the least and the most, in an iteration with few arcs
# Places a vertex in a near list, of which there are two, and in the far queue; where memory is
# short, those in the far queue to one in a near list, and the share of free memory they may take.
NEAR_SLOTS, FAR_SLOTS, FAR_TO_NEAR, MEMORY_SHARE = 4, 6, 2.5, 0.7
SLOTS = 2 * NEAR_SLOTS + FAR_SLOTS
MOST_ARCS = 1 << 33  # arcs of a block in an iteration must fit 32 bits
TRACE_ROWS = 1 << 20
# As in self_tuning.cuh and near_far_state.cuh.
PARTITIONS, PIECE_ARCS, COLUMNS, LEAST_COLUMNS = 16, 256, 30, (25, 26)
CHUNKS = 512


def defines(weight: str, length: str, heaps: bool) -> dict[str, str]:
    """The kernel's macros for weights and lengths of these types, with heaps or without."""
    macros = {"MGRAPH_THREADS": str(THREADS), "MGRAPH_HEAPS": str(int(heaps))}
    return {**length_defines(weight, length), **macros}


KERNELS = Source(
    __package__,
    "near_far.cu",
    check=tuple(
        tuple(defines(*types, heaps).items()) for types in LENGTH_TYPES for heaps in (False, True)
    ),
)


def most_together(n: int, m: int) -> int:
    """How many searches should share a device with room for all: measured, see BENCHMARKS.md.

    On graphs of few arcs a vertex one search is mostly latency, so that many cost as much.
    """
    return 33 if m <= FEW_ARCS * n else 4


def searches_at_a_time(graph: Graph, searches: int, length: np.dtype) -> int:
    """How many of so many searches should share the device, as far as there is memory."""
    left = max(0, free_bytes() - searches * graph.n * np.dtype(length).itemsize)
    room = left // (4 * SLOTS * graph.n * (4 + np.dtype(length).itemsize) + 1)
    together = max(1, min(searches, most_together(graph.n, graph.num_arcs), room))
    rounds = -(-searches // together)
    return -(-searches // rounds)


class Found(NamedTuple):
    """What a launch brings, on the device: distances ``(searches, n)``, iterations, trace rows."""

    distance: Any
    iterations: Any
    trace: Any


class Searcher:
    """Working memory for searches on one graph; ``run`` may be called again and again."""

    def __init__(
        self,
        graph: Graph,
        length: np.dtype,
        searches: int = 1,
        together: int | None = None,
        heaps: bool = False,
    ) -> None:
        """Allocate for some of so many ``searches`` at a time, which share the multiprocessors.

        graph: on the device. length: the type of distances. together: how many, else what is best.
        heaps: whether what waits farthest waits in heaps, where there is much of it.
        Raises DeviceError where the graph has more arcs than one search can count.
        """
        import cupy

        n = graph.n
        if graph.num_arcs >= MOST_ARCS:
            raise DeviceError(
                f"a search on a GPU takes {MOST_ARCS:,} arcs at most, not {graph.num_arcs:,}"
            )
        self.graph, self.length = graph, np.dtype(length)
        self.key = key_dtype(self.length)
        self.indices = graph.indices.astype(np.int32, copy=False)
        processors = multiprocessors()
        best = together or searches_at_a_time(graph, searches, self.length)
        self.groups = groups = min(best, searches, processors)
        self.blocks = min(processors // groups, 256)
        total, share = self.blocks * groups, -(-n // self.blocks)
        entry = 4 + self.key.itemsize
        # Lists that are too short cost time: a search is then begun anew from what was reached.
        free = max(0, free_bytes() - searches * n * self.length.itemsize)  # beside the distances
        room = MEMORY_SHARE * free / (groups * max(n, 1) * entry)
        near = min(NEAR_SLOTS, room / (2 + FAR_TO_NEAR))
        far = min(FAR_SLOTS, FAR_TO_NEAR * near)
        self.near = min(int(near * share) + 16384, (1 << 26) - 1)
        slots = int(far * share) + 2 * PARTITIONS * 32
        self.chunk = max(32, -(-slots // CHUNKS // 32) * 32)
        pieces = largest = 0
        if graph.max_degree > PIECE_ARCS:
            degrees = graph.indptr[1:] - graph.indptr[:-1]
            pieces = int((-(-degrees[degrees > PIECE_ARCS] // PIECE_ARCS)).sum())
            largest = -(-graph.max_degree // PIECE_ARCS)
        fair = max(4096 + 8 * pieces // self.blocks, 2 * largest)
        self.pieces = max(1, min(pieces, fair, (1 << 20) - 1))
        self.shared_bytes = 2 * CHUNKS * (2 * PARTITIONS + 1) + 2 * THREADS * (12 + entry)
        self.lists = [
            cupy.empty(2 * total * self.near, np.int32),
            cupy.empty(2 * total * self.near, self.key),
            np.uint32(self.near),
            cupy.empty(2 * total * self.pieces, np.int32),
            cupy.empty(2 * total * self.pieces, self.key),
            cupy.empty(2 * total * self.pieces, np.uint32),
            np.uint32(self.pieces),
            cupy.empty(total * self.chunk * CHUNKS, np.int32),
            cupy.empty(total * self.chunk * CHUNKS, self.key),
            np.int32(CHUNKS),
            np.uint32(self.chunk),
        ]
        self.heaps = heaps
        self.heap_memory: list[Any] = (
            self._heap_memory(share) if heaps else [0, 0, 0, 0, np.uint32(0)]
        )
        self.sums = cupy.empty((groups, 3, COLUMNS), np.uint64)
        self.notes = cupy.empty((groups, 2, self.blocks), np.uint64)

    def _heap_memory(self, share: int) -> list[Any]:
        """A heap a block, with room for its share of the vertices or for what memory there is."""
        import cupy

        heaps, entry = self.blocks * self.groups, 4 + self.key.itemsize
        nodes = min(share // THREADS + 2, free_bytes() // (4 * heaps * THREADS * entry) + 1)
        places = (1 << nodes.bit_length()) - 1
        rows = heaps * (places + batch_heap_gpu.read_constant("spare_rows"))
        return [
            cupy.empty(rows * THREADS, f"u{self.key.itemsize}"),
            cupy.empty(rows * THREADS, np.uint32),
            cupy.empty(rows * 8, np.uint32),
            cupy.empty(heaps * batch_heap_gpu.read_constant("count_words"), np.uint64),
            np.uint32(places),
        ]

    @property
    def heap_operations(self) -> Any:
        """Of each block's heap in its last search, ``(blocks,)`` on the device."""
        counts = self.heap_memory[3].reshape(-1, batch_heap_gpu.read_constant("count_words"))
        return counts[:, batch_heap_gpu.read_constant("next_sequence_word")]

    def kernel(self) -> Any:
        """The kernel for this graph's types, compiled."""
        kernel = cancellation_gpu.kernel(KERNELS, "near_far_search", **self.defines)
        kernel.max_dynamic_shared_size_bytes = self.shared_bytes
        return kernel

    @property
    def default_set_point(self) -> float:
        """A vertex a thread, or two where the arcs are many: then a device is just busy."""
        degree = max(1.0, self.graph.num_arcs / max(self.graph.n, 1))
        return self.blocks * THREADS * degree * (1 if degree <= FEW_ARCS else 2)

    def run(
        self,
        sources: list[Any],
        *,
        mean_weight: float,
        cutoff: Any,
        delta: float = 0.0,
        set_point: float | None = None,
        hops: int | None = None,
        targets: Any = None,
        first_target: bool = False,
        trace_rows: int = 0,
        distance: Any = None,
        most_iterations: int = (1 << 32) - 1,
    ) -> Found:
        """Launch a search from each array of sources; returns without waiting.

        delta: near-far's, or 0 for self-tuning, with its set_point. cutoff: a length of
        ``length``. hops: by default many where few arcs are on their way at a time.
        distance: ``(searches, n)`` to write to, else new. See ``mgraph.sssp`` for the rest.
        """
        import cupy

        graph, infinity = self.graph, infinity_of(self.length)
        start = np.cumsum([0, *(len(seeds) for seeds in sources)], dtype=np.int32)
        seeds = cupy.asarray(np.concatenate(sources).astype(np.int32))
        if distance is None:
            distance = cupy.empty((len(sources), graph.n), self.length)
        distance.fill(infinity)
        self.notes.fill(np.iinfo(np.uint64).max)
        self.sums.fill(0)
        self.sums[:, :, LEAST_COLUMNS[0] : LEAST_COLUMNS[1] + 1] = int(np.iinfo(self.key.name).max)
        iterations = cupy.zeros(len(sources), np.uint64)
        trace = cupy.zeros((trace_rows, len(FIELDS))) if trace_rows else None
        aim = float(set_point or self.default_set_point)
        if hops is None:
            enough = 0 if delta > 0 else round(4 * aim / (self.blocks * THREADS))
            hops = max(HOPS[0], min(enough, HOPS[1]))
        wanted = None if targets is None else cupy.asarray(targets, np.int32)
        kernel = self.kernel()
        whole, unit = self.length.kind == "i", 1.0
        if not whole and delta == 0:
            unit = 2.0 ** min(max(math.frexp(mean_weight)[1], -1000), 1000)
        quantum = 1.0 if whole else mean_weight / unit / 1024
        launch_resident(
            kernel,
            self.blocks * self.groups,
            THREADS,
            (
                graph.indptr, self.indices, 0 if graph.weights is None else graph.weights,
                np.int32(graph.n), np.int32(len(sources)), cupy.asarray(start), seeds,
                0 if wanted is None else wanted, np.int32(0 if wanted is None else wanted.size),
                np.int32(first_target), np.array(cutoff, self.length).view(self.key)[()], distance,
                np.float64(delta), np.float64(unit), np.float64(aim),
                np.float64(graph.num_arcs / max(graph.n, 1)), np.float64(mean_weight / unit),
                np.float64(quantum), np.int32(hops),
                np.uint32(most_iterations), np.int32(self.blocks), *self.lists, self.sums,
                self.notes, *self.heap_memory, 0 if trace is None else trace,
                np.int32(trace_rows), iterations, cancellation_gpu.cancel_flag(),
            ),
            self.shared_bytes,
        )  # fmt: skip
        return Found(distance, iterations, trace)

    @property
    def defines(self) -> dict[str, Any]:
        """The kernel's macros for this graph."""
        weights = self.graph.weights
        weight = str(self.length) if weights is None else str(weights.dtype)
        return defines(weight, str(self.length), self.heaps)
