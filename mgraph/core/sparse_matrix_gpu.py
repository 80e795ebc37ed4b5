"""A graph on a device as a sparse matrix of CuPy."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.errors import DeviceError

if TYPE_CHECKING:
    from mgraph.core.graph import Graph


def to_sparse(graph: "Graph") -> Any:
    """Return CuPy's CSR matrix, whose values are floats: integer weights become float64."""
    import cupy
    from cupyx.scipy import sparse

    if graph.num_arcs >= 1 << 31:
        raise DeviceError(
            f"CuPy's matrices hold fewer than 2^31 entries, and the graph has {graph.num_arcs:,} "
            "arcs; call `graph.to_cpu().to_sparse()`"
        )
    if graph.weights is None:
        weights = cupy.ones(graph.num_arcs, np.float32)
    else:
        weights = graph.weights
        if weights.dtype.kind == "i":
            weights = weights.astype(np.float64)
    arrays = weights, graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sparse.csr_matrix(arrays, shape=(graph.n, graph.n))
