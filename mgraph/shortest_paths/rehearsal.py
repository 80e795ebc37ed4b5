"""A search on a graph of two vertices, which compiles what a search needs before one is timed."""

from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core.graph import Graph
from mgraph.cuda.source import Loader
from mgraph.shortest_paths.problem import length_dtype
from mgraph.shortest_paths.result import summarize
from mgraph.shortest_paths.sssp import sssp


def rehearse(graph: Graph, sources: int = 1, **options: Any) -> None:
    """Search a small graph of the same types, where the graph is. options: of ``mgraph.sssp``."""
    with timings.step(timings.REHEARSING):
        small = _make_small_graph(graph)
        paths = sssp(small, [0] * sources, backend=graph.backend, **options)
        summarize(paths.distance.reshape(-1, small.n)[0])


def kernel_loaders(graph: Graph, method: str, controller: str | None = None) -> list[Loader]:
    """Return functions that compile or load what a search on such a graph needs on a GPU."""
    from mgraph.core import primitives_gpu
    from mgraph.shortest_paths import bfs_gpu, near_far_gpu, paper_search_gpu, reached_rows_gpu
    from mgraph.shortest_paths.length_types_gpu import length_defines

    length = str(length_dtype(graph))
    weight = length if graph.weights is None else str(graph.weights.dtype)
    loaders = primitives_gpu.loaders(*{"uint32", "int32", "int64", "uint64", weight, length})
    loaders.append(reached_rows_gpu.loader(length))
    if graph.weights is None and method in ("auto", "bfs"):
        loaders.append(bfs_gpu.KERNELS.loader())
    if controller == "paper":
        loaders.append(paper_search_gpu.KERNELS.loader(**length_defines(weight, length)))
    elif not method.startswith("frontier") and method != "bfs":
        defines = near_far_gpu.search_defines(weight, length, heaps=method == "heap")
        loaders.append(near_far_gpu.KERNELS.loader(**defines))
    return loaders


def _make_small_graph(graph: Graph) -> Graph:
    """Make a graph of two vertices with the mean degree and the types of this graph.

    Its weights are 0, or so large that lengths take 64 bits where the graph's do.
    """
    arcs = -(-graph.num_arcs // max(graph.n, 1))
    heads, weights = np.zeros(2 * arcs, graph.indices.dtype), None
    if graph.weights is not None:
        needs_int64 = length_dtype(graph) != graph.weights.dtype
        value = (1 << 31) - 1 if needs_int64 else 0
        weights = np.full(2 * arcs, value, graph.weights.dtype)
    small = Graph.unchecked(np.array([0, arcs, 2 * arcs]), heads, weights, graph.directed)
    return small.to_gpu() if graph.backend == "gpu" else small
