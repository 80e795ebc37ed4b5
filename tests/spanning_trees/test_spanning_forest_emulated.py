"""The kernels of spanning forests without a GPU find the one forest, in many orders of events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core.csr import sort_rows
from mgraph.spanning_trees import filter_boruvka_gpu, spanning_forest_gpu
from mgraph.spanning_trees.boruvka_gpu import CHOICES
from tests import emulator
from tests.emulator.device import Device, graph_on_device, on_device
from tests.spanning_trees.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
MANY = settings(deadline=None, max_examples=40)


@pytest.fixture(scope="module")
def device():
    device, modules = Device(64), (filter_boruvka_gpu, spanning_forest_gpu)
    with device.patched(pytest.MonkeyPatch, *modules):
        yield device


def assert_forest_of(graph, forest):
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    for name in ("edge_id", "src", "dst", "weight"):
        ours, theirs = getattr(forest, name), getattr(expected, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("method", ["filter_boruvka", "boruvka"])
@MANY
@given(graph=graphs(), seed=st.integers(1, 1 << 30))
def test_small_graphs_of_all_kinds(device, method, graph, seed):
    device.seed = seed
    ordered, _ = sort_rows(graph)
    assert_forest_of(ordered, spanning_forest_gpu.run(graph_on_device(ordered), method))


@MANY
@given(
    graph=graphs(),
    variants=st.fixed_dictionaries({step: st.sampled_from(CHOICES[step]) for step in CHOICES}),
)
def test_variants_of_boruvka_agree(device, graph, variants):
    forest = spanning_forest_gpu.run(graph_on_device(graph), "boruvka", variants)
    assert_forest_of(graph, forest)


def copy_graph(n, d, weights):
    edges = CopyModel(n, d, weights=weights).edges(backend="cpu").edges
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


def hub(n):
    ends = np.arange(n - 1, dtype=np.int32)
    weight = (np.arange(n - 1) % 7).astype(np.int32)
    edges = EdgeList(ends, np.full_like(ends, n - 1), weight)
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


@pytest.mark.parametrize("weights", [(1, 99), None])
def test_more_edges_than_a_chunk_holds(device, weights):
    graph = copy_graph(3000, 6, weights)
    assert_forest_of(graph, spanning_forest_gpu.run(graph_on_device(graph), "filter_boruvka"))


@pytest.mark.parametrize("n", [200, 5000, (1 << 17) + 9])
def test_rows_that_a_lane_a_warp_or_the_whole_grid_writes(device, n):
    graph = hub(n)
    assert_forest_of(graph, spanning_forest_gpu.run(graph_on_device(graph), "filter_boruvka"))


@MANY
@given(graph=graphs(dtypes=("int32", "float32", None)), seed=st.integers(1, 1 << 30))
def test_lists_of_edges(device, graph, seed):
    device.seed = seed
    edges = graph.to_edges()
    src, dst = (on_device(ids.astype(np.int32)) for ids in (edges.src, edges.dst))
    ids = filter_boruvka_gpu.select_forest(src, dst, on_device(edges.weight), graph.n)
    columns = (np.asarray(column)[ids] for column in edges)
    forest = EdgeList(*columns)
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    assert len(forest) == len(expected)
    if edges.weight is not None:
        assert np.sort(forest.weight).tolist() == np.sort(expected.weight).tolist()


@MANY
@given(graph=graphs(max_n=12, dtypes=("int32", None)))  # of up to 32 pieces
def test_graphs_in_pieces(device, graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filter_boruvka_gpu, "PIECE_ARCS", 3)
        patch.setattr(filter_boruvka_gpu, "fits", lambda n, m: False)
        assert_forest_of(graph, spanning_forest_gpu.run(graph_on_device(graph), "filter_boruvka"))
