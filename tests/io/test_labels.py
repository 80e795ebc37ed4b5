"""Labels of vertices are kept, whatever they are, when graphs are read, converted and written."""

import pickle
import random
import warnings
from decimal import Decimal
from fractions import Fraction

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.cli.main import main
from mgraph.errors import MgraphWarning, UsageError

NAMES = st.one_of(st.integers(-50, 50), st.text(max_size=3), st.tuples(st.integers(0, 3)))


@st.composite
def named_graphs(draw):
    """NetworkX graphs, directed or not, whose nodes are anything, or 0 to n - 1 in any order."""
    names = draw(
        st.one_of(
            st.integers(1, 9).flatmap(lambda n: st.permutations(range(n))),
            st.lists(NAMES, min_size=1, max_size=9, unique=True),
        )
    )
    made = draw(st.sampled_from([networkx.Graph, networkx.DiGraph]))()
    made.add_nodes_from(names)
    ends = st.tuples(st.sampled_from(names), st.sampled_from(names), st.integers(1, 9))
    made.add_weighted_edges_from(draw(st.lists(ends, max_size=20)))
    return made


def quiet(made, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MgraphWarning)
        return mgraph.from_networkx(made, **options)


def edges_of(made):
    ends = [(u, v) if made.is_directed() else frozenset((u, v)) for u, v in made.edges]
    return dict(zip(ends, (w for *_, w in made.edges(data="weight")), strict=True))


@settings(deadline=None, max_examples=200)
@given(made=named_graphs())
def test_labels_survive_a_round_trip(made):
    graph = quiet(made)
    nodes = list(made.nodes)
    assert {graph.vertex(node) for node in nodes} == set(range(len(nodes)))
    if sorted(nodes, key=str) == sorted(range(len(nodes)), key=str):
        assert graph.labels is None
        assert all(graph.vertex(node) == node for node in nodes)
    else:
        assert all(graph.labels[graph.vertex(node)] == node for node in nodes)
    back = graph.to_networkx()
    assert set(back.nodes) == set(nodes)
    assert edges_of(back) == edges_of(made)


@settings(deadline=None, max_examples=50)
@given(made=named_graphs(), data=st.data())
def test_distances_by_label_are_networkx_s(made, data):
    source = data.draw(st.sampled_from(list(made.nodes)))
    graph = quiet(made)
    found = mgraph.sssp(graph, graph.vertex(source), backend="cpu")
    assert found.by_label() == networkx.single_source_dijkstra_path_length(made, source)


def test_integers_other_than_0_to_n_become_labels_with_a_warning():
    made = networkx.Graph([(5, 3), (3, 1), (1, 0)])
    with pytest.warns(MgraphWarning, match="integers other than 0 to n - 1") as messages:
        graph = mgraph.from_networkx(made)
    assert messages[0].filename == __file__
    assert graph.labels == (0, 1, 3, 5)
    lengths = networkx.single_source_shortest_path_length(made, 0)
    assert mgraph.sssp(graph, 0, backend="cpu").by_label() == lengths
    assert mgraph.sssp(graph, 0, backend="cpu").distance.tolist() == [0, 1, 2, 3]
    assert edges_of(graph.to_networkx()) == edges_of(made)


