from types import SimpleNamespace

import pytest

from mgraph.core.deadline import NEVER, Deadline


def test_a_deadline_is_over_after_its_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("mgraph.core.deadline.time", SimpleNamespace(perf_counter=lambda: now[0]))
    deadline = Deadline(0.02)
    assert not deadline.over
    assert deadline.left == pytest.approx(0.02)
    now[0] += 0.03
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
