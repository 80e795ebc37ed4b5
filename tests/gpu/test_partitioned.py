"""Partitioned graphs on GPUs: the rows, distances and predecessors of one device's CPU."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core import csr_cpu
from mgraph.spanning_trees import partitioned_forest
from tests.partitioned import shares, test_bfs, test_build, test_components, test_forest
from tests.partitioned.ranks import on_ranks
from tests.partitioned.test_delta_stepping import assert_same, tunings
from tests.strategies import graphs

pytestmark = pytest.mark.gpu


def assert_same_rows(graph, size, seed=0):
    expected, found = (
        on_ranks(graph, size, lambda exchange, rank_graph: rank_graph, seed, backend)
        for backend in ("cpu", "gpu")
    )
    for one, other in zip(expected, found, strict=True):
        for name in ("indptr", "heads", "ghosts"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name).get())
        np.testing.assert_array_equal(one.ghost_bounds, other.ghost_bounds)
        if one.weights is not None:
            np.testing.assert_array_equal(one.weights, other.weights.get())
        for exports in zip(one.exports, other.exports, strict=True):
            np.testing.assert_array_equal(exports[0], exports[1].get())
        facts = [(rank.num_arcs, rank.min_weight, rank.max_weight) for rank in (one, other)]
        assert facts[0] == facts[1]


@given(graph=graphs(), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_rows(graph, size, seed):
    assert_same_rows(graph, size, seed)


@given(graph=graphs(directed=False), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_edges(graph, size, seed):
    test_build.assert_edges(graph, size, seed, "gpu")


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_distances_and_predecessors(data, size):
    graph = data.draw(graphs())
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


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=100)
def test_levels(data, size):
    graph = data.draw(graphs(dtypes=(None,)))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    test_bfs.assert_same(
        graph,
        size,
        data.draw(vertices),
        on="gpu",
        targets=data.draw(st.none() | vertices),
        cutoff=data.draw(st.none() | st.integers(0, 4)),
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_levels_of_larger_graphs(size, directed):
    model = CopyModel(200_000, 6, p=0.1)
    edges, _ = model.edges(backend="cpu")
    graph = csr_cpu.build(edges, model.n, directed=directed, drop_loops=True, merge=False)
    test_bfs.assert_same(graph, size, [199_999, 5], on="gpu")


@given(graph=graphs(dtypes=(None,)), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_labels_of_components(graph, size, seed):
    test_components.assert_same(graph, size, seed, on="gpu")


def test_many_components():
    test_components.assert_same(test_components.paths_and_cliques(100_000), 3, on="gpu")


WEIGHTS = {
    "int32": lambda random, m: random.integers(0, 100, m).astype(np.int32),
    "int64": lambda random, m: random.integers(0, 1 << 40, m),
    "float32": lambda random, m: random.random(m).astype(np.float32),
    "float64": lambda random, m: random.random(m),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_larger_graphs(weights, size):
    model = CopyModel(100_000, 6, p=0.1)
    edges, _ = model.edges(backend="cpu")
    weight = WEIGHTS[weights](np.random.default_rng(1), len(edges))
    graph = csr_cpu.build(
        EdgeList(edges.src, edges.dst, weight), model.n, directed=False, drop_loops=True,
        merge=False,
    )  # fmt: skip
    assert graph.max_degree > 10_000
    assert_same_rows(graph, size)
    for sources, delta in ((7, None), ([99_999, 3], 1e30)):
        assert_same(graph, size, sources, delta, on="gpu")
    assert_same(graph, size, 5, on="gpu", targets=[11, 12])


@pytest.mark.parametrize("size", [1, 3])
def test_long_paths(size):
    ids = np.random.default_rng(2).permutation(5000).astype(np.int32)
    chain = EdgeList(ids[:-1], ids[1:], np.full(4999, 3, np.int32))
    assert_same(mgraph.from_edges(chain, directed=False, backend="cpu"), size, 0, on="gpu")


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=100)
def test_forests(data, size):
    graph = data.draw(graphs(directed=False))
    light = data.draw(st.sampled_from([0.0, 0.5, 2.0]))
    with mock.patch.object(partitioned_forest, "LIGHT_EDGES", light):
        test_forest.assert_same(
            graph.to_edges(), graph.n, size, data.draw(st.integers(0, 9)), "gpu"
        )


@pytest.mark.parametrize("weights", [(0, 3), (1, 1000), None])
@pytest.mark.parametrize("size", [1, 3])
def test_forests_of_larger_graphs(weights, size):
    model = CopyModel(200_000, 8, weights=weights)
    edges = model.edges(backend="cpu").edges
    test_forest.assert_same(edges, model.n, size, backend="gpu")


@pytest.mark.parametrize("falls", [False, True])
def test_forests_of_long_paths(falls):
    n = 300_000
    weight = np.arange(n - 1, dtype=np.int32)[:: -1 if falls else 1].copy()
    ids = np.arange(n, dtype=np.int32)
    test_forest.assert_same(EdgeList(ids[1:], ids[:-1], weight), n, 2, backend="gpu")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_forests_of_extreme_weights(dtype):
    test_forest.assert_same(test_forest.extreme_weights(dtype), 40, 2, backend="gpu")


@pytest.mark.multigpu
def test_ranks_share_arrays_by_nccl():
    from mgraph.distributed.operations.ranks import ranks_of

    with mgraph.connect(workers=2, backend="gpu") as cluster, ranks_of(cluster) as ranks:
        checked = ranks.run(
            shares.check, [None] * 2, verb="check", sizes=[1, 1], progress=None, on_gpu=True
        )
    assert checked == [len(shares.LENGTHS)] * 2


@pytest.mark.multigpu
def test_over_the_gpus_of_a_cluster(tmp_path):
    from mgraph.distributed.operations.partitioned_graph import open_partitioned

    model = CopyModel(200_000, 5, weights=(0, 1000))
    mgraph.generate(tmp_path / "graph", model, cluster=mgraph.ClusterSpec(workers=2))
    on_one = mgraph.read_graph(tmp_path / "graph", backend="cpu")
    expected = mgraph.sssp(on_one, 7, predecessors=True, backend="cpu")
    tree = mgraph.minimum_spanning_forest(on_one, backend="cpu")
    with open_partitioned(
        tmp_path / "graph", cluster=mgraph.ClusterSpec(workers=2), backend="gpu"
    ) as graph:
        assert len(graph.ranks) == 2
        for _ in range(2):  # the second time with the same communicator
            paths = graph.sssp(7, predecessors=True)
            np.testing.assert_array_equal(paths.distance(), expected.distance)
            np.testing.assert_array_equal(paths.predecessor(), expected.predecessor)
        forest = graph.minimum_spanning_forest()
        assert forest.total_weight == tree.total_weight
        for found, column in zip(forest.edges(), (tree.src, tree.dst, tree.weight), strict=True):
            np.testing.assert_array_equal(found, column)


@pytest.mark.multigpu
@pytest.mark.parametrize("weights", [(1, 1000), None])
def test_the_forest_of_a_dataset_over_the_gpus_of_a_cluster(tmp_path, weights):
    model = CopyModel(300_000, 7, weights=weights)
    with mgraph.connect(workers=2, backend="gpu") as cluster:
        mgraph.generate(tmp_path / "graph", model, cluster=cluster)
        made = [
            mgraph.spanning_forest_dataset(
                tmp_path / "graph", tmp_path / f"forest-{batch}", cluster=cluster, batch=batch
            )
            for batch in (None, 10**6)
        ]
    graph = mgraph.read_graph(tmp_path / "graph", backend="cpu")
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    for run in made:
        forest = mgraph.read_graph(run.location, backend="cpu").to_edges()
        np.testing.assert_array_equal(forest.src, expected.src)
        np.testing.assert_array_equal(forest.dst, expected.dst)
        assert run.total_weight == expected.total_weight
    assert [run.is_in_memory for run in made] == [True, False]
