"""The workflows on Steiner trees do what their first lines say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mgraph
from mgraph import experiments
from mgraph.steiner.steiner_tree import steiner_tree
from tests.workflows.test_sssp_workflows import load


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    networkx = pytest.importorskip("networkx")
    joined = networkx.disjoint_union(networkx.grid_2d_graph(12, 12), networkx.path_graph(3))
    file = tmp_path_factory.mktemp("steiner") / "grid.mtx"
    mgraph.write_graph(mgraph.from_networkx(joined), file)
    return file


def test_queries(graph, tmp_path, capsys):
    arguments = [str(graph), str(tmp_path / "a"), "--backend", "cpu"]
    run = load("steiner_queries").main
    assert run([*arguments, "--sample", "2:3,5:2"]) == 0
    assert "5 queries, 0 without a tree" in capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "a" / "trees" / "_queries.parquet")
    assert table["k"].tolist() == [2, 2, 2, 5, 5]
    text = (tmp_path / "a" / "summary.txt").read_text()
    assert text.splitlines()[2].split()[:3] == ["2", "3", "0"]
    assert run([*arguments, "--sample", "2:3,5:2"]) == 2  # is there already
    assert run([*arguments, "--sample", "2:3,5:2", "--resume"]) == 0
    (tmp_path / "queries.txt").write_text("0, 143\n5 145\n")
    other = [str(graph), str(tmp_path / "b"), "--backend", "cpu"]
    assert run([*other, "--queries", str(tmp_path / "queries.txt")]) == 1
    assert "2 queries, 1 without a tree" in capsys.readouterr().out
    assert run([*other, "--queries", str(tmp_path / "none.txt")]) == 2
    assert "none.txt cannot be read as a list of queries" in capsys.readouterr().err


SMALL = ["--sizes", "200,400", "--k", "2,4", "--samples", "2"]
PARTS = ["initial_tree", "searches", "splits_and_merges"]
INSTANCE = """33D32945 STP File, STP Format Version 1.0

SECTION Graph
Nodes 4
Edges 5
E 1 2 3
E 2 3 3
E 1 3 5
E 1 4 2
E 3 4 2
END

SECTION Terminals
Terminals 3
T 1
T 2
T 3
END

