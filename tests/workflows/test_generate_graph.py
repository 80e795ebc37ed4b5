"""The workflow, run as a user runs it."""

import json
import os
import pathlib
import subprocess
import sys

import mgraph

SCRIPT = pathlib.Path(__file__).parents[2] / "workflows" / "generate_graph.py"


def run(*arguments, **env):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_generates_verifies_and_draws(tmp_path):
    done = run(tmp_path / "out", "-n", "20_000", "-d", 4, "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert "all checks hold" in done.stdout
    assert "tail exponent" in done.stdout
    assert mgraph.open_dataset(tmp_path / "out" / "graph").n == 20_000
    counts = json.loads((tmp_path / "out" / "degrees.json").read_text())["count"]
    assert sum(counts) == 20_000
    assert (tmp_path / "out" / "degrees.png").stat().st_size > 10_000


def test_without_matplotlib_there_is_all_but_the_plot(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('it is not installed')")
    out = tmp_path / "out"
    done = run(out, "-n", 2000, "-d", 4, "--workers", 1, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "no degrees.png, since plots need matplotlib: pip install " in done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["degrees.json", "graph"]


def test_a_users_mistake_is_one_sentence(tmp_path):
    done = run(tmp_path / "out", "-n", 4, "-d", 8)
    assert done.returncode == 2
    assert done.stderr.startswith("generate_graph: n must be above d")
    assert "Traceback" not in done.stderr
