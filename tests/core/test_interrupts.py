import os
import signal

from mgraph.core.deadline import Deadline
from mgraph.core.interrupts import deferred_interrupts


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
