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
        assert (pd.read_parquet(out / f"{name}.parquet")["s"] > 0).all()
        assert f"## {name.replace('_', ' ').capitalize()}:" in text
    heaps = pd.read_parquet(out / "table_1.parquet")
    assert set(heaps["heap"]) == {"batch", "sequential"}
    paths = pd.read_parquet(out / "table_3.parquet").iloc[0]
    assert paths["with, expanded"] < paths["without, expanded"]
    packed = pd.read_parquet(out / "table_5.parquet")
    assert packed["optimal"].all()
    assert packed["profit"].nunique() == 1


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
