"""A cancelled computation of a forest stops soon; the ability to cancel does not change it."""

import numpy as np
import pytest

import mgraph
from tests import stopped


@pytest.mark.parametrize("method", ["filter_kruskal", "boruvka", "prim", "prim_naive"])
def test_a_cancelled_computation_stops(method):
    def compute(graph):
        return mgraph.minimum_spanning_forest(graph, method=method, backend="cpu")

    forests = stopped.both_ways(lambda: compute(stopped.graph(1 << 12)))
    np.testing.assert_array_equal(*(forest.edge_id for forest in forests))
    large = stopped.graph(1 << 20)
    assert large.rows_ascend
    assert large.symmetric
    _ = large.weight_range
    assert stopped.seconds_to_stop(lambda: compute(large)) < stopped.PATIENCE
