"""The front door of group Steiner trees: checks queries, chooses a backend, solves them."""

import math
import time
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.choices import Backend
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.errors import DisconnectedError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner import tree_cpu
from mgraph.steiner.groups import group_search
from mgraph.steiner.groups.group_search import Found
from mgraph.steiner.improvement.conversion import cost_of
from mgraph.steiner.prepared import PreparedGraph, prepare
from mgraph.steiner.query_threads import answer_in_threads
from mgraph.steiner.result import SteinerTree

# The exact search takes so many groups, since a set of them is the low bits of a word.
MAX_GROUPS = 16
# States of the exact search on a CPU: some seconds of a core, and 60 bytes each.
MAX_STATES = 1 << 22
# From so many vertices of the smallest group trees are grown, if the exact search is out of reach.
MAX_STARTS = 8


def group_steiner_tree(
    graph: Graph | Any,
    groups: Sequence[Any],
    *,
    backend: Backend = "auto",
    improve: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """Find a tree of least cost that holds a vertex of each group.

    This is keyword search: a group holds the vertices at which a keyword stands, and the tree
    connects all keywords.

    Parameters
    ----------
    graph : Graph, or what becomes one
        See ``steiner_tree``: undirected, with weights of at least 0.
    groups : sequence of array_like of int
        The vertices of each group; a vertex may belong to several.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` is the CPU.
    improve : bool, default False
        If the search for the best tree does not end soon, search on for better trees and bounds, as
        ``steiner_tree`` does; else its tree is improved only once.
    time_limit : float, optional
        Seconds after which the best tree so far is returned, with ``complete=False``.

    Returns
    -------
    SteinerTree
        With a lower bound, which is the cost itself if the search has ended. ``terminals`` has a
        vertex of each group that is in the tree, in the groups' order.

    Raises
    ------
    UsageError
        If an option is unknown, a group is empty or has a vertex that is not in the graph, or the
        graph is directed, lacks the mirror of an arc or has negative weights.
    DisconnectedError
        If no component has a vertex of each group.
    DeviceError, OutOfMemoryError
        If a GPU is needed and none is visible, or it has too little memory.

    See Also
    --------
    group_steiner_trees : Many queries on one graph.
    steiner_tree : A tree that holds certain vertices.

    Notes
    -----
    The exact search is dynamic programming over sets of groups. It reads what lies within half of
    the tree's cost from the groups, for each set: mostly quick for up to 5 groups, and up to 8 in
    sparse graphs. After 2^22 sets of vertices on a CPU (some seconds) it is given up, and a local
    search with a dual ascent gives a tree and a bound; so it does for more than 16 groups.

    Sources: S. E. Dreyfus, R. A. Wagner (1971); R. Li, L. Qin, J. X. Yu, R. Mao, "Efficient and
    progressive group Steiner tree search" (2016).

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 5])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> tree = mgraph.group_steiner_tree(graph, [[0, 4], [3, 2]])
    >>> tree
    SteinerTree(2 terminals, 2 edges, cost 2, optimal)
    >>> tree.terminals
    array([0, 2])
    """
    ((_, outcome),) = group_steiner_trees(
        graph, [groups], backend=backend, improve=improve, time_limit=time_limit
    )
    if isinstance(outcome, DisconnectedError):
        raise outcome
    return outcome


def group_steiner_trees(
    graph: Graph | Any,
    queries: Sequence[Any],
    *,
    backend: Backend = "auto",
    improve: bool = False,
    time_limit: float | None = None,
    concurrency: int | None = None,
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """Find group Steiner trees for many queries on one graph, several at a time.

    Parameters
    ----------
    graph, backend, improve
        See ``group_steiner_tree``.
    queries : sequence of sequences of array_like of int
        The groups of each query.
    time_limit : float, optional
        Seconds for each query.
    concurrency : int, optional
        The number of queries that are solved at a time; by default one per core.

    Returns
    -------
    iterator of (int, SteinerTree or DisconnectedError)
        The index and the tree of each query, in the order in which they are found. A query without
        a tree has its error in place of one.

    Raises
    ------
    UsageError, DeviceError, OutOfMemoryError
        As ``group_steiner_tree``; queries are checked before the function returns.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 5])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> queries = [[[0, 4], [2, 3]], [[0], [1], [4]]]
    >>> trees = mgraph.group_steiner_trees(graph, queries)
    >>> sorted((i, tree.cost) for i, tree in trees)
    [(0, 2), (1, 8)]
    """
    if backend not in backends.BACKENDS:
        backends.resolve(backend)  # raises the error for it
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise UsageError(f"time_limit must be a number of seconds above 0 (got {time_limit!r})")
    if concurrency is not None and not (isinstance(concurrency, int) and concurrency > 0):
        raise UsageError(f"concurrency must be at least 1 (got {concurrency!r})")
    listed = as_list("queries", queries)
    prepared = prepare(as_graph(graph, directed=False))
    checked = [
        _check_groups(f"query {i}: " if len(listed) > 1 else "", query, prepared.n)
        for i, query in enumerate(listed)
    ]
    limit, deadline = math.inf if time_limit is None else time_limit, Deadline()

    def answer(i: int, groups: list[Any]) -> SteinerTree | DisconnectedError:
        return _answer(prepared, groups, improve, limit, deadline)

    threads = min(len(checked), concurrency or available_cores())
    return answer_in_threads(answer, iter(enumerate(checked)), deadline, threads)


def _check_groups(prefix: str, groups: Any, n: int) -> list[Any]:
    """Return the vertices of each group, ascending and distinct."""
    checked = []
    for j, group in enumerate(as_list(f"{prefix}groups", groups)):
        name = f"{prefix}group {j}"
        checked.append(np.unique(checked_vertices(name, group, n)))
        if not checked[j].size:
            raise UsageError(f"{name} must hold at least one vertex (got none)")
    if not checked:
        raise UsageError(f"{prefix}groups must hold at least one group (got none)")
    return checked


def _answer(
    graph: PreparedGraph, groups: list[Any], improve: bool, limit: float, stop: Deadline
) -> SteinerTree | DisconnectedError:
    """Answer a query on a CPU. stop: when its caller drops it."""
    start, deadline = time.perf_counter(), stop.within(limit)
    contracted = [graph.contract_terminals(group) for group in groups]
    needed = [contracted[i] for i in needed_groups(contracted)]
    found, method = _search(graph, needed, deadline), "dreyfus_wagner"
    seconds = {"initial_tree": time.perf_counter() - start}
    if not found.is_optimal:
        found, method = _search_locally(graph, needed, found, improve, deadline), "local_search"
        seconds["improvement"] = time.perf_counter() - start - seconds["initial_tree"]
    cancellation.raise_if_cancelled()
    if found.tree is None:
        return DisconnectedError(
            "no component of the graph has a vertex of each group, so that no tree holds one of "
            "each; leave a group out"
        )
    return _to_result(graph, groups, found, method, seconds, not deadline.is_over)


def _search(graph: PreparedGraph, groups: list[Any], deadline: Deadline) -> Found:
    """Search for the best tree, if it takes no more than ``MAX_STATES``."""
    if len(groups) == 1:
        alone = groups[0][:1]
        no_weight = np.empty(0, graph.cost_dtype)
        tree = tree_cpu.from_edges(alone[:0], alone[:0], no_weight, alone)
        return Found(tree, 0, True)
    if len(groups) > MAX_GROUPS:
        return Found(None, 0, False)
    return group_search.solve(graph, groups, deadline, MAX_STATES)


def _search_locally(
    graph: PreparedGraph, groups: list[Any], found: Found, improve: bool, deadline: Deadline
) -> Found:
    """Improve a tree of which it is not known that it is the best, or the first tree there is."""
    from mgraph.steiner.groups import terminal_graph

    tree, bound = found.tree, found.bound
    if tree is None:
        starts = graph.in_common_component(groups)[:MAX_STARTS]
        if not starts.size:
            return Found(None, None, True)
        tree = terminal_graph.grow_tree(graph.csr, groups, starts)
    if tree.vertex.size == 1:
        return Found(tree, 0, True)
    if not deadline.is_over:
        tree, other_bound = terminal_graph.improve_tree(graph.csr, groups, tree, improve, deadline)
        bound = max(bound, other_bound)
    return Found(tree, min(bound, cost_of(tree)), False)


def _to_result(
    graph: PreparedGraph,
    groups: list[Any],
    found: Found,
    method: str,
    seconds: dict[str, float],
    complete: bool,
) -> SteinerTree:
    """Return a tree of the contracted graph as one of the graph."""
    tree = found.tree
    assert tree is not None
    chosen = [group[np.isin(graph.contract(group), tree.vertex)][0] for group in groups]
    terminals = np.unique(chosen)
    tree = tree_cpu.prune(tree, graph.contract_terminals(terminals))
    if graph.contraction is not None:
        tree = graph.contraction.expand(tree, terminals)
    src, dst, weight = tree_cpu.sorted_edges(tree)
    cost = cost_of(tree)
    return SteinerTree(
        terminals=np.array(chosen, np.int64),
        src=src,
        dst=dst,
        weight=weight,
        cost=cost,
        initial_cost=cost,
        searches=0,
        accepted=0,
        seconds=seconds,
        method=method,
        search="dijkstra",
        backend="cpu",
        complete=complete,
        lower_bound=cost if found.is_optimal else min(found.bound, cost),
        labels=graph.labels,
    )


def needed_groups(groups: list[Any]) -> list[int]:
    """Return the indices of groups that hold no other: who has a vertex of one has one of all."""
    needed: list[int] = []
    for i in sorted(range(len(groups)), key=lambda i: groups[i].size):
        if not any(np.isin(groups[j], groups[i]).all() for j in needed):
            needed.append(i)
    return sorted(needed)
