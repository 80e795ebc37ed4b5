"""Fixtures of several files here."""

import pytest

import mgraph


@pytest.fixture
def watched():
    """A cluster of a test's own, whose scheduler is in this process."""
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster
