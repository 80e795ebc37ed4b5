"""Attributes of vertices and edges survive a conversion, from any format that has them to any."""

import csv
import warnings

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, MgraphWarning, UsageError

GEPHI = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz">
<graph defaultedgetype="undirected" mode="static">
<attributes class="node" mode="static">
<attribute id="modularity_class" title="Modularity Class" type="integer"/>
<attribute id="kind" title="kind" type="string"><default>person</default></attribute>
</attributes>
<attributes class="edge" mode="static"><attribute id="0" title="since" type="long"/></attributes>
<nodes>
<node id="n2" label="Ada &amp; Co"><attvalues><attvalue for="modularity_class" value="3"/>
<attvalue for="kind" value="firm"/></attvalues>
<viz:size value="10.5"/><viz:position x="-1.5" y="2.25" z="0.0"/>
<viz:color r="192" g="0" b="255"/></node>
<node id="n1" label="n1"/>
<node id="n3" label="Grace"/>
</nodes>
<edges>
<edge id="0" source="n1" target="n2" weight="2.0" label="knows">
<attvalues><attvalue for="0" value="1843"/></attvalues></edge>
<edge id="1" source="n3" target="n1"/>
</edges>
</graph>
</gexf>
"""


def convert(location, out, **options):
    """Convert quietly; return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mgraph.convert(location, out, **options)
    return " ".join(str(warning.message) for warning in caught)


def vertices_of(folder):
    """Return the table of a dataset's vertices."""
    names = mgraph.open_dataset(folder).manifest.vertex_files
    return pa.concat_tables([pq.read_table(folder / name) for name in names])


def edges_of(folder):
    return mgraph.open_dataset(folder).to_arrow().to_table()


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


def test_a_table_for_gephi(tmp_path):
    (tmp_path / "a.gexf").write_text(GEPHI)
    said = convert(tmp_path / "a.gexf", tmp_path / "a.csv", vertices_out=tmp_path / "nodes.csv")
    assert said == ""
    with (tmp_path / "nodes.csv").open(newline="") as file:
        nodes = list(csv.DictReader(file))
    assert [node["Id"] for node in nodes] == ["n2", "n1", "n3"]
    assert [node["Label"] for node in nodes] == ["Ada & Co", "n1", "Grace"]
    assert nodes[0]["Modularity Class"] == "3"
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["Source"], row["Target"], row["Type"], row["since"]) for row in rows] == [
        ("n1", "n2", "Undirected", "1843"),
        ("n3", "n1", "Undirected", ""),
    ]


def test_vertices_without_edges_are_in_the_list(tmp_path):
    graph = mgraph.from_edges(mgraph.EdgeList([0], [1]), 3, backend="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mgraph.write_graph(graph, tmp_path / "a.tsv", vertices_out=tmp_path / "nodes.tsv.gz")
    table = pd.read_csv(tmp_path / "nodes.tsv.gz", sep="\t")
    assert table.to_dict("list") == {"Id": [0, 1, 2], "Label": [0, 1, 2]}


@pytest.mark.parametrize(
    ("name", "words"), [("nodes.txt", ".csv or .tsv"), ("a.csv", "another file")]
)
def test_a_list_of_vertices_that_cannot_be(name, words, tmp_path):
    graph = mgraph.from_edges(mgraph.EdgeList([0], [1]), 3, backend="cpu")
    with pytest.raises(UsageError, match=words):
        mgraph.write_graph(graph, tmp_path / "a.csv", vertices_out=tmp_path / name)
    assert not list(tmp_path.iterdir())


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
    assert "no attributes of edges, so these are left out: since, label" in said
    assert "no attributes of vertices, so these are left out: Modularity Class, kind" in said


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


def test_a_table_of_vertices_joins_a_file(tmp_path):
    (tmp_path / "a.gr").write_text("p sp 3 1\na 1 2 7\n")
    (tmp_path / "more.csv").write_text("id,city\n0,Ulm\n2,Bonn\n4,Jena\n")
    convert(tmp_path / "a.gr", tmp_path / "a", vertices=tmp_path / "more.csv")
    assert vertices_of(tmp_path / "a").to_pydict() == {
        "vertex": [0, 1, 2, 3, 4],
        "id": [0, 1, 2, 3, 4],
        "city": ["Ulm", None, "Bonn", None, "Jena"],
    }
    assert mgraph.open_dataset(tmp_path / "a").n == 5


def test_a_table_of_vertices_joins_names(tmp_path):
    (tmp_path / "a.gexf").write_text(GEPHI)
    (tmp_path / "more.csv").write_text("id,born\nn3,1906\nn9,1815\n")
    convert(tmp_path / "a.gexf", tmp_path / "a", vertices=tmp_path / "more.csv")
    table = vertices_of(tmp_path / "a").to_pydict()
    assert table["id"] == ["n2", "n1", "n3", "n9"]
    assert table["born"] == [None, None, 1906, 1815]
    assert table["label"] == ["Ada & Co", None, "Grace", None]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,x\n0,1\n0,2\n", "two are the same"),
        ("id,x\nUlm,1\n", "must be the numbers of the graph's vertices"),
        ("id,x\n-1,1\n", "must be the numbers"),
        ("id,x\n99999999999,1\n", "its ids go up to 99,999,999,999"),
    ],
)
def test_tables_of_vertices_that_do_not_fit(text, words, tmp_path):
    (tmp_path / "a.gr").write_text("p sp 3 1\na 1 2 7\n")
    (tmp_path / "more.csv").write_text(text)
    with pytest.raises(DatasetError, match=words):
        convert(tmp_path / "a.gr", tmp_path / "a", vertices=tmp_path / "more.csv")
    assert not (tmp_path / "a").exists()


