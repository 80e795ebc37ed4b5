"""What runs on a cluster and what ran: operations (many tasks of one name) and submitted runs.

The scheduler is told of them by messages, and sees their tasks. Those that run are all kept; of
those that ended the last ``KEPT``, and counts of all.
"""

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from mgraph.core.formatting import escape
from mgraph.distributed.protocol.run_context import RUN_KEY

KEPT = 200
SETTLE_SECONDS = 60.0  # without a task before something is taken for ended
ENDS = ("finished", "failed", "cancelled", "lost")
TEXT = 200  # characters of a name that are kept
ERROR_TEXT = 500
GONE = "its client is gone"
VANISHED = "its tasks are gone, and nobody said what became of it"


def rounded(value: float) -> float:
    """Four digits, which is what a page shows."""
    return float(f"{value:.4g}")


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0


def _text(value: Any, most: int = TEXT) -> str | None:
    return None if value is None else escape(str(value)[:most])[:most]


@dataclass
class Operation:
    """Many tasks of one name. done: the parts that are; times are the clock's, in seconds."""

    name: str
    verb: str
    began: float
    parts: int = 0
    size: int = 0
    unit: str = "parts"
    run: str | None = None
    client: str | None = None
    told: bool = False  # whether a message said that it began
    failed: bool = False  # whether a task of it failed
    state: str = "running"
    error: str | None = None
    ended: float | None = None
    done: set[Any] = field(default_factory=set)
    done_parts: int = 0
    seen: float = 0.0  # when it had tasks last

    def row(self, now: float) -> dict[str, Any]:
        """For the page. share: of the parts that are done; rate: units a second; left: seconds."""
        done = len(self.done) or self.done_parts
        seconds = max((self.ended or now) - self.began, 1e-3)
        share = min(done / self.parts, 1.0) if self.parts else None
        size = self.size if self.unit != "parts" else self.parts
        rate = size * share / seconds if share else None
        left = seconds / share - seconds if share and self.state == "running" else None
        return {
            "name": self.name,
            "verb": self.verb,
            "run": self.run,
            "state": self.state,
            "began": round(self.began, 1),
            "seconds": round(seconds, 1),
            "done": done,
            "parts": self.parts,
            "share": None if share is None else rounded(share),
            "unit": self.unit,
            "size": size,
            "rate": None if rate is None else rounded(rate),
            "left": None if left is None else rounded(left),
            "error": self.error,
        }


@dataclass
class Run:
    """A submitted workflow, by its messages."""

    name: str
    began: float
    script: str | None = None
    attempt: int = 1
    state: str = "running"
    error: str | None = None
    ended: float | None = None
    seen: float = 0.0

    def row(self, now: float) -> dict[str, Any]:
        """For the page."""
        return {
            "run": self.name,
            "script": self.script,
            "attempt": self.attempt,
            "state": self.state,
            "began": round(self.began, 1),
            "seconds": round((self.ended or now) - self.began, 1),
            "error": self.error,
        }


Job = TypeVar("Job", Operation, Run)


class Ended(OrderedDict[str, Job], Generic[Job]):
    """The last ``KEPT`` that ended, by name, the latest last."""

    def keep(self, job: Job) -> None:
        """Add one; the oldest goes where there are too many."""
        self[job.name] = job
        self.move_to_end(job.name)
        while len(self) > KEPT:
            self.popitem(last=False)


