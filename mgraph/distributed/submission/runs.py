"""Submitted workflows as a client sees them: submit one, find it, read its output, cancel it.

The record in a run's folder decides. If the driver is on a machine with another disk, the folder is
read through the scheduler; if the scheduler is gone, only a folder on this machine can be read.
"""

import contextlib
import dataclasses
import datetime
import getpass
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mgraph
from mgraph.distributed.protocol.addresses import host_and_port
from mgraph.distributed.protocol.broadcast import on_scheduler
from mgraph.distributed.submission.driver import ALIVE_SECONDS, RunRequest, drive, run_key
from mgraph.distributed.submission.payload import UnshippedModules
from mgraph.distributed.submission.run_store import RunStore, find_remote_runs
from mgraph.distributed.submission.state import WAITING, Evidence, SchedulerView, judge
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, folders, now

POLL_SECONDS = 0.3
# What Dask raises if the scheduler is gone, or is closing.
SCHEDULER_GONE = (OSError, KeyError, TimeoutError, AttributeError, RuntimeError)
FRESH_SECONDS = 3 * ALIVE_SECONDS  # a driver with such a recent heartbeat is not elsewhere
DRIVER_KILLED = (
    "the worker that the script ran on died repeatedly, mostly because it ran out of memory: make "
    "the script use less memory, or give the workers more"
)
DRIVER_LOST = (
    "its driver is gone: its worker or scheduler ended, or could not be reached for long; submit "
    "the workflow again; with `resume=True` its operations continue from finished parts"
)


@dataclass(frozen=True)
class Run:
    """A run's record, and the store of its folder."""

    record: RunRecord
    store: RunStore

    def replace(self, **changes: Any) -> "Run":
        """Return a copy whose record has these changes."""
        return Run(dataclasses.replace(self.record, **changes), self.store)


