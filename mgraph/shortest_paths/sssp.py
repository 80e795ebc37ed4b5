"""The front door of the shortest-path methods: check, choose, call."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.choices import check_choice
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.errors import UsageError
from mgraph.shortest_paths import problem as problems
from mgraph.shortest_paths.power_governor import PowerGovernor
from mgraph.shortest_paths.problem import Manner, Problem
from mgraph.shortest_paths.result import ShortestPaths

METHODS = (
    "auto", "dijkstra", "frontier_node", "frontier_edge", "near_far", "self_tuning", "heap",
)  # fmt: skip
TRACED = ("near_far", "self_tuning", "heap")
LITTLE_ARCS = 1 << 16  # in all searches: then moving the graph takes longer, see BENCHMARKS.md


def sssp(
    graph: Graph,
    source: Any,
    *,
    method: str = "auto",
    backend: str = "auto",
    predecessors: bool = False,
    targets: Any = None,
    stop_at: str = "last",
    cutoff: Any = None,
    joint: bool = False,
    delta: float | None = None,
    set_point: float | None = None,
    power_limit: float | PowerGovernor | None = None,
    heap_threshold: int | None = None,
    trace: bool = False,
    concurrency: int | None = None,
) -> ShortestPaths:
    """Shortest paths from one vertex, or from each of several, along arcs of weight 0 or more.

    graph: its arcs are followed in their direction; without weights each counts 1. source: a
    vertex, or several for a search each; with ``joint`` one search from all, to the nearest.
    method: auto, or one of ``METHODS``. backend: cpu, gpu, or auto: where the graph is; from the
    CPU to a GPU with room, if there is one and enough to do, and the method is not dijkstra.
    targets: stop once the last of these vertices is settled (``stop_at="first"``: the first);
    cutoff: pass over paths that are longer. Vertices farther away come back unreached, so that the
    answer does not depend on how far a method happened to look.
    delta: near_far's step; by default 32·w/d, of mean weight w and degree d. set_point: the arcs
    an iteration that self_tuning aims at; by default chosen for the device. On a GPU an iteration
    may have up to 128 hops, where few arcs are under way (roads, grids), whose arcs count together.
    power_limit: watts that self_tuning's set-point keeps to over many sources, on a GPU, with
    pauses where that is not enough; or the governor that did so before. heap_threshold: the
    vertices beyond which the heap method puts those that wait into its heap, and takes about as
    many, the nearest, in an iteration; by default 10,000, or as many as a GPU has threads at a
    time. concurrency: searches at a time, by default one per core, or the number that measurements
    found best on a GPU (where the frontier methods search one source after another).
    trace: X1 to X4 (the frontier, its arcs, the vertices updated, those that stay near), thresholds
    and models of every iteration, of one search by near_far, self_tuning or heap.

    Distances are int32 for weights of int32 or none, int64 for others and where int32 might
    overflow: these are exact. For weights of float32 and float64 they are float64: the least of all
    paths' sums, each added up from the source on, so that a path of k arcs is rounded k - 1 times,
    by a share of 2^-53 each time at most. CPU and GPU agree to the bit, floats too, since the least
    sum does not depend on the order of work. Of several shortest paths, predecessors name the least
    vertex that is nearer, where there is one, and they form a tree also where a weight is 0 or too
    small to change a sum.
    Deterministic. Cost: ``dijkstra`` O((n + m) log n); near_far and self_tuning see to each arc
    about once or twice; the frontier methods read all vertices, or all arcs, every round. Raises
    UsageError for bad input, before any work.
    """
    asked = problems.check(
        graph, source, joint=joint, targets=targets, stop_at=stop_at, cutoff=cutoff
    )
    check_options(method, delta, set_point, power_limit, heap_threshold)
    if concurrency is not None and concurrency < 1:
        raise UsageError(f"concurrency must be at least 1 (got {concurrency})")
    if trace and (method not in ("auto", *TRACED) or len(asked.sources) > 1 or power_limit):
        raise UsageError(f"a trace is of one search by {' or '.join(TRACED)}")
    how = Manner(
        method, predecessors, delta, set_point, power_limit, heap_threshold, trace, concurrency
    )
    where = _backend_for(asked, how, backend)
    check_backend(where, method, power_limit)
    if where == "gpu":
        from mgraph.shortest_paths import sssp_gpu

        if method == "auto":
            how = how._replace(method="near_far" if delta else "self_tuning")
        return finished(asked, *sssp_gpu.run(asked, how), how.method, "gpu")
    if graph.backend == "gpu":
        raise UsageError(
            "backend cpu was asked for, and the graph is on a GPU; graph.to_cpu() moves it"
        )
    if method == "auto":
        how = how._replace(method=_fastest_on_cpu(how))
    return _on_cpu(asked, how)


def _backend_for(asked: Problem, how: Manner, backend: str) -> str:
    """Where to search: of ``auto`` where the graph is, else wherever it takes less time."""
    graph = asked.graph
    if backend == "auto" and graph.backend == "gpu":
        return "gpu"
    where = backends.resolve(backend)
    if where == "cpu" or backend == "gpu" or how.power_limit:
        return where
    from mgraph.shortest_paths import sssp_gpu

    little = graph.num_arcs * len(asked.sources) < LITTLE_ARCS
    if how.method == "dijkstra" or little or not sssp_gpu.fits(asked, how):
        return "cpu"
    return "gpu"


def _fastest_on_cpu(how: Manner) -> str:
    """Dijkstra's algorithm, unless what was asked belongs to another method.

    It was the fastest on every graph and weight measured: see BENCHMARKS.md.
    """
    if how.delta:
        return "near_far"
    return "self_tuning" if how.set_point or how.trace else "dijkstra"


def check_options(
    method: str,
    delta: float | None = None,
    set_point: float | None = None,
    power_limit: float | PowerGovernor | None = None,
    heap_threshold: int | None = None,
) -> None:
    """Raise UsageError for options that are wrong, or that the method does not know."""
    check_choice("method", method, METHODS)
    if delta is not None and not (delta > 0 and np.isfinite(delta)):
        raise UsageError(f"delta must be a positive number, and is {delta}")
    if set_point is not None and not (set_point >= 1 and np.isfinite(set_point)):
        raise UsageError(f"set_point is a number of arcs, at least 1, and is {set_point}")
    if isinstance(power_limit, (int, float)) and not power_limit > 0:
        raise UsageError(f"power_limit is a number of watts above 0, and is {power_limit}")
    if heap_threshold is not None and heap_threshold < 1:
        raise UsageError(f"heap_threshold is a number of vertices from 1, and is {heap_threshold}")
    if heap_threshold is not None and method != "heap":
        raise UsageError(f"heap_threshold belongs to method heap, and the method is {method}")
    if delta is not None and method not in ("auto", "near_far"):
        raise UsageError(f"delta belongs to method near_far, and the method is {method}")
    for name, value in (("set_point", set_point), ("power_limit", power_limit)):
        if value is not None and (method not in ("auto", "self_tuning") or delta is not None):
            raise UsageError(f"{name} belongs to method self_tuning, and not to delta or {method}")
    if set_point is not None and power_limit is not None:
        raise UsageError("power_limit moves the set-point by itself; give one of the two")


def check_backend(where: str, method: str, power_limit: float | PowerGovernor | None) -> None:
    """Raise UsageError for options that the backend ``where`` does not know."""
    if where == "gpu" and method == "dijkstra":
        raise UsageError("dijkstra is a method of the CPU; use self_tuning or --backend cpu")
    if where == "cpu" and power_limit:
        raise UsageError("power_limit needs a GPU, whose energy counter it follows")


def _on_cpu(asked: Problem, how: Manner) -> ShortestPaths:
    """One search a thread at a time; Numba's functions leave the interpreter alone."""
    graph, infinity = asked.graph, asked.infinity
    weights = graph.weights
    if weights is None:
        # One 1 for all arcs. (Two places at least: with fewer it would be another type to Numba,
        # and take seconds to compile.)
        weights = np.broadcast_to(np.array(1, asked.dtype), max(graph.num_arcs, 2))
    shape = (len(asked.sources), graph.n)
    distance = np.empty(shape, asked.dtype)
    predecessor = np.empty(shape, graph.indices.dtype) if how.predecessors else None
    search = _cpu_method(asked, how, weights)
    rows = []

    def one(i: int) -> None:
        distance[i] = infinity
        rows.append(search(distance[i], asked.sources[i], how.trace))
        if asked.targets.size:
            found = distance[i][asked.targets]
            bound = found.min() if asked.first_target else found.max()
            distance[i][distance[i] > bound] = infinity
        if predecessor is not None:
            from mgraph.shortest_paths import predecessors_cpu

            predecessors_cpu.run(
                graph.indptr, graph.indices, weights, distance[i], asked.sources[i], infinity,
                predecessor[i],
            )  # fmt: skip

    searches = range(len(asked.sources))
    threads = min(len(searches), how.concurrency or available_cores())
    if threads == 1:
        for i in searches:
            cancellation.raise_if_cancelled()
            one(i)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(cancellation.with_token(one), searches))
    return finished(asked, distance, predecessor, rows[0] if how.trace else None, how.method, "cpu")


