"""``mgraph warm-up``: what it compiles is all that commands compile."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from mgraph.cli import warm_up
from mgraph.cli.main import SECTIONS, VERBS, main
from mgraph.core.graph import WEIGHT_DTYPES
from mgraph.cuda import machine_code
from mgraph.cuda.source import Source

needs_nvrtc = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None, reason="needs NVRTC: the extra check"
)


@pytest.fixture
def run(tmp_path):
    """Run a command with caches of its own; returns its standard error, and its report of steps."""
    numbers = iter(range(100))

    def run(*arguments):
        file = tmp_path / f"timings{next(numbers)}.json"
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "caches")}
        environment.pop("NUMBA_CACHE_DIR", None)
        command = [sys.executable, "-m", "mgraph", *arguments, "--timings-json", str(file)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        report = json.loads(file.read_text())
        return done.stderr, {step["step"] for step in report["steps"]}

    return run


def test_every_command_that_computes_has_a_recipe():
    asking = {*SECTIONS["Make and check graphs"], *SECTIONS["Ask questions"]}
    assert set(warm_up.RECIPES) == asking <= set(VERBS)
    for recipe in warm_up.RECIPES.values():
        assert set(recipe.graphs) <= {"plain", *WEIGHT_DTYPES}
        for module in recipe.modules:
            declared = vars(importlib.import_module(f"mgraph.{module}")).values()
            assert any(isinstance(value, Source) for value in declared)


def test_a_command_compiles_nothing_after_its_warm_up(run, tmp_path):
    run("generate", "g", "-n", "1_000_000", "-d", "2", "-q", "--backend", "cpu")
    cold = ["verify", "g", "-q", "--backend", "cpu"]
    notice, steps = run(*cold[:2], "--backend", "cpu")
    assert "compiling for the first use" in notice
    assert "compiling" in steps
    (tmp_path / "caches").rename(tmp_path / "old")

    text, _ = run("warm-up", "verify", "degrees", "convert")
    assert "compiling" not in text
    (tmp_path / "e.csv").write_text("source,target,weight\nOslo,Roma,2.5\nRoma,Wien,1\n")
    convert = ["convert", "e.csv", "e", "-q", "--symmetrise"]
    for command in (cold, ["degrees", "g", "-q", "--backend", "cpu"], convert):
        _, steps = run(*command)
        assert "loading code" in steps
        assert "compiling" not in steps


def test_all_that_failed_is_named(monkeypatch, capsys):
    recipe = warm_up.Recipe(("degrees {out}", "info {graph}"), (), ("plain",))
    monkeypatch.setattr(warm_up, "RECIPES", {"degrees": recipe})
    assert main(["warm-up", "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    assert "mgraph: degrees: mgraph: " in printed.err
    assert "1 part in" in printed.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sssd"], "(got 'sssd'; did you mean 'sssp'?)"),
        (["degrees", "--jobs", "0"], "must be at least 1 (got 0)"),
        (["degrees", "--arch", "90"], "ARCH is written as sm_90 (got '90')"),
        (["degrees", "--arch", "sm_1"], "does not know sm_1"),
    ],
)
def test_wrong_use_is_one_sentence(arguments, sentence, capsys):
    assert main(["warm-up", *arguments]) in (1, 2)
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1


@needs_nvrtc
def test_kernels_are_compiled_without_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(machine_code, "PACKAGED", tmp_path / "nothing")
    monkeypatch.setattr(warm_up, "_command_jobs", lambda recipes, folder: [])
    assert main(["warm-up", "degrees", "--arch", "sm_90", "-q"]) == 0
    made = {file.stat().st_mtime_ns for file in (tmp_path / "mgraph/cuda/sm_90").iterdir()}
    assert len(made) == 2  # one per type of vertices
    assert main(["warm-up", "degrees", "--arch", "sm_90", "-q"]) == 0
    assert {file.stat().st_mtime_ns for file in (tmp_path / "mgraph/cuda/sm_90").iterdir()} == made
