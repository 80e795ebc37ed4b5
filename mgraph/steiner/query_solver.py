"""The solving of checked Steiner queries: batches on a GPU, threads on a CPU."""

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.choices import Device
from mgraph.core.deadline import Deadline
from mgraph.core.host import available_cores
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.errors import DisconnectedError
from mgraph.steiner import star, tree_cpu
from mgraph.steiner.dreyfus_wagner_cpu import MAX_GROUPS
from mgraph.steiner.groups import group_queries
from mgraph.steiner.groups.group_search import Found
from mgraph.steiner.improvement.conversion import cheapest, cost_of
from mgraph.steiner.prepared import PreparedGraph
from mgraph.steiner.query_threads import answer_in_threads
from mgraph.steiner.result import SteinerTree
from mgraph.steiner.star import Query, UnreachableTerminal
from mgraph.steiner.tree_cpu import Tree

DEFAULT_BATCH_SIZE = 512  # queries on a GPU: see BENCHMARKS.md
GUARDED_WORK = "Steiner trees on this graph"
AUTO_STATES = 1 << 18  # of the exact method, where auto tries it: some 0.3 s
# A GPU improves queries of so many terminals: by its exact search, and by exchanging vertices.
MAX_EXACT_ON_GPU, MIN_EXCHANGED = 8, 512

_Outcome = SteinerTree | DisconnectedError


@dataclass(frozen=True)
class SearchOptions:
    """How queries are solved. deadline: stopped when the caller drops the answers."""

    method: str
    search: str
    backend: Device
    epsilon: float
    improve: bool
    bound: bool
    time_limit: float
    deadline: Deadline

    @property
    def needs_bound(self) -> bool:
        """Whether a query is not finished when STAR is."""
        return self.improve or self.bound

    def exchanges_vertices(self, k: int) -> bool:
        """Whether a GPU exchanges vertices of a tree of k terminals."""
        return self.improve and self.backend == "gpu" and k >= MIN_EXCHANGED


def search_name(backend: Device, search: str) -> str:
    """Return the name that ``PreparedGraph`` has for a backend's searches."""
    if backend == "cpu":
        return backend
    return "gpu" if search == "auto" else search


class _Launched(NamedTuple):
    """What launches have found for a query: STAR, and the exact search."""

    star: Query | UnreachableTerminal | None = None
    exact: Found | None = None


def solve_queries(
    graph: PreparedGraph, queries: list[Any], options: SearchOptions, concurrency: int | None
) -> Generator[tuple[int, _Outcome], None, None]:
    """Yield the index and the outcome of each query, as they are found.

    queries: arrays of terminals, int64, ascending, distinct. On a GPU batches of queries go through
    STAR, those to be improved through the exact search, and threads do what remains; on a CPU each
    thread solves one query at a time.
    """
    contracted = [graph.contract_terminals(terminals) for terminals in queries]

    def finish(i: int, launched: _Launched) -> _Outcome:
        return _finish_query(graph, queries[i], contracted[i], launched, options)

    threads = min(len(queries), concurrency or available_cores())
    jobs: Iterator[tuple[int, _Launched]] = ((i, _Launched()) for i in range(len(queries)))
    if options.backend == "gpu":
        jobs = _launch_searches(graph, contracted, options, concurrency)
        threads = min(len(queries), available_cores()) if options.needs_bound else 1
    yield from answer_in_threads(finish, jobs, options.deadline, threads)


def _launch_searches(
    graph: PreparedGraph, contracted: list[Any], options: SearchOptions, concurrency: int | None
) -> Iterator[tuple[int, _Launched]]:
    """Yield what a GPU finds for each query, batch by batch."""
    from mgraph.steiner.groups import group_search_gpu

    star_outcomes: Iterator[tuple[int, Query | UnreachableTerminal | None]]
    star_outcomes = ((i, graph.find_unreachable(query)) for i, query in enumerate(contracted))
    if options.method == "star":
        star_outcomes = _launch_star(graph, contracted, options, concurrency)
    waiting: dict[int, Query | None] = {}
    for i, outcome in star_outcomes:
        is_left = isinstance(outcome, UnreachableTerminal) or not options.improve
        if is_left or not is_exact_on_gpu(graph, contracted[i].size):
            yield i, _Launched(outcome)
        else:
            assert not isinstance(outcome, UnreachableTerminal)
            waiting[i] = outcome
    exact = {i: np.split(contracted[i], contracted[i].size) for i in waiting}
    limit = options.time_limit
    for i, found in group_search_gpu.solve_queries(graph, exact, limit, options.deadline):
        yield i, _Launched(waiting[i], found)


def _launch_star(
    graph: PreparedGraph, contracted: list[Any], options: SearchOptions, concurrency: int | None
) -> Iterator[tuple[int, Query | UnreachableTerminal]]:
    name = search_name(options.backend, options.search)
    with memory_guard(GUARDED_WORK, LARGER_GPU), graph.borrow_search(name) as search:
        yield from star.solve_queries(
            search,
            contracted,
            epsilon=options.epsilon,
            time_limit=options.time_limit,
            deadline=options.deadline,
            batch_size=concurrency or DEFAULT_BATCH_SIZE,
        )


def is_exact_on_gpu(graph: PreparedGraph, k: int) -> bool:
    """Return whether a GPU finds the best tree of k terminals."""
    return 2 <= k <= MAX_EXACT_ON_GPU and group_queries.fits_gpu(graph, k)


