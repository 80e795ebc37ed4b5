"""The front door of the shortest-path methods: check the request, choose a method, call it."""

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core import backend as backends
from mgraph.core.choices import (
    Backend,
    Device,
    SsspController,
    SsspFrontierBound,
    SsspMethod,
    check_choice,
)
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.as_graph import as_graph
from mgraph.shortest_paths.power_governor import PowerGovernor
from mgraph.shortest_paths.problem import (
    SearchOptions,
    SearchRequest,
    check_delta,
    check_request,
)
from mgraph.shortest_paths.result import ShortestPaths
from mgraph.shortest_paths.self_tuning import MAX_HOPS

METHODS = (
    "auto", "bfs", "dijkstra", "frontier_node", "frontier_edge", "near_far", "self_tuning", "heap",
)  # fmt: skip
TRACED = ("near_far", "self_tuning", "heap")
MIN_GPU_ARCS = 1 << 16  # in all searches; with fewer, moving the graph takes longer: BENCHMARKS.md


def sssp(
    graph: Graph | Any,
    source: ArrayLike,
    *,
    method: SsspMethod = "auto",
    backend: Backend = "auto",
    predecessors: bool = False,
    targets: ArrayLike | None = None,
    stop_at: str = "last",
    cutoff: Any = None,
    joint: bool = False,
    delta: float | None = None,
    set_point: float | None = None,
    upper_bound: bool = False,
    controller: SsspController | None = None,
    hops: int | None = None,
    power_limit: float | PowerGovernor | None = None,
    heap_threshold: int | None = None,
    frontier_bound: SsspFrontierBound | None = None,
    trace: bool = False,
    concurrency: int | None = None,
) -> ShortestPaths:
    """Shortest paths from one or several sources, along arcs of non-negative weight.

    Parameters
    ----------
    graph : Graph, or what becomes one
        A path, a Dataset, a NetworkX graph, a sparse matrix, a data frame with usual column names,
        an EdgeList or an edge index of shape (2, m) is converted first. Arcs are followed in their
        direction. Weights must be non-negative and finite; without weights every arc counts 1.
    source : int or array_like of int, shape (k,)
        One source, or several for one search each.
    method : str, default "auto"
        ``bfs`` (without weights), ``dijkstra`` (CPU only), ``frontier_node``, ``frontier_edge``,
        ``near_far``, ``self_tuning`` or ``heap``. By default the fastest that measurements found:
        bfs without weights, dijkstra on a CPU and self_tuning on a GPU, or the method to which
        ``delta``, ``set_point``, ``controller``, ``hops`` or ``trace`` belongs.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        By default where it is fastest. A graph on the CPU is searched on a GPU if there is one, the
        graph fits in its memory, there is enough work, and the method is not dijkstra. One search
        by the default method moves to a core if the GPU turns out to be slower, as on long paths.
    predecessors : bool, default False
        Also return a shortest-path tree: 4 or 8 bytes per vertex and search.
    targets : int or array_like of int, optional
        Stop once all these vertices are settled. Vertices farther away than the farthest of them
        are returned as unreached.
    stop_at : {"last", "first"}, default "last"
        With ``first``, stop once the nearest target is settled.
    cutoff : float, optional
        Drop longer paths: vertices farther away are returned as unreached.
    joint : bool, default False
        One search from all sources, which gives each vertex its distance to the nearest of them.
    delta : float, optional
        The step of near_far's threshold. By default 32·w/d, of mean weight w and mean degree d.
    set_point : float, optional
        For self_tuning: the arcs per iteration to aim at, P in the paper. By default chosen for
        the device. The arcs of all hops of an iteration count. It is the mean that they come to.
    upper_bound : bool, default False
        Take the set-point for an upper bound, as the paper has it, which one of twenty iterations
        may exceed; where a single distance has more arcs, as on power-law graphs, more of them do.
    controller : {"mgraph", "paper"}, optional
        For self_tuning: ``paper`` follows the paper to the letter, for experiments: its equations,
        which the CPU evaluates between iterations, also where a GPU does the rest. Its trace counts
        as X2 the updates of vertices, and on many graphs it does not come to an end.
    hops : int, optional
        For near_far and self_tuning: how many times at most an iteration expands what it has
        found near. By default 1 on a CPU, which has no other, and on a GPU up to 128 hops where few
        arcs are under way (roads, grids); 1 there as well for the paper's iterations.
    power_limit : float, optional
        For self_tuning with many sources on a GPU: move the set-point to keep to this many watts,
        and pause where that is not enough. A ``PowerGovernor`` goes on from its last state.
    heap_threshold : int, optional
        For heap: with more queued vertices than this, the others wait in a heap, and an iteration
        takes about as many of the nearest. By default 10,000 on a CPU, on a GPU the number of
        threads that it runs at a time.
    frontier_bound : {"graph", "vertex"}, optional
        For frontier_node and frontier_edge: up to what distance a round settles vertices. By
        default to the nearest one's plus the least weight of the graph, as the paper has it;
        ``vertex``: to the nearest head of any vertex that is not settled, in fewer rounds.
    trace : bool, default False
        Also return one row per iteration: X1 to X4 (the frontier, its arcs, the vertices improved,
        those that stay near), threshold and models. For one search by near_far, self_tuning or
        heap.
    concurrency : int, optional
        Searches at a time. By default one per core, or the number that measurements found best on a
        GPU, where the frontier methods always search one source after another.

    Returns
    -------
    ShortestPaths
        ``distance`` (n,) after one search, (k, n) after several; infinity, or the integer type's
        maximum, where unreached. Also ``predecessor``, ``trace``, ``to_pandas()`` and others.

    Raises
    ------
    UsageError
        If a parameter is wrong or does not belong to the method, a weight is negative, NaN or
        infinite, a path might overflow 64 bits, or the paper's controller does not come to an end.
    DeviceError
        If there is no GPU, or the graph is too large for its kernels.
    OutOfMemoryError
        If the graph or the results do not fit in memory.

    Notes
    -----
    Distances are int32 for int32 weights or none, int64 for int64 weights and where int32 might
    overflow; these are exact. For float32 and float64 weights they are float64: the least sum of
    any path, each added up from the source on, so that a path of k arcs is rounded k - 1 times,
    each time by a relative error of at most 2^-53. CPU and GPU agree to the bit, for floats too,
    since the least sum does not depend on the order of work.

    Among several shortest paths, predecessors name the smallest vertex that is strictly nearer, if
    there is one. They form a tree also where a weight is 0 or too small to change a sum.
    Deterministic.

    Work: O(n + m) for bfs; O((n + m) log n) for dijkstra; near_far and self_tuning relax each arc
    about once or twice; the frontier methods read all vertices, or all arcs, in each round.

    Sources: Beamer, Asanović, Patterson 2012 (bfs); Karamati, Young, Vuduc 2018 (near_far,
    self_tuning); Mathieu, Klusch, algorithms 3 to 5 (the frontier methods); Chen et al. 2019,
    section 5.7 (heap).

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 0], [1, 2, 2], [7, 2, 12])
    >>> graph = mgraph.from_edges(edges, backend="cpu")
    >>> mgraph.sssp(graph, 0).distance
    array([0, 7, 9])
    >>> paths = mgraph.sssp(graph, [0, 1], predecessors=True, cutoff=8)
    >>> paths.reached
    array([[ True,  True, False],
           [False,  True,  True]])
    >>> paths.predecessor
    array([[-1,  0, -1],
           [-1, -1,  1]], dtype=int32)
    """
    graph = as_graph(graph)
    request = check_request(
        graph, source, joint=joint, targets=targets, stop_at=stop_at, cutoff=cutoff
    )
    check_options(
        method, delta, set_point, power_limit, heap_threshold, controller, hops, upper_bound,
        frontier_bound,
    )  # fmt: skip
    if method == "bfs" and graph.weights is not None:
        raise UsageError(
            "bfs counts arcs, and this graph has weights; use another method", parameter="method"
        )
    if concurrency is not None and concurrency < 1:
        raise UsageError(f"concurrency must be at least 1 (got {concurrency})")
    if trace and (method not in ("auto", *TRACED) or len(request.sources) > 1 or power_limit):
        raise UsageError(
            f"trace applies to one search by {', '.join(TRACED[:-1])} or {TRACED[-1]}, without "
            "power_limit"
        )
    options = SearchOptions(
        method, predecessors, delta, set_point, power_limit, heap_threshold, trace, concurrency,
        controller, hops, upper_bound, frontier_bound,
    )  # fmt: skip
    device = _choose_backend(request, options, backend)
    if device == "gpu" and backend == "auto" and _is_any_method(request, options):
        from mgraph.shortest_paths import fastest_device

        found = fastest_device.search(request, options)
        chosen = options._replace(method=found.method)
        return _assemble(request, chosen, found.device, found.distance, found.predecessor, None)
    check_backend(device, method, power_limit)
    if device == "cpu" and hops is not None and hops > 1:
        raise UsageError(f"on a CPU an iteration has 1 hop (got {hops})", parameter="hops")
    if device == "gpu":
        from mgraph.shortest_paths import sssp_gpu

        if method == "auto":
            options = options._replace(method=_choose_gpu_method(request, options))
        return _assemble(request, options, "gpu", *sssp_gpu.search(request, options))
    if graph.backend == "gpu":
        raise UsageError(
            'backend "cpu" needs a graph on the CPU (this one is on a GPU); move it with '
            "graph.to_cpu()"
        )
    from mgraph.shortest_paths import sssp_cpu

    if method == "auto":
        options = options._replace(method=_choose_cpu_method(graph, options))
    return _assemble(request, options, "cpu", *sssp_cpu.search(request, options))


