"""A search on a graph of two vertices, which compiles what a search needs before one is timed."""

from typing import Any

from mgraph import timings
from mgraph.core.graph import Graph
from mgraph.shortest_paths.problem import length_dtype
from mgraph.shortest_paths.sssp import sssp


def rehearse(graph: Graph, sources: int = 1, **options: Any) -> None:
    """Search a small graph of the same types, where the graph is. options: of ``mgraph.sssp``."""
    with timings.step(timings.REHEARSING):
        sssp(_make_small_graph(graph), [0] * sources, backend=graph.backend, **options)


def _make_small_graph(graph: Graph) -> Graph:
    """Make a graph of two vertices with the mean degree and the types of this graph.

    Its weights are 0, or so large that lengths take 64 bits where the graph's do.
    """
    arcs = -(-graph.num_arcs // max(graph.n, 1))
    heads = graph.indices[:1].repeat(2 * arcs) * 0
    weights = None if graph.weights is None else graph.weights[:1].repeat(2 * arcs)
    if weights is not None:
        needs_int64 = length_dtype(graph) != weights.dtype
        weights[:] = (1 << 31) - 1 if needs_int64 else 0
    indptr = graph.indptr[:1].repeat(3)
    indptr[1:] = arcs
    indptr[2:] = 2 * arcs
    return Graph.unchecked(indptr, heads, weights, graph.directed)
