"""Attributes of vertices and edges survive a conversion, from any format that has them to any."""

import csv

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import MgraphWarning
from tests.io.attributed import GEPHI, convert, edges_of, vertices_of


def test_what_gephi_saves(tmp_path):
    (tmp_path / "a.gexf").write_text(GEPHI)
    assert convert(tmp_path / "a.gexf", tmp_path / "a") == ""
    assert vertices_of(tmp_path / "a").to_pydict() == {
        "vertex": [0, 1, 2],
        "id": ["n2", "n1", "n3"],
        "Modularity Class": [3, None, None],
        "kind": ["firm", "person", "person"],
        "label": ["Ada & Co", None, "Grace"],
        "size": [10.5, None, None],
        "x": [-1.5, None, None],
        "y": [2.25, None, None],
        "z": [0.0, None, None],
        "color": ["#c000ff", None, None],
    }
    table = edges_of(tmp_path / "a").to_pydict()
    assert table == {
        "src": [1, 2], "dst": [0, 1], "weight": [2, 1], "since": [1843, None],
        "label": ["knows", None],
    }  # fmt: skip
    convert(tmp_path / "a", tmp_path / "b.gexf")
    written = (tmp_path / "b.gexf").read_text()
    assert '<viz:position x="-1.5" y="2.25" z="0.0"/>' in written
    assert '<viz:color r="192" g="0" b="255"/>' in written
    assert 'label="Ada &amp; Co"' in written
    convert(tmp_path / "b.gexf", tmp_path / "c")
    assert edges_of(tmp_path / "c").to_pydict() == table
    before, after = (vertices_of(tmp_path / name).to_pydict() for name in "ac")
    assert {name: after[name] for name in before} == before


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
VALUES = {
    "text": TEXTS,
    "flag": st.booleans(),
    "whole": st.integers(-(2**31), 2**31 - 1),
    "real": st.floats(allow_nan=False, allow_infinity=False),
}


@st.composite
def attributed(draw):
    """A NetworkX graph whose nodes and edges have attributes of a type each, some missing."""
    kind = draw(
        st.sampled_from(
            [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]
        )
    )
    graph = kind()
    names = draw(st.lists(st.text("abcxyz", min_size=1), min_size=1, max_size=6, unique=True))
    for name in names:
        graph.add_node(name)
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), max_size=10))
    for number, (u, v) in enumerate(pairs):
        graph.add_edge(u, v, weight=number + 1)  # tells parallel edges apart
    for things in (graph.nodes, graph.edges):
        for name, values in VALUES.items():
            if draw(st.booleans()):
                for thing in things:
                    if draw(st.booleans()):
                        things[thing][name] = draw(values)
    return graph


def described(graph):
    """Return the nodes and edges of a NetworkX graph in one order, whatever the format says."""
    nodes = sorted((node, sorted(data.items())) for node, data in graph.nodes(data=True))
    edges = []
    for u, v, data in graph.edges(data=True):
        ends = (u, v) if graph.is_directed() else (min(u, v), max(u, v))
        edges.append((data["weight"], ends, sorted(data.items())))
    return nodes, sorted(edges)


READERS = {
    "graphml": lambda path: networkx.read_graphml(path, force_multigraph=True),
    "json": lambda path: networkx.node_link_graph(
        __import__("json").loads(path.read_text()), edges="edges", multigraph=True
    ),
}


