"""Graphs to files and back: every format, of mgraph and other programs, valid and damaged."""

import gzip

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList, Graph, OutOfMemoryError, UsageError
from mgraph.io import graph_reader
from tests.strategies import graphs

INTEGERS = ("int32", "int64", None)


def assert_same(ours, theirs):
    assert (ours.n, ours.directed) == (theirs.n, theirs.directed)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    if theirs.weights is None:
        assert ours.weights is None
    else:
        np.testing.assert_array_equal(ours.weights, theirs.weights)


def round_trip(graph, folder, name):
    file = folder / name
    mgraph.write_graph(graph, file, overwrite=True)
    return mgraph.read_graph(file, backend="cpu")


@settings(deadline=None, max_examples=30)
@given(graph=graphs())
def test_datasets(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("io")
    back = round_trip(graph, folder, "dataset")
    assert_same(back, graph)
    assert back.weights is None or back.weights.dtype == graph.weights.dtype


@settings(deadline=None, max_examples=30)
@given(graph=graphs())
def test_matrix_market(graph, tmp_path_factory):
    back = round_trip(graph, tmp_path_factory.mktemp("io"), "x.mtx")
    weights = back.weights
    if graph.weights is None and graph.num_arcs == 0:
        weights = None  # SciPy writes an empty pattern as real
    elif graph.weights is not None:
        weights = weights.astype(graph.weights.dtype)  # the file has the digits of a float32
    assert_same(Graph(back.indptr, back.indices, weights, back.directed), graph)


@settings(deadline=None, max_examples=30)
@given(graph=graphs(INTEGERS))
def test_dimacs(graph, tmp_path_factory):
    ones = graph.weights if graph.weights is not None else np.ones(graph.num_arcs, np.int32)
    listed = Graph(graph.indptr, graph.indices, ones)
    assert_same(round_trip(graph, tmp_path_factory.mktemp("io"), "x.gr.gz"), listed)


@settings(deadline=None, max_examples=30)
@given(graph=graphs(INTEGERS))
def test_metis(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("io")
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    if graph.directed or (rows == graph.indices).any():
        with pytest.raises(UsageError, match="METIS"):
            mgraph.write_graph(graph, folder / "x.graph")
        assert not list(folder.iterdir())
    else:
        back = round_trip(graph, folder, "x.metis.xz")
        empty_weights = graph.weights is not None and graph.num_arcs == 0
        assert_same(back, graph if not empty_weights else back)


@pytest.mark.parametrize("name", ["x.graphml", "x.gexf"])
@settings(deadline=None, max_examples=15)
@given(graph=graphs(("int32", "float64", None)))
def test_xml(graph, name, tmp_path_factory):
    back = round_trip(graph, tmp_path_factory.mktemp("io"), name)
    # NetworkX keeps no direction of parallel edges' numbers, and no type without any
    if graph.num_arcs:
        assert_same(back, graph)


@pytest.mark.parametrize(("name", "directed"), [("x.graphml", False), ("x.gexf.gz", True)])
def test_xml_with_terminals_contains_only_used_vertices(name, directed, tmp_path):
    networkx = pytest.importorskip("networkx")
    ends = np.array([7, 3]), np.array([3, 90_000])
    graph = mgraph.from_edges(EdgeList(*ends, np.array([2, 5])), 100_000, directed=directed)
    mgraph.write_graph(graph, tmp_path / name, terminals=[3, 50_000])
    read = networkx.read_graphml if "graphml" in name else networkx.read_gexf
    found = read(tmp_path / name)
    marks = {"3": True, "7": False, "50000": True, "90000": False}
    assert dict(found.nodes(data="terminal")) == marks
    edges = {(frozenset((u, v)), weight) for u, v, weight in found.edges(data="weight")}
    assert edges == {(frozenset("73"), 2), (frozenset(("3", "90000")), 5)}


@settings(deadline=None, max_examples=30)
@given(graph=graphs())
def test_scipy(graph):
    matrix = graph.to_sparse()
    assert isinstance(matrix, sparse.csr_array)
    options = {"directed": graph.directed, "weighted": graph.weights is not None}
    assert_same(mgraph.from_sparse(matrix, **options), graph)


@settings(deadline=None, max_examples=30)
@given(graph=graphs(("int32", "float64", None)))
def test_networkx(graph):
    made = graph.to_networkx()
    assert made.number_of_nodes() == graph.n
    assert made.is_directed() == graph.directed
    back = mgraph.from_networkx(made)
    assert_same(back, graph if graph.num_arcs else back)


def test_scipy_matrices_of_all_kinds():
    dense = np.array([[0, 2, 0], [2, 0, 5], [0, 5, 0]])
    for kind in (sparse.csc_array, sparse.coo_matrix, sparse.lil_array, sparse.dok_matrix):
        graph = mgraph.from_sparse(kind(dense), directed=False)
        np.testing.assert_array_equal(graph.to_sparse().toarray(), dense)
    with pytest.raises(UsageError, match="both arcs of each edge with one weight"):
        mgraph.from_sparse(sparse.coo_array(np.triu(dense)), directed=False)
    with pytest.raises(UsageError, match="square"):
        mgraph.from_sparse(sparse.coo_array(dense[:2]))
    with pytest.raises(UsageError, match="real numbers"):
        mgraph.from_sparse(sparse.coo_array(dense * 1j))
    with pytest.raises(UsageError, match="sparse matrix, not ndarray"):
        mgraph.from_sparse(dense)


def test_networkx_nodes_of_any_name():
    made = networkx.MultiDiGraph()
    made.add_edge("b", "a", weight=1.5)
    made.add_edge("b", "a", weight=0.5)
    graph = mgraph.from_networkx(made)
    np.testing.assert_array_equal(graph.weights, [0.5, 1.5])
    np.testing.assert_array_equal(graph.indices, [1, 1])
    made.add_edge("a", "c")
    with pytest.raises(UsageError, match="2 of 3 edges have a weight"):
        mgraph.from_networkx(made)


def test_a_file_of_another_program(tmp_path):
    (tmp_path / "a.gr").write_text("c hi\nc\np sp 3 2\na 1 2 7\nc a b d\na  3\t1   9 \n")
    graph = mgraph.read_graph(tmp_path / "a.gr", backend="cpu")
    assert_same(graph, Graph(np.array([0, 1, 1, 2]), np.array([1, 0], "i4"), np.array([7, 9])))
    # The example of METIS's manual: vertex weights (two), edge weights.
    (tmp_path / "b.graph").write_text("% x\n3 2 011 2\n8 9 2 5 \n% y\n7 7 1 5 3 6\n1 1 2 6\n\n")
    graph = mgraph.read_graph(tmp_path / "b.graph", backend="cpu")
    np.testing.assert_array_equal(graph.indices, [1, 0, 2, 1])
    np.testing.assert_array_equal(graph.weights, [5, 5, 6, 6])
    assert not graph.directed


def test_generated_datasets_are_undirected(tmp_path, cluster):
    model = CopyModel(2000, 4, weights=(1, 9))
    mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=3, progress=None)
    edges, _ = model.edges(backend="cpu")
    expected = mgraph.from_edges(edges, 2000, directed=False, backend="cpu")
    assert_same(mgraph.read_graph(tmp_path / "g", backend="cpu"), expected)
    mgraph.write_graph(expected, tmp_path / "h")
    assert mgraph.open_dataset(tmp_path / "h").manifest.checksum == (
        mgraph.open_dataset(tmp_path / "g").manifest.checksum
    )
    assert mgraph.verify(tmp_path / "h", cluster=cluster, progress=None).ok


def test_options_of_from_edges():
    edges = EdgeList(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2]), np.array([5, 3, 9, 1]))
    build = {"backend": "cpu"}
    assert mgraph.from_edges(edges, **build).num_arcs == 4
    assert mgraph.from_edges(edges, directed=False, **build).num_arcs == 7
    assert mgraph.from_edges(edges, drop_loops=True, **build).num_arcs == 3
    graph = mgraph.from_edges(edges, 9, directed=False, merge=True, drop_loops=True, **build)
    assert (graph.n, graph.num_arcs) == (9, 2)
    np.testing.assert_array_equal(graph.weights, [3, 3])


