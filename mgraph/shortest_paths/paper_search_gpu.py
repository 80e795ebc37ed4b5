"""A search with the paper's controller on a GPU, for experiments: memory, launches, decisions.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018). As there the stages of an iteration are kernels (``paper_search.cu``), and the
controller runs on the CPU between them: ``paper_controller_cpu``, which ``paper_search_cpu`` uses
as well. So both take the same decisions from the same numbers; the numbers differ, since a GPU
relaxes an iteration's arcs in another order.

Device bytes beside the graph and the distances, which have b bytes: 72 per vertex, and 4 per arc
where indices are int64. Per iteration three launches and a copy of some words to the host.
"""

import functools
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, gauges, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.source import Source
from mgraph.shortest_paths import paper_controller_cpu as paper
from mgraph.shortest_paths import self_tuning
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.paper_controller_cpu import (
    ITERATION,
    PARTITIONS,
    SLOPE,
    SLOT,
    STEP,
    THRESHOLD,
    UPPER,
    counts_arcs,
    decide,
    needs_lengths,
    new_controller,
)
from mgraph.shortest_paths.problem import SearchRequest

KERNELS = Source(
    __package__,
    "paper_search.cu",
    check=tuple(tuple(length_defines(*types).items()) for types in LENGTH_TYPES),
)
_UPDATED = -1  # in place of a frontier: the vertices that an iteration improved
BYTES_PER_VERTEX = 72


class _Declared(NamedTuple):
    """The declarations of ``paper_search.cu`` that the host uses."""

    arc_bits: int
    counters: int
    updated_count: int
    update_count: int
    max_updated: int
    above_min_queued: int
    list_length: int
    far_size: int
    graph: StructType
    memory: StructType


@functools.cache
def _read_declarations(weight: str, length: str) -> _Declared:
    """Read the kernels' source, once per pair of types."""
    macros = length_defines(weight, length)
    types = {"key_t": f"i{np.dtype(length).itemsize}"}

    def constant(name: str) -> int:
        return KERNELS.constant(name, **macros)

    return _Declared(
        arc_bits=constant("arc_bits"),
        counters=constant("counters"),
        updated_count=constant("updated_count"),
        update_count=constant("update_count"),
        max_updated=constant("max_updated"),
        above_min_queued=constant("above_min_queued"),
        list_length=constant("list_length"),
        far_size=constant("far_size"),
        graph=KERNELS.struct("graph", types, **macros),
        memory=KERNELS.struct("search_memory", types, **macros),
    )


class Searcher:
    """Working memory for searches on one graph, one after another."""

    def __init__(self, graph: Graph, length: np.dtype) -> None:
        """Allocate memory. graph: on the device. length: the type of distances."""
        import cupy

        self.n = n = graph.n
        self.length = length = np.dtype(length)
        weight = str(length if graph.weights is None else graph.weights.dtype)
        self.macros = length_defines(weight, str(length))
        self.declared = _read_declarations(weight, str(length))
        self._indices = graph.indices.astype(np.int32, copy=False)
        self.graph = self.declared.graph.pack(
            {"indptr": graph.indptr, "indices": self._indices, "weights": graph.weights}
        )
        self.lists = {
            "updated_in": cupy.empty(n, np.uint32),
            "updated": cupy.empty(n, np.int32),
            "frontier": cupy.empty(2 * n, np.int32),
            "first_arc": cupy.empty(2 * n, np.uint64),
            "far": cupy.empty(2 * PARTITIONS * 2 * n, np.int32),
            "place": cupy.empty(n, np.uint64),
        }

    def new_distances(self) -> Any:
        """Return an array for the distances of a search, uninitialised."""
        import cupy

        return cupy.empty(self.n, self.length)


