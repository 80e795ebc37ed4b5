"""Degree histograms of edge lists in memory."""

import numpy as np

from mgraph.core.arrays import as_dtype, on_gpu
from mgraph.core.edges import EdgeList
from mgraph.core.graph import INDEX_DTYPES


def degree_histogram(edges: EdgeList, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Count the vertices of each degree. Each edge counts at both of its endpoints.

    Parameters
    ----------
    edges : EdgeList
        Its ids must lie in [0, n).
    n : int
        The number of vertices.

    Returns
    -------
    degree, count : numpy.ndarray of int64
        The degrees that occur, ascending, and the number of vertices of each.

    Raises
    ------
    UsageError
        If the ids are not whole numbers.

    Notes
    -----
    Work O(n + m). Memory: 8 bytes per vertex on a CPU; on a GPU about 24, and the temporary arrays
    of CuPy's ``bincount`` and ``unique``.

    Examples
    --------
    >>> degree, count = mgraph.degree_histogram(mgraph.EdgeList([0, 0, 0], [1, 2, 3]), 5)
    >>> degree
    array([0, 1, 3])
    >>> count
    array([1, 3, 1])
    """
    if not on_gpu(edges.dst):
        from mgraph.core.degrees_cpu import count_endpoints, histogram

        counts = np.zeros(n, np.int64)
        for name, ids in (("src", edges.src), ("dst", edges.dst)):
            if str(ids.dtype) not in INDEX_DTYPES:
                ids = as_dtype(name, ids, np.int64)
            count_endpoints(ids, 0, counts)
        return histogram(counts)
    from mgraph.core.degrees_gpu import histogram_of

    return histogram_of(edges, n)
