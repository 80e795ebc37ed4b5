"""The degrees of edges that lie in memory."""

import numpy as np

from mgraph.core.edges import EdgeList


def degree_histogram(edges: EdgeList, n: int) -> tuple[np.ndarray, np.ndarray]:
    """How many of n vertices have each degree, each edge counted at both its ends.

    edges: NumPy or CuPy arrays. Returns (degree, count), int64 NumPy arrays, degrees ascending and
    each of some vertex. Memory: 8 bytes a vertex on a CPU; on a GPU about 24,
    and what CuPy's ``bincount`` and ``unique`` take while they work.
    """
    if isinstance(edges.dst, np.ndarray):
        from mgraph.core.degrees_cpu import count_endpoints, histogram

        counts = np.zeros(n, np.int64)
        count_endpoints(edges.src, 0, counts)
        count_endpoints(edges.dst, 0, counts)
        return histogram(counts)
    from mgraph.core.degrees_gpu import histogram_of

    return histogram_of(edges, n)
