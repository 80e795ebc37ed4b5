"""The front door of the Steiner-tree methods: checks options, chooses a backend, solves queries."""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core import backend as backends
from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.choices import Backend, Device, SteinerMethod, SteinerSearch, check_choice
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.errors import DeviceError, DisconnectedError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner.dreyfus_wagner_cpu import MAX_GROUPS
from mgraph.steiner.prepared import PreparedGraph, prepare
from mgraph.steiner.query_solver import (
    GUARDED_WORK,
    MIN_EXCHANGED,
    SearchOptions,
    is_exact_on_gpu,
    search_name,
    solve_queries,
)
from mgraph.steiner.result import SteinerTree as SteinerTree

METHODS = (
    "auto", "star", "local_search", "dreyfus_wagner", "takahashi_matsuyama", "mehlhorn"
)  # fmt: skip
SEARCHES = ("auto", "dijkstra", "node", "edge")
BREAK_EVEN_ARCS = 1 << 20  # with fewer arcs a query is faster on a CPU: see BENCHMARKS.md
_OTHER_SEARCHES = "use search auto or dijkstra"
# ``auto`` takes STAR from so many arcs on, for one terminal per so many: see BENCHMARKS.md.
STAR_ARCS, ARCS_PER_TERMINAL = 1 << 21, 1 << 17


