"""The forest of edges over any number of ranks is that of one device, edge by edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel, EdgeList, UsageError
from mgraph.spanning_trees import partitioned_forest
from mgraph.spanning_trees.edge_forest import forest_of_edges
from mgraph.spanning_trees.partitioned_forest import spanning_forest
from tests.partitioned.ranks import divide
from tests.partitioned.thread_exchange import run_ranks
from tests.strategies import graphs


def copied(edges):
    return EdgeList(*(column.copy() for column in edges))


def assert_same(edges, n, size, seed=0):
    shares = divide(edges, size, seed)

    def program(exchange):
        share = shares[exchange.rank]
        blocks = [share.block(index) for index in range(len(share.sizes))]
        return spanning_forest(exchange, blocks, n, 1)

    found = run_ranks(size, program)
    expected = forest_of_edges(copied(edges), n, 1)
    assert not any(map(len, found[1:]))
    for one, other in zip(found[0], expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_forests_are_one_devices(data, size):
    graph = data.draw(graphs(directed=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            partitioned_forest, "LIGHT_EDGES", data.draw(st.sampled_from([0.0, 0.5, 2.0]))
        )
        assert_same(graph.to_edges(), graph.n, size, data.draw(st.integers(0, 9)))


@pytest.mark.parametrize("weights", [(0, 3), (1, 1000), None])
@pytest.mark.parametrize("size", [2, 3])
def test_larger_graphs(weights, size):
    model = CopyModel(10_000, 8, weights=weights)
    assert_same(model.edges(backend="cpu").edges, model.n, size)


def test_most_heavy_edges_are_dropped(monkeypatch):
    handled = []
    function = partitioned_forest.forest_of_edges

    def counted(edges, n, threads):
        handled.append(len(edges))
        return function(edges, n, threads)

    monkeypatch.setattr(partitioned_forest, "forest_of_edges", counted)
    random = np.random.default_rng(1)
    n, m = 5000, 160_000
    ends = random.integers(0, n, (2, m)).astype(np.int32)
    assert_same(EdgeList(*ends, random.random(m)), n, 2)
    assert sum(handled) < m / 2


def test_bad_weights_are_refused():
    edges = EdgeList(np.arange(50), np.arange(1, 51), np.full(50, np.nan))
    with pytest.raises(UsageError, match="NaN"):
        assert_same(edges, 51, 2)
