"""A search on a graph of two vertices: what it needs is compiled before a search is timed."""

from typing import Any

from mgraph.core.graph import Graph
from mgraph.shortest_paths.problem import length_dtype
from mgraph.shortest_paths.sssp import sssp


def rehearse(graph: Graph, sources: int = 1, **options: Any) -> None:
    """Search a small graph of the same types, where the graph is. options: of ``mgraph.sssp``."""
    sssp(_small(graph), [0] * sources, backend=graph.backend, **options)


def _small(graph: Graph) -> Graph:
    """Two vertices with as many arcs each as the graph's have on average, of its types.

    Its weights are 0, or so large that lengths take 64 bits where the graph's do.
    """
    arcs = -(-graph.num_arcs // max(graph.n, 1))
    ends = graph.indices[:1].repeat(2 * arcs) * 0
    weight = None if graph.weights is None else graph.weights[:1].repeat(2 * arcs)
    if weight is not None:
        wide = length_dtype(graph) != weight.dtype
        weight[:] = (1 << 31) - 1 if wide else 0
    indptr = graph.indptr[:1].repeat(3)
    indptr[1:] = arcs
    indptr[2:] = 2 * arcs
    return Graph.unchecked(indptr, ends, weight, graph.directed)
