"""The front door of the Steiner-tree methods: check, choose, call."""

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.choices import check_choice
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.core.interrupts import interrupted_later
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.errors import DeviceError, DisconnectedError, UsageError
from mgraph.steiner import star, tree_cpu
from mgraph.steiner.prepared import Prepared, prepared
from mgraph.steiner.star import Apart, Query
from mgraph.steiner.tree_cpu import Tree

METHODS = ("star", "takahashi_matsuyama", "mehlhorn")
SEARCHES = ("auto", "dijkstra", "node", "edge")
BREAK_EVEN_ARCS = 1 << 20  # below so many a query is faster on a CPU: see BENCHMARKS.md
CONCURRENCY = 512  # queries of a batch on a GPU, by default
_OTHERS = "use search auto or dijkstra"
_ROOM = "Steiner trees on this graph"


@dataclass(frozen=True)
class SteinerTree:
    """A tree that holds the terminals, and how it was found.

    terminals: ``(k,)`` int64, ascending, distinct. src, dst: int64, weight: int64 or float64, an
    edge each, (u, v) with u > v, in ascending order; NumPy's. cost: their weights' sum, exact for
    whole weights, else rounded once. initial_cost: of the first tree. searches: shortest-path
    searches, one after another; accepted: how many of them improved the tree. seconds: of the
    initial tree, the searches, splits and merges, and improvement. complete: False where the time
    limit came first. lower_bound: no tree is cheaper; None where it was not asked for.
    """

    terminals: Any
    src: Any
    dst: Any
    weight: Any
    cost: Any
    initial_cost: Any
    searches: int
    accepted: int
    seconds: dict[str, float]
    method: str
    search: str
    backend: str
    complete: bool
    lower_bound: Any = None
    labels: Any = None  # the graph's: mgraph.to_networkx(tree) has them as nodes

    @property
    def gap(self) -> float | None:
        """By what share of the lower bound the tree may be dearer than the best; None without."""
        return gap_of(self.cost, self.lower_bound)

    @property
    def optimal(self) -> bool:
        """Whether the lower bound proves that no tree is cheaper, but for fractions' rounding."""
        return self.gap == 0


def gap_of(cost: Any, lower_bound: Any) -> float | None:
    """``cost / lower_bound - 1``; 0 where only rounding is left; None without a bound."""
    if lower_bound is None:
        return None
    least = cost if isinstance(cost, int) else cost * (1 - star.LEAST_GAIN)
    if least <= lower_bound:
        return 0.0
    return math.inf if lower_bound <= 0 else float(cost / lower_bound - 1)


@dataclass(frozen=True)
class SearchOptions:
    """How queries are to be answered."""

    method: str
    search: str
    backend: str
    epsilon: float
    improve: bool
    bound: bool
    time_limit: float
    until: Deadline  # stopped when the caller goes away


