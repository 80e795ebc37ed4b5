"""Fixtures that several test folders share, signals, and what decides whether a GPU test runs."""

import os
import signal

import pytest

import mgraph
from mgraph.core.backend import gpu_count


def pytest_configure():
    """What tests start gets ctrl-C and hang-ups, also where pytest was told to ignore them."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, _ignore)):
        if signal.getsignal(number) == signal.SIG_IGN:  # which a child would inherit
            signal.signal(number, handler)


def _ignore(number, frame):
    pass


def pytest_collection_modifyitems(items):
    gpus = gpu_count()
    for item in items:
        if item.get_closest_marker("multigpu") and gpus < 2:
            item.add_marker(
                pytest.mark.skip(reason=f"needs two NVIDIA GPUs and CuPy; found {gpus}")
            )
        elif item.get_closest_marker("gpu") and gpus < 1:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU and CuPy; found none"))


@pytest.fixture(scope="session", autouse=True)
def _no_configured_scheduler():
    """Tests start their own clusters, whatever the caller's environment names."""
    for name in ("DASK_SCHEDULER_ADDRESS", "DASK_SCHEDULER__ADDRESS"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def cluster(_no_configured_scheduler):
    """Two CPU workers for the whole session."""
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster
