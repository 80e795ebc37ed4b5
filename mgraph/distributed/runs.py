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
from pathlib import Path
from typing import Any

import mgraph
from mgraph.distributed.broadcast import ANSWER_SECONDS, in_time, on_workers
from mgraph.distributed.driver import Order, drive, run_key
from mgraph.distributed.scheduler_address import host_and_port
from mgraph.errors import ClusterError, UsageError
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, folders, now, records

POLL_SECONDS = 0.3
ON_ITS_WAY = 3.0  # seconds to the scheduler
UNDONE = ("waiting", "queued", "no-worker", "processing")  # states of a task
# What Dask raises where the scheduler has gone, or is going.
GONE = (OSError, KeyError, TimeoutError, AttributeError, RuntimeError)
SILENT_SECONDS = 20.0  # of a driver that nobody can be asked about, before it counts as lost
DRIVER_KILLED = (
    "the worker that it ran on died again and again, mostly of too little memory: make the script "
    "hold less, or the workers larger"
)
LARGEST_FILE = 64 << 20
DRIVER_LOST = (
    "its driver is gone: its worker or scheduler ended, or was out of reach for long; submit it "
    "again, and give its commands --resume to go on from what is finished"
)


@dataclass(frozen=True)
class Run:
    """A run as it is known now. worker: one that has its folder, by address; None: it is here."""

    record: RunRecord
    worker: str | None = None


