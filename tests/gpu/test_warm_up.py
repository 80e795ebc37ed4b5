"""On a GPU a command compiles what is listed for it, and no kernel of CuPy's."""

import json
import os
import re
import subprocess
import sys

import pytest

import mgraph

pytestmark = pytest.mark.gpu

COMMANDS = (
    "generate made -n 20000 --weights 1:9",
    "verify graph --regenerate 0.5",
    "degrees graph",
    "sssp graph --source 0",
    "sssp graph --random 4 --out paths",
    "msf graph",
    "steiner graph --terminals 5,50,500,5000",
    "steiner graph --sample 2:5,6:5 --out trees",
)


@pytest.mark.timeout(900)
def test_commands_compile_nothing_after_the_warm_up(tmp_path):
    """One test, since the warm-up takes all cores."""
    caches = tmp_path / "caches"
    environment = {
        **os.environ, "XDG_CACHE_HOME": str(caches), "NUMBA_CACHE_DIR": str(caches / "numba"),
        "CUPY_CACHE_DIR": str(caches / "cupy"),
    }  # fmt: skip

    def run(*words):
        command = [sys.executable, "-m", "mgraph", *words, "-q"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    model = mgraph.CopyModel(20_000, 8, weights=(1, 9))
    mgraph.generate(tmp_path / "graph", model, backend="cpu", parts=3)
    run("warm-up", *{command.split()[0] for command in COMMANDS})
    compiled = {}
    for number, command in enumerate(COMMANDS):
        report = tmp_path / f"report{number}.json"
        run(*command.split(), "--backend", "gpu", "--timings-json", str(report))
        steps = {step["step"] for step in json.loads(report.read_text())["steps"]}
        kernels = [*caches.glob("cupy/*.cubin")]
        names = [re.findall(rb"cupy_\w+", kernel.read_bytes())[:1] for kernel in kernels]
        for kernel in kernels:
            kernel.unlink()
        if names or "compiling" in steps:
            compiled[command] = names
    assert compiled == {}