def steiner_tree(
    graph: Graph | Any,
    terminals: ArrayLike,
    *,
    method: SteinerMethod = "auto",
    search: SteinerSearch = "auto",
    backend: Backend = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """Find a tree of low cost that holds all terminals.

    Parameters
    ----------
    graph : Graph, or what becomes one
        A path, a Dataset, a NetworkX graph, a sparse matrix, a data frame with usual column names,
        an EdgeList or an edge index of shape (2, m) is converted first. Undirected, with weights of
        at least 0; without weights each edge counts 1.
    terminals : int or array_like of int
        The vertices that the tree must hold; repeats count once.
    method : {"auto", "star", "local_search", "dreyfus_wagner", "takahashi_matsuyama", "mehlhorn"}
        Default "auto": what gives the best tree for the size of the query, see Notes; the result
        says which. ``star`` is STAR. The others run on a CPU: ``local_search`` improves the tree of
        ``takahashi_matsuyama`` by all moves that ``improve`` has, until none gains;
        ``dreyfus_wagner`` finds the best tree for up to 12 terminals; and two shortest path
        heuristics.
    search : {"auto", "dijkstra", "node", "edge"}, default "auto"
        STAR's shortest-path search. ``dijkstra`` runs from both sides with heaps on a CPU; ``node``
        and ``edge`` are the paper's frontier searches on a GPU, with one thread per vertex or per
        arc. ``auto`` is the fastest: dijkstra on a CPU, on a GPU searches by buckets of distances,
        with all exchanges in one launch. All of them find the same tree.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` uses a GPU, if there is one, for graphs of 2^20 arcs or more.
    epsilon : float, default 0.0
        A loose path is exchanged only for one that is shorter by this share (the paper's
        epsilon-improvement rule).
    improve : bool, default False
        Improve the tree: a search over local optima from many starts, with a lower bound that
        becomes better as well. It ends when the tree is proved optimal; else after the time limit,
        or without one after some cycles without a gain. A GPU finds the best tree for up to 8
        terminals, for many queries in a launch, and of 512 or more it exchanges many vertices at a
        time before the CPU searches on. What it has no memory for is left to the CPU.
    bound : bool, default False
        Compute a lower bound on the cost of every tree, by dual ascent on a CPU.
    time_limit : float, optional
        Seconds after which the best tree so far is returned, with ``complete=False``. What is
        compiled or prepared for the graph does not count.

    Returns
    -------
    SteinerTree
        The tree's edges, its cost, and how it was found.

    Raises
    ------
    UsageError
        If an option is unknown or contradicts another, a terminal is not a vertex, or the graph is
        directed, lacks the mirror of an arc or has negative weights.
    DisconnectedError
        If the terminals lie in different components.
    DeviceError
        If a GPU is needed and none is visible.
    OutOfMemoryError
        If the searches do not fit in memory.

    See Also
    --------
    steiner_trees : Many queries on one graph.

    Notes
    -----
    ``auto`` takes STAR in graphs of 2^21 arcs or more, for one terminal per 2^17 arcs at most, and
    with ``backend="gpu"``, unless a GPU improves the tree; else ``dreyfus_wagner`` where it takes
    some 0.3 s at most, and else ``local_search``. STAR's tree costs at most (1 + epsilon)·(4·⌈log2
    k⌉ + 4) times the optimum for k terminals, that of the others at most 2 - 2/k times. STAR runs
    one shortest-path search for each loose path that it tries, of which a tree has fewer than 2·k.
    Deterministic, but for a time limit. With fractional weights an exchange must gain a part in
    10^9, and lengths are rounded by less than n / 2^60 of the path that is exchanged. What is
    prepared for a graph, device memory included, is kept as long as the graph is.

    Sources: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA";
    G. Kasneci et al., "STAR: Steiner-tree approximation in relationship graphs" (2009);
    H. Takahashi, A. Matsuyama (1980); K. Mehlhorn (1988); S. E. Dreyfus, R. A. Wagner (1971);
    E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010).

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 0], [3, 3, 3, 1], [1, 1, 1, 3])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> tree = mgraph.steiner_tree(graph, [0, 1, 2], backend="cpu")
    >>> tree
    SteinerTree(3 terminals, 3 edges, cost 3, optimal)
    >>> tree.src, tree.dst
    (array([3, 3, 3]), array([0, 1, 2]))
    """
    options: Any = {
        "method": method, "search": search, "backend": backend, "epsilon": epsilon,
        "improve": improve, "bound": bound, "time_limit": time_limit,
    }  # fmt: skip
    ((_, outcome),) = steiner_trees(graph, [terminals], **options)
    if isinstance(outcome, DisconnectedError):
        raise outcome
    return outcome


def steiner_trees(
    graph: Graph | Any,
    queries: Sequence[Any],
    *,
    method: SteinerMethod = "auto",
    search: SteinerSearch = "auto",
    backend: Backend = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
    concurrency: int | None = None,
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """Find trees for many queries on one graph, several at a time.

    Parameters
    ----------
    graph : Graph
        See ``steiner_tree``.
    queries : sequence of array_like of int
        The terminals of each query.
    method, search, backend, epsilon, improve, bound
        See ``steiner_tree``.
    time_limit : float, optional
        Seconds for each query.
    concurrency : int, optional
        The number of queries that are solved at a time; by default one per core, or 512 on a GPU.

    Returns
    -------
    iterator of (int, SteinerTree or DisconnectedError)
        The index and the tree of each query, in the order in which they are found. A query whose
        terminals lie in different components has its error in place of a tree.

    Raises
    ------
    UsageError, DeviceError, OutOfMemoryError
        As ``steiner_tree``; options and queries are checked before the function returns.

    See Also
    --------
    steiner_many : Queries over a cluster, with results in files.

    Notes
    -----
    On a GPU a batch of ``concurrency`` queries is one launch. While it runs, the trees of the batch
    before are yielded, and the initial trees of the next are built. Closing the iterator cancels
    what is still running.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 0], [3, 3, 3, 1], [1, 1, 1, 3])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> trees = mgraph.steiner_trees(graph, [[0, 1], [0, 1, 2]], backend="cpu")
    >>> sorted((i, tree.cost) for i, tree in trees)
    [(0, 2), (1, 3)]
    """
    check_options(method, search, backend, epsilon, time_limit)
    if concurrency is not None and not (isinstance(concurrency, int) and concurrency > 0):
        raise UsageError(f"concurrency must be at least 1 (got {concurrency!r})")
    queries = as_list("queries", queries)
    prepared = prepare(as_graph(graph, directed=False))
    checked = []
    for i, query in enumerate(queries):
        name = f"terminals of query {i}" if len(queries) > 1 else "terminals"
        checked.append(np.unique(checked_vertices(name, query, prepared.n)))
        if not checked[i].size:
            raise UsageError(f"{name} must hold at least one vertex (got none)")
        if method == "dreyfus_wagner" and checked[i].size > MAX_GROUPS:
            raise UsageError(
                f"{name} must be {MAX_GROUPS} at most for method dreyfus_wagner (got "
                f"{checked[i].size}); use improve, which often proves that a tree is optimal"
            )
    limit = math.inf if time_limit is None else time_limit
    options = SearchOptions(
        method, search, "cpu", float(epsilon), improve, bound, limit, Deadline()
    )
    groups: dict[tuple[SteinerMethod, Device], list[int]] = {}
    for i, terminals in enumerate(checked):
        chosen = _choose_method(prepared, terminals.size, options, backend)
        groups.setdefault(chosen, []).append(i)
    work = [
        (indices, replace(options, method=chosen, backend=device, deadline=Deadline()))
        for (chosen, device), indices in groups.items()
    ]
    return _solve_groups(prepared, checked, work, concurrency)


def _solve_groups(
    prepared: PreparedGraph,
    queries: list[Any],
    work: list[tuple[list[int], SearchOptions]],
    concurrency: int | None,
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """Solve the queries of each group, which are given by their indices."""
    for indices, options in work:
        group = [queries[i] for i in indices]
        # Closed at once when the caller drops this iterator, so that no search stays borrowed.
        with closing(solve_queries(prepared, group, options, concurrency)) as outcomes:
            for i, outcome in outcomes:
                yield indices[i], outcome


def check_options(
    method: str,
    search: SteinerSearch = "auto",
    backend: Backend = "auto",
    epsilon: float = 0.0,
    time_limit: float | None = None,
) -> None:
    """Raise UsageError for an option that is wrong, or that contradicts another."""
    check_choice("method", method, METHODS)
    check_choice("search", search, SEARCHES)
    if backend not in backends.BACKENDS:
        backends.resolve(backend)  # raises the error for it
    if not (isinstance(epsilon, Real) and epsilon >= 0 and math.isfinite(epsilon)):
        raise UsageError(f"epsilon must be a finite number of at least 0 (got {epsilon!r})")
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise UsageError(f"time_limit must be a number of seconds above 0 (got {time_limit!r})")
    if method not in ("auto", "star") and (search != "auto" or epsilon):
        raise UsageError(f"search and epsilon are options of method star (got method {method})")
    if backend == "gpu" and runs_on_cpu(method, search):
        name = f"search {search}" if search == "dijkstra" else method
        raise UsageError(f"{name} runs on a CPU; use search auto, or backend cpu")
    if backend == "cpu" and search in ("node", "edge"):
        raise UsageError(f"search {search} needs a GPU, and the backend is cpu; {_OTHER_SEARCHES}")


def runs_on_cpu(method: str, search: str) -> bool:
    """Return whether such queries always run on a CPU."""
    return method not in ("auto", "star") or search == "dijkstra"


def suits_star(num_arcs: int, k: int) -> bool:
    """Return whether ``auto`` takes STAR for k terminals: where others would read the whole graph.

    That does not depend on the backend, so that trees are the same everywhere.
    """
    return num_arcs >= STAR_ARCS and k <= num_arcs // ARCS_PER_TERMINAL


def _choose_method(
    prepared: PreparedGraph, k: int, options: SearchOptions, backend: Backend
) -> tuple[SteinerMethod, Device]:
    """Return the method of a query, or auto if none runs on a GPU, and where it is solved."""
    method: Any = options.method
    if method == "auto":
        has_option = options.search != "auto" or options.epsilon > 0
        if options.improve and not has_option:
            device = _choose_backend(prepared, "star", "auto", backend)
            if device == "gpu" and (is_exact_on_gpu(prepared, k) or k >= MIN_EXCHANGED):
                return method, device
        if has_option or backend == "gpu" or suits_star(prepared.graph.num_arcs, k):
            method = "star"
    return method, _choose_backend(prepared, method, options.search, backend)


def prepare_queries(
    graph: Graph, method: SteinerMethod, search: str, backend: Backend
) -> PreparedGraph:
    """Do what is done once for all such queries on a graph, on the device, too."""
    prepared = prepare(graph)
    if method == "star" or (method == "auto" and suits_star(prepared.graph.num_arcs, 2)):
        name = search_name(_choose_backend(prepared, "star", search, backend), search)
        with memory_guard(GUARDED_WORK, LARGER_GPU), prepared.borrow_search(name):
            pass
    return prepared


def _choose_backend(prepared: PreparedGraph, method: str, search: str, backend: Backend) -> Device:
    """Return where to search; for ``auto`` where it takes less time."""
    if backend == "cpu" or method != "star" or search == "dijkstra":
        return "cpu"
    resolved = backends.resolve(backend)
    if search in ("node", "edge"):
        if resolved == "cpu":
            raise DeviceError(
                f"search {search} needs a GPU, and none is visible here; {_OTHER_SEARCHES}"
            )
        return resolved
    if resolved == "gpu" and backend == "auto":
        is_small = prepared.graph.num_arcs < BREAK_EVEN_ARCS
        return "cpu" if is_small or prepared.reason_for_cpu else "gpu"
    return resolved