@pytest.mark.parametrize("seed", range(3))
def test_integers_from_0_keep_their_numbers_without_a_warning(seed):
    made = networkx.path_graph(20)
    nodes = list(made.nodes)
    random.Random(seed).shuffle(nodes)
    shuffled = networkx.Graph()
    shuffled.add_nodes_from(nodes)
    shuffled.add_edges_from(made.edges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = mgraph.from_networkx(shuffled)
    assert graph.labels is None
    assert mgraph.sssp(graph, 0, backend="cpu").distance.tolist() == list(range(20))


def test_results_keep_the_labels():
    made = networkx.Graph()
    made.add_weighted_edges_from([("a", "b", 3), ("b", "c", 4), ("a", "c", 9), ("c", "d", 1)])
    graph = mgraph.from_networkx(made)
    for same in (pickle.loads(pickle.dumps(graph)), graph.to_cpu(), graph.with_labels("abcd")):
        assert same.labels == ("a", "b", "c", "d")
    assert "labels" in repr(graph)
    assert graph.with_labels(None).labels is None
    tree = mgraph.steiner_tree(graph, [graph.vertex("a"), graph.vertex("c")], backend="cpu")
    assert edges_of(tree.to_networkx()) == {frozenset("ab"): 3, frozenset("bc"): 4}
    forest = mgraph.minimum_spanning_forest(graph, backend="cpu")
    expected = {frozenset("ab"): 3, frozenset("bc"): 4, frozenset("cd"): 1}
    assert edges_of(forest.to_networkx()) == expected
    assert edges_of(forest.to_graph().to_networkx()) == expected
    cluster = mgraph.single_linkage(graph, 2).labels.tolist()
    assert dict(zip(graph.labels, cluster, strict=True)) == {"a": 0, "b": 0, "c": 1, "d": 1}


def test_parallel_edges_stay_apart_in_whatever_order_they_are_stored():
    arcs = np.array([0, 3, 3, 3]), np.array([1, 2, 1], np.int32), np.array([5, 6, 7])
    made = mgraph.Graph(*arcs).to_networkx()
    assert made.is_multigraph()
    assert sorted(made.edges(data="weight")) == [(0, 1, 5), (0, 1, 7), (0, 2, 6)]


def test_results_without_labels_have_numbers():
    graph = mgraph.from_sparse(
        networkx.to_scipy_sparse_array(networkx.path_graph(6)), directed=False
    )
    assert graph.labels is None
    tree = mgraph.steiner_tree(graph, [2, 4], backend="cpu").to_networkx()
    assert sorted(tree.nodes) == [2, 3, 4]
    forest = mgraph.minimum_spanning_forest(graph).to_networkx()
    assert sorted(forest.nodes) == [*range(6)]
    assert mgraph.sssp(graph, 4, cutoff=1, backend="cpu").by_label() == {3: 1, 4: 0, 5: 1}
    with pytest.raises(UsageError, match="the result of one search"):
        mgraph.sssp(graph, [1, 2], backend="cpu").by_label()


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("ab", "got 2, of which 2 are different"),
        ("aba", "got 3, of which 2 are different"),
        ([[], 1, 2], "must be hashable"),
        (5, "must be a list"),
        ({1, 2, 3}, "must be a list"),
    ],
)
def test_labels_that_do_not_fit(labels, words):
    graph = mgraph.from_networkx(networkx.path_graph(3))
    for give in (
        graph.with_labels,
        lambda some: mgraph.Graph(graph.indptr, graph.indices, None, False, some),
    ):
        with pytest.raises(UsageError, match=words):
            give(labels)


@pytest.mark.parametrize("label", [-1, 3, "a", 0.5, None, [], (0,)])
def test_there_is_no_such_vertex(label):
    graph = mgraph.from_networkx(networkx.path_graph(3))
    for some in (graph, graph.with_labels("xyz")):
        with pytest.raises(UsageError, match="the graph has no vertex"):
            some.vertex(label)


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_labels_of_files(tmp_path, ending):
    write = getattr(networkx, f"write_{ending}")
    file = tmp_path / f"a.{ending}"
    made = networkx.Graph()
    made.add_weighted_edges_from([("Ulm", "Bonn", 2), ("Bonn", "Jena", 3)])
    write(made, file)
    graph = mgraph.read_graph(file, backend="cpu")
    assert graph.labels == ("Ulm", "Bonn", "Jena")
    mgraph.write_graph(graph, tmp_path / f"b.{ending}")
    again = mgraph.read_graph(tmp_path / f"b.{ending}", backend="cpu")
    assert edges_of(again.to_networkx()) == edges_of(made)
    shuffled = networkx.Graph()
    shuffled.add_nodes_from([2, 0, 1])
    shuffled.add_edges_from([(0, 1), (1, 2)])
    write(shuffled, file)
    graph = mgraph.read_graph(file, backend="cpu")
    assert graph.labels is None
    assert mgraph.sssp(graph, 0, backend="cpu").distance.tolist() == [0, 1, 2]
    write(networkx.Graph([(10, 7), (7, 1)]), file)
    with pytest.warns(MgraphWarning, match="integers other than 0 to n - 1"):
        graph = mgraph.read_graph(file, backend="cpu")
    assert graph.labels == ("1", "7", "10")
    with pytest.raises(UsageError, match="two labels of the graph are the same text"):
        mgraph.write_graph(graph.with_labels([1, "1", 2]), tmp_path / f"c.{ending}")
    for unwritable in "a\0", "\x1b[2J", "\ufffe", "\ud800":
        with pytest.raises(UsageError, match="XML cannot represent the label"):
            mgraph.write_graph(graph.with_labels(["a", unwritable, "b"]), tmp_path / f"c.{ending}")
    assert not (tmp_path / f"c.{ending}").exists()
    mgraph.write_graph(graph.with_labels(["a\tb", "a\nb", "<&é𝄞>"]), tmp_path / f"c.{ending}")
    names = mgraph.read_graph(tmp_path / f"c.{ending}", backend="cpu").labels
    assert names == ("a\tb", "a\nb", "<&é𝄞>")


