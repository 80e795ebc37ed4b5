"""Graphs to and from sparse matrices of SciPy and CuPy: entry (u, v) is an arc and its weight."""

from typing import Any

import numpy as np

from mgraph.core.arrays import as_weights
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph, on_gpu
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError


def from_sparse(
    matrix: Any, *, directed: bool = True, weighted: bool = True, merge: bool = False
) -> Graph:
    """A graph from a square sparse matrix of SciPy or CuPy, of any format, on its backend.

    Every stored entry is an arc, a stored zero too. directed=False: the matrix must be symmetric,
    and each pair of entries is an edge. weighted=False leaves the weights out. merge: of entries
    stored twice in one place (COO) keep the least, else both are arcs.
    Raises UsageError for what is no square sparse matrix of real numbers.
    """
    if not all(hasattr(matrix, name) for name in ("tocoo", "shape", "nnz")):
        raise UsageError(f"from_sparse takes a sparse matrix, not {type(matrix).__name__}")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(f"the matrix of a graph is square, and this is {matrix.shape}")
    coo = matrix.tocoo()
    weight = as_weights(coo.data) if weighted else None
    edges = EdgeList(coo.row, coo.col, weight)
    graph = from_edges(
        edges, matrix.shape[0], merge=merge, backend="gpu" if on_gpu(coo.row) else "cpu"
    )
    return graph if directed else undirected(graph)


def undirected(graph: Graph) -> Graph:
    """The same arrays as an undirected graph. Raises UsageError unless each arc has one back."""
    arrays = graph.indptr, graph.indices, graph.weights
    made = Graph.unchecked(*arrays, directed=False, **graph.known)
    check_symmetric(made)
    return made


def to_sparse(graph: Graph) -> Any:
    """The graph as a CSR matrix: SciPy's for NumPy arrays, CuPy's for CuPy arrays.

    Entries are the weights, or ones (int8; CuPy: float32) without. Parallel arcs stay apart as
    repeated entries, which SciPy adds up in many operations: merge them first. SciPy's takes no
    copy; CuPy's holds at most 2^31 arcs.
    """
    shape = (graph.n, graph.n)
    if graph.backend == "gpu":
        from mgraph.io import sparse_matrix_gpu

        return sparse_matrix_gpu.to_sparse(graph)
    from scipy import sparse

    weights = np.ones(graph.num_arcs, np.int8) if graph.weights is None else graph.weights
    return sparse.csr_array((weights, graph.indices, graph.indptr), shape=shape)
