"""A cancelled search for a choice soon stops; one that could be cancelled gives the same choice."""

import numpy as np
import pytest

import mgraph
from mgraph.knapsacks.pisinger import pisinger_instance
from tests import stopped


@pytest.mark.parametrize("method", ["branch_and_bound", "dynamic_program"])
def test_a_cancelled_search_stops(method):
    def solve(instance):
        arrays = instance.profits, instance.weights, instance.capacity
        return mgraph.knapsack(*arrays, method=method, backend="cpu")

    easy = pisinger_instance("uncorrelated", 100, 1000, 1)
    results = stopped.both_ways(lambda: solve(easy))
    assert results[0].profit == results[1].profit
    np.testing.assert_array_equal(*(result.items for result in results))
    # Its capacities are too many for a table, which would be made in less than a second.
    hard = pisinger_instance("even_odd_subset_sum", 3000, 100_000_000, 1)
    assert stopped.seconds_to_stop(lambda: solve(hard)) < stopped.PATIENCE
