"""What the tasks of a submitted run print, on its way from the workers into the run's log.

The process of a run's script (``run_script``) annotates the run's tasks with the run's ID. A worker
puts the annotation in force while it executes a task, so that the tasks that it starts have it,
too. (Dask's spans would do so as well, but tasks of one name share one span, whatever their run.)
When such a task prints, or logs to the standard error, the worker logs the line as an event of a
topic of the run; the driver receives it, and writes it to the run's log with the worker's name
before it. The line is not also written to the worker's own output, which has only what belongs to
no run, so that concurrent runs do not mix their lines. The output of code outside Python, of a
thread that a task starts, and of a task that another thread than the script's first has submitted,
stays in the worker's own output.

The volume is limited: a worker sends ``BURST`` bytes of a run at once, and ``RATE`` per second
after that. Lines beyond the limit go to the worker's own output, and the log says how many they
are. The scheduler stores none.
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
MARK = b"[worker "  # the beginning of a task's line in the log
BURST, RATE = 512 << 10, 32 << 10
LINE_COST = 64  # bytes that each line counts in addition to its own
MAX_LINE = 8 << 10  # characters, after which a line is sent before its end
DRAIN_SECONDS, ANSWER_SECONDS = 2.0, 1.0
LINE_END_SECONDS = 1.0  # for the script to end a line of its own
REGISTER_SECONDS = 10.0
MAX_ENDED_RUNS = 256  # that a worker remembers
MAX_EVENTS = 10_000  # that the driver has received and not written

_lock = threading.RLock()
_workers: list[Any] = []  # this process's workers


class TaskOutput(WorkerPlugin):
    """Takes what a worker's tasks print; Dask also sets it up on workers that join later."""

    name = "mgraph-task-output"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Replace the process's standard streams."""
        worker.mgraph_outputs = _RunOutputs(worker)
        annotate_execution(worker, RUN_ANNOTATION)
        with _lock:
            _workers.append(worker)
            if len(_workers) == 1:
                _replace_streams()

    def teardown(self, worker: Any) -> None:
        """Restore the standard streams after the process's last worker."""
        worker.__dict__.pop("execute", None)
        with _lock, contextlib.suppress(ValueError):
            _workers.remove(worker)
            if not _workers:
                _restore_streams()


def _replace_streams() -> None:
    for name in ("stdout", "stderr"):
        own = getattr(sys, name)
        if own is not None and not isinstance(own, _Stream):
            setattr(sys, name, _Stream(own))
            _redirect_handlers(own, getattr(sys, name))


def _restore_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Stream):
            setattr(sys, name, stream.own)
            _redirect_handlers(stream, stream.own)


def _redirect_handlers(old: Any, new: Any) -> None:
    """Have the root logger's handlers of one stream write to another."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is old:
            handler.setStream(new)


class _Stream:
    """Replaces the standard output, or error, of a worker's process. own: the replaced stream."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        if name == "own":  # before __init__, as in copy.copy
            raise AttributeError(name)
        return getattr(self.own, name)

    def __reduce__(self) -> Any:
        """Become the standard stream of the process that unpickles it."""
        return _standard_stream, ("stdout" if self is sys.stdout else "stderr",)

    def write(self, text: str) -> int:
        """Send the text to the run's driver if a run's task writes it, else write it."""
        output = _current_output() if isinstance(text, str) else None
        if output is not None:
            with contextlib.suppress(OSError, ValueError):  # a full disk, a closed pipe
                for line in output.add(text, self):
                    self.own.write(f"{line}\n")
            return len(text)
        written: int = self.own.write(text)
        return written

    def writelines(self, lines: Any) -> None:
        """Write lines, as a file does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the replaced stream."""
        self.own.flush()


def _standard_stream(name: str) -> Any:
    return getattr(sys, name)


