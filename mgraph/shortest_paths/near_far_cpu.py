"""Near-far on one core: the four stages of an iteration, one function each, and the plain loop.

Source: A. Davidson, S. Baxter, M. Garland, J. Owens, "Work-efficient parallel GPU methods for
single-source shortest paths" (IPDPS 2014), as section 3 of S. Karamati, J. Young, R. Vuduc, "An
energy-efficient single-source shortest path algorithm" (IPDPS 2018) describes it. Unlike Dijkstra's
algorithm it needs no heap: vertices up to a threshold are expanded in any order, some of them
twice.

The far queue is a doubly linked list through the vertices, so that a vertex is in it once and
leaves it in O(1), and nothing grows. It has as many partitions as the method needs: near-far one,
self-tuning several. Cost: O(n) memory; an arc is relaxed each time its tail is expanded.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_without_counts
from mgraph.shortest_paths import trace as traces

NONE = -1  # no vertex, no partition


class FarQueue(NamedTuple):
    """Lists through the vertices, one per partition: partition p's begins at ``head[p]``."""

    head: Any
    size: Any
    next: Any
    previous: Any
    partition: Any


class Search(NamedTuple):
    """The arrays of one search.

    updated_in: the last iteration that updated each vertex. frontier, updated: lists of vertices,
    of which the functions here return the lengths. cancel_flag: not 0 ends the search early.
    """

    indptr: Any
    indices: Any
    weights: Any
    distance: Any
    updated_in: Any
    frontier: Any
    updated: Any
    far: FarQueue
    cancel_flag: Any


