"""Cancellation: tokens, flags, locks and threads."""

import threading

import numpy as np
import pytest

import mgraph
from mgraph.core import cancellation, csr_cpu
from mgraph.core.cancellation import Cancelled
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.edges import EdgeList
from mgraph.core.summary_cpu import Summarizer
from tests import stopped
from tests.waiting import wait_until


def watchers():
    return [thread for thread in threading.enumerate() if thread.name == "mgraph-cancellation"]


def test_work_without_a_test_is_never_cancelled():
    assert cancellation.cancel_flag()[0] == 0
    assert not watchers()
    cancellation.raise_if_cancelled()
    assert list(cancellation.chunks(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert not list(cancellation.chunks(0))


def test_a_flag_is_raised_from_outside_and_stays_raised():
    unwanted = threading.Event()
    with cancellation.cancelled_when(unwanted.is_set):
        cancellation.raise_if_cancelled()
        word, beside = cancellation.cancel_flag(), np.zeros(1, np.uint32)
        cancellation.current_token().mirror_to(beside)
        assert word[0] == beside[0] == 0
        assert len(watchers()) == 1
        assert cancellation.cancel_flag() is word
        assert len(watchers()) == 1
        unwanted.set()
        wait_until(lambda: word[0])
        assert word[0] == beside[0] == 1
        unwanted.clear()
        late = np.zeros(1, np.uint32)
        cancellation.current_token().mirror_to(late)
        assert late[0] == 1
        with pytest.raises(Cancelled):
            cancellation.raise_if_cancelled()
        with pytest.raises(Cancelled):
            next(cancellation.chunks(1))
    assert not watchers()
    cancellation.raise_if_cancelled()


def test_cancelled_work_stops_waiting_for_a_lock():
    lock = threading.Lock()
    with cancellation.acquiring(lock):
        assert lock.locked()
        assert stopped.seconds_to_stop(lambda: wait_for(lock)) < stopped.PATIENCE
    assert not lock.locked()
    with (
        cancellation.cancelled_when(lambda: True),
        pytest.raises(Cancelled),
        cancellation.acquiring(lock),
    ):
        pytest.fail("it was cancelled")
    assert not lock.locked()
    with cancellation.cancelled_when(lambda: False), cancellation.acquiring(lock):
        assert lock.locked()


def wait_for(lock):
    with cancellation.acquiring(lock):
        pytest.fail("another thread has it")


def test_cancelled_work_stops_waiting_for_detached_work():
    release, over = threading.Event(), threading.Event()

    def long():
        release.wait(60)
        over.set()

    assert stopped.seconds_to_stop(lambda: cancellation.run_detached(long)) < stopped.PATIENCE
    assert not over.is_set()
    release.set()
    assert over.wait(60)  # it went on to its end
    assert stopped.both_ways(lambda: cancellation.run_detached(threading.get_ident))[1] == (
        threading.get_ident()  # which might not be stopped: no thread is begun
    )
    with cancellation.cancelled_when(lambda: False), pytest.raises(TimeoutError, match="its own"):
        cancellation.run_detached(raise_timeout)


def raise_timeout():
    raise TimeoutError("its own")


def test_other_threads_receive_the_token():
    unwanted, began = threading.Event(), []

    def other():
        began.append(cancellation.cancel_flag())
        cancellation.raise_if_cancelled()

    with cancellation.cancelled_when(unwanted.is_set):
        handed, word = cancellation.with_token(other), cancellation.cancel_flag()
    handed()
    assert began == [word]
    unwanted.set()
    with pytest.raises(Cancelled):
        handed()
    assert len(began) == 1  # it was not begun again


def test_nested_blocks_restore_the_outer_token():
    with cancellation.cancelled_when(lambda: True):
        with cancellation.cancelled_when(lambda: False):
            cancellation.raise_if_cancelled()
        with pytest.raises(Cancelled):
            cancellation.raise_if_cancelled()


def test_a_deadline_is_over_when_its_work_is_cancelled():
    unwanted = threading.Event()
    with cancellation.cancelled_when(unwanted.is_set):
        deadline = Deadline(60)
        part = deadline.within(30)
        assert not any(one.is_over for one in (deadline, part, NEVER))
        unwanted.set()
        assert deadline.is_over
        assert part.is_over
        assert NEVER.is_over
        assert NEVER.within(1).is_over
    assert not NEVER.is_over
    assert Deadline(60).remaining > 0
    assert deadline.remaining == 0


def test_building_a_graph_stops_when_cancelled(monkeypatch):
    monkeypatch.setattr(csr_cpu, "_CHUNK_ARCS", 4)
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
            pytest.raises(Cancelled),
            cancellation.cancelled_when(lambda: len(asked) == looks or asked.append(1)),  # noqa: B023
        ):
            mgraph.from_edges(edges, directed=False, backend="cpu")


def test_building_a_large_graph_stops_soon():
    n, m = 1 << 21, 1 << 25
    random = np.random.default_rng(1)
    edges = EdgeList(*random.integers(0, n, (2, m), np.int32))
    mgraph.from_edges(edges.rows(0, 1000), n, directed=False, backend="cpu")
    build = {"directed": False, "backend": "cpu"}
    assert stopped.seconds_to_stop(lambda: mgraph.from_edges(edges, n, **build)) < stopped.PATIENCE


def test_a_summary_stops_when_cancelled():
    edges = EdgeList(np.arange(10), np.arange(10))
    summarizer = Summarizer(10, True)
    with pytest.raises(Cancelled), cancellation.cancelled_when(lambda: True):
        summarizer.add(edges)