EOF
"""


@pytest.fixture
def steinlib(tmp_path):
    folder = tmp_path / "steinlib"
    for name in ("X/x1", "X/x2", "Y/y1"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.stp").write_text(INSTANCE)
    (folder / "optima.csv").write_text("instance,optimum\nX/x1.stp,6\nX/x2.stp,6\nY/y1.stp,5\n")
    return folder


def is_png(file):
    content = file.read_bytes()
    return content[:4] == b"\x89PNG" and len(content) > 10_000


def test_evaluation_without_a_gpu(graph, steinlib, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [str(out), str(graph), *SMALL, "--backend", "cpu", "--steinlib", str(steinlib)]
    assert load("steiner_evaluation").main([*arguments, "--improve"]) == 0
    text = capsys.readouterr().out
    assert "without a GPU the reference is measured alone" in text
    assert "BA of 400 vertices, k = 4: dijkstra" in text
    runs = pd.read_csv(out / "runs.csv")
    sizes = runs[["graph", "n", "m", "k", "sample"]]
    assert sizes[:8].to_numpy().tolist() == [
        ["BA", n, m, k, i] for n, m in ((200, 794), (400, 1594)) for k in (2, 4) for i in (0, 1)
    ]
    assert runs["graph"][8:].unique().tolist() == ["grid.mtx"]
    assert len(runs) == 12
    assert (runs["search"] == "dijkstra").all()
    assert (runs["cost"] > 0).all()
    parts = sum(runs[f"milliseconds_{part}"] for part in PARTS)
    assert ((parts > 0) & (parts < runs["milliseconds"])).all()
    answers = pd.read_csv(out / "steinlib.csv").set_index(["instance", "search"])
    assert answers["class"].tolist() == ["X"] * 4 + ["Y"] * 2
    best = answers.xs("improved", level="search")
    assert best["cost"].tolist() == best["lower_bound"].tolist() == [6, 6, 6]
    assert best["gap"].tolist() == pytest.approx([0, 0, 0.2])
    assert best["proven"].astype(bool).all()
    written = (out / "summary.txt").read_text()
    assert written in text
    (row,) = (line for line in written.splitlines() if line.startswith("X"))
    assert row.split()[:5] == ["X", "dijkstra", "2", "2", "-"]
    assert all(is_png(out / f"{name}.png") for name in ("cases", "parts", "steinlib"))
    assert all((out / f"{name}.svg").stat().st_size for name in ("cases", "parts", "steinlib"))
    assert pd.read_parquet(out / "runs.parquet")["cost"].tolist() == runs["cost"].tolist()
    assert len(pd.read_parquet(out / "steinlib.parquet")) == 6
    assert (runs["degree_variance"] > 0).all()
    assert not (out / "speedups.png").exists()


def test_k_that_a_graph_is_too_small_for_is_left_out(graph, tmp_path, capsys):
    out = tmp_path / "out"
    sizes = ["--sizes", "200,2000", "--k", "2,200,1024", "--samples", "1"]
    assert load("steiner_evaluation").main([str(out), *sizes, "--backend", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "BA of 200 vertices: 200 are connected, so k = 1024 is left out" in text
    runs = pd.read_csv(out / "runs.csv")
    assert runs.groupby("n")["k"].unique().map(list).to_dict() == {
        200: [2, 200], 2000: [2, 200, 1024],
    }  # fmt: skip


def test_evaluation_of_edges_that_count_one(graph, tmp_path):
    out = tmp_path / "out"
    arguments = [str(out), str(graph), *SMALL, "--backend", "cpu", "--unit-weights"]
    assert load("steiner_evaluation").main(arguments) == 0
    runs = pd.read_csv(out / "runs.csv")
    assert (runs["cost"] < 40).all()  # edges
    assert (runs["cost"] >= runs["k"] - 1).all()


def test_evaluation_beside_the_papers_bound(graph, tmp_path):
    out = tmp_path / "out"
    arguments = [str(out), str(graph), *SMALL, "--backend", "cpu", "--epsilon", "0.1"]
    assert load("steiner_evaluation").main(arguments) == 0
    runs = pd.read_csv(out / "runs.csv")
    assert (runs["searches"] < runs["searches_bound"]).all()
    ba = runs[runs["graph"] == "BA"]
    edges = ba["m"] / 2
    assert (ba["searches_bound"] / (edges * ba["k"])).between(100, 990).all()  # weights 1 to 99


@pytest.fixture
def with_gpu(monkeypatch):
    """The workflow on a machine whose GPU is the CPU; ``answer`` may change what it finds."""
    workflow = load("steiner_evaluation")
    gpu = SimpleNamespace(main=workflow.main, answer=lambda tree, search: tree)

    def solve(graph, terminals, *, search, backend, **others):
        assert (backend == "cpu") == (search == "dijkstra")
        tree = steiner_tree(graph, terminals, search="dijkstra", backend="cpu", **others)
        return gpu.answer(tree, search)

    public = {name: getattr(experiments, name) for name in experiments.__all__}
    public["resolve_backend"] = lambda backend: "gpu"
    gpu.experiments = SimpleNamespace(**public)
    monkeypatch.setattr(workflow, "experiments", gpu.experiments)
    monkeypatch.setattr(mgraph.Graph, "to_gpu", lambda graph: graph)
    monkeypatch.setattr(workflow, "mgraph", SimpleNamespace(**{**names(), "steiner_tree": solve}))
    return gpu


@pytest.fixture
def with_gpu_unplotted(with_gpu):
    """The same without figures, which take most of the time."""
    for name in vars(with_gpu.experiments):
        if name.startswith("plot_"):
            setattr(with_gpu.experiments, name, lambda *data, **options: None)
    return with_gpu


def names():
    return {name: getattr(mgraph, name) for name in mgraph.__all__}


def test_evaluation_with_a_gpu(with_gpu, steinlib, tmp_path):
    out = tmp_path / "out"
    assert with_gpu.main([str(out), *SMALL, "--steinlib", str(steinlib)]) == 0
    runs = pd.read_csv(out / "runs.csv")
    assert runs["search"].value_counts().to_dict() == dict.fromkeys(
        ("dijkstra", "auto", "node", "edge"), 8
    )
    assert runs.groupby(["n", "k", "sample"])["cost"].nunique().eq(1).all()
    assert "edge over node" in (out / "summary.txt").read_text()
    assert is_png(out / "speedups.png")
    assert len(pd.read_csv(out / "steinlib.csv")) == 12


def test_evaluation_measures_what_is_compiled(with_gpu_unplotted, tmp_path):
    left = 2  # answers that compiling leaves no time for

    def answer(tree, search):
        nonlocal left
        left -= search == "edge"
        compiling = search == "edge" and left >= 0
        seconds = {"initial_tree": 100.0} if compiling else tree.seconds
        return replace(tree, complete=not compiling, seconds=seconds)

    with_gpu_unplotted.answer = answer
    assert with_gpu_unplotted.main([str(tmp_path / "out"), *SMALL]) == 0
    assert pd.read_csv(tmp_path / "out" / "runs.csv")["milliseconds_initial_tree"].max() < 1e5


def test_evaluation_stops_where_costs_differ(with_gpu, tmp_path, capsys):
    with_gpu.answer = lambda tree, search: replace(tree, cost=tree.cost + (search == "edge"))
    assert with_gpu.main([str(tmp_path / "out"), *SMALL]) == 1
    text = capsys.readouterr().err
    assert "all searches must find trees of one cost, and for BA of 200 vertices, k = 2" in text
    assert not (tmp_path / "out").exists()


def test_evaluation_leaves_out_what_memory_cannot_hold(with_gpu_unplotted, tmp_path, capsys):
    def answer(tree, search):
        if search == "node" and len(tree.terminals) == 4:
            raise mgraph.OutOfMemoryError("there is no room")
        return tree

    with_gpu_unplotted.answer = answer
    assert with_gpu_unplotted.main([str(tmp_path / "out"), *SMALL]) == 0
    runs = pd.read_csv(tmp_path / "out" / "runs.csv")
    assert runs["k"].unique().tolist() == [2]
    assert runs["n"].unique().tolist() == [200, 400]
    assert "BA of 400 vertices: no more, since there is no room" in capsys.readouterr().out


def test_evaluation_refuses_what_is_wrong_before_it_writes(graph, steinlib, tmp_path, capsys):
    run, out = load("steiner_evaluation").main, tmp_path / "out"

    def refused(status, message, *arguments):
        assert run([str(out), *SMALL, "--backend", "cpu", *map(str, arguments)]) == status
        text = capsys.readouterr().err
        assert text.startswith("steiner_evaluation: ")
        assert message in text
        assert text.count("\n") == 1
        assert not out.exists()

    refused(2, "--samples must be at least 1", "--samples", 0)
    refused(2, "K of at least 1", "--k", "0,2")
    refused(2, "201 terminals were asked for", "--k", 201)
    refused(2, "n must be above d", "--sizes", 2)
    refused(2, "--searches must be some of auto, node, edge", "--searches", "auto,fast")
    refused(2, "backend must be one of", "--backend", "tpu")
    refused(2, "nothing to measure", "--sizes", "")
    refused(2, "two graphs have the same name", graph, graph)
    refused(2, "--improve needs", "--improve")
    refused(1, "none.mtx does not exist", tmp_path / "none.mtx")
    refused(1, "must hold optima.csv", "--steinlib", tmp_path)
    (steinlib / "Y" / "y2.stp").write_text(INSTANCE)
    refused(1, "no optimum of Y/y2.stp", "--steinlib", steinlib)
    (steinlib / "optima.csv").write_text("instance\nX/x1.stp\n")
    refused(1, "columns instance and optimum", "--steinlib", steinlib)
    for bad in ("abc", ""):
        (steinlib / "optima.csv").write_text(f"instance,optimum\nX/x1.stp,{bad}\n")
        refused(1, "columns instance and optimum", "--steinlib", steinlib)
    assert run([str(graph), *SMALL]) == 1  # is a file
    with pytest.raises(SystemExit):
        run([str(out), "--k", "two"])


def made_up_runs():
    """A row a search and sample: node takes a tenth of the reference's time, edge a twentieth."""
    speed = {"dijkstra": 1, "node": 10, "edge": 20}
    rows = [
        {"graph": graph, "n": n, "m": 4 * n, "k": k, "sample": i, "search": search}
        | {"milliseconds": n * k * (1 + i) / speed[search]}
        | {f"milliseconds_{part}": n * k * (1 + i) / speed[search] / 4 for part in PARTS}
        for graph, n in (("BA", 100), ("BA", 1000), ("road", 500))
        for k in (2, 4, 8)
        for i in range(2)
        for search in speed
    ]
    return pd.DataFrame(rows)


