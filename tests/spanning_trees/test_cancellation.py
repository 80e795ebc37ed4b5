"""A forest that nobody wants any more is soon no longer sought, and else it is as it was."""

import numpy as np
import pytest

import mgraph
from tests import stopped


@pytest.mark.parametrize("method", ["filter_kruskal", "boruvka", "prim", "prim_naive"])
def test_it_stops(method):
    def forest(graph):
        return mgraph.minimum_spanning_forest(graph, method=method, backend="cpu")

    found = stopped.both_ways(lambda: forest(stopped.graph(1 << 12)))
    np.testing.assert_array_equal(*(one.edge_id for one in found))
    large = stopped.graph(1 << 20)
    assert large.rows_ascend
    assert large.symmetric
    _ = large.weight_range
    assert stopped.seconds_to_stop(lambda: forest(large)) < stopped.PATIENCE
