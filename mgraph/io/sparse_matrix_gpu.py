"""A graph on a device as CuPy's sparse matrix."""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import DeviceError


def to_sparse(graph: Graph) -> Any:
    """CuPy's CSR matrix of a graph on the device: float32, float64; integers become float64."""
    import cupy
    from cupyx.scipy import sparse

    if graph.num_arcs >= 1 << 31:
        raise DeviceError(f"CuPy's matrices hold fewer than 2^31 entries, not {graph.num_arcs:,}")
    if graph.weights is None:
        weights = cupy.ones(graph.num_arcs, np.float32)
    else:
        weights = graph.weights
        if weights.dtype.kind == "i":
            weights = weights.astype(np.float64)
    arrays = weights, graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sparse.csr_matrix(arrays, shape=(graph.n, graph.n))
