"""Cancelled searches end soon; searches that could be cancelled return the same results."""

import numpy as np
import pytest

import mgraph
from mgraph.core import cancellation
from tests import stopped

N = 1 << 20
METHODS = ("dijkstra", "near_far", "self_tuning", "heap", "frontier_node", "frontier_edge")


def search(graph, method, **options):
    return mgraph.sssp(graph, 0, method=method, backend="cpu", predecessors=True, **options)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_stops(method):
    paths = stopped.both_ways(lambda: search(stopped.graph(1 << 12), method))
    np.testing.assert_array_equal(*(one.distance for one in paths))
    np.testing.assert_array_equal(*(one.predecessor for one in paths))
    large = stopped.graph(N)
    _ = large.weight_range, large.mean_weight
    seconds = stopped.seconds_to_stop(lambda: mgraph.sssp(large, [0] * 64, method=method))
    assert seconds < stopped.PATIENCE


@pytest.mark.parametrize("method", ["near_far", "self_tuning", "heap"])
def test_a_traced_search_stops(method):
    with pytest.raises(cancellation.Cancelled), cancellation.cancelled_when(lambda: True):
        search(stopped.graph(1 << 12), method, trace=True)


def test_predecessors_along_arcs_of_weight_0_stop():
    n = 1 << 21
    arcs = mgraph.EdgeList(np.arange(n - 1), np.arange(1, n), np.zeros(n - 1, np.int32))
    chain = mgraph.from_edges(arcs, n, backend="cpu")
    small = mgraph.from_edges(arcs.rows(0, 99), 100, backend="cpu")
    paths = stopped.both_ways(lambda: search(small, "dijkstra"))
    assert all(one.predecessor.tolist() == list(range(-1, 99)) for one in paths)
    options = {"predecessors": True, "method": "dijkstra", "backend": "cpu"}
    seconds = stopped.seconds_to_stop(lambda: mgraph.sssp(chain, range(64), **options))
    assert seconds < stopped.PATIENCE