class Runs:
    """The runs of a folder and, with a client, those that a cluster's machines have in theirs."""

    def __init__(self, path: str | os.PathLike[str], client: Any = None) -> None:
        """Name the folder; client: a ``distributed.Client`` of the scheduler, or None."""
        self.path = os.path.abspath(os.path.expanduser(path))
        self.client = client

    def submit(
        self,
        files: dict[str, bytes],
        arguments: Sequence[str] = (),
        grace: float = 3.0,
        environment: dict[str, str] | None = None,
    ) -> tuple[Run, Any]:
        """Ship a script to the cluster; returns the run and the future of its driver.

        files: the script and what is to stand beside it, as ``shipped`` reads them. grace: seconds
        for the script to end by itself when it is cancelled. environment: variables for it, beside
        those that its worker has. The run goes on when the client is gone. Raises StorageError.
        """
        from distributed import fire_and_forget

        record = RunRecord(
            id=run_folder.new_id(),
            script=next(iter(files)),
            arguments=list(arguments),
            submitted=now(),
            by=f"{getpass.getuser()}@{socket.gethostname()}",
            cwd=os.getcwd(),
            scheduler=self.client.scheduler.address,
            scheduler_id=self.client.scheduler_info(n_workers=0)["id"],
            mgraph=mgraph.__version__,
        )
        order = Order(self.path, record, files, grace, environment or {})
        order.folder.create(record, files)
        order.folder.tell("submitted", by=record.by, scheduler=record.scheduler)
        future = self.client.submit(drive, order, key=run_key(record.id), pure=False, priority=1)
        fire_and_forget(future)
        return Run(record), future

    def all(self) -> list[Run]:
        """Every run, oldest first, each as lost that has not ended and that nobody works on."""
        return [self._judged(run) for run in self._known("")]

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
        if run.worker is None:
            return self._folder(run).output(start)
        answer = self._ask(run, _read_output, start)
        return answer if isinstance(answer, bytes) else b""

    def size(self, run: Run) -> int:
        """How many bytes a run has printed."""
        if run.worker is None:
            return self._folder(run).output_size
        answer = self._ask(run, _read_size)
        return answer if isinstance(answer, int) else 0

    def events(self, run: Run) -> list[dict[str, Any]]:
        """What happened in a run, in order."""
        if run.worker is None:
            return self._folder(run).events()
        answer = self._ask(run, _read_events)
        return answer if isinstance(answer, list) else []

    def follow(self, run: Run, start: int = 0) -> Iterator[bytes]:
        """What a run prints, as it comes, until it has ended."""
        while True:
            run = self.find(run.record.id)
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
        if run.record.state == "lost":
            return self._write_end(run, "lost", run.record.error)
        if run.record.over:
            return run
        if run.worker is None:
            self._folder(run).touch(run_folder.CANCEL)
        else:
            self._ask(run, _ask_to_cancel)
        if run.record.state == "submitted":
            if self.client is not None:
                self.client.cancel([run_key(run.record.id)], force=True)
            run = self._write_end(run, "cancelled", None)  # unless its driver has begun meanwhile
            if run.record.over:
                return run
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            run = self.find(run.record.id)
            if run.record.state == "lost":
                return self._write_end(run, "lost", run.record.error)
            if run.record.over:
                return run
            time.sleep(POLL_SECONDS)
        raise ClusterError(
            f"run {run.record.id} was asked to end and has not within {seconds:.0f} s; its driver "
            f"on {run.record.host} does not answer, and mgraph status tells when it has"
        )

    def failed(self, run: Run, future: Any) -> Run:
        """The run whose driver's future failed, which says why; written where nobody else can."""
        from distributed.scheduler import KilledWorker

        error = future.exception()
        why = DRIVER_KILLED if isinstance(error, KilledWorker) else f"its driver failed: {error}"
        return self._write_end(run, "failed", why)

    def remove_ended(self, days: int) -> int:
        """Remove the runs of this machine that ended so many days ago; returns how many."""
        old = [
            run
            for run in self.all()
            if run.record.over and run.worker is None
            if _age(run.record.ended or run.record.submitted) >= days * 86_400
        ]
        for run in old:
            shutil.rmtree(self._folder(run).path, ignore_errors=True)
        return len(old)

    def _folder(self, run: Run) -> RunFolder:
        return RunFolder(self.path, run.record.id)

    def _check_hope(self, run: Run) -> None:
        """Raise ClusterError for a run that is to begin, where nobody tells whether it will."""
        if run.record.state == "submitted" and self.client is None:
            raise ClusterError(
                f"run {run.record.id} was submitted to {run.record.scheduler} and has not begun; "
                "whether it will only that scheduler knows: --scheduler names it"
            )

    def _known(self, run_id: str) -> list[Run]:
        """The runs whose ID begins so; of two folders of one, that of the latest attempt."""
        found: dict[str, Run] = {}
        for record in records(self.path, run_id):
            found[record.id] = Run(record)
        # What stands as submitted here may run where our disk is not.
        if not found or any(run.record.state == "submitted" for run in found.values()):
            for run in self._remote(run_id):
                earlier = found.get(run.record.id)
                if earlier is None or (earlier.record.began or "") < (run.record.began or ""):
                    found[run.record.id] = run
        return [found[name] for name in sorted(found)]

    def _judged(self, run: Run) -> Run:
        """The run, as lost where it has not ended and nobody works on it."""
        record = run.record
        if record.over or self._in_work(run):
            return run
        if run.worker is None:
            record = self._folder(run).record()  # it may have ended since it was read
        if not record.over:
            last = self._folder(run).last_alive if run.worker is None else None
            ended = last.isoformat(timespec="milliseconds") if last else record.submitted
            record = dataclasses.replace(record, state="lost", error=DRIVER_LOST, ended=ended)
        return dataclasses.replace(run, record=record)

    def _in_work(self, run: Run) -> bool:
        """Whether a driver has it, or will: its scheduler knows; else its own signs of life do."""
        record = run.record
        if self.client is not None:
            with contextlib.suppress(*GONE):
                asked = self.client._run_on_scheduler, _has_task, run_key(record.id)
                scheduler_id, has_it = in_time(self.client, *asked, seconds=ANSWER_SECONDS)
                if scheduler_id == record.scheduler_id:
                    return has_it or _age(record.submitted) < ON_ITS_WAY
                if (
                    record.state == "submitted"
                    and self.client.scheduler.address == record.scheduler
                ):
                    return False  # that one has been replaced
        if run.worker is not None:
            return True  # nobody here can tell
        if record.state == "submitted":
            return not _is_refused(record.scheduler)
        last = self._folder(run).last_alive
        return last is not None and _age(last.isoformat()) < SILENT_SECONDS

    def _write_end(self, run: Run, state: str, error: str | None) -> Run:
        """Write how a run ended whose driver does not."""
        ended = dataclasses.replace(
            run.record, state=state, error=error, ended=run.record.ended or now()
        )
        if run.worker is None:
            folder = self._folder(run)
            how = {"state": state, "ended": ended.ended, "error": error}
            if folder.update(run.record.attempt, **how) is not None:
                folder.tell("run", state=state, error=error)
            return Run(folder.record())
        return dataclasses.replace(run, record=ended)

    def _remote(self, run_id: str) -> list[Run]:
        """The runs in the folders of the workers' machines; one worker a machine is asked."""
        if self.client is None:
            return []
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except GONE:
            return []
        of_hosts = {told["host"]: address for address, told in workers.items()}
        answers = on_workers(
            self.client, _read_records, self.path, run_id, workers=of_hosts.values()
        )
        return [
            Run(record, address)
            for address, records in answers.items()
            if isinstance(records, list)
            for record in records
        ]

    def _ask(self, run: Run, function: Any, *arguments: Any) -> Any:
        """What a worker that has the run's folder answers; None where it does not."""
        assert run.worker is not None
        asked = on_workers(
            self.client, function, self.path, run.record.id, *arguments, workers=[run.worker]
        )
        answer = asked.get(run.worker)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _has_task(key: str, dask_scheduler: Any) -> tuple[str, bool]:
    """Runs on the scheduler: which it is, and whether a driver's task is there and to be done."""
    task = dask_scheduler.tasks.get(key)
    return dask_scheduler.id, task is not None and task.state in UNDONE


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


