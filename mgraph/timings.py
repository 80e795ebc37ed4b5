"""The timeline of a process: when it imported, compiled, read, copied, computed and wrote.

A step is a named clock that runs while at least one thread is in it, so that steps of several
threads count once, and different steps may overlap. Every process records its steps all the time,
at about a microsecond per entry: what is entered is a block of rows, a launch or a file, never a
row. ``mgraph COMMAND --timings`` prints them; docs/timings.md has the minimum of each step.

Times are seconds since the epoch, so that those of several processes compare, read from a clock
that never goes back.
"""

import builtins
import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

# In the order in which a command reaches them. ``starting`` is the interpreter's and the command
# line's own start; ``importing`` that of libraries which a command needs.
STARTING, IMPORTING, CONNECTING, COMPILING = "starting", "importing", "connecting", "compiling"
LOADING, READING, COPYING, BUILDING = "loading code", "reading", "copying", "building"
REHEARSING = "rehearsing"
COMPUTING, WRITING = "computing", "writing"
WAITING = "waiting for workers"
STEPS = (
    STARTING, IMPORTING, CONNECTING, COMPILING, LOADING, READING, COPYING, BUILDING, REHEARSING,
    COMPUTING, WRITING, WAITING,
)  # fmt: skip
_MAX_INTERVALS = 4096  # kept per step
_MIN_GAP = 1e-3  # seconds between two intervals that are kept apart
_OFFSET = time.time() - time.perf_counter()


def now() -> float:
    """Return the time, in seconds since the epoch."""
    return _OFFSET + time.perf_counter()


class Clock:
    """A clock that runs while at least one thread is in it; overlaps count once."""

    def __init__(self) -> None:
        """Stop the clock at 0. Its ``on_enter`` is called each time that a thread enters."""
        self.on_enter: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._inside, self._since, self._total = 0, 0.0, 0.0
        self._intervals: deque[tuple[float, float]] = deque(maxlen=_MAX_INTERVALS)

    def enter(self) -> None:
        """Start the clock for this thread; calls nest."""
        with self._lock:
            if not self._inside:
                self._since = now()
            self._inside += 1
        self.on_enter()

    def leave(self) -> None:
        """Stop the clock for this thread."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._record(self._since, now())

    def _record(self, begin: float, end: float) -> None:
        self._total += end - begin
        if self._intervals and begin - self._intervals[-1][1] < _MIN_GAP:
            last_begin, last_end = self._intervals.pop()
            begin, end = min(begin, last_begin), max(end, last_end)
        self._intervals.append((begin, end))

    def add(self, begin: float, end: float) -> None:
        """Count an interval that was measured in another way."""
        with self._lock:
            self._record(begin, end)

    @property
    def is_running(self) -> bool:
        """Whether a thread is in the clock now."""
        return self._inside > 0

    @property
    def seconds(self) -> float:
        """The seconds that the clock has run in this process, until now."""
        with self._lock:
            current = now() - self._since if self._inside else 0.0
            return self._total + current

    def intervals(self, since: float = 0.0) -> list[tuple[float, float]]:
        """Return when the clock ran after ``since``, gaps below a millisecond left out."""
        with self._lock:
            intervals = [*self._intervals]
            if self._inside:
                intervals.append((self._since, now()))
        return [(max(begin, since), end) for begin, end in intervals if end > since]

    @contextlib.contextmanager
    def span(self) -> Iterator[None]:
        """Run the clock for the length of a block."""
        self.enter()
        try:
            yield
        finally:
            self.leave()


_clocks = {name: Clock() for name in STEPS}


def clock(name: str) -> Clock:
    """Return the clock of a step of this process."""
    return _clocks[name]


def step(name: str) -> contextlib.AbstractContextManager[None]:
    """Count the time of a block for a step, one of ``STEPS``."""
    return _clocks[name].span()


class Step(NamedTuple):
    """A step of a process or of several: when it began first and ended last, and what it took.

    busy: the seconds in which it ran; of several processes, those of the one that took longest.
    """

    name: str
    begin: float
    end: float
    busy: float


def recorded(since: float = 0.0) -> list[Step]:
    """Return the steps of this process since a point in time, in the order of ``STEPS``."""
    steps = []
    for name, step_clock in _clocks.items():
        if intervals := step_clock.intervals(since):
            busy = sum(end - begin for begin, end in intervals)
            steps.append(Step(name, intervals[0][0], intervals[-1][1], busy))
    return steps


def merged(processes: Iterable[Iterable[Step]]) -> list[Step]:
    """Return the steps of several processes that worked side by side."""
    by_name: dict[str, list[Step]] = {}
    for steps in processes:
        for item in steps:
            by_name.setdefault(item.name, []).append(item)
    return [
        Step(name, min(s.begin for s in same), max(s.end for s in same), max(s.busy for s in same))
        for name in STEPS
        if (same := by_name.get(name))
    ]


def uncounted(begin: float, end: float) -> float:
    """Return the seconds of an interval in which this process was in no step."""
    covered, reached = 0.0, begin
    for first, last in sorted(
        interval for step_clock in _clocks.values() for interval in step_clock.intervals(begin)
    ):
        covered += max(0.0, min(last, end) - max(first, reached))
        reached = max(reached, last)
    return max(0.0, end - begin - covered)


def process_start() -> float:
    """Return when this process was started; where that is unknown, when this module was imported.

    On Linux to 10 ms, from the kernel's clock of the time since the machine's start.
    """
    try:
        with open("/proc/self/stat") as stream:
            ticks = int(stream.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return _imported
    return now() - max(age, 0.0)


_imported = now()
_are_workers_reported = False
_workers: list[list[Step]] = []  # of the workers of operations that this process ran


@contextlib.contextmanager
def reported(receive: Callable[["Report"], None]) -> Iterator[None]:
    """Record imports and the steps of workers as well in a block, and report when it ends.

    Until the block, what this process did counts as starting.
    """
    global _are_workers_reported
    clock(STARTING).add(process_start(), now())
    original, importing = builtins.__import__, clock(IMPORTING)

    def timed_import(*arguments: Any, **options: Any) -> Any:
        with importing.span():
            return original(*arguments, **options)

    builtins.__import__ = timed_import
    _are_workers_reported = True
    try:
        yield
    finally:
        _are_workers_reported = False
        builtins.__import__ = original
        receive(report())


def are_workers_reported() -> bool:
    """Whether operations should fetch what their workers recorded, for ``add_workers``."""
    return _are_workers_reported


def add_workers(workers: Iterable[list[Step]]) -> None:
    """Add the steps of workers to this process's report."""
    _workers.extend(workers)


