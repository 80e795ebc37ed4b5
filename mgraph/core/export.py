"""Graphs as NetworkX graphs and as sparse matrices: the methods of ``Graph`` end here.

``networkx_graph.py`` and ``sparse_matrix.py`` have the opposite direction.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.arrays import checked_vertices
from mgraph.core.edges import EdgeList

if TYPE_CHECKING:
    from mgraph.core.graph import Graph


def to_networkx(graph: "Graph", vertices: Any = None) -> Any:
    """See ``Graph.to_networkx``."""
    import networkx

    graph = graph.to_cpu()
    edges = graph.to_edges()
    class_name = "Multi" * _has_parallel_edges(edges) + "Di" * graph.directed + "Graph"
    converted = getattr(networkx, class_name)()
    names = range(graph.n) if graph.labels is None else graph.labels
    if vertices is None:
        converted.add_nodes_from(names)
    else:
        vertices = checked_vertices("vertices", vertices, graph.n)
        converted.add_nodes_from(names[v] for v in vertices.tolist())
        is_chosen = np.zeros(graph.n, bool)
        is_chosen[vertices] = True
        kept = is_chosen[edges.src] & is_chosen[edges.dst]
        edges = EdgeList(*(column[kept] for column in edges))
    ends = [(names[v] for v in column.tolist()) for column in (edges.src, edges.dst)]
    if edges.weight is None:
        converted.add_edges_from(zip(*ends, strict=True))
    else:
        converted.add_weighted_edges_from(zip(*ends, edges.weight.tolist(), strict=True))
    return converted


def _has_parallel_edges(edges: EdgeList) -> bool:
    """Return whether two edges have the same source and the same destination."""
    order = np.lexsort((edges.dst, edges.src))
    src, dst = edges.src[order], edges.dst[order]
    return bool(((src[1:] == src[:-1]) & (dst[1:] == dst[:-1])).any())


def to_sparse(graph: "Graph") -> Any:
    """See ``Graph.to_sparse``."""
    if graph.backend == "gpu":
        from mgraph.core import sparse_matrix_gpu

        return sparse_matrix_gpu.to_sparse(graph)
    from scipy import sparse

    weights = np.ones(graph.num_arcs, np.int8) if graph.weights is None else graph.weights
    return sparse.csr_array((weights, graph.indices, graph.indptr), shape=(graph.n, graph.n))
