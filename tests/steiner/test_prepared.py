"""Searches on a CPU are as many as fit in memory; what runs there instead of on a GPU says so."""

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


@pytest.mark.parametrize(("room", "most"), [(0, 1), (1.5, 1), (2.5, 2), (9.5, 9)])
def test_as_many_searches_on_a_cpu_as_fit(monkeypatch, room, most):
    """The next one waits until another is over. room: for how many there is memory."""
    ready, begun = PreparedGraph(ring(1000)), threading.Event()
    free = int(room * CPU_BYTES * 1000 / preparing._MEMORY_SHARE)
    monkeypatch.setattr(preparing, "free_memory", lambda: free)

    def next_one():
        with ready.borrow_search("cpu"):
            begun.set()

    waiting = threading.Thread(target=next_one)
    with ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(ready.borrow_search("cpu"))
        waiting.start()
        assert not begun.wait(0.2)
    waiting.join()
    assert begun.is_set()


@pytest.mark.filterwarnings("error::mgraph.MgraphWarning")
def test_a_query_that_a_gpu_has_no_room_for_says_so_once(monkeypatch):
    """It is decided once: later the searches themselves hold the memory."""
    graph, asked = ring(1000), []

    def shortage(_):
        asked.append(1)
        return "the GPU is full, so queries run on the CPU."

    monkeypatch.setattr(steiner_tree, "BREAK_EVEN_ARCS", 0)
    monkeypatch.setattr(backends, "resolve", lambda backend: "gpu")
    monkeypatch.setattr("mgraph.steiner.star_memory_gpu.describe_shortage", shortage)
    with pytest.warns(MgraphWarning, match="the GPU is full, so queries run on the CPU"):
        first = mgraph.steiner_tree(graph, [1, 500])
    assert mgraph.steiner_tree(graph, [1, 500]).cost == first.cost  # a warning would be an error
    assert len(asked) == 1


def test_many_terminals_that_need_more_memory_than_is_free_say_so(monkeypatch):
    graph = ring(1000)
    monkeypatch.setattr(star_initial_tree_cpu, "free_memory", lambda: 24 * 1000)
    assert mgraph.steiner_tree(graph, range(64), backend="cpu").src.size == 63
    with pytest.raises(OutOfMemoryError, match="the initial tree of 65 terminals needs"):
        mgraph.steiner_tree(graph, range(65), backend="cpu")
    monkeypatch.setattr(star_initial_tree_cpu, "free_memory", lambda: 24 * 1000 * 2)
    assert mgraph.steiner_tree(graph, range(65), backend="cpu").src.size == 64
