"""Submitted workflows, from outside: submit one, find it, read what it says, cancel it.

A run's folder is the truth. Where the driver is on a machine whose disk is not ours, the folder
there is read through the scheduler; where the scheduler is gone, the folder tells what it knows.
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
from mgraph.distributed.submission.driver import ALIVE_SECONDS, Order, drive, run_key
from mgraph.distributed.submission.payload import LeftBehind
from mgraph.distributed.submission.run_store import Place, elsewhere
from mgraph.distributed.submission.state import WAITING, Evidence, SchedulerView, judge
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, folders, now

POLL_SECONDS = 0.3
# What Dask raises where the scheduler has gone, or is going.
GONE = (OSError, KeyError, TimeoutError, AttributeError, RuntimeError)
FRESH_SECONDS = 3 * ALIVE_SECONDS  # a driver that was alive so lately is not somewhere else
DRIVER_KILLED = (
    "the worker that it ran on died again and again, mostly of too little memory: make the script "
    "hold less, or the workers larger"
)
DRIVER_LOST = (
    "its driver is gone: its worker or scheduler ended, or was out of reach for long; submit it "
    "again, and give its commands --resume to go on from what is finished"
)


@dataclass(frozen=True)
class Run:
    """A run as it is known now, and where its folder stands."""

    record: RunRecord
    place: Place

    def but(self, **how: Any) -> "Run":
        """The same, whose record says otherwise."""
        return Run(dataclasses.replace(self.record, **how), self.place)


class Runs:
    """The runs of a folder and, with a client, those that a cluster's machines have in theirs."""

    def __init__(self, path: str | os.PathLike[str], client: Any = None) -> None:
        """Name the folder; client: a ``distributed.Client`` of the scheduler, or None.

        Raises UsageError for what is no folder.
        """
        self.path = os.path.abspath(os.path.expanduser(path))
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(f"{self.path} is no folder; runs have a folder each in one")
        self.client = client
        self._here = Place(self.path)

    def submit(
        self,
        files: dict[str, bytes],
        arguments: Sequence[str] = (),
        grace: float = 3.0,
        environment: dict[str, str] | None = None,
        behind: LeftBehind | None = None,
    ) -> tuple[Run, Any]:
        """Ship a script to the cluster; returns the run and the future of its driver.

        files: the script and what is to stand beside it, as ``shipping.shipped`` reads them. grace:
        seconds for the script to end by itself when it is cancelled. environment: variables for it,
        beside those that its worker has. behind: what lies beside the script and is not shipped,
        for a hint. The run goes on when the client is gone. Raises
        StorageError, and UsageError where the current folder, in which it would run, is gone.
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
        left = behind.to_json() if behind else {}
        order = Order(self.path, record, files, grace, environment or {}, left)
        record = order.folder.create(record, files)
        order.folder.tell("submitted", by=record.by, scheduler=record.scheduler)
        future = self.client.submit(drive, order, key=run_key(record.id), pure=False, priority=1)
        fire_and_forget(future)
        return Run(record, self._here), future

    def all(self) -> list[Run]:
        """Every run, oldest first, each as lost that has not ended and that nobody works on."""
        return [self._judged(run) for run in self._known("")]

    def unreadable(self) -> list[str]:
        """What is wrong with each run here whose record cannot be read, a sentence each."""
        return run_folder.unreadable(self.path)

    def find(self, run_id: str) -> Run:
        """The run whose ID begins or ends so.

        Raises UsageError where there is none, or more than one, StorageError where it is spoilt.
        """
        if not run_id:
            raise UsageError("a run's ID is empty; mgraph list shows them")
        found = self._known(run_id)
        if len(found) > 1:
            first, last = found[0].record.id, found[-1].record.id
            raise UsageError(
                f"{len(found)} runs are called {run_id}…, {first} to {last}; give more of the name"
            )
        if not found:
            for folder in folders(self.path):
                if folder.is_called(run_id):
                    folder.record()  # raises what is wrong with it
            there = "" if self.client else "; one that another machine has needs --scheduler"
            raise UsageError(f"there is no run {run_id} in {self.path}{there}")
        return self._judged(found[0])

    def output(self, run: Run, start: int) -> bytes:
        """A part of what a run printed, from byte ``start`` on, or from the end if negative."""
        return run.place.output(run.record.id, start)

    def size(self, run: Run) -> int:
        """How many bytes a run has printed."""
        return run.place.size(run.record.id)

    def events(self, run: Run) -> list[dict[str, Any]]:
        """What happened in a run, in order."""
        return run.place.events(run.record.id)

    def parts_done(self, run: Run) -> dict[str, int]:
        """Of each operation of a run that goes on how many parts are done, where that is known."""
        if run.record.over:
            return {}
        return self._on_scheduler(_parts_done, run.record.id) or {}

    def follow(self, run: Run, start: int = 0) -> Iterator[bytes]:
        """What a run prints, as it comes, until it has ended."""
        folder = run.record.folder
        while True:
            run = self.find(run.record.id)
            if run.record.folder != folder:  # it goes on where another disk is
                folder, start = run.record.folder, 0
            while chunk := self.output(run, start):
                start += len(chunk)
                yield chunk
            if run.record.over:
                return
            self._check_hope(run)
            time.sleep(POLL_SECONDS)

    def wait(self, run: Run) -> Run:
        """The run when it has ended."""
        while not (run := self.find(run.record.id)).record.over:
            self._check_hope(run)
            time.sleep(POLL_SECONDS)
        return run

    def cancel(self, run: Run, seconds: float) -> Run:
        """Cancel a run and wait until nothing of it runs; returns it as it is then.

        seconds: how long to wait. Without a client, its driver reads of it in its folder. Raises
        ClusterError where it has not ended by then.
        """
        run = self.find(run.record.id)
        name = run.record.id
        if run.record.over and run.record.state != "lost":
            return run
        run.place.ask_to_cancel(name)  # also of one that is lost: it may be so for us alone
        if not run.record.over and self._waits(run):
            self.client.cancel([run_key(name)], force=True)
            run = self._write_end(run, "cancelled", None)  # unless its driver has begun meanwhile
            for other in self._elsewhere(name):
                other.place.ask_to_cancel(name)
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
                f"run {name} has not begun, as far as its folder here tells: --scheduler "
                f"{run.record.scheduler} lets the one say so, and cancel it, that it was given to"
            )
        raise ClusterError(
            f"run {name} was asked to end and has not within {seconds:.0f} s; its driver on "
            f"{run.record.host} does not answer, and mgraph status tells when it has"
        )

    def failed(self, run: Run, future: Any) -> Run:
        """The run whose driver's future failed, which says why; written where nobody else can."""
        from distributed import KilledWorker

        error = future.exception()
        why = DRIVER_KILLED if isinstance(error, KilledWorker) else f"its driver failed: {error}"
        return self._write_end(run, "failed", why)

    def remove_ended(self, days: int) -> int:
        """Remove the runs of this machine that ended so many days ago; returns how many."""
        old = [
            run
            for run in self.all()
            if run.record.over and run.place.is_here
            if _age(run.record.ended or run.record.submitted) >= days * 86_400
        ]
        for run in old:
            shutil.rmtree(RunFolder(self.path, run.record.id).path, ignore_errors=True)
        return len(old)

    def _check_hope(self, run: Run) -> None:
        """Raise ClusterError for a run that is to begin, where nobody tells whether it will."""
        if run.record.state == "submitted" and self.client is None:
            raise ClusterError(
                f"run {run.record.id} was submitted to {run.record.scheduler} and has not begun; "
                "whether it will only that scheduler knows: --scheduler names it"
            )

    def _known(self, run_id: str) -> list[Run]:
        """The runs that are called so; of two folders of one, that of the latest attempt."""
        found = {record.id: Run(record, self._here) for record in self._here.records(run_id)}
        if not found or any(map(self._may_be_elsewhere, found.values())):
            for run in self._elsewhere(run_id):
                earlier = found.get(run.record.id)
                if earlier is None or earlier.record.attempt < run.record.attempt:
                    found[run.record.id] = run
        return [found[name] for name in sorted(found)]

    def _may_be_elsewhere(self, run: Run) -> bool:
        """Whether a run with a folder here may have begun, or go on, where our disk is not."""
        return not run.record.over and not self._was_alive(run, FRESH_SECONDS)

    def _elsewhere(self, run_id: str) -> list[Run]:
        """The runs that are called so in folders on the workers' machines."""
        if self.client is not None:
            with contextlib.suppress(*GONE):
                found = elsewhere(self.client, self.path, run_id)
                return [Run(record, place) for place in found for record in found[place]]
        return []

    def _was_alive(self, run: Run, seconds: float) -> bool:
        """Whether its driver has given a sign of life within the last seconds."""
        last = run.place.last_alive(run.record.id)
        return last is not None and _age(last.isoformat()) < seconds

    def _judged(self, run: Run) -> Run:
        """The run, as lost where it has not ended and nobody works on it."""
        if run.record.over or judge(run.record.state, self._evidence(run)) != "lost":
            return run
        with contextlib.suppress(StorageError):  # it may have ended since it was read
            run = Run(run.place.record(run.record.id) or run.record, run.place)
        if run.place.is_here and self._was_alive(run, FRESH_SECONDS):  # nobody else was asked yet
            run = max([run, *self._elsewhere(run.record.id)], key=lambda one: one.record.attempt)
        if run.record.over:
            return run
        last = run.place.last_alive(run.record.id)
        ended = last.isoformat(timespec="milliseconds") if last else run.record.submitted
        return run.but(state="lost", error=DRIVER_LOST, ended=ended)

    def _evidence(self, run: Run) -> Evidence:
        """What can be known of a run that has not ended."""
        record, last = run.record, run.place.last_alive(run.record.id)
        scheduler = self._ask_scheduler(run)
        # Whether anything listens there is asked last: it takes a second where a machine is gone.
        is_unknown = scheduler is None or not scheduler.is_the_runs
        asks_address = is_unknown and run.place.is_here and record.state == "submitted"
        return Evidence(
            scheduler=scheduler,
            submitted_age=_age(record.submitted),
            heartbeat_age=None if last is None else _age(last.isoformat()),
            is_local=run.place.is_here,
            is_refused=asks_address and _is_refused(record.scheduler),
        )

    def _waits(self, run: Run) -> bool:
        """Whether our client's scheduler is the one that has it, and no driver has begun, or has
        begun again since its worker died."""
        scheduler = self._ask_scheduler(run)
        if scheduler is None or not scheduler.is_the_runs:
            return False
        return scheduler.task in WAITING or run.record.state == "submitted"

    def _ask_scheduler(self, run: Run) -> SchedulerView | None:
        """What our client's scheduler says of a run; None without an answer."""
        answer = self._on_scheduler(_task_state, run_key(run.record.id))
        if answer is None:
            return None
        scheduler_id, task = answer
        address = self.client.scheduler.address
        return SchedulerView(
            scheduler_id == run.record.scheduler_id, address == run.record.scheduler, task
        )

    def _on_scheduler(self, function: Any, *arguments: Any) -> Any:
        """What a function gives there; None where there is no client, or no answer."""
        if self.client is not None:
            with contextlib.suppress(*GONE):
                return on_scheduler(self.client, function, *arguments)
        return None

    def _write_end(self, run: Run, state: str, error: str | None) -> Run:
        """Write how a run ended whose driver does not."""
        how = {"state": state, "ended": run.record.ended or now(), "error": error}
        record = run.place.end(run.record.id, run.record.attempt, **how)
        return Run(record, run.place) if record else run.but(**how)


def _task_state(key: str, dask_scheduler: Any) -> tuple[str, str | None]:
    """Runs on the scheduler: which it is, and the state of a driver's task, if it is there."""
    task = dask_scheduler.tasks.get(key)
    return dask_scheduler.id, None if task is None else task.state


def _parts_done(run_id: str, dask_scheduler: Any) -> dict[str, int]:
    """Runs on the scheduler: what its monitor knows of a run's operations."""
    from mgraph.distributed.monitoring.monitor import NAME

    monitor = dask_scheduler.plugins.get(NAME)
    operations = monitor.jobs.operations.values() if monitor else ()
    return {one.name: len(one.done) for one in operations if one.run == run_id}


def _is_refused(address: str) -> bool:
    """Whether nothing listens at a scheduler's address, as that machine says itself."""
    try:
        socket.create_connection(host_and_port(address), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        pass
    return False


def _age(time: str) -> float:
    """Seconds since a time of a record."""
    then = datetime.datetime.fromisoformat(time)
    return (datetime.datetime.now(datetime.UTC) - then).total_seconds()


def _user() -> str:
    """Who submits: a name, or a number where the machine knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
