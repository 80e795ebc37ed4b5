"""cluster/local: start, run something on it, stop, and nothing is left running."""

import os
import pathlib
import shutil
import subprocess
import sys
import urllib.request

import psutil
import pytest

LOCAL = pathlib.Path(__file__).parents[2] / "cluster" / "local"
BIN = pathlib.Path(sys.executable).parent


@pytest.fixture
def shell(tmp_path):
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def run(*command):
        return subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.mark.skipif(shutil.which("dask", path=str(BIN)) is None, reason="needs the dask command")
def test_start_run_stop(shell, tmp_path):
    started = shell(LOCAL / "start", 2)
    pids = [int(pid) for pid in (tmp_path / ".cluster.pids").read_text().split()]
    try:
        assert started.returncode == 0, started.stderr
        assert "dashboard http://127.0.0.1:" in started.stdout
        assert shell(LOCAL / "start").returncode == 1  # one a folder
        mgraph = [sys.executable, "-m", "mgraph.cli.main"]
        to_it = ["--scheduler-file", "scheduler.json"]
        made = shell(*mgraph, "generate", "graph", "-n", "30_000", "--parts", 6, *to_it)
        assert made.returncode == 0, made.stderr
        assert "cluster at tcp://127.0.0.1:" in made.stderr
        assert "2 workers, 2 threads, cpu" in made.stderr
        address = started.stdout.split("dashboard ")[1].strip()
        with urllib.request.urlopen(address, timeout=30) as page:
            assert page.status == 200
        assert shell(*mgraph, "verify", "graph", "-q", *to_it).returncode == 0
    finally:
        stopped = shell(LOCAL / "stop")
    assert stopped.returncode == 0, stopped.stderr
    assert not any(psutil.pid_exists(pid) and _alive(pid) for pid in pids)
    assert shell(LOCAL / "stop").returncode == 1


def _alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
