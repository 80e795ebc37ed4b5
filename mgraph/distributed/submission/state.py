"""The states of a submitted run, who may write them, and the function that judges them.

It judges for commands; the page /mgraph shows what the scheduler sees (monitoring/jobs.py).

``submitted``: written by the client that submits, before the scheduler has the driver's task.
``running``: by the driver, when an attempt begins.
``finished``, ``failed``, ``cancelled``: by the driver of the newest attempt, as long as its
scheduler has not cancelled its task; or by a client, if no driver has begun, or its task failed.
``lost``: judged; ``mgraph cancel`` of a lost run writes the state into the record.

A record may say that a run is running when nothing works on it any more: a driver that was killed
writes nothing. ``judge`` decides that from the record and from ``Evidence``; its callers only
gather the evidence.
"""

from dataclasses import dataclass

WAITING = ("waiting", "queued", "no-worker")  # a task's states in Dask before a worker has it
UNFINISHED = (*WAITING, "processing")
ARRIVAL_SECONDS = 3.0  # for a driver's task to reach the scheduler
SILENCE_SECONDS = 20.0  # without a heartbeat of the driver, if no scheduler can be asked


@dataclass(frozen=True)
class SchedulerView:
    """The answer of a scheduler about a run.

    is_same_scheduler: whether it is the one that the run was submitted to, not another at its
    address. has_same_address: whether it answers at that address. task: the state of the driver's
    task, or None if the scheduler has no such task.
    """

    is_same_scheduler: bool
    has_same_address: bool
    task: str | None = None


@dataclass(frozen=True)
class Evidence:
    """What is known of a run besides its record.

    scheduler: None if none can be asked. submitted_age: seconds since the run was submitted.
    heartbeat_age: seconds since its driver's last heartbeat; None without any. is_local: whether
    its folder is on this machine, so that a missing heartbeat is evidence. is_refused: whether
    nothing listens at its scheduler's address.
    """

    scheduler: SchedulerView | None
    submitted_age: float
    heartbeat_age: float | None
    is_local: bool
    is_refused: bool


def judge(state: str, evidence: Evidence) -> str:
    """Return the state of a run whose record has ``state``: the same, or ``lost``."""
    if state not in ("submitted", "running"):
        return state
    return state if _has_driver(state, evidence) else "lost"


def _has_driver(state: str, evidence: Evidence) -> bool:
    """Return whether a driver works on the run, or will."""
    scheduler = evidence.scheduler
    if scheduler is not None and scheduler.is_same_scheduler:
        return scheduler.task in UNFINISHED or evidence.submitted_age < ARRIVAL_SECONDS
    if scheduler is not None and scheduler.has_same_address and state == "submitted":
        return False  # the scheduler that had its task has been replaced
    if not evidence.is_local:
        return True  # nothing here contradicts the record
    if state == "submitted":
        return not evidence.is_refused
    return evidence.heartbeat_age is not None and evidence.heartbeat_age < SILENCE_SECONDS