@pytest.mark.parametrize(
    ("edges", "n", "words"),
    [
        (EdgeList([0], [1, 2]), None, "have one dimension and the same length"),
        (EdgeList([0.5], [1]), None, "whole numbers"),
        (EdgeList([0], [-1]), None, "numbered from 0"),
        (EdgeList([0], [7]), 7, r"must lie in \[0, n\)"),
        (EdgeList([0], [1], np.array([1j])), None, "weight must be int32"),
        (EdgeList([0], [1], np.array([np.nan])), None, "must not be NaN"),
        (EdgeList(np.array([2**63 + 1], np.uint64), [1]), None, "got 9,223,372,036,854,775,809"),
        ([0, 1], None, "must be an mgraph.EdgeList"),
    ],
)
def test_wrong_edges_are_refused(edges, n, words):
    with pytest.raises(UsageError, match=words):
        mgraph.from_edges(edges, n, backend="cpu")


def test_more_vertices_than_fit_into_memory(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError("8 TB")

    (tmp_path / "g.gr").write_text("p sp 3 1\na 1 2 3\n")
    monkeypatch.setattr(graph_reader, "from_edges", fail)
    with pytest.raises(OutOfMemoryError, match=r"not enough memory for the graph .*g.gr \(8 TB\)"):
        mgraph.read_graph(tmp_path / "g.gr", backend="cpu")


def test_rows_that_do_not_fit_are_refused_before_they_are_filled(tmp_path, monkeypatch):
    mgraph.generate(tmp_path / "g", CopyModel(1000, 2), backend="cpu")
    monkeypatch.setattr(graph_reader, "_SURE_BYTES", 1000)
    monkeypatch.setattr(graph_reader, "available_memory", lambda: 8008)
    assert mgraph.read_graph(tmp_path / "g", backend="cpu").n == 1000
    monkeypatch.setattr(graph_reader, "available_memory", lambda: 8007)
    with pytest.raises(OutOfMemoryError, match=r"g has 1,000 vertices, whose rows take .* GiB"):
        mgraph.read_graph(tmp_path / "g", backend="cpu")


def test_parts_that_contradict_the_manifest(tmp_path, cluster):
    for n, name in ((500, "g"), (300, "few"), (900, "many")):
        model = CopyModel(n, 3, weights=(1, 9))
        mgraph.generate(tmp_path / name, model, cluster=cluster, parts=1, progress=None)
    mgraph.generate(tmp_path / "bare", CopyModel(500, 3), cluster=cluster, parts=1, progress=None)
    for name, words in (
        ("few", "should hold 1,494 edges, and holds 894"),
        ("many", "should hold 1,494 edges, and holds more"),
        ("bare", "weights of type none, its dataset of type int32"),
    ):
        part = (tmp_path / name / "part-00000.parquet").read_bytes()
        (tmp_path / "g" / "part-00000.parquet").write_bytes(part)
        for read in (mgraph.read_graph, graph_reader.summarize):
            with pytest.raises(DatasetError, match=words):
                read(tmp_path / "g")


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("weight", [0.5, 1.5], "weights of type float64, its dataset of type int32"),
        ("src", [1 << 32, 1], "holds ids that are not int32"),
    ],
)
def test_parts_of_types_that_contradict_the_manifest(tmp_path, column, values, words):
    edges = {"src": [1, 1], "dst": [0, 1], "weight": np.array([1, 2], np.int32)}
    arrays = [np.array(edges[name]) for name in ("src", "dst", "weight")]
    graph = mgraph.from_edges(EdgeList(*arrays), backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    table = pa.table(edges | {column: values})
    pq.write_table(table, tmp_path / "g" / "part-00000.parquet")
    with pytest.raises(DatasetError, match=words):
        mgraph.read_graph(tmp_path / "g", backend="cpu")


def test_a_truncated_compressed_file(tmp_path):
    whole = gzip.compress(b"p sp 3 1\na 1 2 7\n" * 100)
    (tmp_path / "x.gr.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="truncated or damaged"):
        mgraph.read_graph(tmp_path / "x.gr.gz", backend="cpu")


def test_unknown_suffixes_and_existing_files(tmp_path):
    graph = mgraph.from_edges(EdgeList([0], [1]), backend="cpu")
    (tmp_path / "x.doc").write_text("")
    with pytest.raises(UsageError, match="a graph file's name must end in"):
        mgraph.read_graph(tmp_path / "x.doc", backend="cpu")
    with pytest.raises(DatasetError, match="does not exist"):
        mgraph.read_graph(tmp_path / "x.gr", backend="cpu")
    mgraph.write_graph(graph, tmp_path / "x.gr")
    with pytest.raises(UsageError, match="`overwrite=True`"):
        mgraph.write_graph(graph, tmp_path / "x.gr")
    mgraph.write_graph(graph, tmp_path / "g")
    with pytest.raises(UsageError, match="`overwrite=True`"):
        mgraph.write_graph(graph, tmp_path / "g")
    with pytest.raises(UsageError, match="holds other files"):
        mgraph.write_graph(graph, tmp_path, overwrite=True)


def test_views_that_are_not_contiguous():
    pairs = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    graph = mgraph.from_edges(EdgeList(pairs[:, 0], pairs[:, 1]), backend="cpu")
    np.testing.assert_array_equal(graph.indices, [1, 2, 0])
    with pytest.raises(UsageError, match="indices must be contiguous"):
        Graph(graph.indptr, pairs[:, 1])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_order_of_the_edges_does_not_matter(data):
    graph = data.draw(graphs())
    edges = graph.to_edges()
    order = np.array(data.draw(st.permutations(range(len(edges)))), int)
    shuffled = EdgeList(*(array[order] for array in edges))
    again = mgraph.from_edges(shuffled, graph.n, directed=graph.directed, backend="cpu")
    assert_same(again, graph)
