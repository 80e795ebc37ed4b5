"""Near-far on one core: the four stages of an iteration, each a function, and the plain loop.

Source: A. Davidson, S. Baxter, M. Garland, J. Owens, "Work-efficient parallel GPU methods for
single-source shortest paths" (IPDPS 2014), as section 3 of S. Karamati, J. Young, R. Vuduc, "An
energy-efficient single-source shortest path algorithm" (IPDPS 2018) tells it. Beside Dijkstra it
needs no heap: vertices up to a threshold are expanded in any order, a few of them twice.

The far queue is a doubly linked list through the vertices, so that a vertex stands in it once and
leaves it in O(1), and nothing grows. It may have several partitions (``self_tuning_cpu``); near-far
uses one. Cost: O(n) memory, an arc is relaxed once for each time its tail is expanded.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

NOWHERE = -1


class Far(NamedTuple):
    """The far queue: lists through the vertices, partition i's beginning at ``head[i]``."""

    head: Any
    size: Any
    next: Any
    previous: Any
    partition: Any


class Search(NamedTuple):
    """The arrays of one search. ``stamp[v]``: the last iteration that updated v."""

    indptr: Any
    indices: Any
    weights: Any
    distance: Any
    stamp: Any
    far: Far


def new_search(graph: Any, weights: Any, distance: Any, partitions: int = 1) -> Search:
    """Arrays for a search whose ``distance`` is initialised; O(n)."""
    n = graph.n
    far = Far(
        np.full(partitions, NOWHERE, np.int64),
        np.zeros(partitions, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(n, NOWHERE, np.int16),
    )
    return Search(graph.indptr, graph.indices, weights, distance, np.full(n, -1, np.int64), far)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def far_place(far, v, p):
    """Put v into partition p, out of any other."""
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


@njit(cache=True, nogil=True)
def advance_and_filter(search, frontier, x1, iteration, cutoff, updated):
    """Relax the arcs of the frontier. Returns X2, the arcs, and X3, the vertices updated."""
    x2, x3 = np.int64(0), np.int64(0)
    for i in range(x1):
        u = frontier[i]
        near = search.distance[u]
        for arc in range(search.indptr[u], search.indptr[u + 1]):
            v = search.indices[arc]
            candidate = near + search.weights[arc]
            if candidate < search.distance[v] and candidate <= cutoff:
                search.distance[v] = candidate
                if search.stamp[v] != iteration:
                    search.stamp[v] = iteration
                    updated[x3] = v
                    x3 += 1
        x2 += search.indptr[u + 1] - search.indptr[u]
    return x2, x3


@njit(cache=True, nogil=True)
def bisect_frontier(search, updated, x3, threshold, frontier):
    """Updated vertices up to the threshold become the frontier, the others far. Returns X4."""
    x4 = np.int64(0)
    for i in range(x3):
        v = updated[i]
        if search.distance[v] <= threshold:
            if search.far.partition[v] != NOWHERE:
                far_remove(search.far, v)
            frontier[x4] = v
            x4 += 1
        else:
            far_place(search.far, v, 0)
    return x4


@njit(cache=True, nogil=True)
def bisect_far_queue(search, p, threshold, frontier, x1):
    """Move partition p's vertices up to the threshold to the frontier. Returns its new size."""
    v = search.far.head[p]
    while v != NOWHERE:
        after = search.far.next[v]
        if search.distance[v] <= threshold:
            far_remove(search.far, v)
            frontier[x1] = v
            x1 += 1
        v = after
    return x1


@njit(cache=True, nogil=True)
def nearest_far(search, p, infinity):
    """The least distance in partition p, or ``infinity``."""
    least = infinity
    v = search.far.head[p]
    while v != NOWHERE:
        least = min(least, search.distance[v])
        v = search.far.next[v]
    return least
