"""Predecessors from distances: of the vertices that a shortest path may come from, the least.

Searches do not keep predecessors, since which of several equal paths is found first depends on the
order of work. The tight arcs (u, v), d(u) + w = d(v), tell all of them, and taking the least u
makes the answer the same for every method, backend and number of workers. Where d(u) = d(v), which
an arc of weight 0 allows (or one too light for the float's digits), such a choice could go in a
circle; so first come arcs with d(u) < d(v), then, for the vertices left over, breadth-first search
along arcs of no length from those that have their predecessor, level by level.

Cost: O(n + m).
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled


def run(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, infinity: Any,
    predecessor: Any,
) -> None:  # fmt: skip
    """Fill ``predecessor`` (int32 or int64, (n,)); -1 for sources and unreached vertices."""
    stop = cancellation.cancel_flag()
    left = _take_nearer(indptr, indices, weights, distance, infinity, predecessor, stop)
    cancellation.raise_if_cancelled()
    if left > len(sources):
        tails, heads = _arcs_of_no_length(
            indptr, indices, weights, distance, infinity, predecessor, stop
        )
        cancellation.raise_if_cancelled()
        follow(tails, heads, sources, predecessor)


@compiled
def _take_nearer(indptr, indices, weights, distance, infinity, predecessor, stop):
    """From tight arcs that lead farther away; returns the reached vertices left without."""
    predecessor[:] = -1
    n = distance.size
    left = np.int64(0)
    for u in range(n):
        if stop[0]:
            break
        if distance[u] == infinity:
            continue
        left += 1
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            # u ascends, so the first is the least
            if (
                predecessor[v] < 0
                and distance[u] < distance[v]
                and distance[u] + weights[arc] == distance[v]
            ):
                predecessor[v] = u
    for v in range(n):
        left -= predecessor[v] >= 0
    return left


@compiled
def _arcs_of_no_length(indptr, indices, weights, distance, infinity, predecessor, stop):
    """The tight arcs to vertices without predecessor, as two arrays."""
    tails, heads = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for u in range(distance.size):
        if stop[0]:
            break
        if distance[u] == infinity:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if predecessor[v] < 0 and distance[u] + weights[arc] == distance[v]:
                tails.append(np.int64(u))
                heads.append(np.int64(v))
    return np.array(tails), np.array(heads)


def follow(tails: Any, heads: Any, sources: Any, predecessor: Any) -> None:
    """Give vertices along arcs of no length their predecessor, level by level.

    tails, heads: int64, the arcs to vertices that have none, sources among them. Levels count from
    the sources and the vertices that have one.
    """
    order = np.argsort(tails, kind="stable")
    _follow(tails[order], heads[order], sources, predecessor, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()


@compiled
def _follow(tails, heads, sources, predecessor, stop):
    level = np.where(predecessor >= 0, 0, -1)
    for s in sources:
        level[s] = 0
    queue = np.empty(level.size, np.int64)
    waiting = np.int64(0)
    for i in range(tails.size):
        if level[tails[i]] == 0 and (i == 0 or tails[i] != tails[i - 1]):
            queue[waiting] = tails[i]
            waiting += 1
    done = np.int64(0)
    while done < waiting and not stop[0]:
        u = queue[done]
        done += 1
        for i in range(np.searchsorted(tails, u), tails.size):
            if tails[i] != u:
                break
            v = heads[i]
            if level[v] < 0:
                level[v] = level[u] + 1
                predecessor[v] = u
                queue[waiting] = v
                waiting += 1
            elif level[v] == level[u] + 1:
                predecessor[v] = min(predecessor[v], u)
