"""The operations (many tasks of one name) and submitted runs that a scheduler knows of.

Clients and drivers report them with events, and the scheduler sees their tasks. Running ones are
all kept; of those that ended the last ``MAX_ENDED``, and the number of each state.
"""

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from mgraph.core.formatting import escape
from mgraph.distributed.protocol.run_context import RUN_KEY

MAX_ENDED = 200
STALE_SECONDS = 60.0  # without a task, before an operation or a run counts as ended
COUNTED = ("edges", "arcs")  # units of sizes that tasks count as they go
END_STATES = ("finished", "failed", "cancelled", "lost")
TEXT_LENGTH = 200  # of a name
ERROR_LENGTH = 500
PATH_LENGTH = 4096
CLIENT_GONE = "its client has disconnected"
TASKS_GONE = "its tasks are gone, and no end was reported"


def rounded(value: float) -> float:
    """Round to four significant digits, as many as the page shows."""
    return float(f"{value:.4g}")


def _count(value: Any) -> int:
    """Return a count of an event, or 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0


def _text(value: Any, length: int = TEXT_LENGTH) -> str | None:
    """Return a text of an event, escaped and cut; None for None."""
    return None if value is None else escape(str(value)[:length])[:length]


@dataclass
class Operation:
    """Many tasks of one name; times are in seconds since 1970.

    folder: what is written, or else read. parts, size: the totals; unit: the unit of the size.
    announced: whether an event said that it began. has_failed_task: whether one of its tasks
    failed. done: the parts that are finished, of which only the number is kept after the end
    (done_parts). under_way: how many parts of mean size the unfinished ones have counted.
    last_seen: when it last had tasks.
    """

    name: str
    verb: str
    began: float
    parts: int = 0
    size: int = 0
    unit: str = "parts"
    run: str | None = None
    folder: str | None = None
    client: str | None = None
    announced: bool = False
    has_failed_task: bool = False
    state: str = "running"
    error: str | None = None
    ended: float | None = None
    done: set[Any] = field(default_factory=set)
    done_parts: int = 0
    under_way: float = 0.0
    last_seen: float = 0.0

    @property
    def finished_parts(self) -> int:
        """How many parts are finished."""
        return len(self.done) or self.done_parts

    @property
    def all_parts(self) -> int:
        """How many parts there are; 0 while that is not known."""
        return self.parts or (self.finished_parts if self.state == "finished" else 0)

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1; None while the number of parts is not known."""
        parts = self.all_parts
        return min((self.finished_parts + self.under_way) / parts, 1.0) if parts else None

    def row(self, now: float) -> dict[str, Any]:
        """Return the page's row. rate: units per second; left: seconds."""
        parts, share = self.all_parts, self.share
        seconds = max((self.ended or now) - self.began, 1e-3)
        size = self.size if self.unit != "parts" else parts
        rate = size * share / seconds if share else None
        left = seconds / share - seconds if share and self.state == "running" else None
        return {
            "name": self.name,
            "verb": self.verb,
            "run": self.run,
            "folder": self.folder,
            "state": self.state,
            "began": round(self.began, 1),
            "seconds": round(seconds, 1),
            "done": self.finished_parts,
            "parts": parts,
            "share": None if share is None else rounded(share),
            "unit": self.unit,
            "size": size,
            "rate": None if rate is None else rounded(rate),
            "left": None if left is None else rounded(left),
            "error": self.error,
        }


@dataclass
class Run:
    """A submitted workflow, as its events report it."""

    name: str
    began: float
    script: str | None = None
    attempt: int = 1
    state: str = "running"
    error: str | None = None
    ended: float | None = None
    last_seen: float = 0.0
    host: str | None = None
    folder: str | None = None  # of the runs, on the host

    def row(self, now: float) -> dict[str, Any]:
        """Return the page's row."""
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


