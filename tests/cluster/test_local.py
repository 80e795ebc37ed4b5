"""cluster/local: the commands of its page are executed: start, verify, run, stop."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import psutil
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "cluster" / "local" / "README.md"


def commands():
    """The lines of the page that are indented, in order."""
    lines = re.findall(r"^    (mgraph .*)$", PAGE.read_text(), re.MULTILINE)
    return [line.partition(" #")[0].strip() for line in lines]


@pytest.mark.timeout(300)
def test_the_page_s_commands_work(tmp_path):
    environment = os.environ | {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache"),
        "DASK_MGRAPH__CLUSTER": str(tmp_path / ".mgraph" / "cluster"),
        "DASK_MGRAPH__DASHBOARD": "127.0.0.1:0",
    }

    def run(line):
        line = line.replace("~", str(tmp_path))
        return subprocess.run(
            [sys.executable, "-m", "mgraph.cli.main", *shlex.split(line)[1:]],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    every = commands()
    plain = [line for line in every if "[" not in line and "--tls" not in line]
    assert plain[0] == "mgraph cluster start"
    assert plain[-1] == "mgraph cluster stop"
    pids = []
    try:
        for line in plain:
            done = run(line)
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            if line == "mgraph cluster start":
                pids = [int(pid) for pid in re.findall(r"process (\d+)", done.stdout)]
    finally:
        run("mgraph cluster stop")
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) and _alive(pid) for pid in pids)
    assert len(every) > len(plain)


def _alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