class Report(NamedTuple):
    """The timeline of a command: of this process, and of its operations' workers together.

    begin, end: of the command, from the start of its process. uncounted: seconds of it in which
    this process was in no step; where it waited for workers, they were.
    """

    command: str
    begin: float
    end: float
    steps: list[Step]
    workers: list[Step]
    uncounted: float

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON's types; times are seconds since the command's begin."""

        def listed(steps: list[Step]) -> list[dict[str, Any]]:
            return [
                {
                    "step": item.name,
                    "begin": round(item.begin - self.begin, 4),
                    "end": round(item.end - self.begin, 4),
                    "busy": round(item.busy, 4),
                }
                for item in steps
            ]

        return {
            "command": self.command,
            "started": self.begin,
            "seconds": round(self.end - self.begin, 4),
            "steps": listed(self.steps),
            "workers": listed(self.workers),
            "uncounted": round(self.uncounted, 4),
        }

    def table(self) -> str:
        """Return the report as lines of text."""
        lines = [f"{'step':24s} {'begin':>8s} {'end':>8s} {'busy':>8s} s"]
        for prefix, steps in (("", self.steps), ("workers ", self.workers)):
            for name, begin, end, busy in steps:
                times = f"{begin - self.begin:8.3f} {end - self.begin:8.3f} {busy:8.3f}"
                lines.append(f"{prefix + name:24s} {times}")
        lines.append(f"{'in no step':24s} {'':8s} {'':8s} {self.uncounted:8.3f}")
        total = self.end - self.begin
        lines.append(f"{'total':24s} {0:8.3f} {total:8.3f} {total:8.3f}")
        return "\n".join(lines)


def report() -> Report:
    """Return the timeline of this process until now."""
    begin, end = process_start(), now()
    command = " ".join(["mgraph", *sys.argv[1:]])
    steps = recorded(begin)
    return Report(command, begin, end, steps, merged(_workers), uncounted(begin, end))
