"""Breadth-first search in the order of NetworkX: neighbours as they stand in a row."""

from typing import Any

import numpy as np

from mgraph.core.compiled import compiled


@compiled
def _search(indptr, heads, queue, sources, limit, depth, parent):
    """Search from the first ``sources`` of the queue; return how many nodes are reached."""
    end = sources
    for i in range(sources):
        depth[queue[i]] = 0
    first = 0
    while first < end:
        v = queue[first]
        first += 1
        if depth[v] == limit:
            break
        for at in range(indptr[v], indptr[v + 1]):
            u = heads[at]
            if depth[u] < 0:
                depth[u] = depth[v] + 1
                parent[u] = v
                queue[end] = u
                end += 1
    return end


def search(
    rows: tuple[np.ndarray, np.ndarray], sources: list[int], limit: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes in the order in which they are reached, their depths and parents.

    sources: different nodes, which have the parent -1. limit: the greatest depth. Depths and
    parents are of all nodes, -1 where a node is not reached.
    """
    indptr, heads = rows
    n = indptr.size - 1
    queue: Any = np.empty(n, heads.dtype)
    queue[: len(sources)] = sources
    depth, parent = np.full(n, -1, heads.dtype), np.full(n, -1, heads.dtype)
    count = _search(indptr, heads, queue, len(sources), limit, depth, parent)
    return queue[:count], depth, parent
