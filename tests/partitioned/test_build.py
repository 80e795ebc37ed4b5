"""The rows of all ranks are those of the graph, whatever the ranks and the order of the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList, UsageError
from mgraph.core import csr_cpu
from mgraph.partitioned import build
from mgraph.partitioned.edge_source import Request
from tests.partitioned.ranks import divide, on_ranks
from tests.partitioned.thread_exchange import run_ranks
from tests.strategies import graphs


def global_numbers(graph):
    """The global number of each local one."""
    bounds = graph.partition.bounds
    numbers = np.empty(graph.locals, np.int64)
    numbers[graph.own_range] = np.arange(graph.first, graph.first + graph.owned)
    for owner in range(graph.size):
        first, stop = graph.ghost_bounds[owner : owner + 2]
        numbers[graph.ghost_range(owner)] = bounds[owner] + graph.ghosts[first:stop].astype(int)
    return numbers


def assert_rows(graph, size, seed):
    edges = graph.to_edges()
    expected = csr_cpu.build(edges, graph.n, directed=graph.directed, drop_loops=True, merge=False)
    if graph.weights is not None:
        csr_cpu.sort_rows_by_weight(expected.indptr, expected.indices, expected.weights)
    ranks = on_ranks(graph, size, lambda exchange, rank_graph: rank_graph, seed)
    bounds = ranks[0].partition.bounds
    assert bounds[0] == 0
    assert bounds[-1] == graph.n
    assert (np.diff(bounds) >= 0).all()
    for rank in ranks:
        numbers = global_numbers(rank)
        assert (np.diff(numbers) > 0).all()
        rows = expected.indptr[rank.first : rank.first + rank.owned + 1]
        np.testing.assert_array_equal(rank.indptr, rows - rows[0])
        arcs = slice(rows[0], rows[-1])
        np.testing.assert_array_equal(numbers[rank.heads], expected.indices[arcs])
        if graph.weights is None:
            assert rank.weights is None
        else:
            assert rank.weights.dtype == graph.weights.dtype
            np.testing.assert_array_equal(rank.weights, expected.weights[arcs])
        assert rank.num_arcs == expected.num_arcs
        for other in ranks:
            first, stop = other.ghost_bounds[rank.rank : rank.rank + 2]
            np.testing.assert_array_equal(rank.exports[other.rank], other.ghosts[first:stop])
        if graph.weights is not None and len(edges):
            assert (rank.min_weight, rank.max_weight) == (edges.weight.min(), edges.weight.max())
    return ranks


@given(graph=graphs(), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=150)
def test_the_rows_are_the_graphs(graph, size, seed):
    assert_rows(graph, size, seed)


def assert_edges(graph, size, seed=0, backend="cpu"):
    """Each edge of an undirected graph is listed by the owner of its larger end."""
    ranks = on_ranks(graph, size, lambda exchange, rank_graph: rank_graph, seed, backend)
    edges = graph.to_edges()
    rows = np.column_stack([*edges])[edges.src != edges.dst] + 0  # -0.0 becomes 0
    for rank in ranks:
        found = rank.edges()
        columns = [column if backend == "cpu" else column.get() for column in found]
        is_own = (rows[:, 0] >= rank.first) & (rows[:, 0] < rank.first + rank.owned)
        listed = sorted(map(tuple, np.column_stack(columns).tolist()))
        assert listed == sorted(map(tuple, rows[is_own].tolist()))
        assert columns[0].dtype == columns[1].dtype == np.int32


@given(graph=graphs(directed=False), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=100)
def test_the_edges_of_ranks_are_the_graphs(graph, size, seed):
    assert_edges(graph, size, seed)


def test_negative_zeros_are_zeros():
    """Rows are in one order, whatever the sign of their zeros; the least floats stay."""
    weight = np.array([-0.0, 0.0, 1.4e-45, -0.0], np.float32)
    edges = EdgeList([0, 0, 0, 0], [4, 1, 2, 3], weight)
    (source,), request = divide(edges, 1), Request(5, weight.dtype, True)
    (rank,) = run_ranks(1, lambda exchange: build.build(exchange, source, request))
    np.testing.assert_array_equal(rank.heads, [1, 3, 4, 2])
    np.testing.assert_array_equal(rank.weights.view(np.int32), [0, 0, 0, 1])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranges_of_about_equal_arcs(size):
    model = mgraph.CopyModel(30_000, 5, weights=(1, 9))
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    ranks = assert_rows(graph, size, 1)
    costs = [rank.heads.size * 8 + rank.owned * 16 for rank in ranks]
    assert max(costs) < 1.1 * np.mean(costs)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (EdgeList([0, 1], [1, 7]), r"vertices must lie in \[0, 5\)"),
        (EdgeList([0, -1], [1, 2]), r"vertices must lie in \[0, 5\)"),
        (EdgeList([0, 1], [1, 2], np.array([1.0, np.nan])), "some are NaN"),
    ],
)
def test_bad_edges_are_refused_by_all_ranks(edges, message):
    shares = divide(edges, 3)
    dtype = None if edges.weight is None else edges.weight.dtype
    request = Request(5, dtype, False)
    refused = []

    def run(exchange):
        try:
            build.build(exchange, shares[exchange.rank], request)
        except UsageError as error:
            refused.append(str(error))

    run_ranks(3, run)
    assert len(refused) == 3
    assert all(text == refused[0] for text in refused)
    with pytest.raises(UsageError, match=message):
        raise UsageError(refused[0])
