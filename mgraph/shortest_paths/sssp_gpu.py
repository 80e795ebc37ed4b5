"""The GPU's side of the front door: move the graph, launch the method, fetch the results."""

import time
from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, csr_gpu, gauges
from mgraph.core.graph import Graph
from mgraph.core.memory import memory_guard
from mgraph.cuda.energy import EnergyMeter
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import multiprocessors
from mgraph.errors import DeviceError
from mgraph.shortest_paths import (
    bfs_gpu,
    frontier_gpu,
    near_far_gpu,
    paper_controller_cpu,
    paper_search_gpu,
    predecessors_gpu,
)
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.shortest_paths.near_far_gpu import TRACE_ROWS
from mgraph.shortest_paths.power_governor import PowerGovernor
from mgraph.shortest_paths.problem import SearchOptions, SearchRequest

LAUNCH_SECONDS = 0.25  # the maximum, about, where power is measured after each launch


def fits_in_memory(request: SearchRequest, options: SearchOptions) -> bool:
    """Return whether the graph, one search and all results fit in the device's free memory."""
    graph, length = request.graph, request.dtype.itemsize
    copies_indices = graph.indices.itemsize > 4  # to int32
    needs_tails = options.predecessors or options.method == "frontier_edge"
    arc_bytes = graph.nbytes + graph.num_arcs * (4 * copies_indices + 8 * needs_tails)
    result_bytes = length + (4 + 8 * copies_indices if options.predecessors else 0)
    search_bytes = 4 * (4 + length)  # queues as short as they may be
    if options.method == "heap":
        search_bytes += 2 * (4 + length)
    if options.controller == "paper":
        search_bytes = paper_search_gpu.BYTES_PER_VERTEX
    vertex_bytes = len(request.sources) * result_bytes + search_bytes
    is_countable = graph.n <= csr_gpu.MAX_VERTICES and graph.num_arcs < near_far_gpu.MAX_ARCS
    return is_countable and arc_bytes + graph.n * vertex_bytes < free_bytes()


class _Slow(Exception):
    """The search ran out of patience."""


def search_unless_slow(
    request: SearchRequest, options: SearchOptions, patience: tuple[float, float]
) -> tuple[Any, Any] | None:
    """Return distances and predecessors of one search, or None if it is slow.

    patience: see ``near_far_gpu.Patience``.
    """
    try:
        return search(request, options, near_far_gpu.Patience(*patience))[:2]
    except _Slow:
        return None


def search(
    request: SearchRequest,
    options: SearchOptions,
    patience: near_far_gpu.Patience = near_far_gpu.ENDLESS,
) -> tuple[Any, Any, Any]:
    """Return distances and predecessors ``(k, n)`` on the device, and the trace, or None for each.

    Raises OutOfMemoryError if the graph or the results do not fit in the device's memory, and
    DeviceError if the graph is too large for the kernels.
    """
    import cupy

    if request.graph.n > csr_gpu.MAX_VERTICES:
        raise DeviceError(f"a GPU searches fewer than 2^31 vertices (got {request.graph.n:,})")
    trace = None
    with memory_guard(
        f"{len(request.sources)} searches on {request.graph}",
        'search from fewer sources at a time, or pass `backend="cpu"`',
    ):
        graph = request.graph.to_gpu()
        if options.method == "bfs":
            return *_search_by_breadth(request, graph, options, patience), None
        if options.method.startswith("frontier"):
            distance = _search_by_frontier(request, graph, options)
        elif options.power_limit:
            distance = _search_within_power(
                request, graph, options.power_limit, options.concurrency
            )
        elif options.controller == "paper":
            distance, trace = _search_as_the_paper(request, graph, options)
        else:
            distance, trace = _search_by_near_far(request, graph, options, patience)
        cancellation_gpu.finish()
        if request.targets.size:
            _drop_beyond_targets(distance, request)
        if not options.predecessors:
            return distance, None, trace
        predecessor = cupy.empty(distance.shape, np.int32)
        finder = predecessors_gpu.PredecessorFinder(graph, request.dtype)
        for i, sources in enumerate(request.sources):
            cancellation.raise_if_cancelled()
            finder.find(distance[i], sources, predecessor[i])
        predecessor = predecessor.astype(graph.indices.dtype, copy=False)
    return distance, predecessor, trace


def _drop_beyond_targets(distance: Any, request: SearchRequest) -> None:
    """Mark vertices as unreached that are farther away than the last, or first, target."""
    import cupy

    key = distance.view(key_dtype(request.dtype))  # CuPy takes subnormal floats for zero
    to_targets = key[:, cupy.asarray(request.targets)]
    bound = to_targets.min(axis=1) if request.stop_at_first else to_targets.max(axis=1)
    distance[key > bound[:, None]] = request.infinity


def _search_by_frontier(request: SearchRequest, graph: Graph, options: SearchOptions) -> Any:
    """Return distances by frontier Dijkstra, one search after another."""
    import cupy

    searcher = frontier_gpu.Searcher(
        graph, request.dtype, by_arc=options.method == "frontier_edge",
        by_vertex_bound=options.frontier_bound == "vertex",
    )  # fmt: skip
    distance = cupy.empty((len(request.sources), graph.n), request.dtype)
    targets = cupy.asarray(request.targets, np.int32)
    for i, sources in enumerate(request.sources):
        cancellation.raise_if_cancelled()
        searcher.launch(
            sources,
            distance[i],
            targets=targets,
            stop_at_first=request.stop_at_first,
            cutoff=request.cutoff,
        )
    return distance