class EndedJobs(OrderedDict[str, Job], Generic[Job]):
    """The last ``MAX_ENDED`` jobs that ended, by name, in the order of their ends."""

    def keep(self, job: Job) -> None:
        """Add a job, and drop the oldest one if there are too many."""
        self[job.name] = job
        self.move_to_end(job.name)
        while len(self) > MAX_ENDED:
            self.popitem(last=False)


class Jobs:
    """All operations and runs that a scheduler knows of."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Start without any."""
        self._clock = clock
        self.operations: dict[str, Operation] = {}
        self.runs: dict[str, Run] = {}
        self.ended: EndedJobs[Operation] = EndedJobs()
        self.ended_runs: EndedJobs[Run] = EndedJobs()
        self.counts: Counter[str] = Counter(dict.fromkeys(END_STATES, 0))
        self.run_counts: Counter[str] = Counter(dict.fromkeys(END_STATES, 0))
        self._ended_parts = 0

    @property
    def parts_done(self) -> int:
        """The parts that were finished since the scheduler started; never decreases."""
        running = sum(len(operation.done) for operation in self.operations.values())
        return self._ended_parts + running

    def receive(self, event: Any) -> None:
        """Take an event; one that is not mgraph's is ignored."""
        if not isinstance(event, dict):
            return
        state = event.get("state")
        if state != "running" and state not in END_STATES:
            return
        if isinstance(event.get("operation"), str):
            self._receive_operation(event, event["operation"], state)
        elif isinstance(event.get("run"), str):
            self._receive_run(event, event["run"][:TEXT_LENGTH], state)

    def replay(self, events: Iterable[tuple[float, Any]], clients: Container[str]) -> None:
        """Take events from before the monitor started, each with its time.

        clients: those that are still connected.
        """
        clock = self._clock
        for moment, event in events:
            self._clock = lambda moment=moment: moment  # type: ignore[misc]
            self.receive(event)
        self._clock = clock
        for client in {operation.client for operation in self.operations.values()}:
            if client is not None and client not in clients:
                self.remove_client(client)

    def _receive_operation(self, event: dict[str, Any], name: str, state: str) -> None:
        if state == "running":
            if name in self.ended:  # the event is late, or its client has reconnected
                return
            operation = self.operations.get(name) or self._begin(name)
            operation.announced = True
            operation.verb = _text(event.get("verb")) or operation.verb
            operation.parts = _count(event.get("parts"))
            operation.size = _count(event.get("size"))
            operation.unit = _text(event.get("unit")) or "parts"
            operation.run = _text(event.get("run"))
            operation.folder = _text(event.get("folder"), PATH_LENGTH)
            operation.client = _text(event.get("client"))
        elif name in self.operations:
            self._end(self.operations[name], state, _text(event.get("error"), ERROR_LENGTH))
        elif name in self.ended and self.ended[name].state == "lost":
            operation = self.ended[name]  # it was not lost: its client reports the end
            self.counts["lost"] -= 1
            self.counts[state] += 1
            operation.state, operation.error = state, _text(event.get("error"), ERROR_LENGTH)

    def _receive_run(self, event: dict[str, Any], name: str, state: str) -> None:
        now = self._clock()
        run = self.runs.get(name) or self.ended_runs.pop(name, None) or Run(name, now)
        run.script = _text(event.get("script")) or run.script
        run.attempt = _count(event.get("attempt")) or run.attempt
        run.host = _text(event.get("host")) or run.host
        run.folder = _text(event.get("folder"), PATH_LENGTH) or run.folder
        if run.state != "running":
            self.run_counts[run.state] -= 1
        run.state, run.error = state, _text(event.get("error"), ERROR_LENGTH)
        if state == "running":
            run.ended, run.last_seen = None, now
            self.runs[name] = run
        else:
            self._end_run(run, state)

    def record_part(self, name: Any, part: Any, failed: bool) -> None:
        """Record that a task has finished or failed. Called for each task, so it must be fast."""
        operation = self.operations.get(name)
        if operation is None:
            if not isinstance(name, str) or not name.startswith("mgraph-") or name in self.ended:
                return
            operation = self._begin(name)
        if failed:
            operation.has_failed_task = True
        else:
            operation.done.add(part)

    def record_counts(self, counts: Iterable[Any]) -> None:
        """Take what running tasks have counted so far: (operation, part, edges) of each."""
        parts: Counter[str] = Counter()
        for name, part, edges in counts:
            operation = self.operations.get(name)
            if operation is None or operation.unit not in COUNTED or part in operation.done:
                continue
            if operation.size:
                parts[name] += min(edges * operation.parts / operation.size, 1)
        for name, operation in self.operations.items():
            operation.under_way = parts[name]

    def _begin(self, name: str) -> Operation:
        now, name = self._clock(), name[:TEXT_LENGTH]
        match = re.fullmatch(r"mgraph-(.+?)(-\d+)?", name)
        operation = Operation(name, match[1] if match else name, now, last_seen=now)
        self.operations[name] = operation
        return operation

    def _end(self, operation: Operation, state: str, error: str | None = None) -> None:
        operation.state, operation.error, operation.ended = state, error, self._clock()
        operation.under_way = 0
        operation.done_parts = len(operation.done)
        if state == "finished" and operation.announced:  # the last tasks may not be recorded yet
            operation.done_parts = operation.parts
        self._ended_parts += operation.done_parts
        operation.done = set()
        self.operations.pop(operation.name, None)
        self.ended.keep(operation)
        self.counts[state] += 1

    def _end_run(self, run: Run, state: str, error: str | None = None) -> None:
        run.state, run.error, run.ended = state, error or run.error, self._clock()
        self.runs.pop(run.name, None)
        self.ended_runs.keep(run)
        self.run_counts[state] += 1

    def remove_client(self, client: str) -> None:
        """Record as lost the operations that a disconnected client had begun and not ended."""
        for operation in list(self.operations.values()):
            if operation.client == client:
                self._end(operation, "lost", CLIENT_GONE)

    def end_stale(self, scheduler: Any) -> None:
        """End the jobs that have no tasks any more and whose end was not reported.

        Called with each sample.
        """
        now = self._clock()
        for operation in list(self.operations.values()):
            group = scheduler.task_groups.get(operation.name)
            if group is not None:
                operation.last_seen = now
                if not operation.announced:
                    operation.parts = max(operation.parts, sum(group.states.values()))
            is_over = group is None or group.done
            is_stale = now - operation.last_seen > STALE_SECONDS
            if (is_over and not operation.announced) or is_stale:
                if operation.has_failed_task:
                    self._end(operation, "failed")
                elif len(operation.done) >= operation.parts:
                    self._end(operation, "finished")
                else:
                    self._end(operation, "lost", TASKS_GONE)
        for run in list(self.runs.values()):
            if f"{RUN_KEY}{run.name}" in scheduler.tasks:
                run.last_seen = now
            elif now - run.last_seen > STALE_SECONDS:
                self._end_run(run, "lost", TASKS_GONE)

    def run(self, name: str) -> Run | None:
        """Return a run by its ID."""
        return self.runs.get(name) or self.ended_runs.get(name)

    def progress(self) -> float | None:
        """Return how many percent of the operation that began last, and still runs, are done."""
        for operation in reversed(self.operations.values()):
            if operation.share is not None:
                return 100 * operation.share
        return None

    def rows(self, now: float) -> dict[str, list[dict[str, Any]]]:
        """Return the page's rows: running jobs, then ended ones, the latest first."""
        runs = [*reversed(self.runs.values()), *reversed(self.ended_runs.values())]
        operations = [*reversed(self.operations.values()), *reversed(self.ended.values())]
        return {
            "runs": [run.row(now) for run in runs],
            "operations": [operation.row(now) for operation in operations],
        }
