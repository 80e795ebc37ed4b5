"""Frontier Dijkstra on one core: settle every vertex that nothing can reach sooner, in rounds.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 3 to 5, with the bound of H. Ortega-Arranz and others (2013): in each round the unsettled
vertices with d <= d_min + w_min are final, d_min being the least tentative distance among them and
w_min the least weight in the graph. ``frontier_gpu`` gives a vertex (algorithm 4) or an arc
(algorithm 5) to a thread; on one core the two differ in what they pass over to find the frontier:
all vertices, or all arcs. The paper stops with a target in the frontier; here it must be nearer
than the bound, so that all vertices as near as it are known, too.
Cost: O(n) or O(m) a round; at most one round a vertex, and where w_min is 0 one for each arc of
the longest chain of weight 0 on the way.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled


@compiled
def _relax(distance, waiting, d, v, weight, cutoff):
    candidate = d + weight
    if candidate < distance[v] and candidate <= cutoff:
        distance[v] = candidate
        waiting[v] = True


@compiled
def _run(
    indptr, indices, weights, distance, sources, targets, first_target, cutoff, infinity,
    least_weight, by_arc, stop,
):  # fmt: skip
    """Fill ``distance``, which holds ``infinity``. Returns the rounds; targets stop it early.

    stop: ends early, too, once its first element is not 0.
    """
    n = distance.size
    waiting, frontier = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for s in sources:
        distance[s] = 0
        waiting[s] = True
    tails = np.empty(indices.size if by_arc else 0, np.int64)
    if by_arc:
        for u in range(n):
            tails[indptr[u] : indptr[u + 1]] = u
    rounds = np.int64(0)
    while not stop[0]:
        least = infinity
        for v in range(n):
            if waiting[v]:
                least = min(least, distance[v])
        if least == infinity:
            return rounds
        bound = least + least_weight
        left = targets.size > 0
        for t in targets:
            if distance[t] < bound:
                left = False
                if first_target:
                    break
            elif not first_target:
                left = True
                break
        if targets.size and not left:
            return rounds
        for v in range(n):
            frontier[v] = waiting[v] and distance[v] <= bound
            if frontier[v]:
                waiting[v] = False
        if by_arc:
            for arc in range(indices.size):
                u = tails[arc]
                if frontier[u]:
                    _relax(distance, waiting, distance[u], indices[arc], weights[arc], cutoff)
        else:
            for u in range(n):
                if frontier[u]:
                    if stop[0]:
                        break
                    for arc in range(indptr[u], indptr[u + 1]):
                        _relax(distance, waiting, distance[u], indices[arc], weights[arc], cutoff)
        rounds += 1
    return rounds


def run(*search: Any) -> int:
    """Fill ``distance``, which holds ``infinity``. Returns the rounds; targets stop it early.

    search: indptr, indices, weights, distance, sources, targets, whether the first of them is
    enough, cutoff, infinity, the least weight, and whether arcs are passed over, else vertices.
    """
    rounds = int(_run(*search, cancellation.cancel_flag()))
    cancellation.raise_if_cancelled()
    return rounds
