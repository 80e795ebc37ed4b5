"""The forest of edges over any number of ranks is that of one device, edge by edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel, EdgeList, UsageError
from mgraph.spanning_trees import partitioned_forest, partitioned_forest_cpu
from mgraph.spanning_trees.edge_forest import forest_of_edges
from mgraph.spanning_trees.partitioned_forest import spanning_forest
from tests.partitioned import shares
from tests.partitioned.ranks import divide
from tests.partitioned.thread_exchange import run_ranks
from tests.strategies import graphs


def on_host(array):
    return array if isinstance(array, np.ndarray) else array.get()


def copied(edges):
    return EdgeList(*(column.copy() for column in edges))


def assert_same(edges, n, size, seed=0, backend="cpu", threads=1):
    shares = divide(edges, size, seed)

    def program(exchange):
        share = shares[exchange.rank]
        blocks = [share.block(index) for index in range(len(share.sizes))]
        return spanning_forest(exchange, blocks, n, threads, backend)

    found = run_ranks(size, program)
    expected = forest_of_edges(copied(edges), n, 1)
    found = [forest._replace(edges=EdgeList(*map(on_host, forest.edges))) for forest in found]
    for rank, forest in enumerate(found):
        assert (forest.ranges.bounds == found[0].ranges.bounds).all()
        own = forest.ranges.owned(rank)
        assert ((forest.edges.src >= own.start) & (forest.edges.src < own.stop)).all()
    for columns in zip(*(forest.edges for forest in found), expected, strict=True):
        np.testing.assert_array_equal(np.concatenate(columns[:-1]), columns[-1])
        assert columns[0].dtype == columns[-1].dtype
        if columns[-1].dtype.kind == "f":
            assert (np.signbit(np.concatenate(columns[:-1])) == np.signbit(columns[-1])).all()
    return found


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


def test_most_heavy_edges_are_not_listed(monkeypatch):
    listed = []
    steps = partitioned_forest_cpu.Steps

    class Counted(steps):
        def _select(self, test):
            super()._select(test)
            listed.append(self.listed)

    monkeypatch.setattr(partitioned_forest_cpu, "Steps", Counted)
    random = np.random.default_rng(1)
    n, m = 5000, 160_000
    ends = random.integers(0, n, (2, m)).astype(np.int32)
    assert_same(EdgeList(*ends, random.random(m)), n, 2)
    light, crossing = sum(listed[:2]), sum(listed[2:])
    assert abs(light - 2 * n) < 0.1 * n
    assert crossing < 0.1 * m


def extreme_weights(dtype):
    """Edges whose weights are at both ends of their type."""
    info = np.iinfo(dtype) if np.dtype(dtype).kind == "i" else np.finfo(dtype)
    random = np.random.default_rng(4)
    ends = random.integers(0, 40, (2, 200)).astype(np.int32)
    return EdgeList(*ends, random.choice(np.array([info.min, 0, info.max], dtype), 200))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2])
def test_extreme_weights(dtype, size):
    assert_same(extreme_weights(dtype), 40, size)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranks_share_arrays(size):
    assert run_ranks(size, shares.check) == [len(shares.LENGTHS)] * size


@pytest.mark.parametrize("weight", [-np.inf, np.inf])
def test_infinite_weights_are_refused(weight):
    weights = np.ones(50, np.float32)
    weights[30] = weight
    edges = EdgeList(np.arange(50), np.arange(1, 51), weights)
    with pytest.raises(UsageError, match=rf"needs finite weights \(got {weight}\)"):
        assert_same(edges, 51, 2)
    loops = EdgeList([0, 1, 2], [1, 1, 1], np.array([2, weight, 1], np.float32))
    assert_same(loops, 3, 2)


def test_weights_that_are_not_numbers_are_refused():
    edges = EdgeList(np.arange(50), np.arange(50), np.full(50, np.nan))
    with pytest.raises(UsageError, match="NaN"):
        assert_same(edges, 50, 2)


@pytest.mark.parametrize("end", [-1, 50])
def test_bad_ends_are_refused(end):
    edges = EdgeList(np.arange(50), np.full(50, end), np.ones(50))
    with pytest.raises(UsageError, match=r"must lie in \[0, 50\)"):
        assert_same(edges, 50, 3)
