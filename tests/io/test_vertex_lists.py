"""Tables of vertices beside edges: joined to a graph, and written for Gephi."""

import csv
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import DatasetError, UsageError
from tests.io.attributed import GEPHI, convert, edges_of, vertices_of


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
        ("id,x\nUlm,1\n", "ids must be of one type"),
        ("id,x\n-1,1\n", "must be the numbers"),
        (
            "id,x\n99999999999,1\n",
            "must be the numbers of the graph's vertices, of which there are 3",
        ),
    ],
)
def test_tables_of_vertices_that_do_not_fit(text, words, tmp_path):
    (tmp_path / "a.gr").write_text("p sp 3 1\na 1 2 7\n")
    (tmp_path / "more.csv").write_text(text)
    with pytest.raises(DatasetError, match=words):
        convert(tmp_path / "a.gr", tmp_path / "a", vertices=tmp_path / "more.csv")
    assert not (tmp_path / "a").exists()


def test_the_list_of_vertices_replaces_nothing_that_is_read(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n")
    (tmp_path / "v.csv").write_text("id,x\na,1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "o.csv")
    (tmp_path / "o.csv").write_text("old")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    for name in ("e.csv", "v.csv", "o.csv", "link.csv"):
        with pytest.raises(UsageError, match="must be another file"):
            convert(
                tmp_path / "e.csv", tmp_path / "o.csv", vertices=tmp_path / "v.csv",
                vertices_out=tmp_path / name, overwrite=True, columns="src,dst",
            )  # fmt: skip
    with pytest.raises(UsageError, match="applies to files"):
        convert(tmp_path / "e.csv", tmp_path / "d", vertices_out=tmp_path / "n.csv")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_both_files_appear_or_none(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n")
    days = pa.array([10**7, 1], pa.date32())  # beyond Python's dates
    pq.write_table(pa.table({"id": ["a", "b"], "label": [["x"], ["y"]]}), tmp_path / "list.parquet")
    pq.write_table(pa.table({"id": ["a", "b"], "day": days}), tmp_path / "day.parquet")
    seconds = pa.array([[10**15]], pa.list_(pa.timestamp("s")))
    pq.write_table(pa.table({"id": ["a"], "when": seconds}), tmp_path / "when.parquet")
    out = {"vertices_out": tmp_path / "n.csv", "columns": "src,dst"}
    convert(tmp_path / "e.csv", tmp_path / "o.csv", vertices=tmp_path / "list.parquet", **out)
    assert '"[""x""]"' in (tmp_path / "n.csv").read_text()
    convert(
        tmp_path / "e.csv", tmp_path / "o.csv", vertices=tmp_path / "day.parquet", overwrite=True,
        **out,
    )  # fmt: skip
    for name in ("o.csv", "n.csv"):
        (tmp_path / name).unlink()
    with pytest.raises(UsageError, match="'when' has values of list"):
        convert(tmp_path / "e.csv", tmp_path / "o.csv", vertices=tmp_path / "when.parquet", **out)
    assert not (tmp_path / "o.csv").exists()
    assert not (tmp_path / "n.csv").exists()


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([None, "a"], "id must not be missing"),
        ([["a"], ["b"]], "id must be whole numbers or strings"),
        (["a", "a"], "two are the same"),
        ([1.5, 2.0], "id must be whole numbers"),
    ],
)
def test_ids_of_vertices_that_are_none(ids, words, tmp_path):
    (tmp_path / "e.graphml").write_text(
        '<graphml><graph edgedefault="directed"><edge source="a" target="b"/></graph></graphml>'
    )
    pq.write_table(pa.table({"id": ids, "x": [1, 2]}), tmp_path / "v.parquet")
    with pytest.raises(DatasetError, match=words):
        convert(tmp_path / "e.graphml", tmp_path / "o.graphml", vertices=tmp_path / "v.parquet")


@pytest.mark.parametrize(
    ("edges", "vertices"),
    [("b,c", "id,x\na,1\nc,3\n"), ("1,2", "id,x\n0,1\n2,3\n")],
)
def test_files_and_datasets_number_the_vertices_alike(edges, vertices, tmp_path):
    (tmp_path / "e.csv").write_text(f"{edges}\n")
    (tmp_path / "v.csv").write_text(vertices)
    options = {"columns": "src,dst", "vertices": tmp_path / "v.csv"}
    convert(tmp_path / "e.csv", tmp_path / "d", **options)
    convert(tmp_path / "e.csv", tmp_path / "m.mtx", **options)
    convert(tmp_path / "e.csv", tmp_path / "a.arrow", **options)
    graph = mgraph.read_graph(tmp_path / "m.mtx", backend="cpu")
    table = edges_of(tmp_path / "d").to_pydict()
    assert [x.tolist() for x in graph.to_edges()][:2] == [table["src"], table["dst"]]
    assert vertices_of(tmp_path / "d")["x"].to_pylist() == [1, None, 3]


def test_a_node_list_of_gephi_keeps_its_labels(tmp_path):
    (tmp_path / "e.csv").write_text("Source,Target,Type\na,b,Undirected\n")
    (tmp_path / "n.csv").write_text("Id,Label,pop\na,Alpha,1\nb,Beta,2\n")
    for name in ("o.csv", "o.gexf", "o.arrow"):
        convert(tmp_path / "e.csv", tmp_path / name, vertices=tmp_path / "n.csv",
                **({"vertices_out": tmp_path / "n2.csv"} if name == "o.csv" else {}))  # fmt: skip
    assert (tmp_path / "n2.csv").read_text().splitlines()[1] == '"a","Alpha",1'
    assert 'label="Alpha"' in (tmp_path / "o.gexf").read_text()
    assert not mgraph.read_graph(tmp_path / "o.arrow", backend="cpu").directed
