"""Graphs to and from NetworkX, for what is small enough for it."""

from typing import Any

import numpy as np

from mgraph.core.arrays import as_weights
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError


def from_networkx(graph: Any, *, weight: str = "weight") -> Graph:
    """A graph from a NetworkX graph of any class; vertices are numbered in the order of its nodes.

    weight: the edge attribute that holds weights; either all edges have it or none.
    """
    number = {node: i for i, node in enumerate(graph.nodes)}
    ends = [(number[u], number[v], data.get(weight)) for u, v, data in graph.edges(data=True)]
    given = [w for _, _, w in ends if w is not None]
    if given and len(given) < len(ends):
        raise UsageError(
            f"{len(given)} of {len(ends)} edges have a {weight}; give it to all or to none"
        )
    if any(isinstance(w, str) for w in given):
        raise UsageError(f"an edge's {weight} must be a number, and one is {given[0]!r}")
    src, dst = (np.array([end[side] for end in ends], np.int64) for side in (0, 1))
    weights = as_weights(np.array(given)) if given else None
    return from_edges(
        EdgeList(src, dst, weights), len(number), directed=graph.is_directed(), backend="cpu"
    )


def to_networkx(graph: Graph, *, vertices: Any = None) -> Any:
    """The graph as a NetworkX graph: nodes 0 … n-1, a ``weight`` on each edge where there is one.

    vertices: ids of the nodes, all that have an edge among them; None: each vertex. Graph or
    DiGraph; MultiGraph or MultiDiGraph where there are parallel arcs.
    """
    import networkx

    graph = graph.to_cpu()
    row_ends = np.zeros(graph.m, bool)
    row_ends[graph.indptr[1:-1][graph.indptr[1:-1] < graph.m]] = True
    parallel = bool(((graph.indices[1:] == graph.indices[:-1]) & ~row_ends[1:]).any())
    kind = "Multi" * parallel + "Di" * graph.directed + "Graph"
    made = getattr(networkx, kind)()
    made.add_nodes_from(range(graph.n) if vertices is None else vertices.tolist())
    edges = graph.to_edges()
    ends = edges.src.tolist(), edges.dst.tolist()
    if edges.weight is None:
        made.add_edges_from(zip(*ends, strict=True))
    else:
        made.add_weighted_edges_from(zip(*ends, edges.weight.tolist(), strict=True))
    return made
