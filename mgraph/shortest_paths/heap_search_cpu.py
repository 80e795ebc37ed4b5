"""A frontier, the nearest of whose vertices a heap picks where there are many: on one core.

Source: section 5.7.1 of "Accelerating concurrent heap on GPUs". In an iteration the frontier's arcs
are relaxed; the vertices that came nearer are the next frontier. But where there are more than a
number of them, they wait in a heap by their distances, and as many of the nearest as that number
are taken: fewer vertices are expanded at a distance that is not their last one. With no limit it is
the plain frontier, as in Gunrock; with 1 it is Dijkstra's algorithm. (On a GPU near_far.cu does
it, with a heap a block.)
Cost: near_far's arrays, and for a vertex two entries in the heap of 12 to 16 bytes each.
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
    nearest,
    settled,
)

MANY = 10_000  # vertices of a frontier, the paper's number


@compiled
def _only_current(heap, size, keys, stop):
    """Drop the entries of vertices that have come nearer since. Returns how many are left."""
    kept = np.int64(0)
    all_keys, all_vertices = np.empty(size, np.int64), np.empty(size, np.int64)
    while size > 0 and not stop[0]:
        key, v = pop(heap, size)
        size -= 1
        if key == keys[v]:
            all_keys[kept], all_vertices[kept] = key, v
            kept += 1
    for i in range(kept):
        push(heap, i, all_keys[i], all_vertices[i])
    return kept


@compiled
def _iterate(search, keys, heap, state, many, targets, first_target, cutoff, infinity, row):
    """One iteration; False when it was the last. state: iteration, X1, entries in the heap."""
    iteration, x1, size = state[0], state[1], state[2]
    x2, x3 = advance_and_filter(search, x1, iteration, cutoff)
    x4, farthest = np.int64(0), float(0)
    if size == 0 and x3 <= many:
        for i in range(x3):
            search.frontier[i] = search.updated[i]
        x4 = x3
    else:
        if size + x3 > capacity(heap):
            size = _only_current(heap, size, keys, search.stop)
        for i in range(x3):
            v = search.updated[i]
            push(heap, size, keys[v], v)
            size += 1
        while size > 0 and x4 < many and not search.stop[0]:
            key, v = pop(heap, size)
            size -= 1
            if key == keys[v]:
                search.frontier[x4] = v
                farthest = float(search.distance[v])
                x4 += 1
    row[0], row[1], row[2], row[3], row[4], row[8] = x1, x2, x3, x4, farthest, size
    state[0], state[1], state[2] = iteration + 1, x4, size
    if x4 == 0:
        return False
    least = nearest(search, x4, infinity)
    return not (targets.size and settled(search, targets, first_target, least))


@compiled
def _run(search, keys, heap, state, many, targets, first_target, cutoff, infinity, row):
    while not search.stop[0] and _iterate(
        search, keys, heap, state, many, targets, first_target, cutoff, infinity, row
    ):
        pass


@compiled
def _with_room(heap, entries):
    while capacity(heap) < entries:
        heap = grow(heap)
    return heap


def _begun(search: Search, sources: Any) -> tuple[Any, Any, Any]:
    """Distances as integers in the same order, the heap, and the state."""
    n, itemsize = search.distance.size, search.distance.itemsize
    keys = search.distance.view(f"i{itemsize}")
    heap = _with_room(heap_cpu.new(n, small=False), 2 * n)
    return keys, heap, np.array([0, begin(search, sources), 0], np.int64)


def traced(search: Search, sources: Any, many: int, *bounds: Any) -> Any:
    """The search with a row an iteration; ``bounds`` as ``run`` takes them."""
    begun = _begun(search, sources)
    return traces.timed(lambda row: _iterate(search, *begun, many, *bounds, row))


def run(
    search: Search, sources: Any, many: int, targets: Any, first_target: bool, cutoff: Any,
    infinity: Any,
) -> None:  # fmt: skip
    """Search to the end, or until the targets (int64, perhaps none) are settled."""
    row = np.zeros(traces.COLUMNS)
    _run(search, *_begun(search, sources), many, targets, first_target, cutoff, infinity, row)
    cancellation.raise_if_cancelled()