def find_distances(
    searcher: Searcher, request: SearchRequest, sources: Any, distance: Any, set_point: float, *,
    trace: bool = False, changes: Collection[str] = (), max_iterations: int | None = None,
) -> tuple[Any, bool]:  # fmt: skip
    """Search once; return the trace or None, and whether the search came to an end.

    sources: int64, on the host. distance: ``(n,)`` on the device, to be filled. changes: which of
    the controller's ``CHANGES`` are made.
    """
    search = _Search(searcher, request, sources, distance, set_point, changes)
    has_more, left = True, max_iterations or paper.MAX_ITERATIONS
    row = np.zeros(traces.SEARCH_COLUMNS)

    def iterate(row: Any) -> bool:
        nonlocal has_more, left
        has_more, left = search.iterate(row), left - 1
        return has_more and left > 0

    if trace:
        return traces.record_iterations(iterate), not has_more
    with gauges.showing(set_point=set_point, parallelism=lambda: float(row[1])):
        while iterate(row):
            cancellation.raise_if_cancelled()
    return None, not has_more


class _Search:
    """One search: what the host knows of it between iterations."""

    def __init__(
        self, searcher: Searcher, request: SearchRequest, sources: Any, distance: Any,
        set_point: float, changes: Collection[str],
    ) -> None:  # fmt: skip
        import cupy

        self._searcher, self._request, self._set_point = searcher, request, set_point
        mean_degree, mean_weight = max(request.mean_degree, 1.0), request.mean_weight
        self._control = new_controller(mean_degree, mean_weight, changes)
        is_integer = request.dtype.kind == "i"
        self._min_step = self_tuning.min_step(mean_weight, 1.0, is_integer=is_integer)
        self._declared, self._n = searcher.declared, searcher.n
        self._key = key_dtype(request.dtype)
        self._cutoff = np.array(request.cutoff, request.dtype).view(self._key)[()]
        self._targets = cupy.asarray(request.targets.astype(np.int32))
        self._count = cupy.zeros(self._declared.counters + self._targets.size, np.uint64)
        self._frontier = 0  # which of the two
        self._sides = [0] * PARTITIONS
        self._lengths = [0] * PARTITIONS  # of the far queue's lists, at most
        primitives_gpu.fill(distance, request.infinity)
        primitives_gpu.fill(searcher.lists["updated_in"], 0)
        primitives_gpu.fill(searcher.lists["place"], np.iinfo(np.uint64).max)
        self._memory = self._declared.memory.pack(
            {
                **searcher.lists,
                "distance": distance.view(self._key),
                "count": self._count,
                "n": self._n,
            }
        )
        vertices = cupy.asarray(np.asarray(sources, np.int32))
        self._launch("paper_begin", searcher.graph, self._memory, vertices, np.int32(len(sources)))

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, **self._searcher.macros)

    def _clear(self, counter: int, count: int = 1) -> None:
        import cupy

        stream = cupy.cuda.get_current_stream().ptr
        address = self._count.data.ptr + 8 * counter
        cupy.cuda.runtime.memsetAsync(address, 0, 8 * count, stream)

    def _bisect(self, source: int, target: int) -> None:
        """Divide what was improved, or a frontier, among another frontier and the far queue."""
        self._clear(target)
        values = self._control.values
        sides = sum(side << p for p, side in enumerate(self._sides))
        arguments = source, target, values[THRESHOLD], values[UPPER], int(values[SLOT]), sides
        types = np.int32, np.int32, np.float64, np.float64, np.int32, np.int32
        packed = [dtype(value) for dtype, value in zip(types, arguments, strict=True)]
        self._launch("paper_bisect", self._searcher.graph, self._memory, *packed)

    def _take(self, partition: int, threshold: float, target: int) -> None:
        """Move a partition's vertices within the threshold to a frontier."""
        side = self._sides[partition]
        self._clear(self._declared.list_length + 2 * partition + 1 - side)
        arguments = np.int32(partition), np.int32(side), np.float64(threshold), np.int32(target)
        self._launch("paper_take", self._searcher.graph, self._memory, *arguments)
        self._sides[partition] = 1 - side
        self._lengths[partition] = min(self._lengths[partition], self._n)

    def _find_nearest(self, frontier: int) -> None:
        sides = sum(side << p for p, side in enumerate(self._sides))
        arguments = np.int32(frontier), np.int32(sides), self._targets
        self._launch("paper_nearest", self._memory, *arguments, np.int32(self._targets.size))

    def iterate(self, row: Any) -> bool:
        """Do one iteration, and return whether another follows. row: the trace's."""
        declared, control = self._declared, self._control
        values = control.values
        before, after = self._frontier, 1 - self._frontier
        for p in range(PARTITIONS):
            if self._may_fill_up(p):  # drop the stale entries
                self._take(p, -1.0, before)
        self._clear(declared.updated_count, declared.list_length - declared.updated_count)
        iteration = np.uint32(values[ITERATION] + 1)
        self._launch(
            "paper_advance", self._searcher.graph, self._memory, np.int32(before), iteration,
            self._cutoff,
        )  # fmt: skip
        self._bisect(_UPDATED, after)
        looks_ahead = self._targets.size > 0 or bool(needs_lengths(control))
        if looks_ahead:
            self._find_nearest(after)
        count = self._count.get()
        x1, arcs = self._unpack(count[before])
        x4, _ = self._unpack(count[after])
        x2 = arcs if counts_arcs(control) else int(count[declared.update_count])
        sizes = count[declared.far_size :][:PARTITIONS].astype(np.int64)
        lengths = [declared.list_length + 2 * p + side for p, side in enumerate(self._sides)]
        self._lengths = [int(length) for length in count[lengths]]
        row[:5] = x1, x2, count[declared.updated_count], x4, values[THRESHOLD]
        row[5:9] = control.advance[SLOPE], control.bisect[SLOPE], PARTITIONS, sizes.sum()
        if x4 + sizes.sum() == 0:
            return False
        min_queued = 0.0
        if looks_ahead:
            nearest = self._as_length(~count[declared.above_min_queued])
            if self._targets_are_settled(count[declared.counters :], nearest):
                return False
            min_queued = float(nearest)
        farthest = float(self._as_length(count[declared.max_updated]))
        decide(sizes, control, self._set_point, x1, x2, x4, min_queued, farthest, self._min_step)
        self._frontier = self._rebalance(after, before, x4)
        values[ITERATION] += 1
        row[5], row[6] = control.advance[SLOPE], control.bisect[SLOPE]
        return True

    def _may_fill_up(self, partition: int) -> bool:
        """Return whether a list of 2·n entries might be too short for n more."""
        return self._lengths[partition] > self._n

    def _rebalance(self, frontier: int, spare: int, x4: int) -> int:
        """Bring far vertices up to δ, or put near ones beyond it away; return the frontier."""
        values = self._control.values
        if values[STEP] < 0:
            self._bisect(frontier, spare)
            self._lengths = [length + x4 for length in self._lengths]
            return spare
        slot = int(values[SLOT])
        self._take(slot, values[THRESHOLD], frontier)
        if values[THRESHOLD] > values[UPPER]:
            self._take(1 - slot, values[THRESHOLD], frontier)
        return frontier

    def _unpack(self, word: Any) -> tuple[int, int]:
        """Return a frontier's vertices and arcs."""
        vertices, bits = int(word), self._declared.arc_bits
        return vertices >> bits, vertices & ((1 << bits) - 1)

    def _as_length(self, word: Any) -> Any:
        key = np.array(word, np.uint64).astype(f"u{self._key.itemsize}").view(self._key)
        return key.view(self._request.dtype)[()]

    def _targets_are_settled(self, words: Any, nearest: Any) -> bool:
        """Return whether all targets, or the first of them, are nearer than all queued vertices."""
        if not words.size:
            return False
        are_settled = self._as_length(words) < nearest
        return bool(are_settled.any() if self._request.stop_at_first else are_settled.all())
