"""Who asks whether work is wanted, and who is told that it is not."""

import threading

import numpy as np
import pytest

import mgraph
from mgraph.core import csr_cpu, stopping
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.edges import EdgeList
from mgraph.core.stopping import Stopped
from mgraph.core.summary_cpu import Summarizer
from tests import stopped
from tests.waiting import wait_until


def watchers():
    return [thread for thread in threading.enumerate() if thread.name == "mgraph-stopping"]


def test_nothing_stops_what_nobody_watches():
    assert stopping.word()[0] == 0
    assert not watchers()
    stopping.check()
    assert list(stopping.pieces(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert not list(stopping.pieces(0))


def test_a_word_is_set_from_outside_and_stays_so():
    unwanted = threading.Event()
    with stopping.stopping_when(unwanted.is_set):
        stopping.check()
        word, beside = stopping.word(), np.zeros(1, np.uint32)
        stopping.current().also_set(beside)
        assert word[0] == beside[0] == 0
        assert len(watchers()) == 1
        assert stopping.word() is word
        assert len(watchers()) == 1
        unwanted.set()
        wait_until(lambda: word[0])
        assert word[0] == beside[0] == 1
        unwanted.clear()
        late = np.zeros(1, np.uint32)
        stopping.current().also_set(late)
        assert late[0] == 1
        with pytest.raises(Stopped):
            stopping.check()
        with pytest.raises(Stopped):
            next(stopping.pieces(1))
    assert not watchers()
    stopping.check()


def test_only_wanted_work_waits_for_a_lock():
    lock = threading.Lock()
    with stopping.holding(lock):
        assert lock.locked()
        assert stopped.seconds_to_stop(lambda: wait_for(lock)) < stopped.PATIENCE
    assert not lock.locked()
    with stopping.stopping_when(lambda: True), pytest.raises(Stopped), stopping.holding(lock):
        pytest.fail("nobody wants it")
    assert not lock.locked()
    with stopping.stopping_when(lambda: False), stopping.holding(lock):
        assert lock.locked()


def wait_for(lock):
    with stopping.holding(lock):
        pytest.fail("another thread has it")


def test_only_wanted_work_waits_for_what_nothing_stops():
    release, over = threading.Event(), threading.Event()

    def long():
        release.wait(60)
        over.set()

    assert stopped.seconds_to_stop(lambda: stopping.left_behind(long)) < stopped.PATIENCE
    assert not over.is_set()
    release.set()
    assert over.wait(60)  # it went on to its end
    assert stopped.both_ways(lambda: stopping.left_behind(threading.get_ident))[1] == (
        threading.get_ident()  # which nobody might stop: no thread is begun
    )
    with stopping.stopping_when(lambda: False), pytest.raises(TimeoutError, match="its own"):
        stopping.left_behind(raise_timeout)


def raise_timeout():
    raise TimeoutError("its own")


def test_other_threads_are_told_what_to_ask():
    unwanted, began = threading.Event(), []

    def other():
        began.append(stopping.word())
        stopping.check()

    with stopping.stopping_when(unwanted.is_set):
        handed, word = stopping.handed_on(other), stopping.word()
    handed()
    assert began == [word]
    unwanted.set()
    with pytest.raises(Stopped):
        handed()
    assert len(began) == 1  # it was not begun again


def test_blocks_within_blocks():
    with stopping.stopping_when(lambda: True):
        with stopping.stopping_when(lambda: False):
            stopping.check()
        with pytest.raises(Stopped):
            stopping.check()


def test_a_deadline_is_over_for_who_is_not_wanted():
    unwanted = threading.Event()
    with stopping.stopping_when(unwanted.is_set):
        deadline = Deadline(60)
        part = deadline.within(30)
        assert not any(one.over for one in (deadline, part, NEVER))
        unwanted.set()
        assert deadline.over
        assert part.over
        assert NEVER.over
        assert NEVER.within(1).over
    assert not NEVER.over
    assert Deadline(60).left > 0
    assert deadline.left == 0


def test_a_graph_is_built_no_further(monkeypatch):
    monkeypatch.setattr(csr_cpu, "_PIECE_ARCS", 4)
    src, dst = np.arange(40) % 7, np.arange(40) % 5
    edges = EdgeList(src, dst, np.arange(40, dtype=np.int32))
    stoppable, plain = stopped.both_ways(
        lambda: mgraph.from_edges(edges, directed=False, merge=True, backend="cpu")
    )
    for name in ("indptr", "indices", "weights"):
        np.testing.assert_array_equal(getattr(stoppable, name), getattr(plain, name))
    for looks in range(1, 30, 4):
        asked = []
        with (
            pytest.raises(Stopped),
            stopping.stopping_when(lambda: len(asked) == looks or asked.append(1)),  # noqa: B023
        ):
            mgraph.from_edges(edges, directed=False, backend="cpu")


def test_a_large_graph_is_no_longer_built():
    n, m = 1 << 21, 1 << 25
    random = np.random.default_rng(1)
    edges = EdgeList(*random.integers(0, n, (2, m), np.int32))
    mgraph.from_edges(edges.rows(0, 1000), n, directed=False, backend="cpu")
    build = {"directed": False, "backend": "cpu"}
    assert stopped.seconds_to_stop(lambda: mgraph.from_edges(edges, n, **build)) < stopped.PATIENCE


def test_a_summary_stops():
    edges = EdgeList(np.arange(10), np.arange(10))
    told = Summarizer(10, True)
    with pytest.raises(Stopped), stopping.stopping_when(lambda: True):
        told.add(edges)
