"""Where runs' folders stand: on this machine's disk, or on one that a worker can read."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mgraph.distributed.protocol.broadcast import on_workers
from mgraph.io.run_folder import CANCEL, RunFolder, RunRecord, records


@dataclass(frozen=True)
class Place:
    """A folder of runs. worker: the address of the one that reads it; None: this process does.

    What is asked of a worker that does not answer comes to nothing: None, or empty.
    """

    runs: str
    client: Any = None
    worker: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine's disk."""
        return self.worker is None

    def records(self, name: str) -> list[RunRecord]:
        """Those of the runs that are called so."""
        return self._do(records, name) or []

    def record(self, run_id: str) -> RunRecord | None:
        """A run's record as it stands. Raises StorageError where there is none."""
        return self._of(run_id, RunFolder.record)

    def output(self, run_id: str, start: int) -> bytes:
        """A part of what a run printed, from byte ``start`` on, or from the end if negative."""
        return self._of(run_id, RunFolder.output, start) or b""

    def size(self, run_id: str) -> int:
        """How many bytes a run has printed."""
        return self._of(run_id, attrgetter("output_size")) or 0

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """What happened in a run, in order."""
        return self._of(run_id, RunFolder.events) or []

    def last_alive(self, run_id: str) -> datetime.datetime | None:
        """When a run's driver last said that it is alive."""
        return self._of(run_id, attrgetter("last_alive"))

    def ask_to_cancel(self, run_id: str) -> None:
        """Tell a run's driver, if its folder is there."""
        self._of(run_id, _ask_to_cancel)

    def end(self, run_id: str, attempt: int, **how: Any) -> RunRecord | None:
        """Write how a run ended whose driver does not, unless it did; returns the record."""
        return self._of(run_id, _end, attempt, how)

    def _of(self, run_id: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._do(_of_folder, run_id, function, *arguments)

    def _do(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.worker is None:
            return function(self.runs, *arguments)
        asked = on_workers(self.client, function, self.runs, *arguments, workers=[self.worker])
        answer = asked.get(self.worker)
        if isinstance(answer, Exception):
            raise answer
        return answer


def elsewhere(client: Any, runs: str, name: str) -> dict[Place, list[RunRecord]]:
    """The runs that are called so on the workers' machines, of which each has one worker asked."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    of_hosts = {told["host"]: address for address, told in workers.items()}
    answers = on_workers(client, records, runs, name, workers=of_hosts.values())
    return {
        Place(runs, client, address): found
        for address, found in answers.items()
        if isinstance(found, list)
    }


# What is done where the folder is.


def _of_folder(runs: str, run_id: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(RunFolder(runs, run_id), *arguments)


def _ask_to_cancel(folder: RunFolder) -> None:
    if folder.exists:
        folder.touch(CANCEL)


def _end(folder: RunFolder, attempt: int, how: dict[str, Any]) -> RunRecord:
    if folder.update(attempt, **how) is not None:
        folder.tell("run", state=how["state"], error=how["error"])
    return folder.record()
