"""The front doors of arborescences, and of trees whose vertices have weights."""

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core import cancellation
from mgraph.core.arrays import checked_vertices
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.errors import DisconnectedError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.shortest_paths.problem import length_dtype
from mgraph.steiner.directed import search as searches
from mgraph.steiner.directed.checks import (
    check_time_limit,
    checked_vertex_weights,
    total_of,
    weights_of,
)
from mgraph.steiner.directed.problem import Problem, build, choose_scale
from mgraph.steiner.directed.search import MAX_TERMINALS, Search
from mgraph.steiner.prepared import prepare
from mgraph.steiner.result import SteinerTree


def steiner_arborescence(
    graph: Graph | Any,
    root: int,
    terminals: ArrayLike,
    *,
    improve: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """Find a tree of low cost whose arcs lead from a root to all terminals.

    Parameters
    ----------
    graph : Graph, or what becomes one
        See ``steiner_tree``. Directed, or undirected: then an edge may be used either way. Weights
        of at least 0; without weights each arc counts 1.
    root : int
        The vertex that the arcs lead away from.
    terminals : int or array_like of int
        The vertices that the tree must reach.
    improve : bool, default False
        Search on for better trees and bounds, until the tree is proved to be the best, the time
        limit is over, or without one after some rounds without a gain.
    time_limit : float, optional
        Seconds after which the best tree so far is returned, with ``complete=False``.

    Returns
    -------
    SteinerTree
        With ``root``, and a lower bound.

    Raises
    ------
    UsageError
        If an option is wrong, a vertex is not in the graph, or weights are negative.
    DisconnectedError
        If no path leads from the root to a terminal.

    See Also
    --------
    steiner_tree : The same in undirected graphs, where there is more to choose from.

    Notes
    -----
    For up to 12 terminals dynamic programming finds the best tree, where that takes no more than a
    second or so. Else a tree grows from the root to the nearest terminal each time, paths are
    exchanged for shorter ones, and a dual ascent gives the bound. It runs on a CPU. Deterministic,
    but for a time limit. Cost: a search of the whole graph for each tree.

    Sources: R. T. Wong, "A dual ascent approach for Steiner tree problems on a directed graph"
    (1984); H. Takahashi, A. Matsuyama (1980); S. E. Dreyfus, R. A. Wagner (1971).

    Examples
    --------
    >>> arcs = mgraph.EdgeList([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [2, 3, 5, 1, 3])
    >>> graph = mgraph.from_edges(arcs, directed=True, backend="cpu")
    >>> tree = mgraph.steiner_arborescence(graph, 0, [1, 3])
    >>> tree.src, tree.dst, tree.cost, tree.optimal
    (array([0, 0, 2]), array([1, 2, 3]), 6, True)
    """
    check_time_limit(time_limit)
    graph = as_graph(graph, directed=True, backend="cpu").to_cpu()
    length_dtype(graph)  # raises for weights that are negative, not finite or too large
    distinct = np.unique(checked_vertices("terminals", terminals, graph.n))
    (top,) = checked_vertices("root", root, graph.n)[:1]
    if not distinct.size:
        raise UsageError("terminals must hold at least one vertex (got none)")
    weights = weights_of(graph)
    problem = build(graph.indptr, graph.indices, int(top), distinct)
    solution = solve(problem, weights, improve, time_limit)
    if solution is None:
        raise DisconnectedError(_no_path(graph, problem))
    arcs = solution.arcs
    order = np.lexsort((problem.heads[arcs], problem.tails[arcs]))
    arcs = arcs[order]
    return SteinerTree(
        terminals=distinct,
        src=problem.tails[arcs],
        dst=problem.heads[arcs],
        weight=weights[arcs],
        cost=total_of(weights[arcs]),
        lower_bound=solution.bound,
        root=problem.root,
        labels=graph.labels,
        **solution.facts,
    )


def node_weighted_steiner_tree(
    graph: Graph | Any,
    terminals: ArrayLike,
    vertex_weights: ArrayLike,
    *,
    improve: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """Find a tree of low cost that holds all terminals, where vertices cost something, too.

    Parameters
    ----------
    graph : Graph, or what becomes one
        See ``steiner_tree``: undirected, with weights of at least 0.
    terminals : int or array_like of int
        The vertices that the tree must hold.
    vertex_weights : array_like of int or float, shape (n,)
        What each vertex costs, at least 0. Those of terminals count as well.
    improve, time_limit
        See ``steiner_arborescence``.

    Returns
    -------
    SteinerTree
        ``cost`` is the sum of the weights of edges and vertices, of which ``vertex_cost`` is that
        of the vertices.

    Raises
    ------
    UsageError
        If an option is wrong, a vertex is not in the graph, or weights are negative or too few.
    DisconnectedError
        If the terminals lie in different components.

    Notes
    -----
    The tree is a ``steiner_arborescence`` from a terminal, in which an arc costs its own weight and
    that of the vertex it leads to. In general no algorithm that is fast can come within a factor
    of ln k of the best for k terminals (P. Klein, R. Ravi, "A nearly best-possible approximation
    algorithm for node-weighted Steiner trees", 1995), so look at the bound.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 2, 2])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> tree = mgraph.node_weighted_steiner_tree(graph, [0, 3], [0, 9, 1, 0])
    >>> tree.cost, tree.vertex_cost, tree.optimal
    (5, 1, True)
    """
    check_time_limit(time_limit)
    graph = as_graph(graph, directed=False, backend="cpu")
    prepare(graph)  # raises for what is no undirected graph
    graph = graph.to_cpu()
    distinct = np.unique(checked_vertices("terminals", terminals, graph.n))
    if not distinct.size:
        raise UsageError("terminals must hold at least one vertex (got none)")
    extra = checked_vertex_weights("vertex_weights", vertex_weights, graph.n)
    weights = weights_of(graph)
    total = weights.astype(np.result_type(weights, extra)) + extra[graph.indices]
    problem = build(graph.indptr, graph.indices, int(distinct[0]), distinct)
    solution = solve(problem, total, improve, time_limit)
    if solution is None:
        raise DisconnectedError(_no_path(graph, problem))
    arcs, first = solution.arcs, extra[distinct[0]].item()
    tails, heads = problem.tails[arcs], problem.heads[arcs]
    src, dst = np.maximum(tails, heads), np.minimum(tails, heads)
    order = np.lexsort((dst, src))
    vertices = np.unique(np.concatenate([distinct, tails, heads]))
    vertex_cost = total_of(extra[vertices])
    return SteinerTree(
        terminals=distinct,
        src=src[order],
        dst=dst[order],
        weight=weights[arcs][order],
        cost=total_of(np.concatenate([weights[arcs].astype(total.dtype), extra[vertices]])),
        lower_bound=None if solution.bound is None else solution.bound + first,
        vertex_cost=vertex_cost,
        labels=graph.labels,
        **solution.facts | {"initial_cost": solution.facts["initial_cost"] + first},
    )


class Solution(NamedTuple):
    """Arcs, and a lower bound in weights. facts: what a SteinerTree says of how it was found."""

    arcs: Any
    bound: Any
    facts: dict[str, Any]


def solve(
    problem: Problem, weights: Any, improve: bool, time_limit: float | None
) -> Solution | None:
    """Return a tree, or None if a terminal cannot be reached. weights: of arcs, 0 or more."""
    start = time.perf_counter()
    deadline = Deadline(math.inf if time_limit is None else time_limit)
    guess = weights.max().item() * problem.n if weights.size else 0
    size, is_whole = max(problem.n, problem.heads.size), weights.dtype.kind in "iu"
    scale = choose_scale(size, guess, is_whole=is_whole)
    first = _grow(problem, scale.to_units(weights, guess))
    if first is None:
        return None
    cost = total_of(weights[first[first >= 0]])
    if cost == 0:
        return Solution(first[first >= 0], 0, _facts(0, "takahashi_matsuyama", start, start, True))
    middle, found = time.perf_counter(), cost
    max_stale = math.inf if time_limit is not None else searches.STALE
    with deadline.raising_flag() as flag:
        while True:
            known, scale = found, choose_scale(size, found, is_whole=is_whole)
            search = Search(problem, scale.to_units(weights, known), scale.step, flag)
            search.start(first)
            method = "local_search"
            if scale.is_fine(known, total_of(weights[search.result.arcs])):
                if problem.terminals.size <= MAX_TERMINALS and not search.is_over:
                    search.solve_exactly()
                    method = "dreyfus_wagner" if search.is_proved else method
                search.improve(max_stale if improve else 0)
            first, found = search.best, total_of(weights[search.result.arcs])
            if (is_fine := scale.is_fine(known, found)) or deadline.is_over:
                break
    cancellation.raise_if_cancelled()
    is_proved = is_fine and search.is_proved
    bound = found if is_proved else scale.to_bound(search.result.bound, found)
    is_complete = is_proved or not deadline.is_over
    return Solution(search.result.arcs, bound, _facts(cost, method, start, middle, is_complete))


def _grow(problem: Problem, units: Any) -> Any:
    """Return a first tree, without a time limit; None if a terminal cannot be reached."""
    with Deadline().raising_flag() as flag:
        above, missing = searches.grow(problem, units, flag)
    cancellation.raise_if_cancelled()
    return None if missing else above


def _facts(cost: Any, method: str, start: float, middle: float, complete: bool) -> dict[str, Any]:
    """Return what a SteinerTree says of how it was found. start, middle: before the search."""
    seconds = {"initial_tree": middle - start, "improvement": time.perf_counter() - middle}
    return {
        "initial_cost": cost, "searches": 0, "accepted": 0, "seconds": seconds, "method": method,
        "search": "dijkstra", "backend": "cpu", "complete": complete,
    }  # fmt: skip


def _no_path(graph: Graph, problem: Problem) -> str:
    """Say which terminal cannot be reached."""
    reached = searches.find_reached(problem)
    missing = problem.terminals[~reached[problem.terminals]][0]
    names = (
        f"{v:,}" if graph.labels is None else f"{graph.labels[v]}"
        for v in (problem.root, int(missing))
    )
    return "no path leads from {} to {}, so that no tree holds both; leave one of them out".format(
        *names
    )
