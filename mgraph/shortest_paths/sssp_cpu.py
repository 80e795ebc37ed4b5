"""The CPU's side of the front door: one search per thread at a time.

Numba's functions release the interpreter's lock, so that threads search in parallel.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.host import available_cores
from mgraph.shortest_paths import predecessors_cpu, self_tuning
from mgraph.shortest_paths.problem import SearchOptions, SearchRequest

# Fills distances, which hold infinity, from sources; returns the trace, or whatever it counts.
SearchFunction = Callable[[Any, Any], Any]


def search(request: SearchRequest, options: SearchOptions) -> tuple[Any, Any, Any]:
    """Return distances and predecessors ``(k, n)``, and the trace, or None for the latter two."""
    csr = rows_of(request)
    distance, predecessor = _allocate(request, options)
    search_one = _choose_search(request, options, csr)
    traces = []

    def answer(i: int) -> None:
        distance[i] = request.infinity
        traces.append(search_one(distance[i], request.sources[i]))
        _finish(request, csr, i, distance, predecessor)

    searches = range(len(request.sources))
    threads = min(len(searches), options.concurrency or available_cores())
    if threads == 1:
        for i in searches:
            cancellation.raise_if_cancelled()
            answer(i)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(cancellation.with_token(answer), searches))
    return distance, predecessor, traces[0] if options.trace else None


class PausingSearch:
    """One search by breadth or by Dijkstra's algorithm, which pauses where many vertices wait."""

    def __init__(self, request: SearchRequest, options: SearchOptions) -> None:
        """Prepare a search."""
        from mgraph.shortest_paths import bfs_cpu, dijkstra_cpu

        self._request, self._csr = request, rows_of(request)
        self._distance, self._predecessor = _allocate(request, options)
        self._distance.fill(request.infinity)
        bounds: Any = (request.targets, request.stop_at_first, request.cutoff, request.infinity)
        indptr, indices, weights = self._csr
        begin = self._distance[0], request.sources[0], *bounds
        make: Any = dijkstra_cpu.Search
        arguments: tuple[Any, ...] = (indptr, indices, weights, *begin)
        if request.graph.weights is None:
            make, arguments = bfs_cpu.Search, (indptr, indices, *begin, _has_mirrors(request))
        self.run = make(*arguments).run

    def results(self) -> tuple[Any, Any]:
        """Return distances and predecessors ``(1, n)``, or None for these, when all has run."""
        _finish(self._request, self._csr, 0, self._distance, self._predecessor)
        return self._distance, self._predecessor


def _has_mirrors(request: SearchRequest) -> bool:
    """Return whether each arc of the graph has its mirror."""
    return not request.graph.directed and request.graph.symmetric


def rows_of(request: SearchRequest) -> tuple[Any, Any, Any]:
    """Return indptr, indices and weights, which are a single 1 if there are none."""
    graph = request.graph
    weights = graph.weights
    if weights is None:
        # Repeated for all arcs. With fewer than two arcs Numba would take the array for another
        # type, and compile for seconds.
        weights = np.broadcast_to(np.array(1, request.dtype), max(graph.num_arcs, 2))
    return graph.indptr, graph.indices, weights


def _allocate(request: SearchRequest, options: SearchOptions) -> tuple[Any, Any]:
    """Return arrays ``(k, n)`` for distances, and for predecessors or None."""
    graph, shape = request.graph, (len(request.sources), request.graph.n)
    predecessor = np.empty(shape, graph.indices.dtype) if options.predecessors else None
    return np.empty(shape, request.dtype), predecessor


def _finish(
    request: SearchRequest, csr: tuple[Any, Any, Any], i: int, distance: Any, predecessor: Any
) -> None:
    """Drop what lies beyond search i's targets, and find its predecessors."""
    if request.targets.size:
        to_targets = distance[i][request.targets]
        bound = to_targets.min() if request.stop_at_first else to_targets.max()
        distance[i][distance[i] > bound] = request.infinity
    if predecessor is not None:
        predecessors_cpu.find_predecessors(
            *csr, distance[i], request.sources[i], request.infinity, predecessor[i]
        )


