"""A run's state is judged by a table, for every combination of the evidence."""

from itertools import product

import pytest

from mgraph.distributed.submission.state import Evidence, SchedulerView, judge
from mgraph.io.run_folder import ENDED

TASKS = ("waiting", "queued", "no-worker", "processing", "memory", "erred", "released", None)
OURS = [SchedulerView(True, there, task) for there in (True, False) for task in TASKS]
OTHERS = [SchedulerView(False, there) for there in (True, False)]
YOUNG, OLD = 1.0, 100.0
ALIVE, SILENT, NEVER = 5.0, 60.0, None

EVERYTHING = [
    Evidence(*known)
    for known in product(
        [None, *OURS, *OTHERS], (YOUNG, OLD), (ALIVE, SILENT, NEVER), (True, False), (True, False)
    )
]

# The first line that fits decides.
TABLE = [
    ("its scheduler has the task", lambda state, e: has_task(e), "unchanged"),
    (
        "its scheduler may not have it yet",
        lambda state, e: in_ours(e) and e.submitted_age == YOUNG,
        "unchanged",
    ),
    ("its scheduler has forgotten the task", lambda state, e: in_ours(e), "lost"),
    (
        "its scheduler was replaced before it began",
        lambda state, e: state == "submitted" and replaced(e),
        "lost",
    ),
    ("its folder is elsewhere, so nothing is known", lambda state, e: not e.is_local, "unchanged"),
    (
        "nothing listens where it was submitted to",
        lambda state, e: state == "submitted" and e.is_refused,
        "lost",
    ),
    ("it has not begun", lambda state, e: state == "submitted", "unchanged"),
    ("its driver is alive", lambda state, e: e.heartbeat_age == ALIVE, "unchanged"),
    ("its driver is silent", lambda state, e: True, "lost"),
]


def in_ours(evidence):
    return evidence.scheduler is not None and evidence.scheduler.is_same_scheduler


def has_task(evidence):
    return in_ours(evidence) and evidence.scheduler.task in TASKS[:4]


def replaced(evidence):
    return (
        evidence.scheduler is not None
        and not evidence.scheduler.is_same_scheduler
        and evidence.scheduler.has_same_address
    )


@pytest.mark.parametrize("state", ["submitted", "running"])
def test_a_run_that_has_not_ended_is_judged_by_the_table(state):
    decided = dict.fromkeys((name for name, *_ in TABLE), 0)
    for evidence in EVERYTHING:
        name, verdict = next(
            (name, verdict) for name, fits, verdict in TABLE if fits(state, evidence)
        )
        decided[name] += 1
        expected = state if verdict == "unchanged" else "lost"
        assert judge(state, evidence) == expected, (name, evidence)
    of_the_other = {
        "submitted": {"its driver is alive", "its driver is silent"},
        "running": {
            "its scheduler was replaced before it began",
            "nothing listens where it was submitted to",
            "it has not begun",
        },
    }
    assert {name for name, count in decided.items() if not count} == of_the_other[state]


@pytest.mark.parametrize("state", ENDED)
def test_a_run_that_has_ended_keeps_its_state(state):
    assert {judge(state, evidence) for evidence in EVERYTHING} == {state}