def steiner_tree(
    graph: Graph,
    terminals: Any,
    *,
    method: str = "star",
    search: str = "auto",
    backend: str = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """A tree of small cost that holds all terminals, in an undirected graph of weights from 0.

    terminals: vertices; repeats count once. method: star, or the shortest path heuristics
    takahashi_matsuyama and mehlhorn (on a CPU). search: star's. ``dijkstra``, from both sides with
    heaps, on a CPU; ``node`` and ``edge``, the paper's frontier searches on a GPU, a vertex or an
    arc a thread; or ``auto``, which is the fastest: dijkstra on a CPU, on a GPU searches in
    buckets, and all exchanges in one launch. All find the same tree.
    backend: cpu, gpu, or auto: where the graph is, from the CPU to a GPU if it is large enough.
    epsilon: a path is exchanged only for one that is shorter by this share (the epsilon-improvement
    rule). improve: go on from STAR's local optimum with exchanges of Steiner and key vertices, from
    several starts, on a CPU; gives a lower bound, too. bound: a lower bound by dual ascent.
    time_limit: seconds after which the best tree so far comes back.

    STAR's tree costs at most (1 + epsilon)·(4·⌈log2 k⌉ + 4) times the least of all, for k
    terminals; the shortest path heuristics' at most 2 - 2/k times. With fractional weights an
    exchange must gain a part in 10^9, and lengths are rounded by less than n / 2^60 of the path
    that is exchanged, whatever the weights. Deterministic. Cost: STAR makes a search for each loose
    path that it tries, of which it has fewer than 2·k at a time. What is prepared for a graph,
    device memory included, is kept as long as the graph is. Sources: C. Mathieu, M. Klusch,
    "Accelerated Steiner tree problem solving on GPU with CUDA"; G. Kasneci et al., "STAR:
    Steiner-tree approximation in relationship graphs" (2009). Raises UsageError for bad input, such
    as a graph that lacks an arc back, DisconnectedError for terminals that no tree holds.
    """
    options: Any = {
        "method": method, "search": search, "backend": backend, "epsilon": epsilon,
        "improve": improve, "bound": bound, "time_limit": time_limit,
    }  # fmt: skip
    ((_, found),) = steiner_trees(graph, [terminals], **options)
    if isinstance(found, DisconnectedError):
        raise found
    return found


def steiner_trees(
    graph: Graph,
    queries: Sequence[Any],
    *,
    method: str = "star",
    search: str = "auto",
    backend: str = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
    concurrency: int | None = None,
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """``steiner_tree`` for many queries: yields the index and the tree of each, as they are found.

    A query whose terminals no tree holds yields its error. concurrency: queries at a time, by
    default one per core, or as many as keep a GPU busy. time_limit: seconds for each. Everything
    is checked before the first comes.
    """
    check_options(method, search, backend, epsilon, time_limit)
    if concurrency is not None and not (isinstance(concurrency, int) and concurrency > 0):
        raise UsageError(f"concurrency must be at least 1 (got {concurrency!r})")
    queries = as_list("queries", queries)
    ready = prepared(graph)
    wanted = []
    for i, query in enumerate(queries):
        name = f"terminals of query {i}" if len(queries) > 1 else "terminals"
        wanted.append(np.unique(checked_vertices(name, query, ready.n)))
        if not wanted[i].size:
            raise UsageError(f"{name} must be a vertex at least, and there are none")
    where = _backend_for(ready, method, search, backend)
    limit = math.inf if time_limit is None else time_limit
    options = SearchOptions(
        method, search, where, float(epsilon), improve, bound, limit, Deadline()
    )
    return _answers(ready, wanted, options, concurrency)


def check_options(
    method: str,
    search: str = "auto",
    backend: str = "auto",
    epsilon: float = 0.0,
    time_limit: float | None = None,
) -> None:
    """Raise UsageError for options that are wrong, or do not go together."""
    check_choice("method", method, METHODS)
    check_choice("search", search, SEARCHES)
    if backend not in backends.BACKENDS:
        backends.resolve(backend)  # says what is wrong with it
    if not (isinstance(epsilon, Real) and epsilon >= 0 and math.isfinite(epsilon)):
        raise UsageError(f"epsilon must be a number of at least 0, and is {epsilon!r}")
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise UsageError(f"time_limit is a number of seconds above 0, and is {time_limit!r}")
    if method != "star" and (search != "auto" or epsilon):
        raise UsageError(f"search and epsilon belong to method star, and the method is {method}")
    if backend == "gpu" and runs_on_cpu(method, search):
        name = method if method != "star" else f"search {search}"
        raise UsageError(f"{name} runs on a CPU; use search auto, or --backend cpu")
    if backend == "cpu" and search in ("node", "edge"):
        raise UsageError(f"search {search} needs a GPU, and the backend is cpu; {_OTHERS}")


def runs_on_cpu(method: str, search: str) -> bool:
    """Whether such queries are never for a GPU."""
    return method != "star" or search == "dijkstra"


def make_ready(graph: Graph, method: str, search: str, backend: str) -> Prepared:
    """Do what is done once for all such queries on a graph, on the device, too."""
    ready = prepared(graph)
    where = _backend_for(ready, method, search, backend)
    if method == "star":
        with memory_guard(_ROOM, LARGER_GPU), ready.searcher(_searcher_name(where, search)):
            pass
    return ready


def _searcher_name(where: str, search: str) -> str:
    """STAR's searches as ``Prepared`` calls them."""
    if where == "cpu":
        return where
    return "gpu" if search == "auto" else search


def _backend_for(ready: Prepared, method: str, search: str, backend: str) -> str:
    """Where to search: of ``auto`` where it takes less time."""
    if backend == "cpu" or runs_on_cpu(method, search):
        return "cpu"
    where = backends.resolve(backend)
    if search in ("node", "edge"):
        if where == "cpu":
            raise DeviceError(f"search {search} needs a GPU, and none is visible here; {_OTHERS}")
        return where
    if where == "gpu" and backend == "auto":
        small = ready.graph.num_arcs < BREAK_EVEN_ARCS
        return "cpu" if small or ready.reason_for_cpu else "gpu"
    return where


def _answers(
    ready: Prepared, wanted: list[Any], options: SearchOptions, concurrency: int | None
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """Some at a time: on a GPU STAR alone, on a CPU all there is to do for a query."""
    inside = [ready.inside(terminals) for terminals in wanted]
    if options.backend == "cpu":
        jobs = ((i, None) for i in range(len(wanted)))
        threads = min(len(wanted), concurrency or available_cores())
        yield from _side_by_side(ready, wanted, inside, jobs, options, threads)
        return
    name = _searcher_name(options.backend, options.search)
    with memory_guard(_ROOM, LARGER_GPU), ready.searcher(name) as search:
        found = star.run(
            search,
            inside,
            epsilon=options.epsilon,
            time_limit=options.time_limit,
            until=options.until,
            batch_size=concurrency or CONCURRENCY,
        )
        threads = min(len(wanted), available_cores()) if options.improve or options.bound else 1
        yield from _side_by_side(ready, wanted, inside, found, options, threads)


def _side_by_side(
    ready: Prepared,
    wanted: list[Any],
    inside: list[Any],
    jobs: Any,
    options: SearchOptions,
    threads: int,
) -> Iterator[tuple[int, SteinerTree | DisconnectedError]]:
    """What is left to do on a CPU, by some threads. jobs: indices, with STAR's part if done."""
    if threads <= 1:
        answers = ((i, _answer(ready, wanted[i], inside[i], query, options)) for i, query in jobs)
        yield from _unbroken(answers, options.until)
        return
    work = cancellation.CancelToken(lambda: options.until.stopped)
    pool, answer = ThreadPoolExecutor(threads), cancellation.with_token(_answer, work)
    try:
        futures = {
            pool.submit(answer, ready, wanted[i], inside[i], query, options): i
            for i, query in _unbroken(jobs, options.until)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # also of a caller who goes away: what runs is not wanted any more
        options.until.stop()
        pool.shutdown(cancel_futures=True)
        work.close()


def _unbroken(items: Iterator[Any], until: Deadline) -> Iterator[Any]:
    """The items, none of which ctrl-C breaks off: it stops what would take long, and comes then."""
    while True:
        with interrupted_later(until.stop):
            item = next(items, None)
        if item is None:
            return
        yield item


def _answer(
    ready: Prepared,
    terminals: Any,
    inside: Any,
    query: Query | Apart | None,
    options: SearchOptions,
) -> SteinerTree | DisconnectedError:
    """A query's answer. inside: its terminals in the contracted graph; query: STAR's, if done."""
    seconds: dict[str, float] = {}
    if query is None and options.method == "star":
        with ready.searcher("cpu") as search:
            asked: Any = {
                "epsilon": options.epsilon, "time_limit": options.time_limit, "until": options.until
            }  # fmt: skip
            ((_, query),) = star.run(search, [inside], **asked)
    if query is None:
        query = ready.apart(inside)
    if isinstance(query, Apart):
        return ready.disconnected(terminals, query.other)
    began = time.perf_counter()
    spent = sum(query.seconds.values()) if query else 0
    deadline = options.until.within(options.time_limit - spent)
    if query is None:
        tree = _heuristic(ready, inside, options.method)
        initial_cost, searches, accepted, complete = tree.weight.sum().item(), 0, 0, True
        seconds["initial_tree"] = time.perf_counter() - began
    else:
        tree, seconds = query.tree, query.seconds
        initial_cost, searches = query.initial_cost, query.searches
        accepted, complete = query.accepted, query.complete
    lower_bound = None
    if (options.improve or options.bound) and inside.size > 1:
        tree, lower_bound = _bounded(ready, inside, tree, options.improve, deadline)
    elif options.improve or options.bound:
        lower_bound = tree.weight.sum().item()
    if options.improve or options.bound:
        seconds = {**seconds, "improvement": time.perf_counter() - began}
    cancellation.raise_if_cancelled()  # what ended for that reason is no answer
    if ready.contraction is not None:
        tree = ready.contraction.expanded(tree, terminals)
    upper = tree.vertex[tree.parent[1:]]
    src, dst = np.maximum(tree.vertex[1:], upper), np.minimum(tree.vertex[1:], upper)
    order = np.lexsort((dst, src))
    weight = tree.weight[1:][order]
    return SteinerTree(
        terminals=terminals,
        src=src[order],
        dst=dst[order],
        weight=weight,
        cost=math.fsum(weight) if weight.dtype.kind == "f" else int(weight.sum()),
        initial_cost=initial_cost,
        searches=searches,
        accepted=accepted,
        seconds=seconds,
        method=options.method,
        search="dijkstra"
        if options.search == "auto" and options.backend == "cpu"
        else options.search,
        backend=options.backend,
        complete=complete and not deadline.over,
        lower_bound=lower_bound,
        labels=ready.labels,
    )


def _heuristic(ready: Prepared, terminals: Any, method: str) -> Tree:
    if terminals.size == 1:
        return tree_cpu.from_edges(terminals[:0], terminals[:0], np.empty(0, ready.kind), terminals)
    if method == "mehlhorn":
        from mgraph.steiner import mehlhorn_cpu

        return mehlhorn_cpu.run(ready.csr, terminals)
    from mgraph.steiner import takahashi_matsuyama_cpu

    return takahashi_matsuyama_cpu.run(ready.csr, terminals, terminals[0])


def _bounded(
    ready: Prepared, terminals: Any, tree: Tree, improve: bool, deadline: Deadline
) -> tuple[Tree, Any]:
    """A tree that is no dearer, and a lower bound."""
    from mgraph.steiner import dual_ascent_cpu, improvement

    if improve:
        with ready.searcher("cpu") as search:
            return improvement.bounded(search, ready.csr, tree, terminals, deadline)
    cost = improvement.cost_of(tree)
    ascent = dual_ascent_cpu.run(ready.csr, terminals, terminals[0], deadline, cost)
    return tree, min(ascent.bound, cost)