def _choose_search(
    request: SearchRequest, options: SearchOptions, csr: tuple[Any, Any, Any]
) -> SearchFunction:
    """Return the function that searches once by the method. csr: indptr, indices, weights."""
    bounds: Any = (request.targets, request.stop_at_first, request.cutoff, request.infinity)
    if options.method == "dijkstra":
        from mgraph.shortest_paths import dijkstra_cpu

        return lambda distance, sources: dijkstra_cpu.find_distances(
            *csr, distance, sources, *bounds
        )
    if options.method == "bfs":
        from mgraph.shortest_paths import bfs_cpu

        has_mirrors = _has_mirrors(request)
        return lambda distance, sources: bfs_cpu.find_distances(
            *csr[:2], distance, sources, *bounds, has_mirrors
        )
    if options.method.startswith("frontier"):
        from mgraph.shortest_paths import frontier_cpu

        min_weight = request.dtype.type(request.graph.weight_range[0])
        by_arc = options.method == "frontier_edge"
        minima = np.zeros(
            request.graph.n if options.frontier_bound == "vertex" else 0, request.dtype
        )
        frontier_cpu.row_minima(csr[0], csr[2], minima)
        return lambda distance, sources: frontier_cpu.find_distances(
            *csr, distance, sources, *bounds, min_weight, by_arc, minima
        )
    if options.method == "heap":
        return _heap_search(options, csr, bounds)
    if options.method == "near_far":
        return _near_far_search(request, options, csr, bounds)
    return _self_tuning_search(request, options, csr, bounds)


def _heap_search(
    options: SearchOptions, csr: tuple[Any, Any, Any], bounds: tuple[Any, ...]
) -> SearchFunction:
    from mgraph.shortest_paths import heap_search_cpu, near_far_cpu

    find: Any = (
        heap_search_cpu.find_distances_traced if options.trace else heap_search_cpu.find_distances
    )
    heap_threshold = options.heap_threshold or heap_search_cpu.DEFAULT_THRESHOLD

    def search_one(distance: Any, sources: Any) -> Any:
        state = near_far_cpu.new_search(*csr, distance, 1)
        return find(state, sources, heap_threshold, *bounds)

    return search_one


def _near_far_search(
    request: SearchRequest,
    options: SearchOptions,
    csr: tuple[Any, Any, Any],
    bounds: tuple[Any, ...],
) -> SearchFunction:
    from mgraph.shortest_paths import near_far_cpu

    find: Any = near_far_cpu.find_distances_traced if options.trace else near_far_cpu.find_distances
    delta = float(options.delta or request.default_delta)

    def search_one(distance: Any, sources: Any) -> Any:
        return find(near_far_cpu.new_search(*csr, distance, 1), sources, delta, *bounds)

    return search_one


def _self_tuning_search(
    request: SearchRequest,
    options: SearchOptions,
    csr: tuple[Any, Any, Any],
    bounds: tuple[Any, ...],
) -> SearchFunction:
    from mgraph.shortest_paths import near_far_cpu, self_tuning_cpu

    find: Any = (
        self_tuning_cpu.find_distances_traced if options.trace else self_tuning_cpu.find_distances
    )
    set_point = float(options.set_point or self_tuning_cpu.DEFAULT_SET_POINT)
    mean_degree, mean_weight = max(request.mean_degree, 1.0), request.mean_weight
    is_integer = request.dtype.kind == "i"
    if options.controller == "paper":
        return _paper_search(request, options, csr, bounds, set_point)
    unit = self_tuning.length_unit(mean_weight, is_integer=is_integer)
    min_step = self_tuning.min_step(mean_weight, unit, is_integer=is_integer)

    def search_one(distance: Any, sources: Any) -> Any:
        state = near_far_cpu.new_search(*csr, distance, self_tuning.PARTITIONS)
        controller = self_tuning_cpu.new_controller(
            set_point, mean_degree, mean_weight, unit, is_bound=options.upper_bound
        )
        return find(state, sources, controller, set_point, *bounds, min_step)

    return search_one


def _paper_search(
    request: SearchRequest,
    options: SearchOptions,
    csr: tuple[Any, Any, Any],
    bounds: tuple[Any, ...],
    set_point: float,
) -> SearchFunction:
    from mgraph.shortest_paths import near_far_cpu, paper_search_cpu
    from mgraph.shortest_paths import paper_controller_cpu as paper

    mean_degree, mean_weight = max(request.mean_degree, 1.0), request.mean_weight
    min_step = self_tuning.min_step(mean_weight, 1.0, is_integer=request.dtype.kind == "i")

    def search_one(distance: Any, sources: Any) -> Any:
        state = near_far_cpu.new_search(*csr, distance, paper.PARTITIONS)
        controller = paper.new_controller(mean_degree, mean_weight)
        request_of_one = state, sources, controller, set_point, *bounds, min_step
        if not options.trace:
            return paper_search_cpu.find_distances(*request_of_one)
        trace, is_finished = paper_search_cpu.find_distances_traced(*request_of_one)
        paper.check_end(is_finished)
        return trace

    return search_one
