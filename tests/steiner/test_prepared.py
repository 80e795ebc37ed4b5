"""As many searches run on a CPU as fit in memory, and a fallback from a GPU is reported."""

import threading
from contextlib import ExitStack

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList, MgraphWarning, OutOfMemoryError
from mgraph.core import backend as backends
from mgraph.steiner import prepared as preparing
from mgraph.steiner import star_initial_tree_cpu, steiner_tree
from mgraph.steiner.prepared import CPU_BYTES, PreparedGraph


def ring(n):
    ids = np.arange(n, dtype=np.int32)
    return mgraph.from_edges(EdgeList(ids, np.roll(ids, 1), ids % 7 + 1), directed=False)


@pytest.mark.parametrize(("fitting", "limit"), [(0, 1), (1.5, 1), (2.5, 2), (9.5, 9)])
def test_as_many_searches_run_on_a_cpu_as_fit(monkeypatch, fitting, limit):
    """The next one waits until another ends. fitting: searches that fit in the free memory."""
    ready, started = PreparedGraph(ring(1000)), threading.Event()
    free = int(fitting * CPU_BYTES * 1000 / preparing._MEMORY_SHARE)
    monkeypatch.setattr(preparing, "free_memory", lambda: free)

    def run_next():
        with ready.borrow_search("cpu"):
            started.set()

    next_search = threading.Thread(target=run_next)
    with ExitStack() as stack:
        for _ in range(limit):
            stack.enter_context(ready.borrow_search("cpu"))
        next_search.start()
        assert not started.wait(0.2)
    next_search.join()
    assert started.is_set()


@pytest.mark.filterwarnings("error::mgraph.MgraphWarning")
def test_a_shortage_of_device_memory_is_reported_once(monkeypatch):
    """It is computed once: later the searches themselves hold the memory."""
    graph, calls = ring(1000), []

    def describe_shortage(_):
        calls.append(1)
        return "the GPU is full, so queries run on the CPU."

    monkeypatch.setattr(steiner_tree, "BREAK_EVEN_ARCS", 0)
    monkeypatch.setattr(backends, "resolve", lambda backend: "gpu")
    monkeypatch.setattr("mgraph.steiner.star_memory_gpu.describe_shortage", describe_shortage)
    with pytest.warns(MgraphWarning, match="the GPU is full, so queries run on the CPU"):
        first = mgraph.steiner_tree(graph, [1, 500], method="star")
    again = mgraph.steiner_tree(graph, [1, 500], method="star")
    assert again.cost == first.cost  # a warning would be an error
    assert len(calls) == 1


def test_terminals_that_need_more_memory_than_is_free_are_refused(monkeypatch):
    graph = ring(1000)
    monkeypatch.setattr(star_initial_tree_cpu, "free_memory", lambda: 24 * 1000)
    options = {"backend": "cpu", "method": "star"}
    assert mgraph.steiner_tree(graph, range(64), **options).src.size == 63
    with pytest.raises(OutOfMemoryError, match="the initial tree of 65 terminals needs"):
        mgraph.steiner_tree(graph, range(65), **options)
    monkeypatch.setattr(star_initial_tree_cpu, "free_memory", lambda: 24 * 1000 * 2)
    assert mgraph.steiner_tree(graph, range(65), **options).src.size == 64
