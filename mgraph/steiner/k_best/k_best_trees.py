"""The front door of the k best trees."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.errors import DisconnectedError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner import tree_cpu
from mgraph.steiner.directed.checks import check_time_limit
from mgraph.steiner.groups import group_search
from mgraph.steiner.groups.group_queries import NO_TREE, GroupQuery, to_result
from mgraph.steiner.groups.group_search import Found
from mgraph.steiner.groups.lengths import choose_units
from mgraph.steiner.improvement.conversion import cost_of
from mgraph.steiner.k_best.partition import Answers
from mgraph.steiner.prepared import prepare
from mgraph.steiner.result import SteinerTree

MAX_GROUPS = 8
_MAX_STATES = 1 << 26
_COST_FACTOR = 1 << 8  # trees that cost so many times as much as the best are not found


def k_best_steiner_trees(
    graph: Graph | Any,
    terminals: Sequence[Any],
    k: int,
    *,
    time_limit: float | None = None,
) -> list[SteinerTree]:
    """Find the k cheapest trees that hold all terminals.

    Trees are distinct, and minimal: without any of its leaves a tree would lack a terminal.

    Parameters
    ----------
    graph : Graph, or what becomes one
        See ``steiner_tree``: undirected, with weights of at least 0.
    terminals : sequence of int, or of array_like of int
        The vertices that trees must hold, or groups of which they must hold a vertex each (see
        ``group_steiner_tree``): up to 8 that differ.
    k : int
        The number of trees.
    time_limit : float, optional
        Seconds after which those found so far are returned, with ``complete=False``.

    Returns
    -------
    list of SteinerTree
        In the order of their costs; fewer than k if there are no more. ``lower_bound`` is the cost
        of the first, so that ``gap`` says how much dearer a tree is. Without weights of 0; edges of
        weight 0 are used as they come, and trees that differ by them alone count as one.

    Raises
    ------
    UsageError
        If an option is wrong, a vertex is not in the graph, or the graph is directed, lacks the
        mirror of an arc or has negative weights.
    DisconnectedError
        If no tree holds all terminals.

    Notes
    -----
    It runs on a CPU. For each tree that is returned there are as many searches as it has edges, by
    dynamic programming over sets of terminals, of what lies within a tree's cost from them; so it
    is quick for up to 4 terminals, or in graphs where trees are cheap beside the graph's size.

    Sources: E. L. Lawler (1972); B. Kimelfeld, Y. Sagiv, "Finding and approximating top-k answers
    in keyword proximity search" (2006).

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 0, 2, 0], [1, 3, 2, 3, 3], [1, 1, 1, 2, 5])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> [tree.cost for tree in mgraph.k_best_steiner_trees(graph, [0, 3], 5)]
    [2, 3, 5]
    """
    if not isinstance(k, int) or k < 1:
        raise UsageError(f"k must be a whole number above 0 (got {k!r})")
    check_time_limit(time_limit)
    prepared = prepare(as_graph(graph, directed=False))
    groups = []
    for i, group in enumerate(as_list("terminals", terminals)):
        groups.append(np.unique(checked_vertices(f"terminal {i}", group, prepared.n)))
        if not groups[i].size:
            raise UsageError(f"terminal {i} must hold at least one vertex (got none)")
    if not groups:
        raise UsageError("terminals must hold at least one vertex (got none)")
    query = GroupQuery.prepare(prepared, groups)
    if len(query.needed) > MAX_GROUPS:
        raise UsageError(f"terminals must be {MAX_GROUPS} at most (got {len(query.needed)})")
    deadline = Deadline(math.inf if time_limit is None else time_limit)
    found = _find(prepared, query.needed, k, deadline)
    if not found:
        raise DisconnectedError(NO_TREE)
    trees = [
        to_result(
            prepared, groups, Found(tree, cost_of(found[0]), False), "dreyfus_wagner", {},
            not deadline.is_over, "cpu",
        )
        for tree in found
    ]  # fmt: skip
    return sorted(trees, key=lambda tree: tree.cost)


def _find(graph: Any, groups: list[Any], k: int, deadline: Deadline) -> list[Any]:
    """Return the trees of the contracted graph, as ``tree_cpu.Tree``."""
    csr = graph.csr
    no_weight = np.empty(0, graph.cost_dtype)
    if len(groups) == 1:
        alone = [groups[0][i : i + 1] for i in range(min(k, groups[0].size))]
        return [tree_cpu.from_edges(v[:0], v[:0], no_weight, v) for v in alone]
    first = group_search.solve(graph, groups, Deadline(), _MAX_STATES)
    if first.tree is None:
        return []
    search = group_search.cpu_search(graph)
    cost = cost_of(first.tree) or search.facts.largest
    units = choose_units(search.facts, _COST_FACTOR * cost)
    lengths = units.write(*csr)
    trees = []
    with deadline.raising_flag() as flag:

        def best_from(starts: Any) -> tuple[int | None, list[tuple[int, int, int]], int]:
            found = search.find_arcs(lengths, [starts, *groups[1:]], _MAX_STATES, flag)
            heads = csr[1][found.arcs].tolist()
            arcs = list(zip(found.tails.tolist(), heads, found.arcs.tolist(), strict=True))
            return found.length, arcs, -1 if found.length is None else int(found.chosen[0])

        answers = Answers(csr[0], csr[1].astype(np.int64), lengths, groups, flag)
        for start, arcs in answers.run(best_from):
            numbers = np.array([arc for *_, arc in arcs], np.int64)
            heads, weights = csr[1][numbers].astype(np.int64), csr[2][numbers]
            tails = np.searchsorted(csr[0], numbers, side="right") - 1
            vertices = np.unique(np.concatenate([[start], tails, heads]))
            weight = weights.astype(graph.cost_dtype)
            trees.append(tree_cpu.from_edges(tails, heads, weight, vertices))
            if len(trees) == k:
                break
    cancellation.raise_if_cancelled()
    return trees or [first.tree]
