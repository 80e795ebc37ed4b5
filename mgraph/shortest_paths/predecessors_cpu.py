"""Predecessors from distances: of the vertices that a shortest path may come from, the least.

Searches do not keep predecessors, since which of several equal paths is found first depends on the
order of work. The tight arcs (u, v), d(u) + w = d(v), tell all of them, and taking the least u
makes the answer the same for every method, backend and number of workers. Where d(u) = d(v), which
an arc of weight 0 allows (or one too light for the float's digits), such a choice could go in a
circle; so first come arcs with d(u) < d(v), then, for the vertices left over, breadth-first search
along arcs of no length from those that have their predecessor, level by level.

Cost: O(n + m), and a pass over the arcs for each level of the second stage.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def run(indptr, indices, weights, distance, sources, infinity, predecessor):
    """Fill ``predecessor`` (int32 or int64, (n,)); -1 for sources and unreached vertices."""
    predecessor[:] = -1
    n = distance.size
    for u in range(n):
        if distance[u] == infinity:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            # u ascends, so the first is the least
            if (
                predecessor[v] < 0
                and distance[u] < distance[v]
                and distance[u] + weights[arc] == distance[v]
            ):
                predecessor[v] = u
    level = np.full(n, -1, np.int32)
    for s in sources:
        level[s] = 0
    left = np.int64(0)
    for v in range(n):
        if predecessor[v] >= 0:
            level[v] = 0
        left += level[v] < 0 and distance[v] != infinity
    depth = np.int32(0)
    while left > 0:
        before = left
        for u in range(n):
            if level[u] != depth or distance[u] == infinity:
                continue
            for arc in range(indptr[u], indptr[u + 1]):
                v = indices[arc]
                if level[v] < 0 and distance[u] + weights[arc] == distance[v]:
                    level[v] = depth + 1
                    predecessor[v] = u
                    left -= 1
        depth += np.int32(1)
        if left == before:
            break
