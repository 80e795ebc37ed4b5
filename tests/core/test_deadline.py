import os
import signal
import time

from mgraph.core.deadline import NEVER, Deadline, interrupted_later


def test_a_deadline_is_over_after_its_time():
    deadline = Deadline(0.02)
    assert not deadline.over
    assert 0 < deadline.left <= 0.02
    time.sleep(0.03)
    assert deadline.over
    assert deadline.left == 0


def test_a_part_is_over_first_or_with_the_whole():
    whole = Deadline(60)
    part, long_part = whole.within(-1), whole.within(600)
    assert part.over
    assert not whole.over
    assert long_part.left <= 60
    whole.stop()
    assert whole.over
    assert long_part.over
    assert not NEVER.over


def interrupted(times, then=None):
    """How often ctrl-C came before the block was broken off, and whether it came out of it."""
    sent = 0
    try:
        with interrupted_later(then):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
                sent += 1
    except KeyboardInterrupt:
        return sent, True
    return sent, False


def test_ctrl_c_waits_for_the_block():
    deadline = Deadline()
    assert interrupted(0, deadline.stop) == (0, False)
    assert not deadline.over
    assert interrupted(1, deadline.stop) == (1, True)
    assert deadline.over


def test_a_second_ctrl_c_does_not_wait():
    assert interrupted(2) == (1, True)
