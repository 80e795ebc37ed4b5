"""The kernels of partitioned graphs in the emulator give the CPU's graph, distances and parents."""

import sys
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core import csr_cpu, csr_gpu, primitives_gpu
from mgraph.partitioned import build_gpu, edge_source, partition
from mgraph.partitioned.exchange import Exchange
from mgraph.shortest_paths import (
    partitioned_bfs_gpu,
    partitioned_delta_stepping_gpu,
    reached_rows_gpu,
)
from mgraph.spanning_trees import partitioned_forest, partitioned_forest_gpu
from tests import emulator
from tests.partitioned import test_bfs, test_components, test_forest
from tests.partitioned.ranks import on_ranks
from tests.partitioned.test_delta_stepping import assert_same, tunings
from tests.steiner import emulated
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


def sort_rows(indptr, heads, weights):
    assert weights is None
    csr_cpu.sort_rows(indptr, heads.view(np.uint32), np.empty(0, np.int32))


def sort_rows_by_weight(indptr, heads, weights):
    csr_cpu.sort_rows_by_weight(indptr, heads.view(np.uint32), weights)


@pytest.fixture(scope="module")
def host():
    with pytest.MonkeyPatch.context() as patch:
        host = emulated.Host()
        host.patch(patch)
        search = partitioned_delta_stepping_gpu
        for module in (search, partitioned_bfs_gpu):
            patch.setattr(module, "multiprocessors", lambda: 1)
        patch.setattr(search, "resident_blocks", lambda *shape: 3)
        for module in (search, partitioned_forest_gpu):
            patch.setattr(module, "copy_into", lambda target, source: np.copyto(target, source))
        patch.setattr(
            primitives_gpu, "full", lambda *shape: np.full(*shape).view(emulated.HostArray)
        )
        patch.setattr(
            sys.modules["cupy"], "asarray", lambda *array: np.array(*array).view(emulated.HostArray)
        )
        for module in (build_gpu, partitioned_forest_gpu):
            patch.setattr(module, "copy", lambda array: array.copy())
        gather = Exchange.gather_shares
        patch.setattr(
            Exchange, "gather_shares", lambda *shares: gather(*shares).view(emulated.HostArray)
        )
        patch.setattr(csr_gpu, "sort_rows", sort_rows)
        patch.setattr(csr_gpu, "sort_rows_by_weight", sort_rows_by_weight)
        yield host


@given(graph=graphs(), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=30)
def test_the_same_rows_as_on_cores(host, graph, size, seed):
    host.seed = 1 + seed
    expected, found = (
        on_ranks(graph, size, lambda exchange, rank_graph: rank_graph, seed, backend)
        for backend in ("cpu", "gpu")
    )
    for one, other in zip(expected, found, strict=True):
        for name in ("indptr", "heads", "ghosts", "ghost_bounds"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.weights is None) == (other.weights is None)
        if one.weights is not None:
            np.testing.assert_array_equal(one.weights, other.weights)
        for exports in zip(one.exports, other.exports, strict=True):
            np.testing.assert_array_equal(*exports)
        assert one.num_arcs == other.num_arcs
        assert (one.min_weight, one.max_weight) == (other.min_weight, other.max_weight)


def test_negative_zeros_are_zeros(host):
    weight = np.array([-0.0, 0.0, 1.4e-45, -0.0], np.float32)
    edges = EdgeList([0, 0, 0, 0], [4, 1, 2, 3], weight)
    graph = csr_cpu.build(edges, 5, directed=True, drop_loops=True, merge=False)
    (rank,) = on_ranks(graph, 1, lambda exchange, rank_graph: rank_graph, backend="gpu")
    np.testing.assert_array_equal(rank.heads, [1, 3, 4, 2])
    np.testing.assert_array_equal(rank.weights.view(np.int32), [0, 0, 0, 1])


@given(data=st.data(), size=st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_distances_and_predecessors_are_one_devices(host, data, size):
    graph = data.draw(graphs())
    host.seed = data.draw(st.integers(1, 1 << 30))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    assert_same(
        graph,
        size,
        data.draw(vertices),
        data.draw(st.sampled_from([None, 1e-3, 5.0, 1e12])),
        tuning=data.draw(tunings),
        on="gpu",
        targets=data.draw(st.none() | vertices),
        stop_at=data.draw(st.sampled_from(["first", "last"])),
        cutoff=data.draw(st.none() | st.floats(0, 2000)),
    )


@given(data=st.data(), size=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_numbers_of_64_bits(host, data, size):
    graph = data.draw(graphs(dtypes=("float32", "int32")))
    host.seed = data.draw(st.integers(1, 1 << 30))
    sources = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=2))
    with (
        mock.patch.object(partition, "NARROW_N", 2),
        mock.patch.object(edge_source, "NARROW_HEADS", 2),
    ):
        assert_same(graph, size, sources, on="gpu", tuning=data.draw(tunings))


@pytest.mark.parametrize(("dtype", "first"), [(np.int32, 7), (np.int64, 1 << 33)])
@pytest.mark.parametrize("all_reached", [False, True])
def test_rows_with_numbers_of_either_width(host, dtype, first, all_reached):
    distance = np.arange(100, dtype=np.float64).view(emulated.HostArray)
    if not all_reached:
        distance[::3] = np.inf
    predecessor = (first + np.arange(100)[::-1]).astype(dtype).view(emulated.HostArray)
    reached = np.flatnonzero(np.isfinite(distance))
    found = reached_rows_gpu.list_rows(distance, predecessor, reached.size, dtype, first)
    for column, expected in zip(
        found, (first + reached, distance[reached], predecessor[reached]), strict=True
    ):
        np.testing.assert_array_equal(column, expected)
    assert found[0].dtype == found[2].dtype == dtype


@given(data=st.data(), size=st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_levels_are_one_devices(host, data, size):
    graph = data.draw(graphs(dtypes=(None,)))
    host.seed = data.draw(st.integers(1, 1 << 30))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    test_bfs.assert_same(
        graph,
        size,
        data.draw(vertices),
        on="gpu",
        targets=data.draw(st.none() | vertices),
        cutoff=data.draw(st.none() | st.integers(0, 4)),
    )


@given(graph=graphs(dtypes=(None,)), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=30)
def test_labels_of_components_are_one_devices(host, graph, size, seed):
    host.seed = 1 + seed
    test_components.assert_same(graph, size, seed, on="gpu")


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_pieces(host, seed):
    """More than one block works, and the rows of hubs are divided."""
    host.seed = 1 + seed
    model = CopyModel(3000, 3, p=0.02, weights=(0, 40))
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    assert graph.max_degree > 600
    assert_same(graph, 2, [7], on="gpu")
    assert_same(graph, 2, [2999, 3], 1e9, on="gpu")
    for directed in (False, True):
        unweighted = mgraph.from_edges(
            EdgeList(edges.src, edges.dst), model.n, directed=directed, backend="cpu"
        )
        test_bfs.assert_same(unweighted, 2, [2999], on="gpu")


@given(data=st.data(), size=st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_forests_are_one_devices(host, data, size):
    graph = data.draw(graphs(directed=False))
    host.seed = data.draw(st.integers(1, 1 << 30))
    light = data.draw(st.sampled_from([0.0, 0.5, 2.0]))
    with mock.patch.object(partitioned_forest, "LIGHT_EDGES", light):
        test_forest.assert_same(
            graph.to_edges(), graph.n, size, data.draw(st.integers(0, 9)), "gpu"
        )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_forests_of_extreme_weights(host, dtype):
    test_forest.assert_same(test_forest.extreme_weights(dtype), 40, 2, backend="gpu")