def _choose_backend(request: SearchRequest, options: SearchOptions, backend: Backend) -> Device:
    """Resolve ``auto``: where the graph is, or a GPU where that takes less time."""
    graph = request.graph
    if backend == "auto" and graph.backend == "gpu":
        return "gpu"
    resolved = backends.resolve(backend)
    if resolved == "cpu" or backend == "gpu" or options.power_limit:
        return resolved
    from mgraph.shortest_paths import sssp_gpu

    has_little_work = graph.num_arcs * len(request.sources) < MIN_GPU_ARCS
    if options.method == "dijkstra" or has_little_work:
        return "cpu"
    return "gpu" if sssp_gpu.fits_in_memory(request, options) else "cpu"


def _is_any_method(request: SearchRequest, options: SearchOptions) -> bool:
    """Return whether there is one search, by whatever method is the fastest."""
    is_free = not (options.delta or options.heap_threshold or _has_options_of_self_tuning(options))
    return len(request.sources) == 1 and options.method == "auto" and is_free


def _choose_cpu_method(graph: Graph, options: SearchOptions) -> str:
    """Choose breadth-first search or Dijkstra's algorithm, unless an option belongs to another.

    They were the fastest on every graph and type of weights measured: see BENCHMARKS.md.
    """
    if options.delta:
        return "near_far"
    if _has_options_of_self_tuning(options):
        return "self_tuning"
    return "bfs" if graph.weights is None else "dijkstra"


