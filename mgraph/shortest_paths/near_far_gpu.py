"""Near-far and self-tuning searches on a GPU: memory and the one launch of ``near_far.cu``.

Device bytes beside the graph and the distances, for k searches at a time on n vertices, with
lengths of b bytes: k·n·(4 + b)·14, less where memory is short, and with heaps one to two times
k·n·(4 + b) more; the pieces of large vertices; 4 per arc where indices are int64. One launch,
however many searches and iterations; one barrier per iteration among the blocks of a search.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.errors import DeviceError
from mgraph.heap import batch_heap_gpu
from mgraph.shortest_paths import self_tuning
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import FEW_ARCS, infinity_of
from mgraph.shortest_paths.trace import FIELDS

THREADS = 1024  # per block; one block per multiprocessor
HOPS = 16, self_tuning.MAX_HOPS  # the minimum and the maximum in an iteration with few arcs
# Entries per vertex in each side of the near queue, and in the far queue. Where memory is short:
# the ratio of the far queue's to one side's, and the share of free memory that they may take.
NEAR_SLOTS, FAR_SLOTS, FAR_TO_NEAR, MEMORY_SHARE = 4, 6, 2.5, 0.7
SLOTS = 2 * NEAR_SLOTS + FAR_SLOTS
CHUNKS = 512  # of a block's far queue
MIN_CHUNK_ENTRIES = 32
MAX_ARCS = 1 << 33  # then a block's arcs in an iteration fit 32 bits
TRACE_ROWS = 1 << 20


def search_defines(weight: str, length: str, heaps: bool) -> dict[str, str]:
    """Return the kernel's macros for weights and lengths of these types, with or without heaps."""
    macros = {
        "MGRAPH_THREADS": str(THREADS),
        "MGRAPH_HEAPS": str(int(heaps)),
        "MGRAPH_TRACE_COLUMNS": str(len(FIELDS)),
    }
    return {**length_defines(weight, length), **self_tuning.controller_defines(), **macros}


KERNELS = Source(
    __package__,
    "near_far.cu",
    check=tuple(
        tuple(search_defines(*types, heaps).items())
        for types in LENGTH_TYPES
        for heaps in (False, True)
    ),
)


class Declared(NamedTuple):
    """The declarations of ``near_far_state.cuh`` that the host uses."""

    max_blocks: int
    piece_arcs: int
    max_near: int
    max_pieces: int
    columns: int
    minimum_columns: list[int]
    far_lists: int
    hop_list_bytes: int
    gave_up: int
    graph: StructType
    request: StructType
    options: StructType
    memory: StructType
    output: StructType


@functools.cache
def _read_declarations(defines: tuple[tuple[str, str], ...], key: np.dtype) -> Declared:
    """Read the kernel's source, once per set of macros. key: the integers that order lengths."""
    macros = dict(defines)
    types = {"key_t": f"i{key.itemsize}", "word_t": f"u{key.itemsize}"}

    def constant(name: str) -> int:
        return KERNELS.constant(name, **macros)

    def struct(name: str) -> StructType:
        return KERNELS.struct(name, types, **macros)

    return Declared(
        max_blocks=constant("max_blocks"),
        piece_arcs=constant("piece_arcs"),
        max_near=(1 << constant("near_bits")) - 1,
        max_pieces=(1 << constant("piece_bits")) - 1,
        columns=constant("columns"),
        minimum_columns=[constant("min_near_column"), constant("min_far_column")],
        far_lists=constant("lists"),
        hop_list_bytes=struct("hop_list").dtype.itemsize,
        gave_up=constant("gave_up"),
        graph=struct("graph"),
        request=struct("search_request"),
        options=struct("search_options"),
        memory=struct("search_memory"),
        output=struct("search_output"),
    )


def best_concurrency(n: int, num_arcs: int) -> int:
    """Return how many searches should share a device that has memory for all of them.

    The numbers were measured: see BENCHMARKS.md. On graphs with few arcs per vertex one search is
    mostly latency, so that many cost as much.
    """
    return 33 if num_arcs <= FEW_ARCS * n else 4


