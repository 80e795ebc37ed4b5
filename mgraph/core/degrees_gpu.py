"""Degree histograms of edges in device memory: two counts and one sort, by CuPy."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mgraph.core.edges import EdgeList


def histogram_of(edges: "EdgeList", n: int) -> tuple[np.ndarray, np.ndarray]:
    """See ``EdgeList.degree_histogram``."""
    import cupy

    counts = cupy.bincount(edges.dst, minlength=n)
    counts += cupy.bincount(edges.src, minlength=n)
    degree, count = cupy.unique(counts, return_counts=True)
    return degree.get().astype(np.int64), count.get().astype(np.int64)