def _choose_gpu_method(request: SearchRequest, options: SearchOptions) -> str:
    """Choose the method that an option belongs to, else breadth-first search or self-tuning.

    Several searches go side by side, which breadth-first ones do not.
    """
    if options.delta:
        return "near_far"
    is_free = not _has_options_of_self_tuning(options)
    is_single = len(request.sources) == 1
    return "bfs" if is_free and is_single and request.prefers_bfs else "self_tuning"


def _has_options_of_self_tuning(options: SearchOptions) -> bool:
    chosen = (
        options.set_point, options.upper_bound, options.controller, options.hops,
        options.power_limit, options.trace,
    )  # fmt: skip
    return any(chosen)


def check_options(
    method: str,
    delta: float | None = None,
    set_point: float | None = None,
    power_limit: float | PowerGovernor | None = None,
    heap_threshold: int | None = None,
    controller: str | None = None,
    hops: int | None = None,
    upper_bound: bool = False,
    frontier_bound: str | None = None,
) -> None:
    """Raise UsageError for options that are wrong, or that belong to another method."""
    check_choice("method", method, METHODS)
    check_delta(delta)
    if set_point is not None and not (set_point >= 1 and np.isfinite(set_point)):
        raise UsageError(f"set_point must be at least 1 arc per iteration (got {set_point})")
    if isinstance(power_limit, (int, float)) and not power_limit > 0:
        raise UsageError(f"power_limit must be more than 0 watts (got {power_limit})")
    if heap_threshold is not None and heap_threshold < 1:
        raise UsageError(f"heap_threshold must be at least 1 vertex (got {heap_threshold})")
    if heap_threshold is not None and method != "heap":
        raise UsageError(f"heap_threshold belongs to method heap (the method is {method})")
    if frontier_bound is not None:
        check_choice("frontier_bound", frontier_bound, get_args(SsspFrontierBound))
        if not method.startswith("frontier"):
            raise UsageError(
                "frontier_bound belongs to methods frontier_node and frontier_edge (the method is "
                f"{method})"
            )
    if delta is not None and method not in ("auto", "near_far"):
        raise UsageError(f"delta belongs to method near_far (the method is {method})")
    if controller is not None:
        check_choice("controller", controller, get_args(SsspController))
    of_self_tuning = {
        "set_point": set_point, "power_limit": power_limit, "controller": controller,
        "upper_bound": upper_bound or None,
    }  # fmt: skip
    for name, value in of_self_tuning.items():
        if value is None:
            continue
        if delta is not None:
            raise UsageError(f"{name} belongs to method self_tuning, and delta to near_far")
        if method not in ("auto", "self_tuning"):
            raise UsageError(f"{name} belongs to method self_tuning (the method is {method})")
    if hops is not None and not 1 <= hops <= MAX_HOPS:
        raise UsageError(f"hops must be from 1 to {MAX_HOPS} (got {hops})", parameter="hops")
    if hops is not None and method not in ("auto", "near_far", "self_tuning"):
        raise UsageError(
            f"hops belongs to methods near_far and self_tuning (the method is {method})"
        )
    if hops is not None and power_limit is not None:
        raise UsageError("with power_limit, iterations have as many hops as is fastest")
    of_mgraph = {"power_limit": power_limit, "upper_bound": upper_bound or None}
    for name, value in of_mgraph.items():
        if value is not None and controller == "paper":
            raise UsageError(f"{name} belongs to the controller mgraph")
    if upper_bound and power_limit is not None:
        raise UsageError("power_limit moves the set-point itself; give power_limit or upper_bound")
    if set_point is not None and power_limit is not None:
        raise UsageError("power_limit moves the set-point itself; give power_limit or set_point")


def prefer_backend(method: str, backend: Backend) -> Backend:
    """Return the backend to ask for: ``auto`` is ``cpu`` for a method that has no other."""
    return "cpu" if method == "dijkstra" and backend == "auto" else backend


def check_backend(backend: Backend, method: str, power_limit: float | PowerGovernor | None) -> None:
    """Raise UsageError for options that this backend, cpu or gpu, does not have."""
    if backend == "gpu" and method == "dijkstra":
        raise UsageError(
            'dijkstra runs on the CPU only; pass `backend="cpu"` or `method="self_tuning"`'
        )
    if backend == "cpu" and power_limit:
        raise UsageError("power_limit needs a GPU, whose energy counter it reads")


def _assemble(
    request: SearchRequest,
    options: SearchOptions,
    backend: Device,
    distance: Any,
    predecessor: Any,
    trace: Any,
) -> ShortestPaths:
    """Make the result; after one search its arrays have no dimension of searches."""
    source = np.array([s[0] if s.size == 1 else -1 for s in request.sources], np.int64)
    if len(request.sources) == 1:
        distance = distance[0]
        predecessor = None if predecessor is None else predecessor[0]
    return ShortestPaths(
        source, distance, predecessor, trace, options.method, backend, request.graph.labels
    )
