"""DIMACS files of every problem: what is read of them, what is said, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, MgraphWarning, UsageError
from tests.strategies import graphs

FLOW = "c a network\np min 3 2\nn 1 5\nn 3 -5\na 1 2 0 4 9\na 2 3 1 2 7\n"


def read(folder, name, text, **options):
    """Read a file of this text; return the graph, and what was warned of."""
    file = folder / name
    file.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MgraphWarning)
        graph = mgraph.read_graph(file, backend="cpu", **options)
    return graph, " ".join(str(warning.message) for warning in caught)


def listed(graph):
    return [column.tolist() for column in graph.to_edges()]


def test_capacities_of_a_maximum_flow(tmp_path):
    text = "c flow\np max 3 2\nn 1 s\nn 3 t\na 1 2 5\na 2 3 7\n"
    graph, said = read(tmp_path, "a.max", text)
    assert graph.directed
    assert listed(graph) == [[0, 1], [1, 2], [5, 7]]
    assert "2 lines n not read" in said
    assert "the weight of an arc is its capacity" in said


@pytest.mark.parametrize(
    ("name", "weights"), [(None, [9, 7]), ("capacity", [4, 2]), ("low", [0, 1]), ("cost", [9, 7])]
)
def test_any_number_of_a_minimum_cost_flow(name, weights, tmp_path):
    graph, said = read(tmp_path, "a.min", FLOW, weight=name)
    assert listed(graph) == [[0, 1], [1, 2], weights]
    assert f"is its {name or 'cost'}" in said


def test_costs_of_an_assignment(tmp_path):
    graph, said = read(tmp_path, "a.asn", "p asn 4 2\nn 1\nn 2\na 1 3 8\na 2 4 6\n")
    assert listed(graph) == [[0, 1], [2, 3], [8, 6]]
    assert "2 lines" in said


@pytest.mark.parametrize("problem", ["edge", "col", "edges", "clq"])
@pytest.mark.parametrize("ending", ["col", "clq", "col.gz", "gr"])
def test_edges_of_a_colouring(problem, ending, tmp_path):
    import gzip

    text = f"c myciel\np {problem} 3 2\nn 1 4\ne 1 2\ne 3 2\n"
    file = tmp_path / f"a.{ending}"
    file.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    with pytest.warns(MgraphWarning, match="1 line n not read"):
        graph = mgraph.read_graph(file, backend="cpu")
    assert not graph.directed
    assert listed(graph) == [[1, 2], [0, 1]]


@pytest.mark.parametrize("declared", [2, 4])
def test_edges_in_both_directions_are_read_once(declared, tmp_path):
    text = f"p edge 3 {declared}\ne 1 2\ne 2 1\n" + "e 3 2\ne 2 3\n" * (declared > 2)
    graph, said = read(tmp_path, "a.col", text)
    assert graph.num_edges == declared // 2
    assert "in both directions" in said


def test_edges_counted_for_both_directions(tmp_path):
    assert read(tmp_path, "a.col", "p edge 3 4\ne 1 2\ne 3 2\n")[0].num_edges == 2


def test_self_loops_and_parallel_edges_of_a_colouring_stay(tmp_path):
    graph, said = read(tmp_path, "a.col", "p edge 2 4\ne 1 2\ne 2 1\ne 1 1\ne 2 1\n")
    assert listed(graph)[0] == [0, 1, 1, 1]
    assert not said


def test_weights_of_edges(tmp_path):
    graph, _ = read(tmp_path, "a.clq", "p col 3 2\ne 1 2 5\ne 2 3 6\n")
    assert listed(graph) == [[1, 2], [0, 1], [5, 6]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.max", "p max 3 2\na 1 2 5\n", "says 2 arcs, and 1 follow"),
        ("a.col", "p edge 3 3\ne 1 2\n", "says 3 edges, and 1 follow"),
        ("a.col", "p edge 2 1\ne 1 3\n", "vertices must lie in .1, 2. .got 3"),
        ("a.col", "p edge 3 2\ne 1 2 5\ne 2 3\n", "line 3 must be an edge 'e VERTEX VERTEX WEIGHT"),
        ("a.col", "p edge 3 2\ne 1 2\ne 2 3 5\n", "line 3 must be an edge 'e VERTEX VERTEX'"),
        ("a.max", "p max 3 1\na 1 2 0x10\n", "'0x10' is not a whole number"),
        ("a.max", "p max 3 1\na 1 2 1.5\n", "line 2 .*'1.5' is not a whole number"),
        ("a.min", "p min 3 1\na 1 2 5\n", "an arc 'a TAIL HEAD LOW CAPACITY COST'"),
        ("a.max", "a 1 2 5\np max 3 1\n", "no line 'p sp"),
        ("a.max", "p tsp 3 1\na 1 2 5\n", "no line 'p sp"),
        ("a.col", "p edge 3 1\np edge 3 1\ne 1 2\n", "line 2 must be an edge"),
        ("a.clq", "p edge 3 1\nq 1\ne 1 2\n", "line 2 must be an edge"),
        ("a.col", "", "no line 'p sp"),
    ],
)
def test_other_files_are_refused(name, text, said, tmp_path):
    with pytest.raises(DatasetError, match=said):
        read(tmp_path, name, text)


@pytest.mark.parametrize(("name", "text"), [("a.min", FLOW), ("a.gr", "p sp 2 1\na 1 2 3\n")])
def test_a_number_that_arcs_do_not_have(name, text, tmp_path):
    with pytest.raises(UsageError, match="have no number 'price'"):
        read(tmp_path, name, text, weight="price")


def test_no_weight_where_edges_have_none(tmp_path):
    with pytest.raises(UsageError, match=r"no number 'cost' \(they have none\)"):
        read(tmp_path, "a.col", "p edge 2 1\ne 1 2\n", weight="cost")


@settings(deadline=None, max_examples=30)
@given(graph=graphs(("int32", "int64", None)), ending=st.sampled_from(["gr", "col", "clq"]))
def test_written_and_read_back(graph, ending, tmp_path_factory):
    file = tmp_path_factory.mktemp("io") / f"x.{ending}"
    if graph.directed and ending != "gr":
        with pytest.raises(UsageError, match="must be undirected"):
            mgraph.write_graph(graph, file)
        return
    mgraph.write_graph(graph, file)
    back = mgraph.read_graph(file, backend="cpu")
    columns, expected = list(back.to_edges()), list(graph.to_edges())
    if ending == "gr":
        columns = list(back.to_edges())
        arcs = mgraph.Graph(graph.indptr, graph.indices, graph.weights, directed=True)
        expected = list(arcs.to_edges())
        expected += [np.ones(len(expected[0]), int)] * (graph.weights is None)
    if ending != "gr" and graph.num_arcs == 0:
        expected = expected[:2]  # no line shows that edges have weights
    assert back.n == graph.n
    for ours, theirs in zip(columns, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("ending", ["max", "min", "asn"])
def test_flows_are_not_written(ending, tmp_path):
    graph = mgraph.from_edges(mgraph.EdgeList([0], [1], [3]), backend="cpu")
    with pytest.raises(UsageError, match="read but not written"):
        mgraph.write_graph(graph, tmp_path / f"a.{ending}")
    assert not list(tmp_path.iterdir())
