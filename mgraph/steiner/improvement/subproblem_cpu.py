"""Smaller problems within a problem: part of a tree is kept, and the rest is solved again.

The kept edges are contracted: what they connect becomes one terminal. Of the other edges some are
left as candidates. A tree of the smaller problem together with the kept edges is a tree of the
problem. So of two trees the edges that both have are kept, and those of either are the candidates.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement import network_cpu
from mgraph.steiner.improvement.network_cpu import Network


class Subproblem(NamedTuple):
    """A smaller problem. edge: for each of its edges that of the problem; kept: the kept edges.

    tree: the edges of the smaller problem that a given tree of the problem has.
    """

    network: Network
    weight: Any
    edge: Any
    kept: Any
    tree: Any


@compiled_when_hot
def _number_vertices(kept, candidates, ends, is_terminal, parent, number):
    """Return the ends of the candidates as numbers of contracted vertices, and the terminals.

    Terminals are those of the problem and what kept edges connect.
    """
    for e in kept:
        first, second = root(parent, np.int64(ends[e, 0])), root(parent, np.int64(ends[e, 1]))
        parent[first] = second
    count = 0
    is_needed = np.zeros(2 * (kept.size + candidates.size), np.bool_)
    for group in (kept, candidates):
        for e in group:
            for side in range(2):
                x = np.int64(ends[e, side])
                r = root(parent, x)
                if number[r] < 0:
                    number[r] = count
                    count += 1
                if parent[x] != x or is_terminal[x]:
                    is_needed[number[r]] = True
    contracted = np.empty((candidates.size, 2), np.int64)
    for i in range(candidates.size):
        for side in range(2):
            contracted[i, side] = number[root(parent, np.int64(ends[candidates[i], side]))]
    for group in (kept, candidates):
        for e in group:
            for side in range(2):
                number[root(parent, np.int64(ends[e, side]))] = -1
    for group in (kept, candidates):
        for e in group:
            parent[ends[e, 0]], parent[ends[e, 1]] = ends[e, 0], ends[e, 1]
    return contracted, is_needed[:count]


def contract(
    network: Network, weight: Any, kept: Any, candidates: Any, tree: Any, work: Any
) -> Subproblem:
    """Return the problem in which the kept edges are contracted; of the others some are candidates.

    kept: edge ids, a forest. tree: ascending edge ids, kept ones and candidates.
    """
    contracted, is_terminal = _number_vertices(
        kept, candidates, network.ends, network.is_terminal, work.parent, work.position
    )
    low, high = contracted.min(axis=1), contracted.max(axis=1)
    key = low * is_terminal.size + high
    order = np.lexsort((weight[candidates], key))
    is_first = np.ones(order.size, bool)
    is_first[1:] = key[order[1:]] != key[order[:-1]]
    # Of parallel candidates the lightest remains, and stands for the others.
    lightest = order[is_first]
    stands_for = np.empty(order.size, np.int64)
    stands_for[order] = lightest[np.cumsum(is_first) - 1]
    remaining = np.sort(lightest[low[lightest] != high[lightest]])
    is_in_tree = np.isin(candidates, tree, assume_unique=True)
    part = np.unique(np.searchsorted(remaining, stands_for[is_in_tree]))
    smaller = network_cpu.build(
        is_terminal.size, low[remaining], high[remaining], np.flatnonzero(is_terminal)
    )
    edge = candidates[remaining]
    return Subproblem(smaller, weight[edge], edge, kept, part)


def differences(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the edges that both trees have, and those that one of them has; both ascending."""
    return np.intersect1d(first, second, True), np.setxor1d(first, second, True)


def extend(problem: Subproblem, tree: Any) -> Any:
    """Return the tree of the problem that a tree of the subproblem stands for."""
    return np.sort(np.concatenate([problem.kept, problem.edge[tree]]))
