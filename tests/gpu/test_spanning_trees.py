"""Forests computed on a GPU equal those computed on the CPU."""

import numpy as np
import pytest
from hypothesis import given, settings

import mgraph
from mgraph import CopyModel, EdgeList, Graph
from mgraph.errors import UsageError
from mgraph.spanning_trees import boruvka_gpu, filter_boruvka_gpu
from mgraph.spanning_trees.edge_forest import forest_of_edges
from mgraph.spanning_trees.minimum_spanning_forest import GPU_METHODS
from tests.spanning_trees.checks import check_forest
from tests.spanning_trees.strategies import graphs
from tests.spanning_trees.test_edge_forest import shuffled

pytestmark = pytest.mark.gpu


def assert_same(gpu, cpu):
    assert gpu.backend == "gpu"
    assert gpu.to_arrow().equals(cpu.to_arrow())
    gpu = gpu.to_cpu()
    for name in ("edge_id", "src", "dst", "weight"):
        ours, theirs = getattr(gpu, name), getattr(cpu, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert gpu.total_weight == cpu.total_weight


def compare(graph, method="auto"):
    forest = mgraph.minimum_spanning_forest(graph, method=method, backend="gpu")
    assert_same(forest, mgraph.minimum_spanning_forest(graph.to_cpu(), backend="cpu"))
    return forest


@pytest.mark.parametrize("method", GPU_METHODS)
@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_small_graphs_of_all_kinds(method, graph):
    compare(graph, method)


def copy_graph(n, d, weights, dtype=None):
    edges = CopyModel(n, d, weights=weights).edges(backend="gpu").edges
    if dtype:
        edges = EdgeList(edges.src, edges.dst, edges.weight.astype(dtype))
    return mgraph.from_edges(edges, n, directed=False, backend="gpu")


@pytest.mark.parametrize("method", GPU_METHODS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("weights", [(1, 9), (0, 2**31 - 1)])
def test_larger_graphs(method, dtype, weights):
    compare(copy_graph(300_000, 7, weights, dtype), method)


def test_a_large_forest_passes_its_certificate():
    graph = copy_graph(2_000_000, 8, (1, 99))
    check_forest(graph, compare(graph), sampled=5)


def ends(kind, n):
    below = np.arange(n - 1, dtype=np.int32)
    if kind == "star":
        return below + 1, np.zeros_like(below)
    if kind == "hub last":
        return below, np.full_like(below, n - 1)
    if kind == "clique":
        return tuple(end.astype(np.int32) for end in np.tril_indices(n, -1))
    order = np.random.default_rng(1).permutation(n).astype(np.int32)
    order = {"path": np.arange(n, dtype=np.int32), "shuffled path": order}[kind]
    return order[:-1], order[1:]


@pytest.mark.parametrize(
    ("kind", "n"),
    [("path", 10**6), ("shuffled path", 10**6), ("star", 10**6), ("hub last", 10**6),
     ("clique", 1500)],
)  # fmt: skip
@pytest.mark.parametrize("pattern", ["equal", "rising", "falling", "pairs falling", "none"])
def test_chains_hubs_and_cliques(kind, n, pattern):
    src, dst = ends(kind, n)
    place = np.arange(src.size)
    weight = {
        "equal": np.full(src.size, 7),
        "rising": place,
        "falling": src.size - place,
        # After a round, the minimum edges of the remaining pairs form one long chain.
        "pairs falling": np.where(place % 2, src.size - place, -1),
        "none": None,
    }[pattern]
    weight = None if weight is None else weight.astype(np.int32)
    graph = mgraph.from_edges(EdgeList(src, dst, weight), n, directed=False, backend="cpu")
    compare(graph.to_gpu())


def test_light_self_loops():
    hub = np.zeros(50_000, np.int32), np.arange(1, 50_001, dtype=np.int32)
    every = np.arange(50_001, dtype=np.int32)
    src, dst = (np.concatenate([end, every]) for end in hub)
    weight = np.concatenate([np.arange(50_000) % 7, np.full(50_001, -1)]).astype(np.int32)
    forest = compare(
        mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu").to_gpu()
    )
    assert len(forest) == 50_000


def test_rows_in_another_order():
    graph = copy_graph(20_000, 5, (1, 3)).to_cpu()
    order = np.arange(graph.num_arcs)
    for row in range(graph.n):
        order[graph.indptr[row] : graph.indptr[row + 1]] = order[
            graph.indptr[row] : graph.indptr[row + 1]
        ][::-1]
    shuffled = Graph(graph.indptr, graph.indices[order], graph.weights[order], False)
    compare(shuffled.to_gpu())
    assert_same(
        mgraph.minimum_spanning_forest(shuffled, backend="gpu"),
        mgraph.minimum_spanning_forest(shuffled, backend="cpu"),
    )


def test_ids_of_64_bits():
    graph = copy_graph(20_000, 5, (1, 30)).to_cpu()
    wide = Graph(graph.indptr, graph.indices.astype(np.int64), graph.weights, False)
    compare(wide.to_gpu())


def test_graphs_in_pieces(monkeypatch):
    graph = copy_graph(50_000, 6, (1, 30))
    expected = mgraph.minimum_spanning_forest(graph)
    monkeypatch.setattr(filter_boruvka_gpu, "MAX_EDGES", 200_000)
    monkeypatch.setattr(filter_boruvka_gpu, "PIECE_ARCS", 50_000)
    assert_same(mgraph.minimum_spanning_forest(graph), expected.to_cpu())


VARIANTS = [
    {"choose": "vertex", "count": "vertex", "contract": "vertex"},
    {"colours": "walk", "scan": "host"},
    {"scan": "naive"},
    {"contract": "host"},
]


@pytest.mark.parametrize("variants", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(graph=graphs())
def test_variants_of_boruvka_agree(variants, graph):
    forest = mgraph.minimum_spanning_forest(
        graph, method="boruvka", backend="gpu", variants=variants, timed=True
    )
    assert_same(forest, mgraph.minimum_spanning_forest(graph, backend="cpu"))
    assert set(forest.step_times) == set(boruvka_gpu.STEPS)


def test_unknown_variants_are_refused():
    graph = copy_graph(100, 2, (1, 3))
    with pytest.raises(UsageError, match=r"\(got choose=warp\); there are choose: edge, vertex"):
        mgraph.minimum_spanning_forest(graph, method="boruvka", variants={"choose": "warp"})
    with pytest.raises(UsageError, match=r"are for method boruvka \(got auto\)"):
        mgraph.minimum_spanning_forest(graph, timed=True)


def forests_of_a_dataset(folder, workers):
    """One batch per GPU, and many batches, against the forest of the entire graph on a CPU."""
    model = CopyModel(300_000, 8, weights=(1, 50))
    with mgraph.connect(workers=workers, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        mgraph.generate(folder / "g", model, cluster=cluster, parts=12, progress=None)
        runs = [
            mgraph.spanning_forest_dataset(
                folder / "g", folder / f"{batch}", cluster=cluster, batch=batch, progress=None
            )
            for batch in (None, 400_000)
        ]
    graph = mgraph.read_graph(folder / "g", backend="cpu")
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    for run in runs:
        columns = zip(*(part.read() for part in mgraph.open_dataset(run.location)), strict=True)
        arrays = [np.concatenate(column) for column in columns]
        for ours, theirs in zip(arrays, (expected.src, expected.dst, expected.weight), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert run.total_weight == expected.total_weight


def test_forests_of_a_dataset_on_one_gpu(tmp_path):
    forests_of_a_dataset(tmp_path, 1)


@pytest.mark.multigpu
def test_forests_of_a_dataset_on_two_gpus(tmp_path):
    forests_of_a_dataset(tmp_path, 2)


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_forests_of_lists_of_edges(graph):
    import cupy

    expected = forest_of_edges(shuffled(graph), graph.n)
    forest = forest_of_edges(EdgeList(*map(cupy.asarray, shuffled(graph))), graph.n)
    for ours, theirs in zip(forest, expected, strict=True):
        np.testing.assert_array_equal(ours.get(), theirs)
    if expected.weight is not None:
        assert forest.weight.dtype == expected.weight.dtype