def test_text_that_xml_does_not_have(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1], "a": ["bell\a"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="XML cannot represent the value 'bell"):
        convert(tmp_path / "a.parquet", tmp_path / "a.graphml")
    assert not (tmp_path / "a.graphml").exists()


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


def test_damaged_text_of_arrow_files_is_refused(tmp_path):
    """Arrow's kernels trust the offsets of text: a file with wrong ones must not reach them."""
    from pyarrow import feather

    table = pa.table({"src": ["a", "b"], "dst": ["b", "c"]})
    feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
    content = (tmp_path / "a.arrow").read_bytes()
    offsets = np.array([0, 1, 2], np.int32).tobytes()
    wrong = np.array([0, 1 << 30, 2], np.int32).tobytes()
    assert offsets in content
    (tmp_path / "a.arrow").write_bytes(content.replace(offsets, wrong))
    with pytest.raises(DatasetError, match="is damaged, or no Arrow file"):
        mgraph.read_graph(tmp_path / "a.arrow", backend="cpu")


def test_names_that_are_not_text_in_a_parquet_file(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1], "other": [2]}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content.replace(b"other", b"o\xffher"))
    with pytest.raises(DatasetError, match="is not a complete Parquet file"):
        mgraph.read_graph(tmp_path / "a.parquet", backend="cpu")


def test_vertices_of_graph500_that_are_far_too_large(tmp_path):
    np.array([[1, 2], [3, 1 << 36]], "<i8").tofile(tmp_path / "a.graph500")
    with pytest.raises(DatasetError, match="sparse, 4 distinct ones up to 68,719,476,736"):
        mgraph.read_graph(tmp_path / "a.graph500", backend="cpu")


@pytest.mark.parametrize("last", ['"b"', '"b","c"', '"b",'])
def test_rows_that_end_before_their_type(last, tmp_path):
    (tmp_path / "a.csv").write_text(f'Source,Target,Type\n"a","b",Directed\n{last}\n')
    with pytest.raises(DatasetError, match="line 3"):
        mgraph.read_graph(tmp_path / "a.csv", backend="cpu")


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
    assert "left out: x, y" in convert(tmp_path / "a", tmp_path / "b.stp")
    convert(tmp_path / "a", tmp_path / "b.gexf")
    convert(tmp_path / "b.gexf", tmp_path / "c.stp")
    for name in "bc":
        instance = mgraph.experiments.read_steinlib(tmp_path / f"{name}.stp", backend="cpu")
        assert instance.terminals.tolist() == [0, 2]


@pytest.mark.parametrize(
    "line", ["DD 1 10", "DD 9 1 2", "DD 1 x 2", "DD", "DDDD 1 1 2 3 4", "E 1 2"]
)
def test_coordinates_that_are_none(line, tmp_path):
    (tmp_path / "a.stp").write_text(
        "SECTION Graph\nNodes 3\nEdges 1\nE 1 2 5\nEND\nSECTION Terminals\nTerminals 1\nT 1\nEND\n"
        f"SECTION Coordinates\nDD 1 1 1\n{line}\nEND\nEOF\n"
    )
    with pytest.raises(DatasetError, match="a line of coordinates must be DD, a vertex and 2 num"):
        convert(tmp_path / "a.stp", tmp_path / "a")


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


def test_nested_columns_before_the_ends(tmp_path):
    table = pa.table({"a": [{"x": 1, "y": [2]}] * 2, "src": [0, 4], "dst": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.warns(MgraphWarning, match="column a not read"):
        assert mgraph.read_graph(tmp_path / "a.parquet", backend="cpu").n == 5
    convert(tmp_path / "a.parquet", tmp_path / "a.json")
    convert(tmp_path / "a.json", tmp_path / "b")
    assert edges_of(tmp_path / "b")["a"].to_pylist() == ['{"x": 1, "y": [2]}'] * 2


def test_a_footer_that_contradicts_itself(tmp_path):
    """Arrow's view of such a column's statistics ends the process; its reading does not."""
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    begin = content.rindex(b"src", 0, content.rindex(b"ARROW:schema"))
    refused = 0
    for place in range(begin, begin + 80):  # the metadata of columns
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        (tmp_path / "b.parquet").write_bytes(bytes(damaged))
        try:
            mgraph.read_graph(tmp_path / "b.parquet", backend="cpu")
        except DatasetError:
            refused += 1
    assert refused
