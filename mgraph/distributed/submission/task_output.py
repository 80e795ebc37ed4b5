"""What the tasks of a submitted run print, on its way from the workers into the run's log.

A run's tasks are annotated with its ID by the process of its script (``run_script``). A worker has
that annotation in force while it executes them, so that the tasks that they start have it as well.
Dask's spans would do so, too, but tasks of one name share one span, of whichever run. Where code of
such a task prints, or logs to the standard error, the line goes to the driver as an event of the
scheduler, whose topic is the run's alone, and the driver writes it to the run's log with the
worker's name before it. It does not go to the worker's own output as well, which keeps what is not
of a run; so runs that share a cluster share no lines. What code outside Python prints, or a thread
that a task starts, or a task that another thread of the script than its first has submitted, stays
in the worker's own output.

It is bounded: a worker sends ``BURST`` bytes of a run at once and ``RATE`` per second after that.
Lines beyond stay in the worker's own output, and the log says how many. The scheduler keeps none.
"""

import contextlib
import logging
import os
import secrets
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import IO, Any

from distributed import WorkerPlugin

from mgraph.core.formatting import escape, pluralize
from mgraph.distributed.protocol import broadcast
from mgraph.distributed.protocol.dask_internals import (
    annotate_execution,
    drop_topic_handler,
    limit_topic_on_scheduler,
)
from mgraph.distributed.protocol.run_context import RUN_ANNOTATION

TOPIC = "mgraph-output-"
MARK = b"[worker "  # how a line of a task begins in the log
BURST, RATE = 512 << 10, 32 << 10
LINE_COST = 64  # bytes that a line counts beyond its own
LONGEST = 8 << 10  # characters of a line that has not ended
DRAIN_SECONDS, ASK_SECONDS = 2.0, 1.0
PATIENCE_SECONDS = 1.0  # for a line of the script's own that has not ended
REGISTER_SECONDS = 10.0
MOST_RUNS = 256  # of which a worker knows that they have ended
MOST_EVENTS = 10_000  # that wait for the driver

_lock = threading.RLock()
_workers: list[Any] = []  # this process's


class TaskOutput(WorkerPlugin):
    """Takes what a worker's tasks print; reaches workers that join or restart later, too."""

    name = "mgraph-task-output"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Put streams of ours in front of the process's own."""
        worker.mgraph_outputs = _Outputs(worker)
        annotate_execution(worker, RUN_ANNOTATION)
        with _lock:
            _workers.append(worker)
            if len(_workers) == 1:
                _take_over()

    def teardown(self, worker: Any) -> None:
        """Give them back when the process's last worker goes."""
        worker.__dict__.pop("execute", None)
        with _lock, contextlib.suppress(ValueError):
            _workers.remove(worker)
            if not _workers:
                _give_back()


def _take_over() -> None:
    for name in ("stdout", "stderr"):
        own = getattr(sys, name)
        if own is not None and not isinstance(own, _Stream):
            setattr(sys, name, _Stream(own))
            _point_handlers(own, getattr(sys, name))


def _give_back() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Stream):
            setattr(sys, name, stream.own)
            _point_handlers(stream, stream.own)


def _point_handlers(before: Any, after: Any) -> None:
    """Have the root logger write to another stream."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is before:
            handler.setStream(after)


class _Stream:
    """Stands for the standard output, or error, of a worker's process. own: what was there."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        if name == "own":  # of one that is not made yet
            raise AttributeError(name)
        return getattr(self.own, name)

    def __reduce__(self) -> Any:
        """In another process it is that one's own stream."""
        return _standard_stream, ("stdout" if self is sys.stdout else "stderr",)

    def write(self, text: str) -> int:
        """As a file's: what a run's task writes is sent, the rest is written."""
        output = _of_task() if isinstance(text, str) else None
        if output is not None:
            with contextlib.suppress(OSError, ValueError):  # a full disk, a reader that went away
                for line in output.take(text, self):
                    self.own.write(f"{line}\n")
            return len(text)
        written: int = self.own.write(text)
        return written

    def writelines(self, lines: Any) -> None:
        """As a file's."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """As a file's."""
        self.own.flush()


