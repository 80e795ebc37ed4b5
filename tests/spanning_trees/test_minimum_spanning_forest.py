"""Every method on the CPU computes the same forest; wrong use is one sentence."""

import dataclasses
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse.csgraph import minimum_spanning_tree

import mgraph
from mgraph import CopyModel, EdgeList, Graph
from mgraph.core.exact_sum import rounded
from mgraph.errors import UsageError
from mgraph.spanning_trees import filter_kruskal_cpu
from mgraph.spanning_trees.minimum_spanning_forest import CPU_METHODS
from tests.spanning_trees.checks import check_forest
from tests.spanning_trees.oracles import kruskal
from tests.spanning_trees.strategies import graphs


def forest_of(graph, method="auto"):
    return mgraph.minimum_spanning_forest(graph, method=method, backend="cpu")


def copy_graph(n=20_000, d=6, weights=(1, 20)):
    edges = CopyModel(n, d, weights=weights).edges(backend="cpu").edges
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


@pytest.mark.parametrize("method", CPU_METHODS)
@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_small_graphs_of_all_kinds(method, graph):
    forest = forest_of(graph, method)
    assert forest.edge_id.tolist() == kruskal(graph)
    check_forest(graph, forest)
    number = int if forest.weight.dtype.kind == "i" else Fraction
    assert forest.total_weight == rounded(sum(map(number, forest.weight.tolist()), number()))
    assert (forest.method, forest.backend) == (method, "cpu")


@pytest.mark.parametrize("weights", [(1, 20), (5, 5), None])
def test_all_methods_agree_on_a_larger_graph(weights):
    graph = copy_graph(weights=weights)
    expected = forest_of(graph)
    check_forest(graph, expected)
    for method in CPU_METHODS:
        forest = forest_of(graph, method)
        np.testing.assert_array_equal(forest.edge_id, expected.edge_id)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_scipy_and_networkx_agree(dtype):
    graph = copy_graph(3000, weights=(1, 1000))
    graph = Graph(graph.indptr, graph.indices, graph.weights.astype(dtype), False)
    forest = forest_of(graph)
    assert forest.total_weight == minimum_spanning_tree(graph.to_sparse()).sum()
    theirs = nx.minimum_spanning_tree(graph.to_networkx())
    assert forest.total_weight == theirs.size(weight="weight")
    assert len(forest) == theirs.number_of_edges()


def test_bands_of_few_edges_and_small_chunks(monkeypatch):
    graph = copy_graph(5000, 12, weights=(1, 1000))
    expected = forest_of(graph, "prim").edge_id
    monkeypatch.setattr(filter_kruskal_cpu, "_EDGES_PER_COMPONENT", 0.05)
    monkeypatch.setattr(filter_kruskal_cpu, "_CHUNK_ARCS", 1000)
    bounds = []
    bound = filter_kruskal_cpu._bound
    monkeypatch.setattr(
        filter_kruskal_cpu, "_bound", lambda *args: bounds.append(bound(*args)) or bounds[-1]
    )
    np.testing.assert_array_equal(forest_of(graph).edge_id, expected)
    assert len(bounds) > 3
    assert bounds == sorted(bounds)


@settings(max_examples=30, deadline=None)
@given(graph=graphs(dtypes=("int32",)))
def test_rows_in_another_order_give_the_same_edges(graph):
    order = np.arange(graph.num_arcs)[::-1].copy()
    for row in range(graph.n):
        begin, end = graph.indptr[row : row + 2]
        order[begin:end] = np.random.default_rng(row).permutation(np.arange(begin, end))
    shuffled = Graph(graph.indptr, graph.indices[order], graph.weights[order], False)
    forest, expected = forest_of(shuffled), forest_of(graph)
    np.testing.assert_array_equal(shuffled.indices[forest.edge_id], forest.dst)
    np.testing.assert_array_equal(shuffled.weights[forest.edge_id], forest.weight)
    assert (np.diff(forest.edge_id) > 0).all()
    columns = (sorted(zip(f.src, f.dst, f.weight, strict=True)) for f in (forest, expected))
    assert next(columns) == next(columns)


def path(n):
    ends = np.arange(n - 1, dtype=np.int32)
    return EdgeList(ends, ends + 1)


def star(n):
    ends = np.arange(1, n, dtype=np.int32)
    return EdgeList(ends, np.zeros_like(ends))


def clique(n):
    src, dst = np.tril_indices(n, -1)
    return EdgeList(src.astype(np.int32), dst.astype(np.int32))


@pytest.mark.parametrize("method", ["filter_kruskal", "boruvka", "prim"])
@pytest.mark.parametrize("edges", [path(30_000), star(30_000), clique(300)])
def test_equal_weights(method, edges):
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    forest = forest_of(graph, method)
    check_forest(graph, forest, sampled=3)
    assert forest.total_weight == graph.n - 1


