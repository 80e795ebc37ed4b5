"""The workflow on heaps does what its first lines say."""

import pandas as pd
import pytest

import mgraph
from mgraph.knapsacks.pisinger import pisinger_instance
from tests.workflows import load

SMALL = ["--repeats", "1", "--keys", "2^15", "--time-limit", "2"]


@pytest.fixture(scope="module")
def workflow():
    return load("heap_experiments")


def files(tmp_path):
    graph = mgraph.CopyModel(30_000, 3, weights=(1, 99)).edges(backend="cpu").edges
    graph = mgraph.from_edges(graph, 30_000, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    pisinger_instance("even_odd", 60, 300, 400).write(tmp_path / "k.data")
    return ["--graph", str(tmp_path / "g"), "--knapsack", str(tmp_path / "k.data")]


def test_a_cpu(workflow, tmp_path, capsys):
    out = tmp_path / "out"
    assert workflow.main([str(out), "--backend", "cpu", *SMALL, *files(tmp_path)]) == 0
    assert capsys.readouterr().out.count("Left out: it needs a GPU") == 4
    text = (out / "tables.md").read_text()
    for name in ("figure_15", "figure_16", "figure_18"):
        assert (out / f"{name}.png").stat().st_size > 10_000
        assert (out / f"{name}.svg").stat().st_size > 10_000
        assert (pd.read_parquet(out / f"{name}.parquet")["s"] > 0).all()
        assert f"## {name.replace('_', ' ').capitalize()}:" in text
    heaps = pd.read_parquet(out / "table_1.parquet")
    assert set(heaps["heap"]) == {"batch", "sequential"}
    paths = pd.read_parquet(out / "table_3.parquet").iloc[0]
    assert paths["with, expanded"] < paths["without, expanded"]
    assert paths["N"] == 10_000
    packed = pd.read_parquet(out / "table_5.parquet")
    assert packed["optimal"].all()
    assert packed["profit"].nunique() == 1
    assert set(packed["search"]) == {"the paper's", "by profit", "by bound"}


def test_the_papers_knapsacks(workflow, tmp_path, monkeypatch):
    """Smaller on cores; at their size beside what the paper printed."""
    only = [str(tmp_path), "--only", "table_5", "--backend", "cpu", "--repeats", "1"]
    assert workflow.main(only) == 0
    packed = pd.read_parquet(tmp_path / "table_5.parquet")
    assert packed["instance"].nunique() == 12
    assert (packed.groupby("instance")["profit"].nunique() == 1).all()
    assert "paper's s" not in packed
    monkeypatch.setitem(workflow.FEWER_ITEMS, "cpu", 1)
    small = {name: mgraph.experiments.HEAP_PAPER_KNAPSACKS[name] for name in ("ks_ss_100_18k",)}
    monkeypatch.setattr(mgraph.experiments, "HEAP_PAPER_KNAPSACKS", small)
    assert workflow.main(only) == 0
    packed = pd.read_parquet(tmp_path / "table_5.parquet").set_index(["search", "on"])
    assert packed["paper's nodes"].dropna().to_dict() == {("the paper's", "core"): 54_278}
    assert packed["paper's s"][("the paper's", "core")] == 0.04238
    assert packed["times as fast"][("the paper's", "core")] > 0


def test_searches_that_do_not_end_have_no_speed(workflow, tmp_path, monkeypatch):
    monkeypatch.setitem(workflow.FEWER_ITEMS, "cpu", 1)
    hard = {"ks_sc_700_18k": mgraph.experiments.HEAP_PAPER_KNAPSACKS["ks_sc_700_18k"]}
    monkeypatch.setattr(mgraph.experiments, "HEAP_PAPER_KNAPSACKS", hard)
    only = [str(tmp_path), "--only", "table_5", "--backend", "cpu", "--time-limit", "0"]
    assert workflow.main(only) == 0
    packed = pd.read_parquet(tmp_path / "table_5.parquet")
    assert not packed["optimal"].any()
    assert "paper's s" in packed
    assert "times as fast" not in packed


def test_the_papers_graphs(workflow, tmp_path, capsys):
    only = ["--only", "table_2,table_3", "--backend", "cpu", *SMALL]
    assert workflow.main([str(tmp_path / "out"), *only]) == 0
    made = pd.read_parquet(tmp_path / "out" / "table_2.parquet")
    assert list(made["graph"]) == ["delaunay_n10", "kron_g500_logn10", "rgg_n_2_10_s0"]
    assert list(made["vertices"]) == [1 << 10] * 3
    assert list(made["paper's edges"]) == [25_165_738, 89_240_544, 13_783_240]
    paths = pd.read_parquet(tmp_path / "out" / "table_3.parquet")
    assert list(paths["arcs"]) == list(made["arcs"])
    assert list(paths["N"]) == [64] * 3
    assert (paths["with, expanded"] < paths["without, expanded"]).any()
    assert (paths[["without, expanded", "with, expanded"]] > 500).all(axis=None)
    assert "NAME.mtx: AS365, bundle_adj, coPapersDBLP, hollywood-2009" in capsys.readouterr().out


def test_graphs_of_the_paper_in_files(workflow, tmp_path, capsys):
    """A file is known by its name; negative weights are refused, or others drawn."""
    edges = mgraph.EdgeList([0, 1, 2, 2], [1, 2, 3, 2], [-1.0, 2.0, -3.5, 9.0])
    graph = mgraph.from_edges(edges, 4, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "Serena.mtx")
    mgraph.write_graph(graph, tmp_path / "mine.mtx")
    out, *files = (tmp_path / name for name in ("out", "Serena.mtx", "mine.mtx"))
    arguments = [str(out), "--backend", "cpu", "--only", "table_2,table_3", "--repeats", "1"]
    arguments += [word for file in files for word in ("--graph", str(file))]
    assert workflow.main(arguments) != 0
    assert "negative" in capsys.readouterr().err
    assert workflow.main([*arguments, "--random-weights"]) == 0
    table = pd.read_parquet(out / "table_2.parquet")
    assert list(table["paper's graph"]) == ["Serena", "none"]
    assert list(table["arcs"]) == [7, 7]
    assert list(table["paper's vertices"].fillna(0)) == [1_391_349, 0]
    assert list(table["kind"]) == ["Structural Problem", "not in the paper"]
    assert len(pd.read_parquet(out / "table_3.parquet")) == 2


@pytest.mark.gpu
def test_a_gpu(workflow, tmp_path):
    assert workflow.main([str(tmp_path / "out"), "--backend", "gpu", *SMALL, *files(tmp_path)]) == 0
    blocks = pd.read_parquet(tmp_path / "out" / "figure_13.parquet")
    assert set(blocks["blocks"]) == {8, 16, 32, 64, 128, 256}
    packed = pd.read_parquet(tmp_path / "out" / "table_5.parquet")
    assert packed["profit"].nunique() == 1
    relaxed = pd.read_parquet(tmp_path / "out" / "table_multi_heap.parquet")
    assert relaxed["rank error"].iloc[0] == 0
    assert (relaxed["rank error"].iloc[1:] > 0).all()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--only", "12"], 2, "must be a list such as 13,table_3 of figure_13"),
        (["--only", "13", "--backend", "cpu"], 1, "figure_13 needs a GPU"),
        (["--keys", "1000", "--backend", "cpu"], 2, "--keys must be a multiple of 8,192"),
        (["--repeats", "0", "--backend", "cpu"], 2, "--repeats must be at least 1"),
    ],
)
def test_wrong_use(workflow, tmp_path, capsys, arguments, status, sentence):
    try:
        found = workflow.main([str(tmp_path), *arguments])
    except SystemExit as stop:
        found = stop.code
    assert found == status
    assert sentence in capsys.readouterr().err
