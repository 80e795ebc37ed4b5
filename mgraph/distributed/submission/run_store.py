"""Where runs' folders are: on this machine's disk, or on one that a worker can read."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mgraph.distributed.protocol.broadcast import on_workers, workers_of
from mgraph.io.run_folder import CANCEL, RunFolder, RunRecord, records


@dataclass(frozen=True)
class RunStore:
    """A folder of runs. worker: the address of the worker that reads it; None: this process does.

    A method returns None, or what is empty, if the worker does not answer.
    """

    runs: str
    client: Any = None
    worker: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether the folder is on this machine's disk."""
        return self.worker is None

    def records(self, name: str) -> list[RunRecord]:
        """Return the records of the runs that a name, or its beginning or end, stands for."""
        return self._call(records, name) or []

    def record(self, run_id: str) -> RunRecord | None:
        """Return a run's record. Raises StorageError if there is none."""
        return self._call_for_run(run_id, RunFolder.record)

    def output(self, run_id: str, start: int) -> bytes:
        """Read a run's output from byte ``start`` on; a negative one counts from the end."""
        return self._call_for_run(run_id, RunFolder.output, start) or b""

    def size(self, run_id: str) -> int:
        """Return the number of bytes that a run has printed."""
        return self._call_for_run(run_id, attrgetter("output_size")) or 0

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """Return a run's events, in order."""
        return self._call_for_run(run_id, RunFolder.events) or []

    def last_alive(self, run_id: str) -> datetime.datetime | None:
        """Return the time of the last heartbeat of a run's driver."""
        return self._call_for_run(run_id, attrgetter("last_alive"))

    def request_cancel(self, run_id: str) -> None:
        """Ask a run's driver to cancel the run, if the run has a folder here."""
        self._call_for_run(run_id, _request_cancel)

    def end(self, run_id: str, attempt: int, **changes: Any) -> RunRecord | None:
        """Write the end of a run in its driver's place, unless it has ended; returns the record."""
        return self._call_for_run(run_id, _end, attempt, changes)

    def _call_for_run(self, run_id: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._call(_call_for_run, run_id, function, *arguments)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.worker is None:
            return function(self.runs, *arguments)
        workers = [self.worker]
        answers = on_workers(self.client, function, self.runs, *arguments, workers=workers)
        answer = answers.get(self.worker)
        if isinstance(answer, Exception):
            raise answer
        return answer


def find_remote_runs(client: Any, runs: str, name: str) -> dict[RunStore, list[RunRecord]]:
    """Ask one worker per machine for the runs that a name stands for; returns them by store."""
    by_host = {worker["host"]: address for address, worker in workers_of(client).items()}
    answers = on_workers(client, records, runs, name, workers=by_host.values())
    return {
        RunStore(runs, client, address): answer
        for address, answer in answers.items()
        if isinstance(answer, list)
    }


# These functions run where the folder is.


def _call_for_run(runs: str, run_id: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(RunFolder(runs, run_id), *arguments)


def _request_cancel(folder: RunFolder) -> None:
    if folder.exists:
        folder.touch(CANCEL)


def _end(folder: RunFolder, attempt: int, changes: dict[str, Any]) -> RunRecord:
    if folder.update(attempt, **changes) is not None:
        folder.tell("run", state=changes["state"], error=changes["error"])
    return folder.record()