class Jobs:
    """All operations and runs that a scheduler heard of."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Nothing yet."""
        self._clock = clock
        self.operations: dict[str, Operation] = {}
        self.runs: dict[str, Run] = {}
        self.ended: Ended[Operation] = Ended()
        self.ended_runs: Ended[Run] = Ended()
        self.counts: Counter[str] = Counter(dict.fromkeys(ENDS, 0))
        self.run_counts: Counter[str] = Counter(dict.fromkeys(ENDS, 0))
        self._parts_before = 0

    @property
    def parts_done(self) -> int:
        """Parts that were finished since the scheduler began; never falls."""
        running = sum(len(operation.done) for operation in self.operations.values())
        return self._parts_before + running

    def hear(self, message: Any) -> None:
        """Take a message; what is not one of ours is left alone."""
        if not isinstance(message, dict):
            return
        state = message.get("state")
        if state != "running" and state not in ENDS:
            return
        if isinstance(message.get("operation"), str):
            self._hear_operation(message, message["operation"], state)
        elif isinstance(message.get("run"), str):
            self._hear_run(message, message["run"][:TEXT], state)

    def replay(self, events: Iterable[tuple[float, Any]], clients: Container[str]) -> None:
        """Take the messages of the time before, each with its time; clients: those still there."""
        clock = self._clock
        for when, message in events:
            self._clock = lambda when=when: when  # type: ignore[misc]
            self.hear(message)
        self._clock = clock
        for client in {operation.client for operation in self.operations.values()}:
            if client is not None and client not in clients:
                self.client_gone(client)

    def _hear_operation(self, message: dict[str, Any], name: str, state: str) -> None:
        if state == "running":
            if name in self.ended:  # heard late, or its client came back
                return
            operation = self.operations.get(name) or self._begin(name)
            operation.told = True
            operation.verb = _text(message.get("verb")) or operation.verb
            operation.parts = _whole(message.get("parts"))
            operation.size = _whole(message.get("size"))
            operation.unit = _text(message.get("unit")) or "parts"
            operation.run = _text(message.get("run"))
            operation.client = _text(message.get("client"))
        elif name in self.operations:
            self._end(self.operations[name], state, _text(message.get("error"), ERROR_TEXT))
        elif name in self.ended and self.ended[name].state == "lost":
            operation = self.ended[name]  # it was not: its client says so
            self.counts["lost"] -= 1
            self.counts[state] += 1
            operation.state, operation.error = state, _text(message.get("error"), ERROR_TEXT)

    def _hear_run(self, message: dict[str, Any], name: str, state: str) -> None:
        now = self._clock()
        run = self.runs.get(name) or self.ended_runs.pop(name, None) or Run(name, now)
        run.script = _text(message.get("script")) or run.script
        run.attempt = _whole(message.get("attempt")) or run.attempt
        if run.state != "running":
            self.run_counts[run.state] -= 1
        run.state, run.error = state, _text(message.get("error"), ERROR_TEXT)
        if state == "running":
            run.ended, run.seen = None, now
            self.runs[name] = run
        else:
            self._end_run(run, state)

    def part(self, name: Any, part: Any, failed: bool) -> None:
        """A task is done, or failed. Called for each, so it takes no time."""
        operation = self.operations.get(name)
        if operation is None:
            if not isinstance(name, str) or not name.startswith("mgraph-") or name in self.ended:
                return
            operation = self._begin(name)
        if failed:
            operation.failed = True
        else:
            operation.done.add(part)

    def _begin(self, name: str) -> Operation:
        now, name = self._clock(), name[:TEXT]
        found = re.fullmatch(r"mgraph-(.+?)(-\d+)?", name)
        operation = Operation(name, found[1] if found else name, now, seen=now)
        self.operations[name] = operation
        return operation

    def _end(self, operation: Operation, state: str, error: str | None = None) -> None:
        operation.state, operation.error, operation.ended = state, error, self._clock()
        operation.done_parts = len(operation.done)
        if state == "finished" and operation.told:  # the last tasks' end may be on its way
            operation.done_parts = operation.parts
        self._parts_before += operation.done_parts
        operation.done = set()
        self.operations.pop(operation.name, None)
        self.ended.keep(operation)
        self.counts[state] += 1

    def _end_run(self, run: Run, state: str, error: str | None = None) -> None:
        run.state, run.error, run.ended = state, error or run.error, self._clock()
        self.runs.pop(run.name, None)
        self.ended_runs.keep(run)
        self.run_counts[state] += 1

    def client_gone(self, client: str) -> None:
        """What a client has begun and not ended is lost."""
        for operation in [its for its in self.operations.values() if its.client == client]:
            self._end(operation, "lost", GONE)

    def settle(self, scheduler: Any) -> None:
        """Called now and then: end what has no tasks any more and whose end nobody told."""
        now = self._clock()
        for operation in list(self.operations.values()):
            group = scheduler.task_groups.get(operation.name)
            if group is not None:
                operation.seen = now
                if not operation.told:
                    operation.parts = max(operation.parts, sum(group.states.values()))
            over = group is None or group.done
            if (over and not operation.told) or now - operation.seen > SETTLE_SECONDS:
                if operation.failed:
                    self._end(operation, "failed")
                elif len(operation.done) >= operation.parts:
                    self._end(operation, "finished")
                else:
                    self._end(operation, "lost", VANISHED)
        for run in list(self.runs.values()):
            if f"{RUN_KEY}{run.name}" in scheduler.tasks:
                run.seen = now
            elif now - run.seen > SETTLE_SECONDS:
                self._end_run(run, "lost", VANISHED)

    def rows(self, now: float) -> dict[str, list[dict[str, Any]]]:
        """Runs and operations for the page: what runs, then what ended, the latest first."""
        runs = [*reversed(self.runs.values()), *reversed(self.ended_runs.values())]
        operations = [*reversed(self.operations.values()), *reversed(self.ended.values())]
        return {
            "runs": [run.row(now) for run in runs],
            "operations": [operation.row(now) for operation in operations],
        }