# What workers do for a client whose disk is not theirs.


def _read_records(path: str, run_id: str) -> list[RunRecord]:
    return records(path, run_id)


def _read_output(path: str, run_id: str, start: int) -> bytes:
    return RunFolder(path, run_id).output(start)


def _read_size(path: str, run_id: str) -> int:
    return RunFolder(path, run_id).output_size


def _read_events(path: str, run_id: str) -> list[dict[str, Any]]:
    return RunFolder(path, run_id).events()


def _ask_to_cancel(path: str, run_id: str) -> None:
    RunFolder(path, run_id).touch(run_folder.CANCEL)


def shipped(
    script: str | os.PathLike[str], companions: Sequence[str | os.PathLike[str]] = ()
) -> dict[str, bytes]:
    """A script, and modules and other files that it needs beside it, by name; the script first.

    Raises UsageError for what cannot be shipped.
    """
    files: dict[str, bytes] = {}
    for path in map(Path, [script, *companions]):
        if not path.exists():
            raise UsageError(f"there is no file {path} to ship to the cluster")
        if not path.is_file():
            raise UsageError(
                f"{path} is no file; ship a script, modules or other files, one by one"
            )
        if not path.name.isprintable():
            raise UsageError(f"{path.name!r} has letters that cannot be printed; rename it")
        if path.name in files:
            raise UsageError(
                f"two files are called {path.name}, and they would stand in one folder; rename one"
            )
        try:
            size = path.stat().st_size
            if size > LARGEST_FILE:
                raise UsageError(
                    f"{path} has {size >> 20:,} MiB, and what is shipped {LARGEST_FILE >> 20} at "
                    "most; put data where the workers can read it"
                )
            files[path.name] = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error}") from None
    if not next(iter(files.values())).strip():
        raise UsageError(f"{script} is empty; it should be a Python script")
    return files
