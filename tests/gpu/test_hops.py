"""Iterations of one hop and of many, on a GPU."""

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList
from mgraph.shortest_paths.sssp import sssp

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("options", [{"delta": 50.0}, {"set_point": 500}, {}])
def test_hops_change_no_distance(options):
    """An iteration with one hop expands what was near when it began, and no vertex twice."""
    edges = EdgeList(np.arange(3000), np.arange(1, 3001), np.ones(3000, np.int32))
    chain = mgraph.from_edges(edges, directed=True, backend="cpu")
    expected = np.arange(3001)
    rows = {}
    for hops in (1, 16, 128):
        paths = sssp(chain, 0, backend="gpu", hops=hops, trace=True, **options)
        np.testing.assert_array_equal(paths.distance.get(), expected)
        rows[hops] = len(paths.trace)
    assert rows[1] >= 2990
    assert (sssp(chain, 0, backend="gpu", hops=1, trace=True).trace["x1"] <= 1).all()
    assert rows[16] < rows[1] / 4
    assert rows[128] <= rows[16]