def choose_concurrency(graph: Graph, searches: int, length: np.dtype) -> int:
    """Return how many of ``searches`` should share the device, as far as its memory allows."""
    itemsize = np.dtype(length).itemsize
    free_memory = max(0, free_bytes() - searches * graph.n * itemsize)  # beside the distances
    fitting = free_memory // (4 * SLOTS * graph.n * (4 + itemsize) + 1)
    concurrency = max(1, min(searches, best_concurrency(graph.n, graph.num_arcs), fitting))
    rounds = -(-searches // concurrency)
    return -(-searches // rounds)


def default_set_point(graph: Graph, blocks: int) -> float:
    """Return the arcs of one vertex per thread, or of two where degrees are large."""
    degree = max(1.0, graph.num_arcs / max(graph.n, 1))
    return blocks * THREADS * degree * (1 if degree <= FEW_ARCS else 2)


class Patience(NamedTuple):
    """When a search gives up: after so many seconds with fewer vertices reached; default: never."""

    seconds: float = 0.0
    min_reached_per_second: float = 0.0


ENDLESS = Patience()


class Launched(NamedTuple):
    """The results of a launch, on the device: distances ``(searches, n)``, iterations, trace."""

    distance: Any
    iterations: Any
    trace: Any


class Searcher:
    """Working memory for searches on one graph, which may be launched repeatedly."""

    def __init__(
        self,
        graph: Graph,
        length: np.dtype,
        searches: int = 1,
        concurrency: int | None = None,
        heaps: bool = False,
    ) -> None:
        """Allocate memory for ``searches`` searches, some of them at a time.

        graph: on the device. length: the type of distances. concurrency: searches at a time, which
        share the multiprocessors; by default ``choose_concurrency``. heaps: let the farthest
        entries wait in heaps.
        Raises DeviceError if the graph has more arcs than one search can count.
        """
        if graph.num_arcs >= MAX_ARCS:
            raise DeviceError(
                f"a search on a GPU takes fewer than {MAX_ARCS:,} arcs (got {graph.num_arcs:,})"
            )
        self.graph, self.length, self.heaps = graph, np.dtype(length), heaps
        self.key = key_dtype(self.length)
        weights = graph.weights
        weight = str(self.length) if weights is None else str(weights.dtype)
        self.defines = search_defines(weight, str(self.length), heaps)
        self._declared = _read_declarations(tuple(self.defines.items()), self.key)
        processors = multiprocessors()
        groups = concurrency or choose_concurrency(graph, searches, self.length)
        self.groups = min(groups, searches, processors)  # of blocks, one per search at a time
        self.blocks = min(processors // self.groups, self._declared.max_blocks)
        self.shared_bytes = 2 * self._declared.hop_list_bytes + np.dtype(
            np.uint16
        ).itemsize * CHUNKS * (self._declared.far_lists + 1)
        self._indices = graph.indices.astype(np.int32, copy=False)
        self._graph = self._declared.graph.pack(
            {"indptr": graph.indptr, "indices": self._indices, "weights": weights, "n": graph.n}
        )
        near, entries_per_chunk = self._choose_capacities(searches)
        self._allocate(near, self._choose_piece_capacity(), entries_per_chunk)

    def _choose_capacities(self, searches: int) -> tuple[int, int]:
        """Choose the entries of one side of a block's near queue, and of its far queue's chunks.

        Queues that are too short cost time, since far queues are then rebuilt from the distances.
        """
        n = self.graph.n
        entry = 4 + self.key.itemsize
        free_memory = max(0, free_bytes() - searches * n * self.length.itemsize)
        slots = MEMORY_SHARE * free_memory / (self.groups * max(n, 1) * entry)  # per vertex
        near = min(NEAR_SLOTS, slots / (2 + FAR_TO_NEAR))
        far = min(FAR_SLOTS, FAR_TO_NEAR * near)
        near_capacity = min(int(near * self._share) + 16384, self._declared.max_near)
        far_capacity = int(far * self._share) + 2 * self_tuning.PARTITIONS * MIN_CHUNK_ENTRIES
        chunk = -(-far_capacity // CHUNKS // MIN_CHUNK_ENTRIES) * MIN_CHUNK_ENTRIES
        return near_capacity, max(MIN_CHUNK_ENTRIES, chunk)

    def _choose_piece_capacity(self) -> int:
        """Choose for how many pieces of large vertices one side of a block's list has room."""
        graph, piece = self.graph, self._declared.piece_arcs
        pieces = largest = 0
        if graph.max_degree > piece:
            pieces = primitives_gpu.summarize_degrees(graph.indptr, piece).pieces
            largest = -(-graph.max_degree // piece)
        fair_share = max(4096 + 8 * pieces // self.blocks, 2 * largest)
        return max(1, min(pieces, fair_share, self._declared.max_pieces))

    @property
    def _share(self) -> int:
        """A block's share of the vertices."""
        return -(-self.graph.n // self.blocks)

    def _allocate(self, near: int, pieces: int, chunk: int) -> None:
        """Allocate the blocks' lists, and pack them for the kernel once for all launches."""
        import cupy

        blocks, key = self.blocks * self.groups, self.key
        far = blocks * CHUNKS * chunk
        self._lists = {
            "near": {
                "vertex": cupy.empty(2 * blocks * near, np.int32),
                "key": cupy.empty(2 * blocks * near, key),
            },
            "pieces": {
                "vertex": cupy.empty(2 * blocks * pieces, np.int32),
                "key": cupy.empty(2 * blocks * pieces, key),
                "number": cupy.empty(2 * blocks * pieces, np.uint32),
            },
            "far": {"vertex": cupy.empty(far, np.int32), "key": cupy.empty(far, key)},
            "heaps": self._allocate_heaps(),
            "sums": cupy.empty((self.groups, 3, self._declared.columns), np.uint64),
            "notes": cupy.empty((self.groups, 2, self.blocks), np.uint64),
        }
        sizes = {
            "blocks": self.blocks,
            "near_capacity": near,
            "piece_capacity": pieces,
            "chunks": CHUNKS,
            "chunk_entries": chunk,
        }
        self.memory = self._declared.memory.pack({**self._lists, **sizes})

    def _allocate_heaps(self) -> dict[str, Any]:
        """Allocate one heap per block, for its share of the vertices or as far as memory allows."""
        import cupy

        if not self.heaps:
            return {"keys": None, "values": None, "words": None, "counts": None, "places": 0}
        heaps, entry = self.blocks * self.groups, 4 + self.key.itemsize
        fitting = free_bytes() // (4 * heaps * THREADS * entry) + 1
        nodes = min(self._share // THREADS + 2, fitting)
        places = (1 << nodes.bit_length()) - 1
        rows = heaps * (places + batch_heap_gpu.read_constant("spare_rows"))
        return {
            "keys": cupy.empty(rows * THREADS, f"u{self.key.itemsize}"),
            "values": cupy.empty(rows * THREADS, np.uint32),
            "words": cupy.empty(rows * 8, np.uint32),
            "counts": cupy.empty(heaps * batch_heap_gpu.read_constant("count_words"), np.uint64),
            "places": places,
        }

    def gave_up(self, launched: Launched) -> bool:
        """Wait for a launch, and return whether its first search gave up."""
        return int(launched.iterations[0]) == self._declared.gave_up

    @property
    def heap_operations(self) -> Any:
        """The number of operations on each block's heap in its last search, on the device."""
        counts = self._lists["heaps"]["counts"].reshape(
            -1, batch_heap_gpu.read_constant("count_words")
        )
        return counts[:, batch_heap_gpu.read_constant("next_sequence_word")]

    def compile_kernel(self) -> Any:
        """Return the kernel for this graph's types, compiled."""
        kernel = cancellation_gpu.kernel(KERNELS, "near_far_search", **self.defines)
        kernel.max_dynamic_shared_size_bytes = self.shared_bytes
        return kernel

    @property
    def default_set_point(self) -> float:
        """The arcs that keep a search's share of the device busy."""
        return default_set_point(self.graph, self.blocks)

    def launch(
        self,
        sources: list[Any],
        *,
        mean_weight: float,
        cutoff: Any,
        delta: float = 0.0,
        set_point: float | None = None,
        hops: int | None = None,
        is_bound: bool = False,
        targets: Any = None,
        stop_at_first: bool = False,
        trace_rows: int = 0,
        distance: Any = None,
        max_iterations: int = (1 << 32) - 1,
        patience: Patience = ENDLESS,
    ) -> Launched:
        """Launch one search per array of sources; returns without waiting.

        delta: near-far's, or 0 for self-tuning, with its set_point: a mean or, with is_bound, an
        upper bound. cutoff: a length of type ``length``. hops: the maximum per iteration; by
        default many if there are few arcs at a time. distance: ``(searches, n)`` to write to, else
        new. See ``mgraph.sssp`` for the rest, and ``gave_up`` for patience.
        """
        import cupy

        declared, graph = self._declared, self.graph
        if distance is None:
            distance = cupy.empty((len(sources), graph.n), self.length)
        primitives_gpu.fill(distance, infinity_of(self.length))
        self._reset_sums()
        launched = Launched(
            distance,
            cupy.zeros(len(sources), np.uint64),
            cupy.zeros((trace_rows, len(FIELDS))) if trace_rows else None,
        )
        starts = np.cumsum([0, *(len(vertices) for vertices in sources)], dtype=np.int32)
        request = {
            "searches": len(sources),
            "source_starts": cupy.asarray(starts),
            "sources": cupy.asarray(np.concatenate(sources).astype(np.int32)),
            "targets": None if targets is None else cupy.asarray(targets, np.int32),
            "target_count": 0 if targets is None else len(targets),
            "stop_at_first": stop_at_first,
            "cutoff": np.array(cutoff, self.length).view(self.key)[()],
            "cancel_flag": cancellation_gpu.cancel_flag(),
        }
        output = {
            "distance": distance.view(self.key),
            "iterations": launched.iterations,
            "trace": launched.trace,
            "trace_rows": trace_rows,
        }
        options = self._pack_options(
            mean_weight, delta, set_point, is_bound, hops, max_iterations, patience
        )
        launch_resident(
            self.compile_kernel(),
            self.blocks * self.groups,
            THREADS,
            (
                self._graph,
                declared.request.pack(request),
                options,
                self.memory,
                declared.output.pack(output),
            ),
            self.shared_bytes,
        )
        return launched

    def _reset_sums(self) -> None:
        """Reset what blocks publish; all else is reset by the kernel."""
        primitives_gpu.fill(self._lists["notes"], np.iinfo(np.uint64).max)  # of no round
        sums = np.zeros(self._lists["sums"].shape, np.uint64)
        sums[:, :, self._declared.minimum_columns] = int(np.iinfo(self.key.name).max)
        primitives_gpu.assign(self._lists["sums"], sums)

    def _pack_options(
        self, mean_weight: float, delta: float, set_point: float | None, is_bound: bool,
        hops: int | None, max_iterations: int, patience: Patience,
    ) -> np.ndarray:  # fmt: skip
        """Pack the options for the kernel, with the controller's lengths in its unit."""
        aim = float(set_point or self.default_set_point)
        if hops is None:
            enough = 0 if delta > 0 else round(4 * aim / (self.blocks * THREADS))
            hops = max(HOPS[0], min(enough, HOPS[1]))
        is_integer = self.length.kind == "i"
        unit = self_tuning.length_unit(mean_weight, is_integer=is_integer or delta > 0)
        options = {
            "delta": delta,
            "unit": unit,
            "inverse_unit": 1 / unit,
            "set_point": 0.0 if delta > 0 else aim,
            "is_bound": is_bound,
            "mean_degree": self.graph.num_arcs / max(self.graph.n, 1),
            "mean_weight": mean_weight / unit,
            "min_step": self_tuning.min_step(mean_weight, unit, is_integer=is_integer),
            "max_hops": hops,
            "max_iterations": max_iterations,
            "patience": 1e9 * patience.seconds,
            "min_reached_per_nanosecond": patience.min_reached_per_second / 1e9,
        }
        return self._declared.options.pack(options)
