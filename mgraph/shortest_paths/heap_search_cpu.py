"""A frontier from which a heap selects the nearest vertices where it is large: on one core.

Source: Y. Chen et al., "Accelerating concurrent heap on GPUs" (2019), section 5.7.1. An iteration
relaxes the frontier's arcs, and the vertices that are improved, the active nodes, are the next
frontier. But where there are more of them than a threshold, they go into a heap by their distances,
and the next frontier is as many of the nearest as the threshold says. So fewer vertices are
expanded at distances that are not their last ones. Without a threshold it is the plain frontier, as
in Gunrock; with a threshold of 1 it is Dijkstra's algorithm. (On a GPU near_far.cu does this, with
one heap per block.)

Cost: near_far's arrays, and per vertex two heap entries of 12 to 16 bytes each.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.near_far_cpu import (
    Search,
    advance_and_filter,
    begin,
    min_frontier_distance,
    targets_are_settled,
)

DEFAULT_THRESHOLD = 10_000  # vertices of a frontier, the paper's N


@compiled
def _drop_stale(heap, size, keys, cancel_flag):
    """Drop entries of vertices that have been improved since, and return how many remain."""
    kept = np.int64(0)
    kept_keys, kept_vertices = np.empty(size, np.int64), np.empty(size, np.int64)
    while size > 0 and not cancel_flag[0]:
        key, v = pop(heap, size)
        size -= 1
        if key == keys[v]:
            kept_keys[kept], kept_vertices[kept] = key, v
            kept += 1
    for i in range(kept):
        push(heap, i, kept_keys[i], kept_vertices[i])
    return kept


@compiled
def _iterate(search, keys, heap, state, threshold, targets, stop_at_first, cutoff, infinity, row):
    """Do one iteration, and return whether another follows. state: iteration, X1, heap size."""
    iteration, x1, size = state[0], state[1], state[2]
    x2, x3 = advance_and_filter(search, x1, iteration, cutoff)
    x4, max_distance = np.int64(0), float(0)
    if size == 0 and x3 <= threshold:
        for i in range(x3):
            search.frontier[i] = search.updated[i]
        x4 = x3
    else:
        if size + x3 > capacity(heap):
            size = _drop_stale(heap, size, keys, search.cancel_flag)
        for i in range(x3):
            v = search.updated[i]
            push(heap, size, keys[v], v)
            size += 1
        while size > 0 and x4 < threshold and not search.cancel_flag[0]:
            key, v = pop(heap, size)
            size -= 1
            if key == keys[v]:
                search.frontier[x4] = v
                max_distance = float(search.distance[v])
                x4 += 1
    row[0], row[1], row[2], row[3], row[4], row[8] = x1, x2, x3, x4, max_distance, size
    state[0], state[1], state[2] = iteration + 1, x4, size
    if x4 == 0:
        return False
    min_queued = min_frontier_distance(search, x4, infinity)
    return not (targets.size and targets_are_settled(search, targets, stop_at_first, min_queued))


@compiled
def _iterate_all(
    search, keys, heap, state, threshold, targets, stop_at_first, cutoff, infinity, row
):
    while not search.cancel_flag[0] and _iterate(
        search, keys, heap, state, threshold, targets, stop_at_first, cutoff, infinity, row
    ):
        pass


@compiled
def _reserve(heap, entries):
    while capacity(heap) < entries:
        heap = grow(heap)
    return heap


def _begin_state(search: Search, sources: Any) -> tuple[Any, Any, Any]:
    """Return distances as integers of the same order, the heap, and the loop's state."""
    n, itemsize = search.distance.size, search.distance.itemsize
    keys = search.distance.view(f"i{itemsize}")
    heap = _reserve(heap_cpu.new(n, small=False), 2 * n)
    return keys, heap, np.array([0, begin(search, sources), 0], np.int64)


def find_distances_traced(search: Search, sources: Any, threshold: int, *bounds: Any) -> Any:
    """Fill the distances, and return the trace; ``bounds`` as ``find_distances`` takes them."""
    state = _begin_state(search, sources)
    return traces.record_iterations(lambda row: _iterate(search, *state, threshold, *bounds, row))


def find_distances(
    search: Search, sources: Any, threshold: int, targets: Any, stop_at_first: bool, cutoff: Any,
    infinity: Any,
) -> None:  # fmt: skip
    """Fill the distances, to the end or until the targets (int64, perhaps none) are settled."""
    row, state = np.zeros(traces.SEARCH_COLUMNS), _begin_state(search, sources)
    _iterate_all(search, *state, threshold, targets, stop_at_first, cutoff, infinity, row)
    cancellation.raise_if_cancelled()
