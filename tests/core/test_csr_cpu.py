"""Rows of a graph built on the CPU: in order, whatever the order of the edges."""

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList


@pytest.mark.parametrize("dtype", [None, "int32", "float64"])
@pytest.mark.parametrize("ascend", [True, False])
@pytest.mark.parametrize("degree", [3, 60, 500])
def test_rows_of_any_length(degree, ascend, dtype):
    n, random = 300, np.random.default_rng(degree)
    src, dst = random.integers(0, n, (2, n * degree))
    src[:2000] = 7  # a hub, with parallel arcs
    if ascend:
        src.sort()
    weight = None if dtype is None else random.integers(0, 5, src.size).astype(dtype)
    graph = mgraph.from_edges(EdgeList(src, dst, weight), n, backend="cpu")
    order = np.lexsort((dst, src) if weight is None else (weight, dst, src))
    np.testing.assert_array_equal(np.repeat(np.arange(n), np.diff(graph.indptr)), src[order])
    np.testing.assert_array_equal(graph.indices, dst[order])
    if weight is not None:
        np.testing.assert_array_equal(graph.weights, weight[order])
        assert graph.weights.dtype == dtype
