"""NetworkX's own tests of what this backend has, with the backend on, for two of its versions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

from mgraph.networkx_backend.info import FUNCTIONS

ROOT = Path(__file__).parents[2]
FILES = [
    "algorithms/approximation/tests/test_steinertree.py",
    "algorithms/components/tests/test_connected.py",
    "algorithms/components/tests/test_weakly_connected.py",
    "algorithms/shortest_paths/tests/test_astar.py",
    "algorithms/shortest_paths/tests/test_generic.py",
    "algorithms/shortest_paths/tests/test_unweighted.py",
    "algorithms/shortest_paths/tests/test_weighted.py",
    "algorithms/traversal/tests/test_bfs.py",
    "algorithms/tree/tests/test_mst.py",
    "algorithms/tree/tests/test_recognition.py",
    "generators/tests/test_random_graphs.py",
]
PREVIOUS = "3.5"  # the version before the one that is installed
UNREACHED = {"generic_bfs_edges"}  # called there with an order of neighbours, which is handed back


@pytest.fixture(params=["installed", PREVIOUS])
def folder(request, tmp_path):
    """The folder of a version of NetworkX."""
    if request.param == "installed":
        return Path(networkx.__file__).parent
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp_path]
    done = subprocess.run([*install, f"networkx=={request.param}"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip cannot install networkx {request.param}: {done.stderr[-200:]}")
    return tmp_path / "networkx"


def run_suite(folder, files, counts, *options):
    """Run NetworkX's tests with the backend; its functions' counts go to a file."""
    environment = os.environ | {
        "NETWORKX_TEST_BACKEND": "mgraph", "NETWORKX_FALLBACK_TO_NX": "True",
        "PYTHONPATH": f"{folder.parent}:{ROOT}", "MGRAPH_COUNTS": str(counts),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
        "-p", "tests.networkx_backend.suite_plugin", "--rootdir", folder, *options,
        *(folder / file for file in files),
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=counts.parent, env=environment, capture_output=True, text=True
    )


def test_networkxs_tests_pass(folder, tmp_path):
    counts = tmp_path / "counts.json"
    done = run_suite(folder, FILES, counts)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    found = json.loads(counts.read_text())
    idle = {name for name, (called, handed_back) in found.items() if called <= handed_back}
    assert idle == UNREACHED
    assert found.keys() == FUNCTIONS.keys()