def _standard_stream(name: str) -> Any:
    return getattr(sys, name)


def _of_task() -> "_Output | None":
    """Where the output of the calling thread's task goes; None for what is of no run."""
    import dask
    from distributed import get_worker

    run_id = dask.get_annotations().get(RUN_ANNOTATION)
    if run_id is None:
        return None
    try:
        outputs = get_worker().mgraph_outputs
    except (ValueError, AttributeError):  # not in a worker, or in one of another process
        return None
    found: _Output | None = outputs.of(str(run_id))
    return found


class _Outputs:
    """Of one worker, by run."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._open: dict[str, _Output] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def of(self, run_id: str) -> "_Output | None":
        """A run's; None where its driver has gone, and takes no more."""
        with _lock:
            if run_id in self._ended:
                return None
            if run_id not in self._open:
                self._open[run_id] = _Output(self._worker, run_id)
            return self._open[run_id]

    def end(self, run_id: str) -> "_Output | None":
        """A run's, if it has any; nothing is taken for it after that."""
        with _lock:
            self._ended[run_id] = None
            while len(self._ended) > MOST_RUNS:
                self._ended.popitem(last=False)
            return self._open.pop(run_id, None)

    def reopen(self, run_id: str) -> None:
        """Take a run's output again."""
        with _lock:
            self._ended.pop(run_id, None)


class _Output:
    """What a worker's tasks of one run print, until it is sent."""

    def __init__(self, worker: Any, run_id: str) -> None:
        self._worker, self._topic = worker, f"{TOPIC}{run_id}"
        self._begun: dict[tuple[int, int], str] = {}  # lines that have not ended, by thread, stream
        self._lines: list[str] = []
        self._left_out = 0
        self._scheduled = False
        self._allowance, self._moment = float(BURST), time.monotonic()

    def take(self, text: str, stream: Any) -> list[str]:
        """Take what is printed; returns the lines that are too many."""
        too_many = []
        key = threading.get_ident(), id(stream)
        with _lock:
            *lines, rest = (self._begun.pop(key, "") + text).split("\n")
            if len(rest) > LONGEST:
                lines, rest = [*lines, rest], ""
            if rest:
                self._begun[key] = rest
            for line in lines:
                if self._allow(len(line) + LINE_COST):
                    self._lines.append(line)
                else:
                    too_many.append(line)
            self._left_out += len(too_many)
            schedule = self._lines and not self._scheduled
            self._scheduled |= bool(schedule)
        if schedule:
            self._worker.loop.add_callback(self.send)
        return too_many

    def _allow(self, cost: int) -> bool:
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + RATE * (now - self._moment))
        self._moment = now
        if cost > self._allowance:
            return False
        self._allowance -= cost
        return True

    def send(self, last: str | None = None) -> None:
        """Runs in the worker's loop. last: what tells the driver that no more comes."""
        with _lock:
            if last is not None:
                self._lines += self._begun.values()
                self._begun.clear()
            lines, left_out = self._lines, self._left_out
            self._lines, self._left_out, self._scheduled = [], 0, False
        message = {
            "worker": str(self._worker.name),
            "lines": [line.encode(errors="backslashreplace").decode() for line in lines],
            "left_out": left_out,
            "last": last,
        }
        self._worker.log_event(self._topic, message)


def drain(run_id: str, token: str, dask_worker: Any) -> bool:
    """Runs on a worker: send what is left of a run, and the token; whether there was any output."""
    outputs = getattr(dask_worker, "mgraph_outputs", None)
    output = outputs.end(run_id) if outputs else None
    if output is not None:
        output.send(token)
    return output is not None