def new_search(indptr: Any, indices: Any, weights: Any, distance: Any, partitions: int) -> Search:
    """Make the arrays for one search, 42 bytes per vertex; ``distance`` is not copied."""
    n = distance.size
    far = FarQueue(
        np.full(partitions, NONE, np.int64),
        np.zeros(partitions, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(n, NONE, np.int16),
    )
    updated_in, frontier, updated = (
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    lists = updated_in, frontier, updated, far
    return Search(indptr, indices, weights, distance, *lists, cancellation.cancel_flag())


@compiled_without_counts
def remove_far(far, v):
    """Remove v from the partition that it is in."""
    p, before, after = far.partition[v], far.previous[v], far.next[v]
    if before == NONE:
        far.head[p] = after
    else:
        far.next[before] = after
    if after != NONE:
        far.previous[after] = before
    far.partition[v] = NONE
    far.size[p] -= 1


@compiled_without_counts
def place_far(far, v, p):
    """Put v into partition p, and remove it from any other."""
    if far.partition[v] == p:
        return
    if far.partition[v] != NONE:
        remove_far(far, v)
    first = far.head[p]
    far.next[v], far.previous[v], far.partition[v] = first, NONE, p
    if first != NONE:
        far.previous[first] = v
    far.head[p] = v
    far.size[p] += 1


@compiled_without_counts
def begin(search, sources):
    """Make the sources the frontier, at distance 0, and return X1, its size."""
    x1 = np.int64(0)
    for s in sources:
        if search.distance[s] != 0:
            search.distance[s] = 0
            search.frontier[x1] = s
            x1 += 1
    return x1


@compiled_without_counts
def advance_and_filter(search, x1, iteration, cutoff):
    """Relax the arcs of the frontier; return X2, the arcs, and X3, the vertices updated."""
    x2, x3 = np.int64(0), np.int64(0)
    for i in range(x1):
        if search.cancel_flag[0]:
            break
        u = search.frontier[i]
        length = search.distance[u]
        for arc in range(search.indptr[u], search.indptr[u + 1]):
            v = search.indices[arc]
            candidate = length + search.weights[arc]
            if candidate < search.distance[v] and candidate <= cutoff:
                search.distance[v] = candidate
                if search.updated_in[v] != iteration:
                    search.updated_in[v] = iteration
                    search.updated[x3] = v
                    x3 += 1
        x2 += search.indptr[u + 1] - search.indptr[u]
    return x2, x3


@compiled_without_counts
def min_frontier_distance(search, x1, infinity):
    """Return the least distance in the frontier; ``infinity`` if it is empty."""
    distance = infinity
    for i in range(x1):
        distance = min(distance, search.distance[search.frontier[i]])
    return distance


@compiled_without_counts
def min_far_distance(search, p, infinity):
    """Return the least distance in partition p; ``infinity`` if it is empty."""
    distance = infinity
    v = search.far.head[p]
    while v != NONE and not search.cancel_flag[0]:
        distance = min(distance, search.distance[v])
        v = search.far.next[v]
    return distance


@compiled_without_counts
def targets_are_settled(search, targets, stop_at_first, min_queued):
    """Return whether all targets, or the first of them, are nearer than every queued vertex."""
    for t in targets:
        if (search.distance[t] < min_queued) == stop_at_first:
            return stop_at_first
    return not stop_at_first


@compiled_without_counts
def _bisect_frontier(search, x3, threshold):
    """Split the updated vertices into the frontier and the far queue, and return X4."""
    x4 = np.int64(0)
    for i in range(x3):
        if search.cancel_flag[0]:
            break
        v = search.updated[i]
        if search.distance[v] <= threshold:
            if search.far.partition[v] != NONE:
                remove_far(search.far, v)
            search.frontier[x4] = v
            x4 += 1
        else:
            place_far(search.far, v, 0)
    return x4


@compiled_without_counts
def take_far(search, p, threshold, x1):
    """Append partition p's vertices up to the threshold to the frontier; return X1, its size."""
    v = search.far.head[p]
    while v != NONE and not search.cancel_flag[0]:
        after = search.far.next[v]
        if search.distance[v] <= threshold:
            remove_far(search.far, v)
            search.frontier[x1] = v
            x1 += 1
        v = after
    return x1


@compiled_without_counts
def _iterate(search, state, delta, targets, stop_at_first, cutoff, infinity, row):
    """Do one iteration, and return whether another follows. state: iteration, X1, threshold."""
    iteration, x1, threshold = np.int64(state[0]), np.int64(state[1]), state[2]
    x2, x3 = advance_and_filter(search, x1, iteration, cutoff)
    x4 = _bisect_frontier(search, x3, threshold)
    far = search.far.size[0]
    row[0], row[1], row[2], row[3], row[4], row[7], row[8] = x1, x2, x3, x4, threshold, 1, far
    state[0] += 1
    if x4 > 0:
        if targets.size:
            min_queued = min_frontier_distance(search, x4, infinity)
            if targets_are_settled(search, targets, stop_at_first, min_queued):
                return False
    else:
        if far == 0:
            return False
        min_queued = min_far_distance(search, 0, infinity)
        if targets.size and targets_are_settled(search, targets, stop_at_first, min_queued):
            return False
        # Phase i expands distances up to (i + 1)·delta; phases without vertices are skipped.
        next_phase = (min_queued // delta + 1) * delta
        state[2] = max(threshold + delta, next_phase, float(min_queued))
        x4 = take_far(search, 0, state[2], np.int64(0))
    state[1] = x4
    return True


def _begin_state(search: Search, sources: Any, delta: float) -> Any:
    return np.array([0, begin(search, sources), delta], np.float64)


def find_distances_traced(search: Search, sources: Any, delta: float, *bounds: Any) -> Any:
    """Fill the distances, and return the trace; ``bounds`` as ``find_distances`` takes them."""
    state = _begin_state(search, sources, delta)
    return traces.record_iterations(lambda row: _iterate(search, state, delta, *bounds, row))


def find_distances(
    search: Search, sources: Any, delta: float, targets: Any, stop_at_first: bool, cutoff: Any,
    infinity: Any,
) -> None:  # fmt: skip
    """Fill the distances, to the end or until the targets (int64, perhaps none) are settled."""
    state, row = _begin_state(search, sources, delta), np.zeros(traces.SEARCH_COLUMNS)
    _iterate_all(search, state, delta, targets, stop_at_first, cutoff, infinity, row)
    cancellation.raise_if_cancelled()


@compiled_without_counts
def _iterate_all(search, state, delta, targets, stop_at_first, cutoff, infinity, row):
    while not search.cancel_flag[0] and _iterate(
        search, state, delta, targets, stop_at_first, cutoff, infinity, row
    ):
        pass