def _search_by_breadth(
    request: SearchRequest, graph: Graph, options: SearchOptions, patience: near_far_gpu.Patience
) -> tuple[Any, Any]:
    """Return distances and predecessors, or None for these, by one search after another.

    Raises _Slow if patience is at an end.
    """
    import cupy

    shape = len(request.sources), graph.n
    distance, predecessor = cupy.empty(shape, np.int32), None
    if options.predecessors:
        predecessor = cupy.empty(shape, np.int32)
    searcher = bfs_gpu.Searcher(graph, predecessors=options.predecessors)
    targets = cupy.asarray(request.targets.astype(np.int32))
    for i, sources in enumerate(request.sources):
        cancellation.raise_if_cancelled()
        launched = searcher.launch(
            sources,
            distance=distance[i],
            predecessor=None if predecessor is None else predecessor[i],
            targets=targets,
            stop_at_first=request.stop_at_first,
            cutoff=int(request.cutoff),
            patience=patience,
        )
        cancellation_gpu.finish()
        if patience.seconds and int(launched.gave_up[0]):
            raise _Slow
    if predecessor is not None:
        predecessor = predecessor.astype(graph.indices.dtype, copy=False)
    return distance, predecessor


def _search_within_power(
    request: SearchRequest, graph: Graph, limit: float | PowerGovernor, concurrency: int | None
) -> Any:
    """Return distances by self-tuning, in small launches whose power the set-point follows."""
    import cupy

    governor = limit if isinstance(limit, PowerGovernor) else PowerGovernor(limit)
    searches = len(request.sources)
    searcher = near_far_gpu.Searcher(graph, request.dtype, searches, concurrency)
    distance = cupy.empty((searches, graph.n), request.dtype)
    searcher.compile_kernel()  # compiled before power is measured
    done = 0
    with EnergyMeter() as meter:
        while done < searches:
            cancellation.raise_if_cancelled()
            batch = slice(done, done + governor.searches_per_group * searcher.groups)
            set_point = governor.set_point_factor * searcher.default_set_point
            with gauges.showing(set_point=set_point):
                searcher.launch(
                    request.sources[batch],
                    mean_weight=request.mean_weight,
                    cutoff=request.cutoff,
                    set_point=set_point,
                    targets=request.targets if request.targets.size else None,
                    stop_at_first=request.stop_at_first,
                    distance=distance[batch],
                )
                began = time.perf_counter()
                cupy.cuda.Device().synchronize()
            seconds = time.perf_counter() - began
            time.sleep(seconds * (1 / governor.duty_cycle - 1))
            done = batch.stop
            governor.observe(*meter.lap())
            if done <= searches:  # every group had as many searches
                fitting = int(governor.searches_per_group * LAUNCH_SECONDS / max(seconds, 1e-6))
                governor.searches_per_group = max(1, min(4 * governor.searches_per_group, fitting))
    return distance


def _search_as_the_paper(
    request: SearchRequest, graph: Graph, options: SearchOptions
) -> tuple[Any, Any]:
    """Return distances and the trace, by one search after another with the paper's controller.

    Raises UsageError if one does not come to an end.
    """
    import cupy

    searcher = paper_search_gpu.Searcher(graph, request.dtype)
    distance, trace = cupy.empty((len(request.sources), graph.n), request.dtype), None
    set_point = options.set_point or near_far_gpu.default_set_point(graph, multiprocessors())
    for i, sources in enumerate(request.sources):
        trace, is_finished = paper_search_gpu.find_distances(
            searcher, request, sources, distance[i], float(set_point), trace=options.trace
        )
        paper_controller_cpu.check_end(is_finished)
    return distance, trace


def _search_by_near_far(
    request: SearchRequest,
    graph: Graph,
    options: SearchOptions,
    patience: near_far_gpu.Patience,
) -> tuple[Any, Any]:
    """Return distances by near-far, self-tuning or with heaps, and the trace.

    Raises _Slow if patience is at an end.
    """
    is_fixed = options.method == "near_far"
    delta = float(options.delta or request.default_delta) if is_fixed else 0.0
    set_point = options.set_point
    if options.heap_threshold:
        set_point = options.heap_threshold * max(request.mean_degree, 1.0)
    searcher = near_far_gpu.Searcher(
        graph,
        request.dtype,
        len(request.sources),
        options.concurrency,
        heaps=options.method == "heap",
    )
    shown = {}
    if options.method == "self_tuning":
        shown["set_point"] = float(set_point or searcher.default_set_point)
    with gauges.showing(**shown):
        launched = searcher.launch(
            request.sources,
            mean_weight=request.mean_weight,
            cutoff=request.cutoff,
            delta=delta,
            set_point=set_point,
            hops=options.hops,
            is_bound=options.upper_bound,
            targets=request.targets if request.targets.size else None,
            stop_at_first=request.stop_at_first,
            trace_rows=TRACE_ROWS if options.trace else 0,
            patience=patience,
        )
        cancellation_gpu.finish()
        if patience.seconds and searcher.gave_up(launched):
            raise _Slow
    if not options.trace:
        return launched.distance, None
    iterations = int(launched.iterations[0])
    cancellation.raise_if_cancelled()
    if iterations >= TRACE_ROWS:
        raise DeviceError(
            f"a trace holds at most {TRACE_ROWS:,} iterations (the search took {iterations:,}); "
            "search without a trace"
        )
    # Row 0 has what the sources brought. Times are those at which the iterations ended.
    rows = launched.trace[: iterations + 1].get()
    rows[1:, -1] = np.diff(rows[:, -1])
    return launched.distance, traces.to_records(rows[1:])
