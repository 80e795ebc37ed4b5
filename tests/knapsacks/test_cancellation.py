"""A choice that nobody wants any more is soon no longer sought, and else it is as it was."""

import numpy as np
import pytest

import mgraph
from mgraph.knapsacks.pisinger import pisinger_instance
from tests import stopped


@pytest.mark.parametrize("method", ["branch_and_bound", "dynamic_program"])
def test_it_stops(method):
    def solved(instance):
        asked = instance.profits, instance.weights, instance.capacity
        return mgraph.knapsack(*asked, method=method, backend="cpu")

    easy = pisinger_instance("uncorrelated", 100, 1000, 1)
    found = stopped.both_ways(lambda: solved(easy))
    assert found[0].profit == found[1].profit
    np.testing.assert_array_equal(*(one.items for one in found))
    hard = pisinger_instance("even_odd_subset_sum", 3000, 100_000, 1)
    assert stopped.seconds_to_stop(lambda: solved(hard)) < stopped.PATIENCE
