"""Fixtures that several test folders share, signals, and what decides whether a GPU test runs."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import mgraph
from mgraph.core.backend import gpu_count
from tests.gpu.poisoned_memory import poison

# How long an example takes says nothing: the first may wait for Numba's compiler.
settings.register_profile(
    "mgraph",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("mgraph")


def pytest_configure():
    """What tests start gets ctrl-C and hang-ups, also where pytest ignores them."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, _ignore)):
        if signal.getsignal(number) == signal.SIG_IGN:  # which a child would inherit
            signal.signal(number, handler)


def _ignore(number, frame):
    pass


# Tests that start commands, clusters and servers, and wait for them; the others compute.
SYSTEM = (
    "benchmarks", "cli", "cluster", "distributed", "networkx_suite", "workflows",
    "core/test_compiled.py", "core/test_compilation.py", "io/test_s3.py", "io/test_store.py",
    "test_docs.py", "test_user_types.py",
)  # fmt: skip
# Files that take longest, one after another, begin first.
LONG = (
    "distributed/test_hosts.py", "cluster/test_slurm.py", "distributed/test_survival.py",
    "benchmarks/test_commands.py", "test_docs.py", "cli/test_streams.py",
)  # fmt: skip


def _place(path):
    return path.relative_to(Path(__file__).parent).as_posix()


def pytest_ignore_collect(collection_path, config):
    """With ``-m unit`` or ``-m system``, do not even import the files of the other tier."""
    tier = config.option.markexpr
    if tier in ("unit", "system") and collection_path.name.startswith("test_"):
        return True if _place(collection_path).startswith(SYSTEM) != (tier == "system") else None
    return None


def pytest_collection_modifyitems(items):
    gpus = gpu_count()
    items.sort(key=lambda item: _place(item.path) not in LONG)
    for item in items:
        is_system = _place(item.path).startswith(SYSTEM)
        item.add_marker(pytest.mark.system if is_system else pytest.mark.unit)
        if item.get_closest_marker("multigpu") and gpus < 2:
            item.add_marker(
                pytest.mark.skip(reason=f"needs two NVIDIA GPUs and CuPy; found {gpus}")
            )
        elif item.get_closest_marker("gpu") and gpus < 1:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU and CuPy; found none"))


def pytest_runtest_setup():
    """Ctrl-C interrupts each test: a library may take the signal when it is imported."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # dask-jobqueue does


@pytest.fixture(scope="session", autouse=True)
def _no_configured_scheduler():
    """Tests start their own clusters, whatever the caller's environment names."""
    for name in ("DASK_SCHEDULER_ADDRESS", "DASK_SCHEDULER__ADDRESS"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def _poisoned_device_memory():
    """No test passes because fresh device memory happens to be zero."""
    if gpu_count():
        poison()


@pytest.fixture(scope="session")
def cluster(_no_configured_scheduler):
    """Two CPU workers for the whole session."""
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster
