"""The front door of group Steiner trees: checks queries, chooses a backend, solves them."""

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.choices import Backend, Device
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.errors import DisconnectedError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner.groups.group_queries import GroupQuery, Request, answer, fits_gpu
from mgraph.steiner.prepared import PreparedGraph, prepare
from mgraph.steiner.result import SteinerTree

BREAK_EVEN_ARCS = 1 << 18  # with fewer a query is faster on a CPU: see BENCHMARKS.md
MAX_GROUPS_ON_GPU = 8


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
        ``auto`` uses a GPU, if there is one, for up to 8 groups in graphs of 2^18 arcs or more. A
        GPU always searches to the end, if there is memory: 12 bytes per vertex and set of groups.
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
        The number of queries that are solved at a time on a CPU; by default one per core. On a GPU
        as many as fit, up to 512.

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
        GroupQuery.prepare(
            prepared, _check_groups(f"query {i}: " if len(listed) > 1 else "", query, prepared.n)
        )
        for i, query in enumerate(listed)
    ]
    limit = math.inf if time_limit is None else time_limit
    request = Request(prepared, checked, improve, limit, Deadline())
    threads = min(len(checked), concurrency or available_cores())
    return answer(request, _choose_backend(prepared, checked, backend), threads)


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


def _choose_backend(graph: PreparedGraph, queries: list[GroupQuery], backend: Backend) -> Device:
    """Return where to search; for ``auto`` where it takes less time."""
    resolved = backends.resolve(backend)
    most = max((len(query.needed) for query in queries), default=0)
    if backend == "gpu" and most > MAX_GROUPS_ON_GPU:
        raise UsageError(
            f"a GPU takes at most {MAX_GROUPS_ON_GPU} groups (got {most}); use backend cpu"
        )
    if backend == "auto" and resolved == "gpu":
        is_small = graph.graph.num_arcs < BREAK_EVEN_ARCS
        if is_small or most > MAX_GROUPS_ON_GPU or not fits_gpu(graph, most):
            return "cpu"
    return resolved
