"""On a GPU a command compiles what is listed for it, and no kernel of CuPy's."""

import json
import os
import re
import subprocess
import sys

import pytest

import mgraph

pytestmark = pytest.mark.gpu

COMMANDS = {
    "generate": "generate made -n 20000 --weights 1:9",
    "verify": "verify graph --regenerate 0.5",
    "degrees": "degrees graph",
    "sssp": "sssp graph --source 0",
    "sssp with predecessors": "sssp graph --random 4 --out paths",
    "msf": "msf graph",
    "steiner": "steiner graph --terminals 5,50,500,5000",
    "many trees": "steiner graph --sample 2:5,6:5 --out trees",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a command in a folder that holds a graph, with caches that ``warm-up`` has filled."""
    folder = tmp_path_factory.mktemp("warm")
    caches = folder / "caches"
    environment = {
        **os.environ, "XDG_CACHE_HOME": str(caches), "NUMBA_CACHE_DIR": str(caches / "numba"),
        "CUPY_CACHE_DIR": str(caches / "cupy"),
    }  # fmt: skip

    def run(*words):
        command = [sys.executable, "-m", "mgraph", *words, "-q"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return caches

    model = mgraph.CopyModel(20_000, 8, weights=(1, 9))
    mgraph.generate(folder / "graph", model, backend="cpu", parts=3)
    run("warm-up", *{command.split()[0] for command in COMMANDS.values()})
    return run


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_compiles_nothing_after_the_warm_up(name, run, tmp_path):
    arguments = COMMANDS[name].split()
    report = tmp_path / "report.json"
    caches = run(*arguments, "--backend", "gpu", "--timings-json", str(report))
    steps = {step["step"]: step for step in json.loads(report.read_text())["steps"]}
    assert "compiling" not in steps
    kernels = caches.glob("cupy/*.cubin")
    assert [re.findall(rb"cupy_\w+", kernel.read_bytes())[:1] for kernel in kernels] == []
