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


@compiled
def _advance(indptr, heads, queue, first, end, near, far):
    """Visit a level's neighbours; return one that the other search has seen, or -1, and the end.

    near, far: of the own and the other search, each node's neighbour on the way to its source,
    plus 2; 1 for the source, and 0 for a node that is not seen.
    """
    stop = end
    for i in range(first, stop):
        for at in range(indptr[queue[i]], indptr[queue[i] + 1]):
            u = heads[at]
            if near[u] == 0:
                near[u] = queue[i] + 2
                if far[u]:
                    return u, end
                queue[end] = u
                end += 1
    return -1, end


@compiled
def _meet(indptr, heads, from_indptr, from_heads, source, target, before, after):
    """Search from both ends, the smaller level first; return a node where they meet, or -1."""
    forth, back = np.empty_like(before), np.empty_like(after)
    forth[0], back[0] = source, target
    before[source], after[target] = 1, 1
    forth_first, forth_end, back_first, back_end = 0, 1, 0, 1
    while forth_first < forth_end and back_first < back_end:
        if forth_end - forth_first <= back_end - back_first:
            first, forth_first = forth_first, forth_end
            met, forth_end = _advance(indptr, heads, forth, first, forth_end, before, after)
        else:
            first, back_first = back_first, back_end
            met, back_end = _advance(from_indptr, from_heads, back, first, back_end, after, before)
        if met >= 0:
            return met
    return -1


def path_between(
    rows: tuple[np.ndarray, np.ndarray],
    reversed_rows: tuple[np.ndarray, np.ndarray],
    source: int,
    target: int,
) -> list[int] | None:
    """Return the nodes of a path of fewest edges, or None; the search is from both ends."""
    if source == target:
        return [source]
    n = rows[0].size - 1
    before, after = np.zeros(n, np.int64), np.zeros(n, np.int64)
    met = int(_meet(*rows, *reversed_rows, source, target, before, after))
    if met < 0:
        return None
    path = [met]
    while before[path[-1]] > 1:
        path.append(int(before[path[-1]]) - 2)
    path.reverse()
    while after[path[-1]] > 1:
        path.append(int(after[path[-1]]) - 2)
    return path


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
