"""The exact search for group Steiner trees on a GPU: the launches of ``group_search.cu``.

One launch searches for many queries. Memory: 8 bytes per query, vertex and set of groups, half of
that for queues, and 8 per arc for the lengths.
"""

import functools
import math
import threading
import time
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError
from mgraph.steiner import group_lengths_gpu
from mgraph.steiner.groups import group_trace_gpu
from mgraph.steiner.groups.group_search import Found, Traced, find_in_units
from mgraph.steiner.groups.lengths import TOTAL_BITS, LengthUnits, choose_units
from mgraph.steiner.prepared import PreparedGraph

SEARCH = Source(__package__, "group_search.cu")

MAX_GROUPS = 8
MAX_QUERIES = 512  # of a launch
_MEMORY_SHARE = 0.7  # of the free memory
# Entries of each of five queues per word of labels; more if that was too few.
_QUEUE_SHARE = 0.1
_MIN_QUEUE = 1 << 16
_WIDTH = 1.0  # by which thresholds rise, in mean lengths
_GIB = 1 << 30


@functools.cache
def _struct(name: str) -> StructType:
    return SEARCH.struct(name)


@functools.cache
def _constant(name: str) -> int:
    return SEARCH.constant(name)


class GpuSearch:
    """The search on a graph of the current device, for one thread at a time."""

    def __init__(self, graph: Graph) -> None:
        """Take a graph on the device: undirected, with weights above 0."""
        self.graph, self.n = graph, graph.n
        self.indices = graph.indices.astype(np.int32, copy=False)
        self.weight = "int32" if graph.weights is None else str(graph.weights.dtype)
        self.sum_dtype = np.dtype(np.float64 if self.weight.startswith("float") else np.int64)
        self.facts = group_lengths_gpu.find_facts(graph)
        self.units = choose_units(self.facts)
        self._lengths = group_lengths_gpu.write_lengths(graph, self.indices, self.units)

    def batch_size(self, k: int, queue_share: float = _QUEUE_SHARE) -> int:
        """Return how many queries of k groups fit into a launch. Raises OutOfMemoryError for 0."""
        per_query, available = _bytes_per_query(self.n, k, queue_share), _available_bytes()
        if per_query > available:
            raise OutOfMemoryError(
                f"{k} groups in this graph need {per_query / _GIB:,.1f} GiB of device memory, and "
                f'{available / _GIB:,.1f} GiB of it may be taken; use backend="cpu"',
                remedy='use backend="cpu"',
            )
        return min(available // per_query, MAX_QUERIES)

    def find(
        self, graph: PreparedGraph, queries: list[list[Any]], deadline: Deadline
    ) -> list[Found]:
        """Return the answers to queries of as many groups each. graph: the same, prepared."""
        found, start = [], time.perf_counter()
        outcomes = self.run(self.units, queries, deadline)
        seconds = time.perf_counter() - start
        for groups, traced in zip(queries, outcomes, strict=True):

            def again(units: LengthUnits, groups: list[Any] = groups) -> Traced:
                return self.run(units, [groups], deadline)[0]

            answer = find_in_units(graph, groups, self.facts, again, traced, self.units)
            found.append(answer._replace(seconds=seconds))
        return found

    def run(self, units: LengthUnits, queries: list[list[Any]], deadline: Deadline) -> list[Traced]:
        """Search for some queries' trees in one launch, or in several where queues overflow.

        queries: groups as ``group_search.solve`` takes them, as many for each query.
        """
        share, k = _QUEUE_SHARE, len(queries[0])
        size = min(len(queries), self.batch_size(k))
        outcomes: list[Traced] = []
        while len(outcomes) < len(queries):
            batch = queries[len(outcomes) : len(outcomes) + size]
            traced = self._launch(units, batch, share, deadline)
            if traced is not None:
                outcomes += traced
            else:  # an entry per word always suffices, but for those that are queued again
                share = min(4 * share, 2.0)
                size = max(1, min(size, self.batch_size(k, share)))
        return outcomes

    def _launch(
        self, units: LengthUnits, queries: list[list[Any]], share: float, deadline: Deadline
    ) -> list[Traced] | None:
        """Search in one launch; None if a queue was too short."""
        import cupy

        k, count = len(queries[0]), len(queries)
        words = (self.n << k) * count
        capacity = max(int(share * words), _MIN_QUEUE * count)
        lengths = self._lengths
        if units != self.units:
            lengths = group_lengths_gpu.write_lengths(self.graph, self.indices, units)
        origins = cupy.asarray(_list_origins(queries, k))
        states = np.zeros(count, _struct("query_state").dtype)
        states["upper"], states["settled"] = 1 << TOTAL_BITS, 0
        states["least_far"] = states["meeting"] = _constant("unreached")
        mean = self.graph.mean_weight * units.scale[0] * units.scale[1]
        width = int(min(max(mean * _WIDTH, 1.0) * 2.0**units.shift, 2.0**TOTAL_BITS))
        states["threshold"] = width
        on_device = cupy.asarray(states.view(np.uint8))
        counts = cupy.zeros(_struct("search_counts").dtype.itemsize // 8, np.uint64)
        labels = cupy.empty(words, np.uint64)
        cupy.cuda.runtime.memsetAsync(
            labels.data.ptr, _constant("unreached_byte"), labels.nbytes,
            cupy.cuda.get_current_stream().ptr,
        )  # fmt: skip
        queues = cupy.empty((5, capacity), np.uint64)
        remaining = deadline.remaining
        launch = _struct("group_launch").pack(
            {
                "indptr": self.graph.indptr, "indices": self.indices, "lengths": lengths,
                "origins": origins, "words": labels, "states": int(on_device.data.ptr),
                "near": queues[:2], "far": queues[2:4], "hubs": queues[4],
                "counts": int(counts.data.ptr), "cancel_flag": cancellation_gpu.cancel_flag(),
                "deadline": 1 << 62 if math.isinf(remaining) else int(1e9 * remaining),
                "origin_count": origins.size, "capacity": capacity, "width": width,
                "n": self.n, "k": k, "queries": count,
            }
        )  # fmt: skip
        threads = _constant("threads_per_block")
        kernel = cancellation_gpu.kernel(SEARCH, "group_search")
        blocks = resident_blocks(kernel, threads, 0, "the search for group Steiner trees", "")
        launch_resident(kernel, blocks, threads, (launch,))
        group_trace_gpu.find_meetings(launch)
        is_stopped, has_overflowed = self._read_faults(counts)
        if has_overflowed:
            return None
        states = on_device.get().view(states.dtype)
        trees = group_trace_gpu.trace(launch, count, k, self.graph.weights)
        return [
            self._to_traced(states[i], {name: trees[name][i] for name in trees}, is_stopped)
            for i in range(count)
        ]

    def _read_faults(self, counts: Any) -> tuple[bool, bool]:
        names = _struct("search_counts").dtype
        read = counts.get().view(np.uint8).view(names)[0]
        cancellation.raise_if_cancelled()
        return bool(read["stopped"]), bool(read["overflowed"])

    def _to_traced(self, state: Any, tree: dict[str, Any], is_stopped: bool) -> Traced:
        size = int(tree["counts"])
        src, dst = tree["tails"][:size].astype(np.int64), tree["heads"][:size].astype(np.int64)
        words = tree["weights"][:size]
        narrow = words.astype(np.uint32) if np.dtype(self.weight).itemsize == 4 else words
        weight = narrow.view(self.weight).astype(self.sum_dtype)
        has_tree = state["meeting"] < _constant("unreached")
        length = int(state["upper"]) if has_tree else None
        is_unfinished = is_stopped and 2 * int(state["settled"]) < int(state["upper"])
        bound = 2 * int(state["settled"]) if is_unfinished else length
        return Traced(length, bound, src, dst, weight, tree["chosen"].astype(np.int64))


_searches: WeakKeyDictionary[PreparedGraph, GpuSearch] = WeakKeyDictionary()
device_lock = threading.Lock()  # one search runs at a time, since each takes the free memory


def solve_queries(
    graph: PreparedGraph, queries: dict[int, list[Any]], limit: float, stop: Deadline
) -> Iterator[tuple[int, Found]]:
    """Yield the answers to queries, batch by batch.

    queries: by their indices, groups as ``group_search.solve`` takes them, two to MAX_GROUPS.
    limit: of a launch, in seconds. stop: when the caller drops the answers.
    """
    by_size: dict[int, list[int]] = {}
    for i, groups in queries.items():
        by_size.setdefault(len(groups), []).append(i)
    for k, indices in by_size.items():
        begin = 0
        while begin < len(indices):
            with cancellation.acquiring(device_lock):
                search = _searches.get(graph)
                if search is None:
                    search = _searches[graph] = GpuSearch(graph.graph.to_gpu())
                batch = indices[begin : begin + search.batch_size(k)]
                found = search.find(graph, [queries[i] for i in batch], stop.within(limit))
            begin += len(batch)
            yield from zip(batch, found, strict=True)


def _bytes_per_query(n: int, k: int, queue_share: float = _QUEUE_SHARE) -> int:
    words = n << k
    return 8 * words + 40 * max(int(queue_share * words), _MIN_QUEUE)


def _available_bytes() -> int:
    return int(_MEMORY_SHARE * free_bytes())


def fits(graph: Graph, k: int) -> bool:
    """Return whether the current device has memory for a graph and a query of k groups."""
    arcs = (0 if graph.backend == "gpu" else graph.nbytes) + 12 * graph.num_arcs
    is_small = graph.n < 1 << 31 and graph.n << k < 1 << _constant("query_bit")
    return is_small and arcs + _bytes_per_query(graph.n, k) < _available_bytes()


def _list_origins(queries: list[list[Any]], k: int) -> Any:
    """Return the states of one group at each of its vertices, for all queries."""
    query_bit = _constant("query_bit")
    listed = [
        (np.uint64(i) << np.uint64(query_bit))
        | (group.astype(np.uint64) << np.uint64(k))
        | np.uint64(1 << j)
        for i, groups in enumerate(queries)
        for j, group in enumerate(groups)
    ]
    return np.concatenate(listed)