def _current_output() -> "_RunOutput | None":
    """Return the output of the run that the calling thread's task belongs to, or None."""
    import dask
    from distributed import get_worker

    run_id = dask.get_annotations().get(RUN_ANNOTATION)
    if run_id is None:
        return None
    try:
        outputs = get_worker().mgraph_outputs
    except (ValueError, AttributeError):  # not in a worker, or in one of another process
        return None
    output: _RunOutput | None = outputs.get(str(run_id))
    return output


class _RunOutputs:
    """The outputs of one worker, by run."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._open: dict[str, _RunOutput] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def get(self, run_id: str) -> "_RunOutput | None":
        """Return a run's output; None if its driver has ended and receives nothing any more."""
        with _lock:
            if run_id in self._ended:
                return None
            if run_id not in self._open:
                self._open[run_id] = _RunOutput(self._worker, run_id)
            return self._open[run_id]

    def end(self, run_id: str) -> "_RunOutput | None":
        """Close a run's output; returns it, or None if the run has printed nothing here."""
        with _lock:
            self._ended[run_id] = None
            while len(self._ended) > MAX_ENDED_RUNS:
                self._ended.popitem(last=False)
            return self._open.pop(run_id, None)

    def reopen(self, run_id: str) -> None:
        """Open a run's output again, for another attempt."""
        with _lock:
            self._ended.pop(run_id, None)


class _RunOutput:
    """What a worker's tasks of one run have printed and the worker has not sent."""

    def __init__(self, worker: Any, run_id: str) -> None:
        self._worker, self._topic = worker, f"{TOPIC}{run_id}"
        self._partial: dict[tuple[int, int], str] = {}  # lines without an end, by thread and stream
        self._lines: list[str] = []
        self._omitted = 0
        self._is_scheduled = False
        self._allowance, self._moment = float(BURST), time.monotonic()

    def add(self, text: str, stream: Any) -> list[str]:
        """Add printed text; returns the lines that exceed the limit."""
        excess = []
        key = threading.get_ident(), id(stream)
        with _lock:
            *lines, rest = (self._partial.pop(key, "") + text).split("\n")
            if len(rest) > MAX_LINE:
                lines, rest = [*lines, rest], ""
            if rest:
                self._partial[key] = rest
            for line in lines:
                if self._allow(len(line) + LINE_COST):
                    self._lines.append(line)
                else:
                    excess.append(line)
            self._omitted += len(excess)
            must_schedule = bool(self._lines) and not self._is_scheduled
            self._is_scheduled |= must_schedule
        if must_schedule:
            self._worker.loop.add_callback(self.send)
        return excess

    def _allow(self, cost: int) -> bool:
        """Return whether the limit allows this many bytes now, and subtract them if so."""
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + RATE * (now - self._moment))
        self._moment = now
        if cost > self._allowance:
            return False
        self._allowance -= cost
        return True

    def send(self, last: str | None = None) -> None:
        """Send the lines; runs in the worker's event loop.

        last: the driver's token, which comes back with the last lines.
        """
        with _lock:
            if last is not None:
                self._lines += self._partial.values()
                self._partial.clear()
            lines, omitted = self._lines, self._omitted
            self._lines, self._omitted, self._is_scheduled = [], 0, False
        message = {
            "worker": str(self._worker.name),
            "lines": [line.encode(errors="backslashreplace").decode() for line in lines],
            "omitted": omitted,
            "last": last,
        }
        self._worker.log_event(self._topic, message)


def drain(run_id: str, token: str, dask_worker: Any) -> bool:
    """Runs on a worker: send a run's last lines with the token; returns whether it had output."""
    outputs = getattr(dask_worker, "mgraph_outputs", None)
    output = outputs.end(run_id) if outputs else None
    if output is not None:
        output.send(token)
    return output is not None


def reopen(run_id: str, dask_worker: Any) -> None:
    """Runs on a worker: open a run's output again, for another attempt."""
    outputs = getattr(dask_worker, "mgraph_outputs", None)
    if outputs:
        outputs.reopen(run_id)