def finished(
    asked: Problem, distance: Any, predecessor: Any, trace: Any, method: str, backend: str
) -> ShortestPaths:
    """The answer in the shape that was asked for."""
    sources = np.array([s[0] if s.size == 1 else -1 for s in asked.sources], np.int64)
    if len(asked.sources) == 1:
        distance = distance[0]
        predecessor = None if predecessor is None else predecessor[0]
    labels = asked.graph.labels
    return ShortestPaths(sources, distance, predecessor, trace, method, backend, labels)


def _cpu_method(asked: Problem, how: Manner, weights: Any) -> Callable[[Any, Any, bool], Any]:
    """``search(distance, sources, trace)`` for a method: fills distances, returns the trace."""
    graph = asked.graph
    csr = graph.indptr, graph.indices, weights
    bounds: Any = (asked.targets, asked.first_target, asked.cutoff, asked.infinity)
    mean_weight, mean_degree = asked.mean_weight, max(asked.mean_degree, 1.0)
    if how.method == "dijkstra":
        from mgraph.shortest_paths import dijkstra_cpu

        return lambda distance, sources, _: dijkstra_cpu.run(*csr, distance, sources, *bounds)
    if how.method.startswith("frontier"):
        from mgraph.shortest_paths import frontier_cpu

        least = asked.dtype.type(graph.weight_range.least)
        by_arc = how.method == "frontier_edge"
        return lambda distance, sources, _: frontier_cpu.run(
            *csr, distance, sources, *bounds, least, by_arc
        )
    from mgraph.shortest_paths import near_far_cpu

    if how.method == "heap":
        from mgraph.shortest_paths import heap_search_cpu

        many = how.heap_threshold or heap_search_cpu.MANY

        def heap(distance: Any, sources: Any, trace: bool) -> Any:
            search = near_far_cpu.new_search(*csr, distance, 1)
            run: Any = heap_search_cpu.traced if trace else heap_search_cpu.run
            return run(search, sources, many, *bounds)

        return heap
    if how.method == "near_far":
        step = float(how.delta or asked.default_delta)

        def near_far(distance: Any, sources: Any, trace: bool) -> Any:
            search = near_far_cpu.new_search(*csr, distance, 1)
            run: Any = near_far_cpu.traced if trace else near_far_cpu.run
            return run(search, sources, step, *bounds)

        return near_far
    from mgraph.shortest_paths import self_tuning_cpu

    arcs = float(how.set_point or self_tuning_cpu.DEFAULT_SET_POINT)
    whole = asked.dtype.kind == "i"

    def self_tuning(distance: Any, sources: Any, trace: bool) -> Any:
        search = near_far_cpu.new_search(*csr, distance, self_tuning_cpu.PARTITIONS)
        control = self_tuning_cpu.new_controller(arcs, mean_degree, mean_weight, whole)
        quantum = 1.0 if whole else mean_weight * control.scale / 1024
        run: Any = self_tuning_cpu.traced if trace else self_tuning_cpu.run
        return run(search, sources, control, arcs, *bounds, quantum)

    return self_tuning
