"""Clocks of steps, and the timeline of a process and its workers."""

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph import timings
from mgraph.timings import Clock, Step


@pytest.fixture
def clocks(monkeypatch):
    """New clocks of all steps, and a time that the test moves: ``clocks.now``."""

    class Clocks(dict):
        now = 0.0

    made = Clocks((name, Clock()) for name in timings.STEPS)
    monkeypatch.setattr(timings, "_clocks", made)
    monkeypatch.setattr(timings, "now", lambda: made.now)
    monkeypatch.setattr(timings, "_workers", [])
    return made


def test_a_step_runs_while_any_thread_is_in_it(clocks):
    with timings.step(timings.READING):
        clocks.now = 2.0
        other = threading.Thread(target=clocks[timings.READING].enter)
        other.start()
        other.join()
        clocks.now = 3.0
    clocks.now = 5.0
    assert clocks[timings.READING].is_running
    assert clocks[timings.READING].seconds == 5.0
    clocks[timings.READING].leave()
    clocks.now = 9.0
    with timings.step(timings.READING):
        clocks.now = 10.0
    assert timings.recorded() == [Step(timings.READING, 0.0, 10.0, 6.0)]
    assert timings.recorded(since=4.0) == [Step(timings.READING, 4.0, 10.0, 2.0)]
    assert timings.recorded(since=20.0) == []


def test_a_step_that_fails_ends(clocks):
    with pytest.raises(KeyError), timings.step(timings.WRITING):
        raise KeyError
    assert not clocks[timings.WRITING].is_running


def test_steps_come_in_the_order_of_a_command(clocks):
    for name in reversed(timings.STEPS):
        with timings.step(name):
            clocks.now += 1.0
    assert [step.name for step in timings.recorded()] == list(timings.STEPS)


@given(
    intervals=st.lists(
        st.tuples(st.sampled_from(timings.STEPS[:3]), st.integers(0, 50), st.integers(0, 20)),
        max_size=8,
    ),
    end=st.integers(1, 60),
)
def test_time_in_no_step_is_what_no_interval_covers(intervals, end):
    made = {name: Clock() for name in timings.STEPS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timings, "_clocks", made)
        for name, begin, length in sorted(intervals, key=lambda interval: interval[1]):
            made[name].add(float(begin), float(begin + length))
        covered = {
            second for _, begin, length in intervals for second in range(begin, begin + length)
        }
        free = sum(second not in covered for second in range(end))
        assert timings.uncounted(0.0, float(end)) == pytest.approx(free)


def test_of_several_workers_the_slowest_counts():
    first = [Step(timings.READING, 1.0, 4.0, 2.0), Step(timings.COMPUTING, 2.0, 3.0, 1.0)]
    second = [Step(timings.READING, 2.0, 9.0, 5.0)]
    assert timings.merged([first, second]) == [
        Step(timings.READING, 1.0, 9.0, 5.0),
        Step(timings.COMPUTING, 2.0, 3.0, 1.0),
    ]


def test_a_report_has_imports_and_workers(clocks):
    reports = []
    clocks.now = timings.process_start() + 1.0
    with timings.reported(reports.append):
        assert timings.are_workers_reported()
        began = clocks.now
        exec("import wave")
        clocks.now += 2.0
        timings.add_workers([[Step(timings.COMPUTING, began, began + 1.5, 1.5)]])
    assert not timings.are_workers_reported()
    (report,) = reports
    content = report.to_json()
    assert [step["step"] for step in content["steps"]] == [timings.STARTING, timings.IMPORTING]
    (computing,) = content["workers"]
    assert (computing["step"], computing["busy"]) == (timings.COMPUTING, 1.5)
    assert content["uncounted"] == pytest.approx(2.0)
    assert content["seconds"] == pytest.approx(clocks.now - report.begin, abs=1e-3)
    lines = report.table().splitlines()
    assert lines[0].split() == ["step", "begin", "end", "busy", "s"]
    assert [line.split()[0] for line in lines[1:]] == [
        "starting", "importing", "workers", "in", "total"
    ]  # fmt: skip


def test_a_process_knows_when_it_was_started():
    age = timings.now() - timings.process_start()
    assert 0 <= age < 3600 * 24
    assert abs(timings.now() - time.time()) < 5
    if os.path.exists("/proc/self/stat"):
        import psutil

        assert timings.process_start() == pytest.approx(psutil.Process().create_time(), abs=2.0)
