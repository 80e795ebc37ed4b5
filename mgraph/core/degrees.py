"""The degrees of edges in memory."""

from typing import TYPE_CHECKING

import numpy as np

from mgraph.core.arrays import INDEX_DTYPES, as_dtype, on_gpu

if TYPE_CHECKING:
    from mgraph.core.edges import EdgeList


def degree_histogram(edges: "EdgeList", n: int) -> tuple[np.ndarray, np.ndarray]:
    """See ``EdgeList.degree_histogram``."""
    if not on_gpu(edges.dst):
        from mgraph.core.degrees_cpu import EndpointCounter, histogram

        counter = EndpointCounter(range(n))
        for name, ids in (("src", edges.src), ("dst", edges.dst)):
            if str(ids.dtype) not in INDEX_DTYPES:
                ids = as_dtype(name, ids, np.int64)
            counter.add(ids)
        return histogram(counter.counts())
    from mgraph.core.degrees_gpu import histogram_of

    return histogram_of(edges, n)
