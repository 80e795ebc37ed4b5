"""Frontier searches whose rounds settle up to the nearest head of any vertex."""

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.shortest_paths.sssp import sssp

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("method", ["frontier_node", "frontier_edge"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, None])
def test_the_bound_changes_no_distance(method, dtype):
    edges = CopyModel(20_000, 4, weights=(1, 99)).edges(backend="cpu").edges
    weight = None if dtype is None else edges.weight.astype(dtype)
    edges = EdgeList(edges.src, edges.dst, weight)
    for directed in (True, False):  # directed: vertices without arcs
        graph = mgraph.from_edges(edges, 20_000, directed=directed, backend="cpu")
        expected = sssp(graph, [5, 19_000], backend="cpu")
        found = sssp(graph, [5, 19_000], method=method, frontier_bound="vertex", backend="gpu")
        np.testing.assert_array_equal(found.distance.get(), expected.distance)
