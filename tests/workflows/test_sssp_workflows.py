"""The workflows on shortest paths do what their first lines say."""

import json

import pandas as pd
import pytest

import mgraph
from mgraph import experiments
from tests.workflows import load


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    networkx = pytest.importorskip("networkx")
    graph = mgraph.from_networkx(networkx.grid_2d_graph(30, 30))
    file = tmp_path_factory.mktemp("grid") / "grid.mtx"
    mgraph.write_graph(graph, file)
    return file


def test_parallelism(grid, tmp_path, capsys):
    arguments = [str(grid), str(tmp_path), "--backend", "cpu", "--deltas", "1,8"]
    assert load("sssp_parallelism").main([*arguments, "--set-points", "40"]) == 0
    assert "P = 40" in capsys.readouterr().out
    files = {file.name for file in tmp_path.iterdir()}
    assert {"parallelism.png", "frontier.png", "distributions.png"} <= files
    assert {"set_point-40.parquet", "set_point-40.png"} <= files
    assert len([name for name in files if name.startswith("delta-")]) == 4
    assert load("sssp_parallelism").main([*arguments[:2], "--source", "999"]) == 2
    assert load("sssp_parallelism").main([str(grid), str(grid)]) == 1


def test_controllers(grid, tmp_path, capsys):
    run = load("sssp_controllers").main
    assert run([str(grid), str(tmp_path), "--set-point", "40", "--max-iterations", "500"]) == 0
    assert "| with sign, nearest | True |" in capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "controllers.parquet").set_index("controller")
    assert {"the paper", "with arcs", "with bias", "with all", "mgraph"} <= set(table.index)
    assert table["ends"]["with all"]
    assert (table["iterations"] <= 500).all()
    assert (table["expansions per vertex"] > 0).all()
    assert run([str(grid), str(tmp_path), "--max-iterations", "0"]) == 2
    assert run([str(grid), str(grid)]) == 1


def test_energy_without_a_counter(grid, tmp_path, capsys):
    arguments = [str(grid), str(tmp_path), "--backend", "cpu", "--deltas", "1"]
    arguments += ["--set-points", "40,100", "--seconds", "0.01"]
    assert load("sssp_energy").main(arguments) == 0
    assert "time alone" in capsys.readouterr().out
    table = json.loads((tmp_path / "energy.json").read_text())
    assert [row["method"] for row in table["rows"]] == ["near_far", "self_tuning", "self_tuning"]
    assert all(row["milliseconds"] > 0 and row["joules"] is None for row in table["rows"])
    assert (tmp_path / "time.png").exists()
    assert load("sssp_energy").main(["none.gr", str(tmp_path)]) == 1
    assert load("sssp_energy").main([str(grid), str(grid)]) == 1


def test_energy_plots(tmp_path):
    settings = [("near_far", 1.0, 9, 200), ("near_far", 4.0, 5, 300), ("self_tuning", 1e5, 5, 250)]
    measured = [experiments.Measured(m, x, ms, ms * w / 1000, w) for m, x, ms, w in settings]
    experiments.plot_speedup_against_power(measured, tmp_path / "a.png", title="x")
    experiments.plot_power_against_set_point(measured, tmp_path / "b.svg", idle=75)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "idle" in (tmp_path / "b.svg").read_text()
    with pytest.raises(mgraph.UsageError, match="a plot's file name must end in"):
        experiments.plot_power_against_set_point(measured, tmp_path / "b.xyz")
