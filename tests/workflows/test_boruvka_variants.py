"""The workflow on Borůvka's variants does what its first lines say."""

import pandas as pd
import pytest

import mgraph
from mgraph import CopyModel
from mgraph.core.backend import gpu_count
from tests.workflows import load


@pytest.fixture
def workflow():
    return load("boruvka_variants")


@pytest.fixture
def graph(tmp_path):
    model = CopyModel(2000, 4, weights=(1, 9))
    edges = model.edges(backend="cpu").edges
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g.graph")
    return tmp_path / "g.graph"


@pytest.mark.gpu
def test_a_row_for_each_variant(workflow, graph, tmp_path, capsys):
    assert workflow.main([str(tmp_path / "out"), str(graph), "--repeats", "2"]) == 0
    table = pd.read_parquet(tmp_path / "out" / "steps.parquet")
    assert len(table) == len(workflow.HISTORY) + len(workflow.ONE_BY_ONE)
    assert (table["edges"] == 1999).all()
    assert (table["all"] > 0).all()
    lines = (tmp_path / "out" / "steps.md").read_text().splitlines()
    assert len(lines) == 2 + len(table)
    assert "colours walk" in capsys.readouterr().out
    assert (tmp_path / "out" / "steps.svg").stat().st_size > 1000
    wrong = ["--variant", "choose=warp"]
    assert workflow.main([str(tmp_path / "out"), str(graph), *wrong]) == 2


def test_on_cores(workflow, graph, tmp_path, capsys):
    run, out = workflow.main, str(tmp_path / "out")
    on_cores = [str(graph), "--backend", "cpu", "--repeats", "1"]
    assert run([out, *on_cores]) == 0
    assert "Prim without a heap, one core: " in capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "out" / "steps.parquet")
    assert list(table["variant"]) == list(workflow.ON_CORES)
    assert (table["edges"] == 1999).all()
    assert (table["all"] > 0).all()
    for name in ("steps.png", "steps.svg", "steps.md"):
        assert (tmp_path / "out" / name).stat().st_size > 100
    workflow.NAIVE_MAX = 1999
    assert run([out, *on_cores]) == 0
    assert "left out, since the graph has more than 1,999 vertices" in capsys.readouterr().out
    assert run([out, *on_cores, "--variant", "choose=vertex"]) == 2
    assert "--variant is for a GPU" in capsys.readouterr().err
    assert run([out, *on_cores[:-1], "0"]) == 2
    assert run([str(graph / "out"), *on_cores]) == 1
    assert "cannot be written to" in capsys.readouterr().err


@pytest.mark.skipif(gpu_count() > 0, reason="is of machines without a GPU")
def test_without_a_gpu(workflow, graph, tmp_path, capsys):
    assert workflow.main([str(tmp_path / "out"), str(graph), "--backend", "gpu"]) == 1
    assert "no CUDA device" in capsys.readouterr().err
    assert workflow.main([str(tmp_path / "out"), str(graph), "--repeats", "1"]) == 0


def test_the_table_in_markdown(workflow):
    table = pd.DataFrame([{"graph": "g", "variant": "default", "edges": 3, "choose": 1.25}])
    assert workflow.format_markdown(table).splitlines()[2] == "| g | default | 3 | 1.2 |"
