"""msf and single-linkage on the command line."""

import json

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.io import graph_memory

LOCAL = ["-q", "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("msf")
    arguments = ["generate", str(folder / "g"), "-n", "500", "-d", "3", "--weights", "1:50"]
    assert main([*arguments, *LOCAL]) == 0
    assert main(["convert", str(folder / "g"), str(folder / "g.graph")]) == 0
    return folder


@pytest.fixture(scope="module")
def forest(folder):
    return mgraph.minimum_spanning_forest(mgraph.read_graph(folder / "g", backend="cpu"))


def said(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("method", ["auto", "filter_kruskal", "boruvka", "prim", "prim_naive"])
def test_msf_here(folder, forest, capsys, method):
    output = said(capsys, "msf", folder / "g", "--method", method, "--backend", "cpu", "-q")
    assert f"499 edges, 1 component, total weight {forest.total_weight:,};" in output
    assert "on the cpu" in output


def test_a_graph_that_this_process_does_not_hold(folder, forest, capsys, monkeypatch):
    reason = "the graph takes some 9.0 GiB, and this machine has 1.0 GiB of memory"
    monkeypatch.setattr(graph_memory, "find_local_shortage", lambda *_, directed: reason)
    assert main(["msf", str(folder / "g"), *LOCAL]) == 0
    captured = capsys.readouterr()
    assert f"499 edges, 1 component, total weight {forest.total_weight:,}; " in captured.out
    assert f"{reason}; its edges are spread over a cluster" in captured.err
    monkeypatch.undo()
    assert main(["msf", str(folder / "g"), *LOCAL]) == 2
    assert "--workers applies to the forest of a dataset" in capsys.readouterr().err


def test_a_dataset_to_a_dataset(folder, forest, capsys, tmp_path):
    output = said(capsys, "msf", folder / "g", "--out", tmp_path / "f", "--batch", 500, *LOCAL)
    assert f"499 edges, 1 component, total weight {forest.total_weight:,}, in 1 part," in output
    kept = said(capsys, "msf", folder / "g", "--out", tmp_path / "f", "--resume", *LOCAL)
    assert "0 forests made, 1 kept" in kept
    output = said(capsys, "info", tmp_path / "f")
    assert f"minimum spanning forest of {folder / 'g'}" in output
    assert f"a weight of {forest.total_weight:,}" in output
    manifest = json.loads(said(capsys, "info", "--json", tmp_path / "f"))
    assert manifest["forest"]["total_weight"] == forest.total_weight
    assert ": the part verified, 499 edges" in said(capsys, "verify", tmp_path / "f", "-q")


@pytest.mark.parametrize("out", ["f", "f.gexf", "f.gr.gz"])
def test_a_file_to_a_file_or_a_dataset(folder, forest, capsys, tmp_path, out):
    output = said(capsys, "msf", folder / "g.graph", "--out", tmp_path / out, "--backend", "cpu")
    assert f"499 edges in {tmp_path / out}" in output
    back = mgraph.read_graph(tmp_path / out, backend="cpu", symmetrise=True, merge=True)
    assert back.n == 500
    assert mgraph.minimum_spanning_forest(back).total_weight == forest.total_weight
    if out == "f":
        assert f"a weight of {forest.total_weight:,}" in said(capsys, "info", tmp_path / out)


def test_no_weights_are_made_up(capsys, tmp_path):
    (tmp_path / "g.graph").write_text("3 3\n2 3\n1 3\n1 2\n")
    output = said(capsys, "msf", tmp_path / "g.graph", "--out", tmp_path / "f", "--backend", "cpu")
    assert "total weight 2" in output
    assert mgraph.read_graph(tmp_path / "f", backend="cpu").weights is None


def test_single_linkage(folder, capsys, tmp_path):
    file = tmp_path / "c.parquet"
    output = said(
        capsys, "single-linkage", folder / "g", "-k", 3, "--out", file, "--backend", "cpu"
    )
    assert output.startswith("3 clusters of 500 vertices, the largest of ")
    table = pq.read_table(file)
    graph = mgraph.read_graph(folder / "g", backend="cpu")
    assert table["vertex"].to_pylist() == list(range(500))
    assert table["cluster"].to_pylist() == mgraph.single_linkage(graph, 3).labels.tolist()
    output = said(capsys, "single-linkage", folder / "g", "--distance", 1, "--backend", "cpu")
    assert ", …" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["msf", "nothing"], "nothing does not exist"),
        (["msf", "g", "--method", "kruskal"], "did you mean 'filter_kruskal'"),
        (["msf", "g", "--workers", "2"], "--workers applies to the forest of a dataset with --out"),
        (["msf", "g", "--compression", "zstd"], "--compression needs --out"),
        (
            ["msf", "g", "--variant", "choose"],
            "must be STEP=VARIANT, such as contract=vertex (got 'choose')",
        ),
        (["msf", "g", "--steps"], "times of steps are for method boruvka (got auto)"),
        (["msf", "g", "--steps", "--method", "boruvka"], "times of steps need a GPU"),
        (["msf", "g", "--out", "f", "--method", "prim"], "--method applies without --out"),
        (["msf", "g", "--out", "g"], "is the graph; write its forest to another folder"),
        (["msf", "g", "--out", "f", "--batch", "x"], "must be a whole number"),
        (["msf", "g.gr"], "this one is directed; pass --symmetrise"),
        (["msf", "g.graph", "--out", "g.gr"], "g.gr exists; pass --overwrite to replace it"),
        (["msf", "g.graph", "--out", "g.graph", "--overwrite"], "is the graph, or in its folder"),
        (["single-linkage", "g"], "either k, a number of clusters, or distance (got neither)"),
        (["single-linkage", "g", "-k", "501"], "k must lie in [1, 500]"),
        (["single-linkage", "nothing", "--distance", "nan"], "distance must be a number (got nan)"),
        (
            ["single-linkage", "g", "-k", "2", "--out", "g/c.parquet"],
            "is the graph, or in its folder",
        ),
        (["single-linkage", "g", "-k", "2", "--out", "c.csv"], "give a name in .parquet"),
        (["single-linkage", "g", "-k", "2", "--overwrite"], "--overwrite needs --out"),
    ],
)
def test_wrong_use_is_one_sentence(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "g.gr").write_text("p sp 2 1\na 1 2 5\n")
    backend = [] if "--out" in arguments and arguments[0] == "msf" else ["--backend", "cpu"]
    status = main([*arguments, *backend])
    output = capsys.readouterr()
    assert status == (1 if "nothing does" in message else 2)
    assert message in output.err
    assert output.out == ""
    assert output.err.strip().splitlines()[-1].startswith("mgraph: ")
    assert "Traceback" not in output.err
