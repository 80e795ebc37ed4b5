"""Sparse matrices of SciPy and CuPy to graphs; ``export.py`` has the opposite direction."""

from typing import Any

from mgraph.core.arrays import as_weights
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph, on_gpu
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError


def from_sparse(
    matrix: Any, *, directed: bool = True, weighted: bool = True, merge: bool = False
) -> Graph:
    """Convert a square sparse matrix: entry (u, v) is the arc from u to v, its value the weight.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, or cupyx.scipy.sparse matrix
        In any sparse format. Every stored entry is an arc, a stored zero too.
    directed : bool, default True
        False: the matrix must be symmetric, and each pair of entries is one undirected edge.
    weighted : bool, default True
        False: leave the weights out.
    merge : bool, default False
        Of entries that are stored twice for one place (COO format) keep the one of minimum value.
        Without it each of them is an arc.

    Returns
    -------
    Graph
        On the GPU for a matrix of CuPy, else on the CPU.

    Raises
    ------
    UsageError
        If ``matrix`` is not a square sparse matrix of real numbers, or if ``directed=False`` and it
        is not symmetric.

    Examples
    --------
    >>> from scipy import sparse
    >>> mgraph.from_sparse(sparse.csr_array(np.array([[0, 7], [0, 0]])))
    Graph(n=2, num_arcs=1, directed, int64 weights, cpu)
    """
    if not all(hasattr(matrix, name) for name in ("tocoo", "shape", "nnz")):
        raise UsageError(
            f"from_sparse takes a sparse matrix, not {type(matrix).__name__}", parameter="matrix"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(
            f"the matrix of a graph must be square (got shape {matrix.shape})", parameter="matrix"
        )
    coo = matrix.tocoo()
    weight = as_weights(coo.data) if weighted else None
    edges = EdgeList(coo.row, coo.col, weight)
    graph = from_edges(
        edges, matrix.shape[0], merge=merge, backend="gpu" if on_gpu(coo.row) else "cpu"
    )
    return graph if directed else _as_undirected(graph)


def _as_undirected(graph: Graph) -> Graph:
    """Return the same arrays as an undirected graph; UsageError unless each arc has its mirror."""
    arrays = graph.indptr, graph.indices, graph.weights
    undirected = Graph.unchecked(*arrays, directed=False, **graph.known)
    check_symmetric(undirected)
    return undirected
