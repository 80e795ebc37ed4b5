"""Plain and slow: shortest paths by passes over all arcs until none shortens anything.

Python's integers and floats, so sums of fractional weights are float64's, in the order of the path.
"""

import math

import numpy as np


def arcs_of(graph):
    """Each arc as (u, v, weight)."""
    weights = [1] * graph.num_arcs if graph.weights is None else graph.weights.tolist()
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr)).tolist()
    return list(zip(tails, graph.indices.tolist(), weights, strict=True))


def distances(graph, sources):
    """From the nearest of the sources; infinity where there is no path."""
    arcs, distance = arcs_of(graph), [math.inf] * graph.n
    for source in sources:
        distance[source] = 0
    shorter = True
    while shorter:
        shorter = False
        for u, v, weight in arcs:
            if distance[u] + weight < distance[v]:
                distance[v] = distance[u] + weight
                shorter = True
    return distance


def within(distance, targets, first, cutoff):
    """The distances up to the cutoff, and up to the farthest or first of the targets, if any."""
    limit = math.inf if cutoff is None else cutoff
    found = [d if d <= limit else math.inf for d in distance]
    if targets is not None:
        bound = (min if first else max)(found[t] for t in targets)
        found = [d if d <= bound else math.inf for d in found]
    return found


def predecessors(graph, distance, sources):
    """The least vertex nearer to the source from which a shortest path comes, else by levels.

    Where only arcs that add nothing lead to a vertex, a level is reached from the one before.
    """
    tight = [
        (u, v)
        for u, v, weight in arcs_of(graph)
        if distance[u] < math.inf and distance[u] + weight == distance[v] and v not in sources
    ]
    found = {}
    for u, v in tight:
        if distance[u] < distance[v]:
            found[v] = min(u, found.get(v, u))
    reached = {*found, *sources}
    while True:
        level = {}
        for u, v in tight:
            if u in reached and v not in reached:
                level[v] = min(u, level.get(v, u))
        if not level:
            return [found.get(v, -1) for v in range(graph.n)]
        found |= level
        reached |= {*level}
