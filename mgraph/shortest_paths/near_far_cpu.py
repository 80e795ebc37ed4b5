"""Near-far on one core: the four stages of an iteration, each a function, and the plain loop.

Source: A. Davidson, S. Baxter, M. Garland, J. Owens, "Work-efficient parallel GPU methods for
single-source shortest paths" (IPDPS 2014), as section 3 of S. Karamati, J. Young, R. Vuduc, "An
energy-efficient single-source shortest path algorithm" (IPDPS 2018) tells it. Beside Dijkstra it
needs no heap: vertices up to a threshold are expanded in any order, some of them twice.

The far queue is a doubly linked list through the vertices, so that a vertex stands in it once and
leaves it in O(1), and nothing grows. It has as many partitions as a method wants: near-far one,
self-tuning several. Cost: O(n) memory; an arc is relaxed each time its tail is expanded.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.shortest_paths import trace as traces

NOWHERE = -1


class Far(NamedTuple):
    """The far queue: lists through the vertices, partition p's beginning at ``head[p]``."""

    head: Any
    size: Any
    next: Any
    previous: Any
    partition: Any


class Search(NamedTuple):
    """The arrays of one search. ``stamp[v]``: the last iteration that updated v.

    stop: of one element, not 0 when the search is to end early.
    """

    indptr: Any
    indices: Any
    weights: Any
    distance: Any
    stamp: Any
    frontier: Any
    updated: Any
    far: Far
    stop: Any


def new_search(indptr: Any, indices: Any, weights: Any, distance: Any, partitions: int) -> Search:
    """Arrays for one search; ``distance`` is used as it is. 42 bytes a vertex."""
    n = distance.size
    far = Far(
        np.full(partitions, NOWHERE, np.int64),
        np.zeros(partitions, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(n, NOWHERE, np.int16),
    )
    stamp, frontier, updated = (
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    lists = stamp, frontier, updated, far
    return Search(indptr, indices, weights, distance, *lists, cancellation.cancel_flag())


@compiled
def far_remove(far, v):
    """Take v out of the partition it is in."""
    p, before, after = far.partition[v], far.previous[v], far.next[v]
    if before == NOWHERE:
        far.head[p] = after
    else:
        far.next[before] = after
    if after != NOWHERE:
        far.previous[after] = before
    far.partition[v] = NOWHERE
    far.size[p] -= 1


@compiled
def far_place(far, v, p):
    """Put v into partition p, and out of any other."""
    if far.partition[v] == p:
        return
    if far.partition[v] != NOWHERE:
        far_remove(far, v)
    first = far.head[p]
    far.next[v], far.previous[v], far.partition[v] = first, NOWHERE, p
    if first != NOWHERE:
        far.previous[first] = v
    far.head[p] = v
    far.size[p] += 1


@compiled
def begin(search, sources):
    """The sources become the frontier, at distance 0. Returns how many they are."""
    x1 = np.int64(0)
    for s in sources:
        if search.distance[s] != 0:
            search.distance[s] = 0
            search.frontier[x1] = s
            x1 += 1
    return x1


@compiled
def advance_and_filter(search, x1, iteration, cutoff):
    """Relax the arcs of the frontier. Returns X2, the arcs, and X3, the vertices updated."""
    x2, x3 = np.int64(0), np.int64(0)
    for i in range(x1):
        if search.stop[0]:
            break
        u = search.frontier[i]
        so_far = search.distance[u]
        for arc in range(search.indptr[u], search.indptr[u + 1]):
            v = search.indices[arc]
            candidate = so_far + search.weights[arc]
            if candidate < search.distance[v] and candidate <= cutoff:
                search.distance[v] = candidate
                if search.stamp[v] != iteration:
                    search.stamp[v] = iteration
                    search.updated[x3] = v
                    x3 += 1
        x2 += search.indptr[u + 1] - search.indptr[u]
    return x2, x3


@compiled
def nearest(search, x1, infinity):
    """The least distance in the frontier; ``infinity`` if it is empty."""
    least = infinity
    for i in range(x1):
        least = min(least, search.distance[search.frontier[i]])
    return least


@compiled
def nearest_far(search, p, infinity):
    """The least distance in partition p; ``infinity`` if it is empty."""
    least = infinity
    v = search.far.head[p]
    while v != NOWHERE and not search.stop[0]:
        least = min(least, search.distance[v])
        v = search.far.next[v]
    return least


@compiled
def settled(search, targets, first, bound):
    """Whether the targets, or the first of them, are nearer than all that waits."""
    for t in targets:
        if (search.distance[t] < bound) == first:
            return first
    return not first


@compiled
def _bisect_frontier(search, x3, threshold):
    """Updated vertices up to the threshold become the frontier, the others far. Returns X4."""
    x4 = np.int64(0)
    for i in range(x3):
        if search.stop[0]:
            break
        v = search.updated[i]
        if search.distance[v] <= threshold:
            if search.far.partition[v] != NOWHERE:
                far_remove(search.far, v)
            search.frontier[x4] = v
            x4 += 1
        else:
            far_place(search.far, v, 0)
    return x4


@compiled
def _bisect_far_queue(search, threshold):
    """Move the far vertices up to the threshold to the frontier. Returns its size."""
    x1 = np.int64(0)
    v = search.far.head[0]
    while v != NOWHERE and not search.stop[0]:
        after = search.far.next[v]
        if search.distance[v] <= threshold:
            far_remove(search.far, v)
            search.frontier[x1] = v
            x1 += 1
        v = after
    return x1


@compiled
def _iterate(search, state, delta, targets, first_target, cutoff, infinity, row):
    """One iteration; False when it was the last. state: iteration, X1, threshold."""
    iteration, x1, threshold = np.int64(state[0]), np.int64(state[1]), state[2]
    x2, x3 = advance_and_filter(search, x1, iteration, cutoff)
    x4 = _bisect_frontier(search, x3, threshold)
    far = search.far.size[0]
    row[0], row[1], row[2], row[3], row[4], row[7], row[8] = x1, x2, x3, x4, threshold, 1, far
    state[0] += 1
    if x4 > 0:
        if targets.size and settled(search, targets, first_target, nearest(search, x4, infinity)):
            return False
    else:
        if far == 0:
            return False
        least = nearest_far(search, 0, infinity)
        if targets.size and settled(search, targets, first_target, least):
            return False
        # Phase i expands distances up to (i + 1)·delta; empty ones are passed over.
        state[2] = max(threshold + delta, (least // delta + 1) * delta, float(least))
        x4 = _bisect_far_queue(search, state[2])
    state[1] = x4
    return True


def _begun(search: Search, sources: Any, delta: float) -> Any:
    return np.array([0, begin(search, sources), delta], np.float64)


def traced(search: Search, sources: Any, delta: float, *bounds: Any) -> Any:
    """Near-far with a row an iteration; ``bounds`` as ``run`` takes them."""
    state = _begun(search, sources, delta)
    return traces.timed(lambda row: _iterate(search, state, delta, *bounds, row))


def run(
    search: Search, sources: Any, delta: float, targets: Any, first_target: bool, cutoff: Any,
    infinity: Any,
) -> None:  # fmt: skip
    """Near-far to the end, or until the targets (int64, perhaps none) are settled."""
    state, row = _begun(search, sources, delta), np.zeros(traces.COLUMNS)
    _run(search, state, delta, targets, first_target, cutoff, infinity, row)
    cancellation.raise_if_cancelled()


@compiled
def _run(search, state, delta, targets, first_target, cutoff, infinity, row):
    while not search.stop[0] and _iterate(
        search, state, delta, targets, first_target, cutoff, infinity, row
    ):
        pass
