"""The degrees of edges that lie in memory."""

import numpy as np

from mgraph.core.arrays import as_dtype, on_gpu
from mgraph.core.edges import EdgeList
from mgraph.core.graph import INDEX_DTYPES


def degree_histogram(edges: EdgeList, n: int) -> tuple[np.ndarray, np.ndarray]:
    """How many of n vertices have each degree, each edge counted at both its ends.

    edges: of arrays or lists. Returns (degree, count), int64 NumPy arrays, degrees ascending and
    each of some vertex. Memory: 8 bytes a vertex on a CPU; on a GPU about 24,
    and what CuPy's ``bincount`` and ``unique`` take while they work.
    """
    if not on_gpu(edges.dst):
        from mgraph.core.degrees_cpu import count_endpoints, histogram

        counts = np.zeros(n, np.int64)
        for name, ids in (("src", edges.src), ("dst", edges.dst)):
            known = str(ids.dtype) in INDEX_DTYPES
            count_endpoints(ids if known else as_dtype(name, ids, np.int64), 0, counts)
        return histogram(counts)
    from mgraph.core.degrees_gpu import histogram_of

    return histogram_of(edges, n)