def reopen(run_id: str, dask_worker: Any) -> None:
    """Runs on a worker: take a run's output again, which had ended."""
    outputs = getattr(dask_worker, "mgraph_outputs", None)
    if outputs:
        outputs.reopen(run_id)


class Receiver:
    """Writes what a run's tasks print to its log, for the length of a ``with`` block."""

    def __init__(
        self,
        client: Any,
        run_id: str,
        log: IO[bytes],
        is_current: Callable[[], bool],
        again: bool = False,
    ) -> None:
        """log: opened to append, without a buffer, and to read. again: an earlier attempt ended.

        is_current: whether the run is still this driver's; where not, another writes the log.
        """
        self._client, self._run, self._log, self._again = client, run_id, log, again
        self._is_current = is_current
        self._topic = f"{TOPIC}{run_id}"
        self._events: deque[dict[str, Any]] = deque(maxlen=MOST_EVENTS)
        self._held: float | None = None

    def __enter__(self) -> "Receiver":
        """Have the workers send, and listen; where that fails, lines stay where they are."""

        async def register() -> None:
            limit = limit_topic_on_scheduler()
            await self._client.run_on_scheduler(limit, self._topic, False, asynchronous=True)
            await self._client.register_plugin(TaskOutput())

        with contextlib.suppress(Exception):
            broadcast.print_nothing(self._client)  # it is the worker's, and what it prints is lost
            self._client.subscribe_topic(self._topic, lambda event: self._events.append(event[1]))
            broadcast.in_time(self._client, register, seconds=REGISTER_SECONDS)
            if self._again:
                broadcast.on_workers(self._client, reopen, self._run, seconds=ASK_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Wait, but not for long, for what is under way."""
        if not self._has_run():
            self._leave()
            return
        token = secrets.token_hex(4)
        with contextlib.suppress(Exception):
            answers = broadcast.on_workers(
                self._client, drain, self._run, token, seconds=ASK_SECONDS
            )
            expected = sum(answer is True for answer in answers.values())
            deadline = time.monotonic() + DRAIN_SECONDS
            while sum(one.get("last") == token for one in list(self._events)) < expected:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
        self.write(now=True)
        self._leave()
        with contextlib.suppress(Exception):
            forget = limit_topic_on_scheduler(), self._topic, True
            broadcast.on_scheduler(self._client, *forget, seconds=REGISTER_SECONDS)

    def _has_run(self) -> bool:
        try:
            return self._is_current()
        except Exception:  # of a store that hesitates
            return True

    def _leave(self) -> None:
        with contextlib.suppress(Exception):
            self._client.unsubscribe_topic(self._topic)
            drop_topic_handler(self._client, self._topic)

    def write(self, now: bool = False) -> None:
        """Write what has come. now: even if a line of the script's own has not ended."""
        if not self._events:
            return
        start = b""
        if not self._ends_with_line():
            self._held = self._held or time.monotonic()
            if not now and time.monotonic() - self._held < PATIENCE_SECONDS:
                return
            start = b"\n"
        self._held = None
        events = [self._events.popleft() for _ in range(len(self._events))]
        text = "".join(line for event in events for line in _lines_of(event))
        with contextlib.suppress(OSError):  # of a disk that is full, as the script will find
            if text:
                self._log.write(start + text.encode(errors="backslashreplace"))

    def _ends_with_line(self) -> bool:
        with contextlib.suppress(OSError):
            size = os.fstat(self._log.fileno()).st_size
            return not size or os.pread(self._log.fileno(), 1, size - 1) == b"\n"
        return True


def _lines_of(event: dict[str, Any]) -> Iterator[str]:
    """As they stand in the log."""
    who = f"{MARK.decode()}{escape(str(event['worker']))}]"
    for line in event["lines"]:
        yield f"{who} {line}\n"
    if count := event["left_out"]:
        lines = pluralize(count, "line")
        yield f"{who} {lines} more in this worker's own output: too many at once\n"
