"""``mgraph components``: what it prints, what it writes, and what it refuses."""

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import EdgeList
from mgraph.cli.main import main

LOCAL = ["-q", "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]
TEXT = "3 components of 7 vertices, the largest of 3, 2, 2;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("components")
    edges = EdgeList([1, 4, 6, 5], [0, 2, 3, 4])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    mgraph.write_graph(graph, folder / "g")
    mgraph.write_graph(graph, folder / "g.graph")
    return folder


def said(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert main([*map(str, arguments)]) in (1, 2)
    return capsys.readouterr().err


def test_a_dataset(folder, capsys, tmp_path):
    output = said(capsys, "components", folder / "g", *LOCAL)
    assert output.startswith(TEXT)
    output = said(
        capsys, "components", folder / "g", "--out", tmp_path / "c", "--largest", tmp_path / "l",
        *LOCAL,
    )  # fmt: skip
    assert f"vertices and their components in {tmp_path / 'c'}" in output
    assert f"2 edges of the largest component in {tmp_path / 'l'}" in output
    rows = pq.read_table(tmp_path / "c" / "part-00000.parquet").to_pydict()
    assert rows["component"] == [0, 0, 2, 3, 2, 2, 3]
    again = said(capsys, "components", folder / "g", "--out", tmp_path / "c", "--resume", *LOCAL)
    assert again.startswith(TEXT)


def test_a_file(folder, capsys, tmp_path):
    output = said(
        capsys, "components", folder / "g.graph", "--out", tmp_path / "c",
        "--largest", tmp_path / "l.gexf", "--backend", "cpu",
    )  # fmt: skip
    assert output.startswith(TEXT)
    assert "on the cpu" in output
    table = pq.read_table(tmp_path / "c" / "_components.parquet").to_pydict()
    assert table == {"component": [2, 0, 3], "vertices": [3, 2, 2]}
    largest = mgraph.read_graph(tmp_path / "l.gexf", backend="cpu")
    assert (largest.n, largest.num_edges) == (3, 2)


def test_the_largest_of_a_dataset_as_a_file(folder, capsys, tmp_path):
    said(capsys, "components", folder / "g", "--largest", tmp_path / "l.graph", "--backend", "cpu")
    assert mgraph.read_graph(tmp_path / "l.graph", backend="cpu").n == 3


def test_ids_of_text(capsys, tmp_path):
    (tmp_path / "e.csv").write_text("src,dst\nann,bob\ncid,dan\n")
    said(capsys, "components", tmp_path / "e.csv", "--out", tmp_path / "c", "--backend", "cpu")
    rows = pq.read_table(tmp_path / "c" / "part-00000.parquet").to_pydict()
    assert dict(zip(rows["vertex"], rows["component"], strict=True)) == {
        "ann": "ann", "bob": "ann", "cid": "cid", "dan": "cid",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--overwrite"], "--overwrite needs --out or --largest"),
        (["--resume"], "--resume needs --out or --largest"),
        (["--out", "c.parquet"], "a folder of Parquet files should be given without .parquet"),
        (["--columns", "a,b"], "columns"),
    ],
)
def test_wrong_options_of_a_dataset(folder, capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, "components", folder / "g", *arguments, *LOCAL)
    assert not list(tmp_path.iterdir())


def test_wrong_options_of_a_file(folder, capsys, tmp_path):
    graph = folder / "g.graph"
    message = refused(capsys, "components", graph, "--workers", "2")
    assert "--workers applies to the components of a dataset" in message
    said(capsys, "components", graph, "--out", tmp_path / "c", "--backend", "cpu")
    message = refused(capsys, "components", graph, "--out", tmp_path / "c", "--backend", "cpu")
    assert "already holds components; pass --overwrite to replace them" in message
    message = refused(capsys, "components", graph, "--out", folder / "g.graph")
    assert "is the graph" in message
    message = refused(capsys, "components", tmp_path / "nothing")
    assert "does not exist" in message
