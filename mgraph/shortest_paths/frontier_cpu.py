"""Frontier Dijkstra on one core: settle in rounds all vertices that cannot be improved any more.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 3 to 5, with the economical bound of H. Ortega-Arranz and others (2013). U are the
vertices that are reached and not settled. In each round the frontier F, the vertices of U with d <=
d_min + w_min, is final, d_min being the least tentative distance in U and w_min the least weight in
the graph. With the bound ``vertex``, Ortega-Arranz's own, it is the least d + w over all u of U, w
being the least weight of the arcs of u; that is higher, so that there are fewer rounds.
``frontier_gpu`` gives a vertex (CUDA_N, algorithm 4) or an arc (CUDA_E, algorithm 5) to
a thread; on one core the two differ in what they pass over to find the frontier's arcs: all
vertices, or all arcs. The paper stops with a target in the frontier; here a target must be nearer
than the bound, so that all vertices as near as it are known, too.

Cost: O(n) or O(m) per round; at most one round per vertex, and where w_min is 0 one for each arc of
the longest chain of arcs of weight 0.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled, compiled_without_counts


@compiled_without_counts
def _relax(distance, in_u, length, v, weight, cutoff):
    candidate = length + weight
    if candidate < distance[v] and candidate <= cutoff:
        distance[v] = candidate
        in_u[v] = True


@compiled_without_counts
def _targets_are_settled(distance, targets, stop_at_first, bound):
    """Return whether all targets, or the first of them, are nearer than the bound."""
    for t in targets:
        if (distance[t] < bound) == stop_at_first:
            return stop_at_first
    return not stop_at_first


@compiled
def _find_distances(
    indptr, indices, weights, distance, sources, targets, stop_at_first, cutoff, infinity,
    min_weight, by_arc, row_minima, cancel_flag,
):  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, and return the number of rounds."""
    n = distance.size
    in_u, in_f = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for s in sources:
        distance[s] = 0
        in_u[s] = True
    tails = np.empty(indices.size if by_arc else 0, np.int64)
    if by_arc:
        for u in range(n):
            tails[indptr[u] : indptr[u + 1]] = u
    rounds = np.int64(0)
    while not cancel_flag[0]:
        min_distance, bound = infinity, infinity
        for v in range(n):
            if in_u[v]:
                min_distance = min(min_distance, distance[v])
                if row_minima.size and indptr[v] < indptr[v + 1]:
                    bound = min(bound, distance[v] + row_minima[v])
        if min_distance == infinity:
            return rounds
        if not row_minima.size:
            bound = min_distance + min_weight
        if targets.size and _targets_are_settled(distance, targets, stop_at_first, bound):
            return rounds
        for v in range(n):
            in_f[v] = in_u[v] and distance[v] <= bound
            if in_f[v]:
                in_u[v] = False
        if by_arc:
            for arc in range(indices.size):
                u = tails[arc]
                if in_f[u]:
                    _relax(distance, in_u, distance[u], indices[arc], weights[arc], cutoff)
        else:
            for u in range(n):
                if in_f[u]:
                    if cancel_flag[0]:
                        break
                    for arc in range(indptr[u], indptr[u + 1]):
                        _relax(distance, in_u, distance[u], indices[arc], weights[arc], cutoff)
        rounds += 1
    return rounds


@compiled
def row_minima(indptr, weights, minima):
    """Write the least weight of each row with arcs."""
    for v in range(minima.size):
        if indptr[v] < indptr[v + 1]:
            minima[v] = weights[indptr[v]]
            for arc in range(indptr[v] + 1, indptr[v + 1]):
                minima[v] = min(minima[v], weights[arc])


def find_distances(*arguments: Any) -> int:
    """Fill ``distance``, which holds ``infinity``, and return the number of rounds.

    arguments: indptr, indices, weights, distance, sources, targets, stop_at_first, cutoff,
    infinity, the graph's least weight, whether to pass over all arcs, else all vertices, and the
    least weight of each row, or an empty array for the graph's bound.
    """
    rounds = int(_find_distances(*arguments, cancellation.cancel_flag()))
    cancellation.raise_if_cancelled()
    return rounds