class Receiver:
    """Writes what a run's tasks print to the run's log, for the length of a ``with`` block."""

    def __init__(
        self,
        client: Any,
        run_id: str,
        log: IO[bytes],
        is_current: Callable[[], bool],
        is_repeated: bool = False,
    ) -> None:
        """log: opened to read and to append, without a buffer. is_repeated: an attempt has ended.

        is_current: whether the run is at this driver's attempt; otherwise another one writes the
        log.
        """
        self._client, self._run, self._log = client, run_id, log
        self._is_current, self._is_repeated = is_current, is_repeated
        self._topic = f"{TOPIC}{run_id}"
        self._events: deque[dict[str, Any]] = deque(maxlen=MAX_EVENTS)
        self._held_since: float | None = None

    def __enter__(self) -> "Receiver":
        """Subscribe, and have the workers send; on failure lines stay in the workers' output."""

        async def register() -> None:
            limit = limit_topic_on_scheduler()
            await self._client.run_on_scheduler(limit, self._topic, False, asynchronous=True)
            await self._client.register_plugin(TaskOutput())

        with contextlib.suppress(Exception):
            # The client is the worker's, which would print such lines to its own output.
            broadcast.silence_task_prints(self._client)
            self._client.subscribe_topic(self._topic, lambda event: self._events.append(event[1]))
            broadcast.run_coroutine(self._client, register, seconds=REGISTER_SECONDS)
            if self._is_repeated:
                broadcast.on_workers(self._client, reopen, self._run, seconds=ANSWER_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Wait a short time for lines that are on their way, and write them."""
        if not self._owns_log():
            self._unsubscribe()
            return
        token = secrets.token_hex(4)
        with contextlib.suppress(Exception):
            answers = broadcast.on_workers(
                self._client, drain, self._run, token, seconds=ANSWER_SECONDS
            )
            expected = sum(answer is True for answer in answers.values())
            deadline = time.monotonic() + DRAIN_SECONDS
            while sum(event.get("last") == token for event in list(self._events)) < expected:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
        self.write(now=True)
        self._forget_topic()

    def _owns_log(self) -> bool:
        try:
            return self._is_current()
        except Exception:  # the run's folder cannot be read now
            return True

    def _forget_topic(self) -> None:
        """Have the scheduler forget the topic, subscribers included.

        A message that unsubscribes might arrive after that, and the scheduler would create the
        topic again.
        """
        try:
            forget = limit_topic_on_scheduler(), self._topic, True
            broadcast.on_scheduler(self._client, *forget, seconds=REGISTER_SECONDS)
        except Exception:
            self._unsubscribe()
            return
        with contextlib.suppress(Exception):
            drop_topic_handler(self._client, self._topic)

    def _unsubscribe(self) -> None:
        with contextlib.suppress(Exception):
            self._client.unsubscribe_topic(self._topic)
            drop_topic_handler(self._client, self._topic)

    def write(self, now: bool = False) -> None:
        """Write the lines that have arrived. now: even if a line of the script has not ended."""
        if not self._events:
            return
        start = b""
        if not self._ends_with_line():
            self._held_since = self._held_since or time.monotonic()
            if not now and time.monotonic() - self._held_since < LINE_END_SECONDS:
                return
            start = b"\n"
        self._held_since = None
        events = [self._events.popleft() for _ in range(len(self._events))]
        text = "".join(line for event in events for line in _log_lines(event))
        with contextlib.suppress(OSError):  # the disk is full, which the script will notice
            if text:
                self._log.write(start + text.encode(errors="backslashreplace"))

    def _ends_with_line(self) -> bool:
        with contextlib.suppress(OSError):
            size = os.fstat(self._log.fileno()).st_size
            return not size or os.pread(self._log.fileno(), 1, size - 1) == b"\n"
        return True


def _log_lines(event: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an event as the log has them."""
    prefix = f"{MARK.decode()}{escape(str(event['worker']))}]"
    for line in event["lines"]:
        yield f"{prefix} {line}\n"
    if count := event["omitted"]:
        lines = pluralize(count, "line")
        yield f"{prefix} {lines} more in this worker's own output: too many at once\n"