@pytest.mark.parametrize("end", ["graphml", "json"])
@pytest.mark.parametrize("begin", ["graphml", "json"])
@settings(deadline=None, max_examples=25)
@given(graph=attributed())
def test_from_networkx_through_a_dataset_to_networkx(graph, begin, end, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attributes")
    first, second = folder / f"a.{begin}", folder / f"b.{end}"
    if begin == "graphml":
        networkx.write_graphml_xml(graph, first)
    else:
        import json

        first.write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    convert(first, folder / "dataset")
    convert(folder / "dataset", second)
    back = READERS[end](second)
    assert back.is_directed() == graph.is_directed()
    assert described(back) == described(graph)


def test_rules_keep_the_attributes_of_the_edges_that_stay(tmp_path):
    graph = networkx.MultiDiGraph()
    for u, v, weight, name in (
        ("a", "b", 5.0, "slow"), ("a", "b", 2.0, "fast"), ("b", "a", 3.0, "back"),
        ("b", "b", 1.0, "loop"), ("b", "c", float("inf"), "closed"),
    ):  # fmt: skip
        graph.add_edge(u, v, weight=weight, name=name)
    networkx.write_graphml_xml(graph, tmp_path / "a.graphml")
    convert(
        tmp_path / "a.graphml", tmp_path / "a",
        drop_loops=True, merge=True, drop_infinite=True, symmetrise=True,
    )  # fmt: skip
    assert edges_of(tmp_path / "a").to_pydict() == {
        "src": [1], "dst": [0], "weight": [2], "name": ["fast"]
    }  # fmt: skip


def test_names_and_values_that_a_table_quotes(tmp_path):
    table = {"src": [0, 1], "dst": [1, 2], 'a,"b"': ['x,"y"', "two\nlines"], "type": ["p", None]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row['a,"b"'] for row in rows] == ['x,"y"', "two\nlines"]
    assert [row["type_given"] for row in rows] == ["p", ""]
    assert [row["Type"] for row in rows] == ["Directed", "Directed"]


@pytest.mark.parametrize("ending", ["mtx", "gr", "txt"])
def test_what_a_format_does_not_have_is_told(ending, tmp_path):
    (tmp_path / "a.gexf").write_text(GEPHI)
    said = convert(tmp_path / "a.gexf", tmp_path / f"a.{ending}")
    assert "attributes of edges are not written to" in said
    assert "files: since, label" in said
    assert "files: Modularity Class, kind" in said


def test_columns_of_any_type_become_text_or_numbers(tmp_path):
    import datetime
    import decimal

    table = pa.table(
        {
            "src": [0],
            "dst": [1],
            "when": [datetime.date(2026, 11, 27)],
            "price": [decimal.Decimal("1.50")],
            "tags": [["a", "b"]],
            "raw": [b"\x01\xff"],
            "big": pa.array([2**64 - 1], pa.uint64()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    expected = {"when": "2026-11-27", "price": "1.50", "tags": '["a", "b"]', "raw": "01ff"}
    for ending in ("graphml", "gexf", "json", "csv"):
        file = tmp_path / f"a.{ending}"
        convert(tmp_path / "a.parquet", file)
        convert(file, tmp_path / ending)
        row = {name: str(x[0]) for name, x in edges_of(tmp_path / ending).to_pydict().items()}
        found = {name: value[:10] if name == "when" else value for name, value in row.items()}
        assert {name: found[name] for name in expected} == expected or ending == "csv"
        assert found["big"] == str(2**64 - 1)


def test_values_that_are_not_of_their_type_stay_as_text(tmp_path):
    head = '<graphml><key id="d" for="node" attr.name="x" attr.type="int"/>'
    nodes = "".join(
        f'<node id="{name}"><data key="d">{text}</data></node>'
        for name, text in (("a", "0x10"), ("b", "1,5"), ("c", "7"))
    )
    (tmp_path / "a.graphml").write_text(
        f'{head}<graph edgedefault="directed">{nodes}</graph></graphml>'
    )
    convert(tmp_path / "a.graphml", tmp_path / "a")
    assert vertices_of(tmp_path / "a")["x"].to_pylist() == ["0x10", "1,5", "7"]


def test_edges_that_come_before_their_nodes(tmp_path):
    (tmp_path / "a.graphml").write_text(
        '<graphml><graph edgedefault="directed"><edge source="a" target="b"/>'
        '<node id="a"/><node id="b"/></graph></graphml>'
    )
    assert mgraph.read_graph(tmp_path / "a.graphml", backend="cpu").labels == ("a", "b")


@pytest.mark.parametrize("ending", ["graphml", "gexf", "json"])
def test_weights_under_another_name_are_told(ending, tmp_path):
    graph = networkx.path_graph(3)
    networkx.set_edge_attributes(graph, 2.5, "length")
    file = tmp_path / f"a.{ending}"
    if ending == "json":
        import json

        file.write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    else:
        {"graphml": networkx.write_graphml, "gexf": networkx.write_gexf}[ending](graph, file)
    with pytest.warns(MgraphWarning, match="length not read; if one holds weights"):
        mgraph.read_graph(file, backend="cpu")


def test_many_parts_of_attributes(tmp_path, monkeypatch):
    from mgraph.io import graph_dataset

    monkeypatch.setattr(graph_dataset, "_MIN_PART_EDGES", 100)
    monkeypatch.setattr(graph_dataset, "_MAX_PART_EDGES", 100)
    monkeypatch.setattr(graph_dataset, "_BLOCK_EDGES", 30)
    generator = np.random.default_rng(1)
    src, dst = generator.integers(0, 200, (2, 1000))
    table = pa.table({"src": src, "dst": dst, "sum": src + dst})
    pq.write_table(table, tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "a.graphml")
    convert(tmp_path / "a.graphml", tmp_path / "b")
    found = edges_of(tmp_path / "b").to_pydict()
    assert len(mgraph.open_dataset(tmp_path / "b")) > 1
    np.testing.assert_array_equal(np.add(found["src"], found["dst"]), found["sum"])
    assert sorted(zip(found["src"], found["dst"], strict=True)) == sorted(
        zip(src.tolist(), dst.tolist(), strict=True)
    )


def test_networkx_reads_what_is_written_for_gephi(tmp_path):
    (tmp_path / "a.gexf").write_text(GEPHI)
    convert(tmp_path / "a.gexf", tmp_path / "b.gexf")
    graph = networkx.read_gexf(tmp_path / "b.gexf")
    node = graph.nodes["n2"]
    assert (node["label"], node["kind"], node["Modularity Class"]) == ("Ada & Co", "firm", 3)
    assert node["viz"]["position"] == {"x": -1.5, "y": 2.25, "z": 0.0}
    assert graph.edges["n1", "n2"]["since"] == 1843


def test_terminals_and_coordinates_of_steinlib(tmp_path):
    (tmp_path / "a.stp").write_text(
        "SECTION Graph\nNodes 3\nEdges 2\nE 1 2 5\nE 2 3 6\nEND\n"
        "SECTION Terminals\nTerminals 2\nT 1\nT 3\nEND\n"
        "SECTION Coordinates\nDD 1 10 20\nDD 3 -5 1.5 # right\nEND\nEOF\n"
    )
    convert(tmp_path / "a.stp", tmp_path / "a")
    table = vertices_of(tmp_path / "a").to_pydict()
    assert table["terminal"] == [True, False, True]
    assert (table["x"], table["y"]) == ([10.0, None, -5.0], [20.0, None, 1.5])
    assert "SteinLib files: x, y" in convert(tmp_path / "a", tmp_path / "b.stp")
    convert(tmp_path / "a", tmp_path / "b.gexf")
    convert(tmp_path / "b.gexf", tmp_path / "c.stp")
    for name in "bc":
        instance = mgraph.experiments.read_steinlib(tmp_path / f"{name}.stp", backend="cpu")
        assert instance.terminals.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("2 1 10\n7 2\n8 1\n", {"weight": [7, 8]}),
        ("2 1 110 2\n3 7 9 2\n4 8 6 1\n", {"size": [3, 4], "weight_1": [7, 8], "weight_2": [9, 6]}),
    ],
)
def test_weights_of_vertices_of_metis(text, columns, tmp_path):
    (tmp_path / "a.graph").write_text(text)
    with pytest.warns(MgraphWarning, match=f"of vertices not read: {', '.join(columns)}"):
        mgraph.read_graph(tmp_path / "a.graph", backend="cpu")
    convert(tmp_path / "a.graph", tmp_path / "a")
    table = vertices_of(tmp_path / "a").to_pydict()
    assert {name: table[name] for name in columns} == columns


def test_no_name_replaces_another(tmp_path):
    table = {"src": [0], "dst": [1], "weight": [5], "weight_given": [6], "cost": [7]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    pd.DataFrame(table).to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.csv"):
        convert(tmp_path / name, tmp_path / name[2:], weight="cost")
        columns = edges_of(tmp_path / name[2:]).to_pydict()
        assert columns["weight"] == [7]
        kept = {x: int(columns[x][0]) for x in ("weight_given", "weight_given_given")}
        assert kept == {"weight_given": 6, "weight_given_given": 5}
    other = {"src": [0], "dst": [1], "source": ["a"], "source_given": ["b"], "key": ["rail"]}
    pq.write_table(pa.table(other), tmp_path / "b.parquet")
    convert(tmp_path / "b.parquet", tmp_path / "b.json", src="src", dst="dst")
    convert(tmp_path / "b.json", tmp_path / "b")
    columns = edges_of(tmp_path / "b").to_pydict()
    kept = {name: values for name, values in columns.items() if name not in ("src", "dst")}
    assert kept == {"source_given": ["b"], "source_given_given": ["a"], "key": ["rail"]}


def test_empty_and_mixed_values(tmp_path):
    keys = "".join(
        f'<key id="{key}" for="node" attr.name="{name}" attr.type="{kind}"/>'
        for key, name, kind in (
            ("a", "count", "int"), ("b", "mixed", "int"), ("c", "mixed", "boolean"),
            ("d", "text", "string"),
        )
    )  # fmt: skip
    nodes = (
        '<node id="p"><data key="a">3</data><data key="b">1</data><data key="d">x&#13;\ny</data>'
        "</node>"
        '<node id="q"><data key="a"> </data><data key="c">true</data></node>'
    )
    (tmp_path / "a.graphml").write_text(f"<graphml>{keys}<graph>{nodes}</graph></graphml>")
    convert(tmp_path / "a.graphml", tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "b.graphml")
    convert(tmp_path / "b.graphml", tmp_path / "b")
    for name in "ab":
        table = vertices_of(tmp_path / name).to_pydict()
        assert table["count"] == [3, None]
        assert table["mixed"] == ["1", "true"]
        assert table["text"] == ["x\r\ny", None]