def test_the_command_names_vertices(tmp_path, capsys):
    made = networkx.path_graph(["x", "y", "z", "other"])
    networkx.write_graphml(made, tmp_path / "a.graphml")
    graph, tree = str(tmp_path / "a.graphml"), str(tmp_path / "tree.graphml")
    assert main(["sssp", graph, "--source", "x", "--target", "z", "--backend", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "source x: 3 of 4 vertices" in out
    assert "target z: at 2" in out
    numbers = ["--source", "0", "--target", "2", "--ids", "number"]
    assert main(["sssp", graph, *numbers, "--backend", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "source 0 (x): 3 of 4 vertices" in out
    assert "target 2 (z): at 2" in out
    assert main(["steiner", graph, "--terminals", "x,z", "--out", tree, "--backend", "cpu"]) == 0
    assert set(networkx.read_graphml(tree).nodes) == {"x", "y", "z"}
    networkx.write_graphml(networkx.path_graph([4, 2, 9]), tmp_path / "b.graphml")
    capsys.readouterr()
    assert main(["sssp", str(tmp_path / "b.graphml"), "--source", "2", "--backend", "cpu"]) == 0
    out, err = capsys.readouterr()
    assert err.count("mgraph: ") == 1
    assert "b.graphml: the nodes are integers other than 0 to n - 1" in err
    assert "source 2: " in out


@pytest.mark.parametrize("column", ["cost", "length"])
def test_a_column_that_is_not_read_is_named(tmp_path, capsys, column):
    folder = tmp_path / "others"
    folder.mkdir()
    table = {"src": [0, 1, 0], "dst": [1, 2, 2], column: [1, 1, 100]}
    pd.DataFrame(table).to_parquet(folder / "a.parquet")
    with pytest.warns(MgraphWarning, match=f"column {column} not read; if one holds weights"):
        assert mgraph.read_graph(folder, backend="cpu").weights is None
    for arguments in (
        ["sssp", str(folder), "--source", "0"],
        ["sssp", str(folder / "a.parquet"), "--source", "0"],
        [
            "sssp",
            str(folder),
            "--random",
            "1",
            "--workers",
            "1",
            "-q",
            "--dashboard",
            "127.0.0.1:0",
        ],
        ["msf", str(folder), "--symmetrise"],
        ["info", str(folder)],
        ["convert", str(folder), str(tmp_path / "converted.mtx"), "--overwrite"],
    ):
        capsys.readouterr()
        assert main(arguments) == 0
        said = "not written to " if arguments[0] == "convert" else "not read"
        messages = [line for line in capsys.readouterr().err.splitlines() if said in line]
        assert len(messages) == 1, arguments
        assert column in messages[0]
        assert "--weight" in messages[0]


@pytest.mark.parametrize("column", ["weights", "w", "Weight", "edge_weight"])
def test_weights_under_usual_names_are_read_aloud(tmp_path, capsys, column):
    pd.DataFrame({"src": [0], "dst": [1], column: [7.5]}).to_parquet(tmp_path / "a.parquet")
    with pytest.warns(MgraphWarning, match=f"edges are read from the columns src, dst, {column}$"):
        assert mgraph.read_graph(tmp_path, backend="cpu").weights.tolist() == [7.5]
    assert main(["sssp", str(tmp_path), "--source", "0", "--target", "1"]) == 0
    out, err = capsys.readouterr()
    assert "target 1: at 7.5" in out
    assert f"the columns src, dst, {column}" in err


def test_columns_beside_weights_and_indices(tmp_path):
    table = {"src": [0, 1], "dst": [1, 2], "weight": [1, 1], "when": [5, 6], "who": ["a", "b"]}
    pd.DataFrame(table).to_parquet(tmp_path / "a.parquet")
    with pytest.warns(MgraphWarning, match="columns when, who not read$"):
        graph = mgraph.read_graph(tmp_path, backend="cpu")
    np.testing.assert_array_equal(graph.weights, [1, 1])
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 2], "weight": [1, 1]}, index=[7, 9])
    frame.to_parquet(tmp_path / "a.parquet")  # pandas' index is a column
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mgraph.read_graph(tmp_path, backend="cpu")


@pytest.mark.parametrize("vertices", [[0, 2, 3], (3, 0, 2), {0, 2, 3}, np.array([2, 0, 3])])
def test_selected_vertices_and_the_edges_among_them(vertices):
    graph = mgraph.from_networkx(networkx.Graph([(0, 1), (1, 2), (2, 3), (3, 0)]))
    made = graph.to_networkx(vertices=vertices)
    assert sorted(made.nodes) == [0, 2, 3]
    assert {frozenset(edge) for edge in made.edges} == {frozenset({2, 3}), frozenset({3, 0})}
    with pytest.raises(mgraph.UsageError, match="vertices must lie in"):
        graph.to_networkx(vertices=[7])


def test_other_objects_than_graphs_of_libraries_are_refused():
    with pytest.raises(mgraph.UsageError, match="takes a NetworkX graph, not list"):
        mgraph.from_networkx([1, 2])
    with pytest.raises(mgraph.UsageError, match="square"):
        mgraph.from_sparse(scipy.sparse.coo_array(np.array([1, 2, 0])))


@pytest.mark.parametrize(
    ("weights", "kind", "words"),
    [
        ([1, 2], "int64", ""),
        ([np.int8(4), 2**40], "int64", ""),
        ([True, np.False_], "int32", ""),
        ([np.float16(1)], "float32", ""),
        ([Fraction(1, 3), Decimal("0.5")], "float64", ""),
        ([2**60, 0.5], "float64", ""),
        ([2**60 + 1, 0.5], "", r"weight must be float64 \(got 1152921504606846977\)"),
        ([2**63], "", r"weights must lie below 2\^63"),
        ([[1], [2]], "", r"must be a number \(got \[1\]\)"),
        ([[1], [2, 3]], "", r"must be a number \(got \[1\]\)"),
        (["7"], "", r"must be a number \(got '7'\)"),
        ([1, "7"], "", r"must be a number \(got '7'\)"),
        ([1j], "", "real numbers"),
    ],
)
def test_weights_of_edges_are_kept_exactly_or_refused(weights, kind, words):
    made = networkx.Graph()
    made.add_weighted_edges_from((i, i + 1, weight) for i, weight in enumerate(weights))
    if words:
        with pytest.raises(UsageError, match=words):
            mgraph.from_networkx(made)
    else:
        found = mgraph.from_networkx(made).to_edges().weight
        assert found.dtype == kind
        assert set(map(float, found)) == set(map(float, weights))


@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ([-(2**63), 1], np.int64),
        ([2**31 - 1, -(2**31)], np.int32),
        ([2**31, 0], np.int64),
        ([0.5, 1], np.float64),
    ],
)
def test_weights_in_graphml_stay_what_they_are(tmp_path, weights, kind):
    made = networkx.Graph()
    made.add_weighted_edges_from((i, i + 1, weight) for i, weight in enumerate(weights))
    networkx.write_graphml(made, tmp_path / "a.graphml")
    found = mgraph.read_graph(tmp_path / "a.graphml", backend="cpu").to_edges().weight
    assert found.dtype == kind
    assert set(found.tolist()) == set(weights)
