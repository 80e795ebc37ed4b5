"""Shortest paths by plain, slow code: passes over all arcs until none improves a distance.

It uses Python's integers and floats, so sums of fractional weights are float64's, in the path's
order.
"""

import math

import numpy as np


def arcs_of(graph):
    """List the arcs as (u, v, weight)."""
    weights = [1] * graph.num_arcs if graph.weights is None else graph.weights.tolist()
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr)).tolist()
    return list(zip(tails, graph.indices.tolist(), weights, strict=True))


def distances(graph, sources):
    """Return distances from the nearest of the sources; infinity where there is no path."""
    arcs, distance = arcs_of(graph), [math.inf] * graph.n
    for source in sources:
        distance[source] = 0
    improved = True
    while improved:
        improved = False
        for u, v, weight in arcs:
            if distance[u] + weight < distance[v]:
                distance[v] = distance[u] + weight
                improved = True
    return distance


def within(distance, targets, stop_at_first, cutoff):
    """Return distances up to the cutoff, and up to the farthest or nearest target if any."""
    limit = math.inf if cutoff is None else cutoff
    kept = [d if d <= limit else math.inf for d in distance]
    if targets is not None:
        bound = (min if stop_at_first else max)(kept[t] for t in targets)
        kept = [d if d <= bound else math.inf for d in kept]
    return kept


def predecessors(graph, distance, sources):
    """Return the smallest nearer vertex from which a shortest path comes, else one level's.

    Vertices to which only arcs lead that add nothing form levels, each reached from the one before.
    """
    tight = [
        (u, v)
        for u, v, weight in arcs_of(graph)
        if distance[u] < math.inf and distance[u] + weight == distance[v] and v not in sources
    ]
    predecessor = {}
    for u, v in tight:
        if distance[u] < distance[v]:
            predecessor[v] = min(u, predecessor.get(v, u))
    reached = {*predecessor, *sources}
    while True:
        level = {}
        for u, v in tight:
            if u in reached and v not in reached:
                level[v] = min(u, level.get(v, u))
        if not level:
            return [predecessor.get(v, -1) for v in range(graph.n)]
        predecessor |= level
        reached |= {*level}