def test_speedups():
    runs = made_up_runs()
    one = runs["search"].eq("edge") & runs["sample"].eq(1) & runs["k"].eq(2) & runs["n"].eq(100)
    runs.loc[one, "milliseconds"] /= 4
    found = experiments.steiner_speedups(runs)
    assert list(found.columns) == ["node over reference", "edge over reference", "edge over node"]
    assert found.index.names == ["graph", "n", "m", "k"]
    assert found.loc["BA", 100, 400, 2].tolist() == pytest.approx([10, 40, 4])  # of 20 and 80
    assert np.allclose(found.iloc[1:], [10, 20, 2])
    two = experiments.steiner_speedups(runs[runs["search"] != "node"])
    assert list(two.columns) == ["edge over reference"]
    for names in (["dijkstra"], ["node", "edge"]):
        with pytest.raises(mgraph.UsageError, match="a speed-up needs runs of search dijkstra"):
            experiments.steiner_speedups(runs[runs["search"].isin(names)])


def test_plots(tmp_path):
    runs = made_up_runs()
    experiments.plot_steiner_speedups(runs, tmp_path / "speedups.svg", title="made up")
    drawn = (tmp_path / "speedups.svg").read_text()
    text = ("made up", "edge over reference", "edge over node", "k = 8", "BA 1,000", "road 500")
    assert all(f"<!-- {label} -->" in drawn for label in text)
    experiments.plot_steiner_parts(runs, tmp_path / "parts.svg", sizes=[4, 8])
    drawn = (tmp_path / "parts.svg").read_text()
    text = ("reference, k = 4", "edge, k = 8", "splits and merges", "ms per query", "vertices")
    assert all(f"<!-- {label} -->" in drawn for label in text)
    alone = runs[(runs["graph"] == "road") & (runs["k"] == 2) & (runs["search"] != "node")]
    experiments.plot_steiner_speedups(alone, tmp_path / "a.png")
    experiments.plot_steiner_parts(alone, tmp_path / "b.png")
    assert is_png(tmp_path / "a.png")
    assert is_png(tmp_path / "b.png")
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots(2, 1)
    experiments.plot_steiner_speedups(alone, ax=axes, title="made up")
    assert not figure.legends  # the figure is the caller's
    assert figure.get_suptitle() == ""
    assert all(pane.get_legend() for pane in axes)
    assert axes[0].get_title() == "made up\nedge over reference"