def _finish_query(
    graph: PreparedGraph,
    terminals: Any,
    contracted: Any,
    launched: _Launched,
    options: SearchOptions,
) -> _Outcome:
    """Solve a query, or what launches have left of it."""
    method = _choose_method(contracted.size, options)
    query, exact = launched
    has_launches = (
        options.exchanges_vertices(contracted.size) or query is not None or exact is not None
    )
    device: Device = options.backend if has_launches else "cpu"
    if method == "star" and query is None:
        query = _run_star(graph, contracted, options)
    if query is None:
        query = graph.find_unreachable(contracted)
    if isinstance(query, UnreachableTerminal):
        return graph.disconnected_error(terminals, query.terminal)
    start, lower_bound = time.perf_counter(), None
    if query is None and exact is not None and exact.tree is not None:
        method, tree = "dreyfus_wagner", exact.tree
        deadline = options.deadline.within(options.time_limit - exact.seconds)
        initial_cost, searches, accepted, complete = cost_of(tree), 0, 0, True
        seconds = {"initial_tree": exact.seconds}
    elif query is None:
        deadline = options.deadline.within(options.time_limit)
        tree, lower_bound = _build_tree(graph, contracted, method, options.method, deadline)
        if lower_bound is not None:
            method = "dreyfus_wagner"
        elif method == "dreyfus_wagner":
            method = "local_search" if options.method == "auto" else method
        initial_cost, searches, accepted, complete = cost_of(tree), 0, 0, True
        seconds = {"initial_tree": time.perf_counter() - start}
    else:
        spent = sum(query.seconds.values()) + (exact.seconds if exact is not None else 0)
        deadline = options.deadline.within(options.time_limit - spent)
        tree, seconds = query.tree, query.seconds
        initial_cost, searches = query.initial_cost, query.searches
        accepted, complete = query.accepted, query.complete
        if exact is not None and exact.tree is not None:
            tree, seconds = cheapest(tree, exact.tree), {**seconds, "improvement": exact.seconds}
    if exact is not None and exact.is_optimal:
        lower_bound = cost_of(tree)
    if contracted.size == 1:
        lower_bound = cost_of(tree) if options.needs_bound else None
    elif options.needs_bound and lower_bound is None:
        if query is None and method == "takahashi_matsuyama":  # not counted
            deadline = options.deadline.within(options.time_limit)
        improving = time.perf_counter() - seconds.get("improvement", 0)
        tree, lower_bound = _find_bound(graph, contracted, tree, options, deadline)
        lower_bound = lower_bound if exact is None else max(lower_bound, exact.bound)
        seconds = {**seconds, "improvement": time.perf_counter() - improving}
    cancellation.raise_if_cancelled()  # a cancelled search returns an incomplete result
    if graph.contraction is not None:
        tree = graph.contraction.expand(tree, terminals)
    src, dst, weight = tree_cpu.sorted_edges(tree)
    has_default_search = options.search == "auto" and device == "cpu"
    is_proved = exact is not None and exact.is_optimal
    return SteinerTree(
        terminals=terminals,
        src=src,
        dst=dst,
        weight=weight,
        cost=math.fsum(weight) if weight.dtype.kind == "f" else int(weight.sum()),
        initial_cost=initial_cost,
        searches=searches,
        accepted=accepted,
        seconds=seconds,
        method=method,
        search="dijkstra" if has_default_search else options.search,
        backend=device,
        complete=is_proved or (complete and not deadline.is_over),
        lower_bound=lower_bound,
        labels=graph.labels,
    )


def _run_star(
    graph: PreparedGraph, contracted: Any, options: SearchOptions
) -> Query | UnreachableTerminal:
    with graph.borrow_search("cpu") as search:
        ((_, outcome),) = star.solve_queries(
            search,
            [contracted],
            epsilon=options.epsilon,
            time_limit=options.time_limit,
            deadline=options.deadline,
        )
    return outcome


def _choose_method(k: int, options: SearchOptions) -> str:
    """Return the method for a query of k terminals; for auto one that runs on a CPU."""
    if options.method != "auto":
        return options.method
    if options.improve:
        return "takahashi_matsuyama"
    return "dreyfus_wagner" if k <= MAX_GROUPS else "local_search"


def _build_tree(
    graph: PreparedGraph, terminals: Any, method: str, request: str, deadline: Deadline
) -> tuple[Tree, Any]:
    """Return a tree of another method than STAR, and its cost if it is optimal for sure.

    request: the method that was asked for: auto does not spend much on the exact one.
    """
    csr = graph.csr
    if terminals.size == 1:
        no_weight = np.empty(0, graph.cost_dtype)
        return tree_cpu.from_edges(terminals[:0], terminals[:0], no_weight, terminals), None
    if method == "mehlhorn":
        from mgraph.steiner import mehlhorn_cpu

        return mehlhorn_cpu.build_tree(csr, terminals), None
    if method == "takahashi_matsuyama":
        from mgraph.steiner import takahashi_matsuyama_cpu

        return takahashi_matsuyama_cpu.build_tree(csr, terminals, terminals[0]), None
    from mgraph.steiner.improvement import improve

    if method == "local_search":
        return improve.search_locally(csr, terminals, deadline), None
    from mgraph.steiner import exact

    max_states = AUTO_STATES if request == "auto" else exact.MAX_STATES
    tree, is_optimal = exact.solve(csr, terminals, deadline, max_states)
    if is_optimal:
        return tree, cost_of(tree)
    return improve.search_locally(csr, terminals, deadline) if request == "auto" else tree, None


def _find_bound(
    graph: PreparedGraph, terminals: Any, tree: Tree, options: SearchOptions, deadline: Deadline
) -> tuple[Tree, Any]:
    """Return a lower bound, and the tree, or with ``improve`` one that costs no more."""
    from mgraph.steiner.improvement import improve

    if not options.improve:
        return tree, improve.find_bound(graph.csr, tree, terminals, deadline)
    on_gpu = options.exchanges_vertices(terminals.size)
    return improve.improve_tree(graph.csr, tree, terminals, deadline, on_gpu)
