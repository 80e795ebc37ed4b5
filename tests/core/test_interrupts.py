"""Interrupts wait for what must not be left half done, and are not lost."""

import importlib
import os
import signal
import sys
import time
import weakref

import pytest

from mgraph.core.deadline import Deadline
from mgraph.core.interrupts import deferred_interrupts, signals_as_interrupts


def interrupted(times, then=None):
    """How often ctrl-C came before the block was broken off, and whether it came out of it."""
    sent = 0
    try:
        with deferred_interrupts(then):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
                sent += 1
    except KeyboardInterrupt:
        return sent, True
    return sent, False


def test_ctrl_c_is_deferred_until_the_end_of_the_block():
    deadline = Deadline()
    assert interrupted(0, deadline.stop) == (0, False)
    assert not deadline.is_over
    assert interrupted(1, deadline.stop) == (1, True)
    assert deadline.is_over


def test_a_second_ctrl_c_is_not_deferred():
    assert interrupted(2) == (1, True)


def import_and_sleep():
    importlib.import_module("interrupted")
    time.sleep(30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("has_handler", [True, False])
def test_an_interrupt_waits_for_the_end_of_an_import(tmp_path, monkeypatch, number, has_handler):
    """In an import it would be lost, for example in a callback of importlib's."""
    (tmp_path / "interrupted.py").write_text(
        f"import os\nos.kill(os.getpid(), {int(number)})\n[0 for _ in range(1000)]\nended = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "interrupted", raising=False)
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    if not has_handler and number != signal.SIGINT:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with signals_as_interrupts() as received, pytest.raises(KeyboardInterrupt):
            import_and_sleep()
    finally:
        signal.signal(signal.SIGHUP, hang_up)
        signal.signal(signal.SIGINT, before[signal.SIGINT])
    assert sys.modules["interrupted"].ended
    assert set(received) == {number}
    assert {each: signal.getsignal(each) for each in before} == before


class Interrupting:
    """Is interrupted in the midst of its own end."""

    ended = False

    def __del__(self):
        interrupt_this_process()
        Interrupting.ended = True


def interrupt_this_process(*_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
    Interrupting.ended = True


@pytest.mark.parametrize("by", ["__del__", "finalize", "callback"])
def test_an_interrupt_waits_for_the_end_of_a_finalizer(by):
    """Python prints that it ignored an exception there, and the program would go on."""

    class Other:
        pass

    Interrupting.ended = False
    kept = {"it": Interrupting() if by == "__del__" else Other()}
    if by == "finalize":
        weakref.finalize(kept["it"], interrupt_this_process)
    elif by == "callback":
        references = weakref.WeakSet([kept["it"]])
        references.data = Discarding(references.data)

    def drop_and_sleep():
        kept.clear()
        time.sleep(30)

    with signals_as_interrupts() as received, pytest.raises(KeyboardInterrupt):
        drop_and_sleep()
    assert Interrupting.ended
    assert set(received) == {signal.SIGINT}


class Discarding(set):
    def discard(self, item):
        interrupt_this_process()