def test_total_weight_does_not_overflow_or_round():
    large = np.array([2**63 - 1, 2**63 - 1, -(2**63)])
    graph = mgraph.from_edges(EdgeList(*path(4), large), directed=False, backend="cpu")
    assert forest_of(graph).total_weight == 2**63 - 2
    tenth = np.full(10, 0.1)
    graph = mgraph.from_edges(EdgeList(*path(11), tenth), directed=False, backend="cpu")
    assert forest_of(graph).total_weight == float(10 * Fraction(0.1))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_edges(n):
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), n, directed=False, backend="cpu")
    for method in CPU_METHODS:
        forest = forest_of(graph, method)
        assert (len(forest), forest.components, forest.total_weight) == (0, n, 0)


def small(weights=None, directed=False):
    pair = np.array([0, 1]), np.array([1, 0], np.int32)
    return Graph(np.array([0, 1, 2]), pair[1], weights, directed)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (small(directed=True), {}, "undirected graph, and this one is directed"),
        (small(np.array([np.nan, np.nan])), {}, r"finite weights \(got nan\)"),
        (small(np.array([1, np.inf])), {}, r"finite weights \(got inf\)"),
        (small(), {"method": "kruskal"}, "method must be one of auto"),
        (small(), {"method": "filter_boruvka"}, "method filter_boruvka needs a GPU"),
        (small(), {"backend": "tpu"}, "backend must be one of"),
    ],
)
def test_wrong_use_is_one_sentence(graph, options, message):
    with pytest.raises(UsageError, match=message):
        mgraph.minimum_spanning_forest(graph, **{"backend": "cpu"} | options)


@pytest.mark.parametrize(
    ("indptr", "indices", "weights"),
    [([0, 1, 1], [1], None), ([0, 0, 1], [0], None), ([0, 1, 2], [1, 0], [1, 2])],
)
def test_an_arc_without_one_back_is_refused(indptr, indices, weights):
    weights = None if weights is None else np.array(weights)
    graph = Graph(np.array(indptr), np.array(indices, np.int32), weights, False)
    with pytest.raises(UsageError, match="holds both arcs of each edge with one weight"):
        forest_of(graph)


@pytest.mark.parametrize("method", CPU_METHODS)
def test_parallel_arcs_in_any_order(method):
    arcs = [1, 1, 0, 0, 2, 1], [2, 1, 1, 2, 0, 0]
    graph = Graph(np.array([0, 2, 5, 6]), *map(np.array, arcs), False)
    forest = forest_of(graph, method)
    assert forest.edge_id.tolist() == [2, 5]
    assert forest.total_weight == 1


def test_repr_and_types():
    forest = forest_of(small(np.array([7, 7])))
    assert repr(forest) == (
        "SpanningForest(1 edge, 1 component, total weight 7, filter_kruskal on the cpu)"
    )
    assert forest.to_cpu() is forest


def labelled_forest():
    edges = EdgeList([1, 2, 2, 4], [0, 1, 0, 3], [7, 3, 5, 2])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    return forest_of(graph), forest_of(graph.with_labels("abcde"))


def test_a_forest_converts_to_tables():
    forest, labelled = labelled_forest()
    columns = {"src": [2, 2, 4], "dst": [0, 1, 3], "weight": [5, 3, 2]}
    assert forest.to_arrow().to_pydict() == columns
    assert forest.to_pandas().to_dict("list") == columns
    assert list(map(str, forest.to_arrow().schema.types)) == ["int32", "int32", "int64"]
    columns |= {"src_label": ["c", "c", "e"], "dst_label": ["a", "b", "d"]}
    assert labelled.to_arrow().to_pydict() == columns
    assert labelled.to_pandas().to_dict("list") == columns
    mixed = dataclasses.replace(labelled, labels=(0, "b", (1, 2), None, 4.5))
    assert mixed.to_pandas()["src_label"].tolist() == [(1, 2), (1, 2), 4.5]
    assert mixed.to_arrow()["src_label"].to_pylist() == ["(1, 2)", "(1, 2)", "4.5"]


def test_a_forest_without_edges_converts_to_empty_tables():
    none = np.empty(0, np.int32)
    forest = forest_of(mgraph.from_edges(EdgeList(none, none), 3, directed=False, backend="cpu"))
    assert forest.to_arrow().to_pydict() == {"src": [], "dst": [], "weight": []}
    assert list(forest.to_pandas().columns) == ["src", "dst", "weight"]


def test_a_forest_is_frozen():
    forest, _ = labelled_forest()
    with pytest.raises(dataclasses.FrozenInstanceError):
        forest.n = 3
