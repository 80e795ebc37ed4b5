"""One search where it is fastest: on a core while few vertices are pending, else on a GPU.

A GPU takes microseconds for each step away from the source, however few vertices there are in it; a
core takes time for each vertex. So paths, combs and narrow grids are a core's, and graphs of many
vertices at similar distances a GPU's. No number of vertices and arcs says which a graph is, so the
search itself does:

1. A graph on the CPU is searched by Dijkstra's algorithm, or by breadth if it has no weights, until
   more than ``MAX_PENDING`` vertices wait. On a path that is never; on a random graph after a few
   vertices.
2. Then, or at once if the graph is on a GPU, the GPU searches. It gives up once it has reached
   fewer vertices than a core for a while: for a share, ``PATIENCE``, of a core's time for all.
3. Then the core goes on where it paused, or begins, and finishes whatever is pending.

Cost: at most the core's time and a share of it, or the GPU's and the steps that a core took faster;
where the graph is on the GPU and the core finishes, a copy of the graph. Figures: BENCHMARKS.md.
"""

from typing import Any, NamedTuple

from mgraph.core.choices import Device
from mgraph.shortest_paths.problem import SearchOptions, SearchRequest

MAX_PENDING = 64
PATIENCE = 0.15
# A core's, between those of graphs in its cache and those in its memory.
SECONDS_PER_VERTEX, SECONDS_PER_ARC = 30e-9, 20e-9


class Found(NamedTuple):
    """Distances and predecessors ``(1, n)``, or None for these, and what found them."""

    method: str
    device: Device
    distance: Any
    predecessor: Any


def search(request: SearchRequest, options: SearchOptions) -> Found:
    """Search once, with a GPU at hand.

    The arrays are where the search ended, or on the GPU if the graph is there.
    """
    from mgraph.shortest_paths import sssp_gpu

    graph = request.graph
    is_unweighted = graph.weights is None
    core_method = "bfs" if is_unweighted else "dijkstra"
    core_search = None
    if graph.backend == "cpu":
        core_search = _core_search(request, options)
        if core_search.run(MAX_PENDING):
            return Found(core_method, "cpu", *core_search.results())
    seconds = graph.n * SECONDS_PER_VERTEX + graph.num_arcs * SECONDS_PER_ARC
    patience = PATIENCE * seconds, graph.n / seconds
    gpu_method = "bfs" if request.prefers_bfs else "self_tuning"
    on_gpu = options._replace(method=gpu_method)
    found = sssp_gpu.search_unless_slow(request, on_gpu, patience)
    if found is not None:
        return Found(gpu_method, "gpu", *found)
    if core_search is None:
        core_search = _core_search(request.on(graph.to_cpu()), options)
    core_search.run()
    distance, predecessor = core_search.results()
    if graph.backend == "gpu":
        from mgraph.cuda.transfer import to_device

        distance = to_device(distance)
        predecessor = None if predecessor is None else to_device(predecessor)
    return Found(core_method, "cpu", distance, predecessor)


def _core_search(request: SearchRequest, options: SearchOptions) -> Any:
    from mgraph.shortest_paths import sssp_cpu

    return sssp_cpu.PausingSearch(request, options)
