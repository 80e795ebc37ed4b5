"""The workflows on Steiner trees do what their first lines say."""

import pandas as pd
import pytest

import mgraph
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
    told = (tmp_path / "a" / "summary.txt").read_text()
    assert told.splitlines()[2].split()[:3] == ["2", "3", "0"]
    assert run([*arguments, "--sample", "2:3,5:2"]) == 2  # is there already
    assert run([*arguments, "--sample", "2:3,5:2", "--resume"]) == 0
    (tmp_path / "queries.txt").write_text("0, 143\n5 145\n")
    other = [str(graph), str(tmp_path / "b"), "--backend", "cpu"]
    assert run([*other, "--queries", str(tmp_path / "queries.txt")]) == 1
    assert "2 queries, 1 without a tree" in capsys.readouterr().out
    assert run([*other, "--queries", str(tmp_path / "none.txt")]) == 1
