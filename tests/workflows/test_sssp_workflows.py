"""The workflows on shortest paths do what their first lines say."""

import argparse
import functools
import json
import sys
import time
import types

import pandas as pd
import pytest

import mgraph
from mgraph import experiments
from mgraph.cuda import clocks, energy
from tests.workflows import load

PLOTS = (
    experiments.plot_speedup_against_power,
    experiments.plot_power_against_set_point,
    experiments.plot_energy_against_set_point,
)


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
    assert {"set_point-40.parquet", "set_point-40.png", "set_point-40.svg"} <= files
    assert len([name for name in files if name.startswith("delta-")]) == 6
    table = pd.read_parquet(tmp_path / "searches.parquet").set_index("search")
    assert len(table) == 3
    assert (table[["iterations", "mean x2", "median x2", "mean x3", "ms"]] > 0).all(axis=None)
    assert "| P = 40 |" in (tmp_path / "tables.md").read_text()
    held = [*arguments, "--set-points", "30,300", "--controller", "paper"]
    assert load("sssp_parallelism").main(held) == 0  # the letter of the paper does not end at 30
    assert "P = 30: left out, since the paper's controller has not" in capsys.readouterr().out
    other = pd.read_parquet(tmp_path / "searches.parquet")
    assert list(other["search"])[2:] == ["P = 300"]
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
    assert (tmp_path / "time.svg").exists()
    assert len(pd.read_parquet(tmp_path / "energy.parquet")) == 3
    assert load("sssp_energy").main(["none.gr", str(tmp_path)]) == 1
    assert load("sssp_energy").main([str(grid), str(grid)]) == 1


class Nvml:
    """NVML of a GPU at 1980/2619 MHz, whose clocks may be set or not, and whose power is 200 W."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVMLError = type("NVMLError", (Exception,), {})

    def __init__(self, *, may_set):
        self.may_set, self.locked, self.history = may_set, {}, []
        for clock, name in [("core", "Gpu"), ("memory", "Memory")]:
            setattr(self, f"nvmlDeviceSet{name}LockedClocks", functools.partial(self.set, clock))
            setattr(
                self, f"nvmlDeviceReset{name}LockedClocks", functools.partial(self.reset, clock)
            )

    def set(self, clock, device, low, high):
        if not self.may_set:
            raise self.NVMLError("Insufficient Permissions")
        assert low == high
        self.locked[clock] = low
        self.history.append((clock, low))

    def reset(self, clock, device):
        del self.locked[clock]
        self.history.append((clock, None))

    def nvmlDeviceGetClockInfo(self, device, clock):
        core, memory = self.locked.get("core", 1980), self.locked.get("memory", 2619)
        return core if clock == self.NVML_CLOCK_SM else memory

    def nvmlDeviceGetTotalEnergyConsumption(self, device):
        return 200_000 * time.perf_counter()


@pytest.fixture
def has_energy(monkeypatch):
    """Let the workflow measure the core that it runs on with a GPU's meter."""
    cupy = types.SimpleNamespace(
        cuda=types.SimpleNamespace(Device=lambda: types.SimpleNamespace(synchronize=lambda: None))
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)

    def use(nvml):
        for module in (clocks, energy):
            monkeypatch.setattr(module, "open_device", lambda: (nvml, None))
        monkeypatch.setattr(experiments, "idle_watts", lambda: 75.0)
        return nvml

    return use


def measure_with_clocks(grid, out, words):
    workflow = load("sssp_energy")
    graph = mgraph.read_graph(grid, backend="cpu")
    options = argparse.Namespace(
        source=0, backend="cpu", seconds=0.01, deltas=[1.0], set_points=[40.0, 100.0],
        clocks=[experiments.parse_clocks(word) for word in words],
    )  # fmt: skip
    return workflow.measure_all(graph, options, True)


def test_clocks_that_may_be_set(grid, tmp_path, has_energy):
    nvml = has_energy(Nvml(may_set=True))
    measured = measure_with_clocks(grid, tmp_path, ["1200/1593", "1980/2619"])
    assert [m.clocks for m in measured[::3]] == ["", "1200/1593", "1980/2619"]
    assert [(m.core_mhz, m.memory_mhz) for m in measured[::3]] == [
        (1980, 2619), (1200, 1593), (1980, 2619),
    ]  # fmt: skip
    assert all(150 < m.watts < 250 for m in measured)
    assert all(m.energy_delay == m.joules * m.milliseconds / 1000 for m in measured)
    assert nvml.locked == {}
    files = "speedup", "power", "energy"
    for name, plot in zip(files, PLOTS, strict=True):
        plot(measured, tmp_path / f"{name}.svg")
    text = (tmp_path / "speedup.svg").read_text()
    assert "self_tuning at 1200/1593 MHz" in text
    assert "near_far at 1980/2619 MHz" in text


def test_clocks_that_may_not_be_set(grid, tmp_path, has_energy, capsys):
    has_energy(Nvml(may_set=False))
    measured = measure_with_clocks(grid, tmp_path, ["1200/1593"])
    assert [m.clocks for m in measured] == ["", "", ""]
    assert "left out: 1200/1593 MHz: this GPU's clocks cannot be set" in capsys.readouterr().out


def test_clocks_are_given_back_after_an_error(has_energy):
    nvml = has_energy(Nvml(may_set=True))
    with pytest.raises(KeyError), experiments.locked_clocks(experiments.parse_clocks("900/800")):
        raise KeyError
    assert nvml.locked == {}
    assert nvml.history == [("core", 900), ("memory", 800), ("memory", None), ("core", None)]


@pytest.mark.parametrize("text", ["1200", "a/b", "1200/", "0/5", "1200/-3"])
def test_what_are_no_clocks(text, grid, tmp_path, capsys):
    arguments = [str(grid), str(tmp_path), "--clocks", text]
    assert load("sssp_energy").main(arguments) == 2
    assert "clocks are two whole MHz, as in 1200/2619" in capsys.readouterr().err


def test_energy_plots(tmp_path):
    settings = [("near_far", 1.0, 9, 200), ("near_far", 4.0, 5, 300), ("self_tuning", 1e5, 5, 250)]
    measured = [experiments.Measured(m, x, ms, ms * w / 1000, w) for m, x, ms, w in settings]
    experiments.plot_speedup_against_power(measured, tmp_path / "a.png", title="x")
    experiments.plot_power_against_set_point(measured, tmp_path / "b.svg", idle=75)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "idle" in (tmp_path / "b.svg").read_text()
    with pytest.raises(mgraph.UsageError, match="a plot's file name must end in"):
        experiments.plot_power_against_set_point(measured, tmp_path / "b.xyz")
