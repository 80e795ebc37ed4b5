"""Predecessors from distances: the smallest vertex from which a shortest path may come.

Searches keep no predecessors, since which of several shortest paths is found first depends on the
order of work. The tight arcs (u, v), with d(u) + w = d(v), are the last arcs of all shortest paths,
and taking the smallest u makes the answer the same for every method, backend and number of workers.
Where d(u) = d(v), because the weight is 0 or too small for the float's digits, that choice could
close a cycle. So arcs with d(u) < d(v) come first; then breadth-first search follows the arcs that
add nothing, level by level, from the vertices that have a predecessor to those that have none.

Cost: O(n + m).
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled, compiled_without_counts


def find_predecessors(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, infinity: Any,
    predecessor: Any,
) -> None:  # fmt: skip
    """Fill ``predecessor`` (int32 or int64, (n,)); -1 for sources and unreached vertices."""
    csr, cancel_flag = (indptr, indices, weights), cancellation.cancel_flag()
    missing = _find_nearer(*csr, distance, infinity, predecessor, cancel_flag)
    cancellation.raise_if_cancelled()
    if missing > len(sources):
        tails, heads = _find_zero_arcs(*csr, distance, infinity, predecessor, cancel_flag)
        cancellation.raise_if_cancelled()
        follow_zero_arcs(tails, heads, sources, predecessor)


@compiled_without_counts
def _find_nearer(indptr, indices, weights, distance, infinity, predecessor, cancel_flag):
    """Take predecessors along tight arcs to vertices strictly farther away.

    Returns the number of reached vertices that have none.
    """
    predecessor[:] = -1
    n = distance.size
    missing = np.int64(0)
    for u in range(n):
        if cancel_flag[0]:
            break
        if distance[u] == infinity:
            continue
        missing += 1
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            # u ascends, so the first one is the smallest.
            if (
                predecessor[v] < 0
                and distance[u] < distance[v]
                and distance[u] + weights[arc] == distance[v]
            ):
                predecessor[v] = u
    for v in range(n):
        missing -= predecessor[v] >= 0
    return missing


@compiled
def _find_zero_arcs(indptr, indices, weights, distance, infinity, predecessor, cancel_flag):
    """Return the tight arcs to vertices without a predecessor, as arrays of tails and heads."""
    tails, heads = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for u in range(distance.size):
        if cancel_flag[0]:
            break
        if distance[u] == infinity:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if predecessor[v] < 0 and distance[u] + weights[arc] == distance[v]:
                tails.append(np.int64(u))
                heads.append(np.int64(v))
    return np.array(tails), np.array(heads)


def follow_zero_arcs(tails: Any, heads: Any, sources: Any, predecessor: Any) -> None:
    """Give predecessors to vertices that only arcs that add nothing lead to, level by level.

    tails, heads: int64, the tight arcs to vertices without a predecessor, which include the
    sources. Level 0 are the sources and the vertices with a predecessor.
    """
    order = np.argsort(tails, kind="stable")
    _follow_by_level(tails[order], heads[order], sources, predecessor, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()


@compiled
def _follow_by_level(tails, heads, sources, predecessor, cancel_flag):
    level = np.where(predecessor >= 0, 0, -1)
    for s in sources:
        level[s] = 0
    queue = np.empty(level.size, np.int64)
    queued = np.int64(0)
    for i in range(tails.size):
        if level[tails[i]] == 0 and (i == 0 or tails[i] != tails[i - 1]):
            queue[queued] = tails[i]
            queued += 1
    done = np.int64(0)
    while done < queued and not cancel_flag[0]:
        u = queue[done]
        done += 1
        for i in range(np.searchsorted(tails, u), tails.size):
            if tails[i] != u:
                break
            v = heads[i]
            if level[v] < 0:
                level[v] = level[u] + 1
                predecessor[v] = u
                queue[queued] = v
                queued += 1
            elif level[v] == level[u] + 1:
                predecessor[v] = min(predecessor[v], u)
