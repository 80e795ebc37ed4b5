from types import SimpleNamespace

import pytest

from mgraph.core.deadline import NEVER, Deadline


def test_a_deadline_is_over_after_its_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("mgraph.core.deadline.time", SimpleNamespace(perf_counter=lambda: now[0]))
    deadline = Deadline(0.02)
    assert not deadline.is_over
    assert deadline.remaining == pytest.approx(0.02)
    now[0] += 0.03
    assert deadline.is_over
    assert deadline.remaining == 0


def test_a_nested_deadline_is_over_no_later_than_the_outer_one():
    whole = Deadline(60)
    part, long_part = whole.within(-1), whole.within(600)
    assert part.is_over
    assert not whole.is_over
    assert long_part.remaining <= 60
    whole.stop()
    assert whole.is_over
    assert long_part.is_over
    assert not NEVER.is_over