class Runs:
    """The runs of a folder and, with a client, of the same folder on the workers' machines."""

    def __init__(self, path: str | os.PathLike[str], client: Any = None) -> None:
        """path: the folder. client: a ``distributed.Client`` of the scheduler, or None.

        Raises UsageError for a file.
        """
        self.path = os.path.abspath(os.path.expanduser(path))
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(f"{self.path} is not a folder; give the folder of runs")
        self.client = client
        self._local = RunStore(self.path)

    def submit(
        self,
        files: dict[str, bytes],
        arguments: Sequence[str] = (),
        grace: float = 3.0,
        environment: dict[str, str] | None = None,
        unshipped: UnshippedModules | None = None,
    ) -> tuple[Run, Any]:
        """Submit a script to the cluster; returns the run and the future of its driver.

        files: the script and its companions, as ``payload.collect_files`` reads them. grace:
        seconds for a cancelled script to end by itself. environment: variables for the script, in
        addition to its worker's. unshipped: the modules beside the script, for a hint. The run
        continues when the client disconnects. Raises StorageError, and UsageError if the current
        folder, in which the script would run, was removed.
        """
        from distributed import fire_and_forget

        try:
            current = os.getcwd()
        except FileNotFoundError:
            raise UsageError("the current folder has been removed; cd to one that exists") from None
        record = RunRecord(
            id=run_folder.new_id(),
            script=next(iter(files)),
            arguments=list(arguments),
            submitted=now(),
            by=f"{_user()}@{socket.gethostname()}",
            cwd=current,
            scheduler=self.client.scheduler.address,
            scheduler_id=self.client.scheduler_info(n_workers=0)["id"],
            mgraph=mgraph.__version__,
        )
        modules = unshipped.to_json() if unshipped else {}
        request = RunRequest(self.path, record, files, grace, environment or {}, modules)
        record = request.folder.create(record, files)
        request.folder.tell("submitted", by=record.by, scheduler=record.scheduler)
        future = self.client.submit(drive, request, key=run_key(record.id), pure=False, priority=1)
        fire_and_forget(future)
        return Run(record, self._local), future

    def all(self) -> list[Run]:
        """Return every run with its judged state, the oldest first."""
        return [self._judged(run) for run in self._matching("")]

    def unreadable(self) -> list[str]:
        """Return a sentence for each run on this machine whose record cannot be read."""
        return run_folder.unreadable(self.path)

    def find(self, run_id: str) -> Run:
        """Return the run whose ID is this text, or begins or ends with it.

        Raises UsageError if there is none, or more than one; StorageError for a corrupt record.
        """
        if not run_id:
            raise UsageError("a run's ID must not be empty; mgraph list shows the IDs")
        matches = self._matching(run_id)
        if len(matches) > 1:
            first, last = matches[0].record.id, matches[-1].record.id
            raise UsageError(
                f"{run_id} stands for {len(matches)} runs, from {first} to {last}; give more of "
                "the ID"
            )
        if not matches:
            for folder in folders(self.path):
                if folder.is_called(run_id):
                    folder.record()  # raises StorageError, which says what is wrong
            hint = "" if self.client else "; for a run of another machine give `scheduler=ADDRESS`"
            raise UsageError(f"there is no run {run_id} in {self.path}{hint}")
        return self._judged(matches[0])

    def output(self, run: Run, start: int) -> bytes:
        """Read a run's output from byte ``start`` on; a negative one counts from the end."""
        return run.store.output(run.record.id, start)

    def size(self, run: Run) -> int:
        """Return the number of bytes that a run has printed."""
        return run.store.size(run.record.id)

    def events(self, run: Run) -> list[dict[str, Any]]:
        """Return a run's events, in order."""
        return run.store.events(run.record.id)

    def parts_done(self, run: Run) -> dict[str, int]:
        """Return the number of finished parts of each operation of a running run, if known."""
        if run.record.over:
            return {}
        return self._call_on_scheduler(_parts_done, run.record.id) or {}

    def follow(self, run: Run, start: int = 0) -> Iterator[bytes]:
        """Yield a run's output as it is written, until the run has ended."""
        folder = run.record.folder
        while True:
            run = self.find(run.record.id)
            if run.record.folder != folder:  # the run continues on a machine with another disk
                folder, start = run.record.folder, 0
            while chunk := self.output(run, start):
                start += len(chunk)
                yield chunk
            if run.record.over:
                return
            self._check_scheduler_known(run)
            time.sleep(POLL_SECONDS)

    def wait(self, run: Run) -> Run:
        """Wait for a run's end; returns the run."""
        while not (run := self.find(run.record.id)).record.over:
            self._check_scheduler_known(run)
            time.sleep(POLL_SECONDS)
        return run

    def cancel(self, run: Run, seconds: float) -> Run:
        """Cancel a run and wait, for at most ``seconds``, until it has ended; returns the run.

        Its driver finds the request in the run's folder. Raises ClusterError if the run has not
        ended in time.
        """
        run = self.find(run.record.id)
        name = run.record.id
        if run.record.over and run.record.state != "lost":
            return run
        run.store.request_cancel(name)  # also of a lost run: it may be lost for this client alone
        if not run.record.over and self._is_queued(run):
            self.client.cancel([run_key(name)], force=True)
            run = self._write_end(run, "cancelled", None)  # unless its driver has begun meanwhile
            for other in self._remote_runs(name):
                other.store.request_cancel(name)
        deadline = time.monotonic() + seconds
        while not run.record.over and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            run = self.find(name)
        if run.record.state == "lost":
            return self._write_end(run, "lost", run.record.error)
        if run.record.over:
            return run
        if run.record.state == "submitted":
            raise ClusterError(
                f"run {name} has not begun, according to its folder on this machine; give the "
                f"scheduler that it was submitted to (`scheduler={run.record.scheduler}`) to "
                "cancel it there"
            )
        raise ClusterError(
            f"run {name} has not ended {seconds:.0f} s after it was cancelled; its driver on "
            f"{run.record.host} does not answer; mgraph status shows whether it has ended"
        )

    def failed(self, run: Run, future: Any) -> Run:
        """Write the end of a run whose driver's future failed, with the reason; returns the run."""
        from distributed import KilledWorker

        error = future.exception()
        is_killed = isinstance(error, KilledWorker)
        return self._write_end(
            run, "failed", DRIVER_KILLED if is_killed else f"its driver failed: {error}"
        )

    def remove_ended(self, days: int) -> int:
        """Remove the runs on this machine that ended that many days ago; returns how many."""
        old = [
            run
            for run in self.all()
            if run.record.over and run.store.is_local
            if _age(run.record.ended or run.record.submitted) >= days * 86_400
        ]
        for run in old:
            shutil.rmtree(RunFolder(self.path, run.record.id).path, ignore_errors=True)
        return len(old)

    def _check_scheduler_known(self, run: Run) -> None:
        """Raise ClusterError for a run that has not begun, if no scheduler can be asked of it."""
        if run.record.state == "submitted" and self.client is None:
            raise ClusterError(
                f"run {run.record.id} was submitted to {run.record.scheduler} and has not begun; "
                "only that scheduler knows whether it will; give its address "
                f"(`scheduler={run.record.scheduler}`)"
            )

    def _matching(self, run_id: str) -> list[Run]:
        """Return the runs that a text stands for; of a run with two folders, the latest attempt."""
        runs = {record.id: Run(record, self._local) for record in self._local.records(run_id)}
        if not runs or any(map(self._may_be_remote, runs.values())):
            for run in self._remote_runs(run_id):
                local = runs.get(run.record.id)
                if local is None or local.record.attempt < run.record.attempt:
                    runs[run.record.id] = run
        return [runs[name] for name in sorted(runs)]

    def _may_be_remote(self, run: Run) -> bool:
        """Return whether a run with a folder here may be running on a machine with another disk."""
        return not run.record.over and not self._was_alive(run, FRESH_SECONDS)

    def _remote_runs(self, run_id: str) -> list[Run]:
        """Return the runs that a text stands for on the workers' machines."""
        if self.client is not None:
            with contextlib.suppress(*SCHEDULER_GONE):
                stores = find_remote_runs(self.client, self.path, run_id)
                return [Run(record, store) for store in stores for record in stores[store]]
        return []

    def _was_alive(self, run: Run, seconds: float) -> bool:
        """Return whether the run's driver had a heartbeat within the last ``seconds``."""
        last = run.store.last_alive(run.record.id)
        return last is not None and _age(last.isoformat()) < seconds

    def _judged(self, run: Run) -> Run:
        """Return the run with its judged state."""
        if run.record.over or judge(run.record.state, self._evidence(run)) != "lost":
            return run
        with contextlib.suppress(StorageError):  # the run may have ended since it was read
            run = Run(run.store.record(run.record.id) or run.record, run.store)
        if run.store.is_local and self._was_alive(run, FRESH_SECONDS):  # no worker was asked yet
            run = max([run, *self._remote_runs(run.record.id)], key=lambda one: one.record.attempt)
        if run.record.over:
            return run
        last = run.store.last_alive(run.record.id)
        ended = last.isoformat(timespec="milliseconds") if last else run.record.submitted
        return run.replace(state="lost", error=DRIVER_LOST, ended=ended)

    def _evidence(self, run: Run) -> Evidence:
        """Gather what can be known of a run that has not ended."""
        record, last = run.record, run.store.last_alive(run.record.id)
        scheduler = self._ask_scheduler(run)
        # The address is tried last, and only if it decides: it takes a second if its host is gone.
        is_unknown = scheduler is None or not scheduler.is_same_scheduler
        is_decisive = is_unknown and run.store.is_local and record.state == "submitted"
        return Evidence(
            scheduler=scheduler,
            submitted_age=_age(record.submitted),
            heartbeat_age=None if last is None else _age(last.isoformat()),
            is_local=run.store.is_local,
            is_refused=is_decisive and _is_refused(record.scheduler),
        )

    def _is_queued(self, run: Run) -> bool:
        """Return whether this client's scheduler has the run's task, and no driver executes it."""
        scheduler = self._ask_scheduler(run)
        if scheduler is None or not scheduler.is_same_scheduler:
            return False
        return scheduler.task in WAITING or run.record.state == "submitted"

    def _ask_scheduler(self, run: Run) -> SchedulerView | None:
        """Return what this client's scheduler knows of a run; None without an answer."""
        answer = self._call_on_scheduler(_task_state, run_key(run.record.id))
        if answer is None:
            return None
        scheduler_id, task = answer
        address = self.client.scheduler.address
        return SchedulerView(
            scheduler_id == run.record.scheduler_id, address == run.record.scheduler, task
        )

    def _call_on_scheduler(self, function: Any, *arguments: Any) -> Any:
        """Call a function on the scheduler; returns None without a client, or an answer."""
        if self.client is not None:
            with contextlib.suppress(*SCHEDULER_GONE):
                return on_scheduler(self.client, function, *arguments)
        return None

    def _write_end(self, run: Run, state: str, error: str | None) -> Run:
        """Write the end of a run in its driver's place; returns the run."""
        changes = {"state": state, "ended": run.record.ended or now(), "error": error}
        record = run.store.end(run.record.id, run.record.attempt, **changes)
        return Run(record, run.store) if record else run.replace(**changes)


def _task_state(key: str, dask_scheduler: Any) -> tuple[str, str | None]:
    """Runs on the scheduler: return its ID, and the state of a driver's task or None."""
    task = dask_scheduler.tasks.get(key)
    return dask_scheduler.id, None if task is None else task.state


def _parts_done(run_id: str, dask_scheduler: Any) -> dict[str, int]:
    """Runs on the scheduler: return the finished parts of a run's operations."""
    from mgraph.distributed.monitoring.monitor import NAME

    monitor = dask_scheduler.plugins.get(NAME)
    operations = monitor.jobs.operations.values() if monitor else ()
    return {job.name: len(job.done) for job in operations if job.run == run_id}


def _is_refused(address: str) -> bool:
    """Return whether the machine of a scheduler's address refuses the connection."""
    try:
        socket.create_connection(host_and_port(address), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        pass
    return False


def _age(time: str) -> float:
    """Return the seconds since a time in a record."""
    moment = datetime.datetime.fromisoformat(time)
    return (datetime.datetime.now(datetime.UTC) - moment).total_seconds()


def _user() -> str:
    """Return the user's name, or number if the machine has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
