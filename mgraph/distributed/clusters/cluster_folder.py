"""The folder of a cluster that runs in the background, and what is recorded there."""

import contextlib
import dataclasses
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mgraph.distributed.clusters import background_processes
from mgraph.distributed.clusters.background_processes import Background
from mgraph.distributed.protocol import addresses, configuration
from mgraph.errors import ClusterError
from mgraph.io import untrusted
from mgraph.io.whole_file import write_atomically

_TAIL_LINES = 8
_MOST = 1 << 31  # of processes, workers, threads


@dataclass(frozen=True)
class Record:
    """What ``cluster.json`` says. state: starting or running. since: when, in UTC."""

    host: str
    boot: str
    state: str
    since: str
    backend: str
    count: int
    threads: int
    dashboard: str
    version: str
    scheduler: Background | None = None
    workers: Background | None = None

    @property
    def here(self) -> bool:
        """Whether its processes would be on this machine."""
        return self.host == socket.gethostname()

    def processes(self) -> list[Background]:
        """Those that were started since the machine was: workers, then the scheduler."""
        found = [self.workers, self.scheduler] if self.boot == background_processes.boot() else []
        return [process for process in found if process is not None]


@dataclass(frozen=True)
class Place:
    """A cluster's folder and the files in it."""

    folder: str

    @property
    def file(self) -> str:
        """What ``--scheduler-file`` takes."""
        return os.path.join(self.folder, "scheduler.json")

    @property
    def log(self) -> str:
        """What all processes write."""
        return os.path.join(self.folder, "cluster.log")

    @property
    def tls(self) -> str:
        """The folder of the certificates."""
        return os.path.join(self.folder, "tls")

    @property
    def _record(self) -> str:
        return os.path.join(self.folder, "cluster.json")

    def read(self) -> Record | None:
        """What is recorded, or None. Raises ClusterError for a record that cannot be understood."""
        try:
            with open(self._record, encoding="utf-8") as stream:
                return _record(untrusted.parse_json_object(stream.read()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ClusterError(
                f"{self._record} does not say which cluster was started ({error}); when none runs "
                "here, delete it"
            ) from error

    def write(self, record: Record) -> None:
        """Record it, whole or not at all."""
        write_atomically(self._record, json.dumps(dataclasses.asdict(record), indent=1).encode())

    def forget(self) -> None:
        """Remove what says that there is a cluster."""
        for file in (self.file, self._record):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)

    def refuse_elsewhere(self, record: Record) -> None:
        """Raise ClusterError for a cluster of another machine, where we cannot see it."""
        if not record.here:
            raise ClusterError(
                f"the cluster of {self.folder} was started on {record.host}; go there, or give "
                f"another --folder; if {record.host} is gone for good, delete {self._record}"
            )

    def tail(self) -> list[str]:
        """The log's last lines."""
        try:
            with open(self.log, errors="replace") as stream:
                lines = [line.rstrip() for line in stream if line.strip()]
        except OSError:
            return []
        return lines[-_TAIL_LINES:]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock. Raises ClusterError where another process has it."""
        with open(
            os.open(os.path.join(self.folder, ".lock"), os.O_RDWR | os.O_CREAT, 0o600), "r+"
        ) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(
                    f"another mgraph cluster start or stop is at work in {self.folder}; wait for it"
                ) from None
            yield


def _record(content: dict[str, Any]) -> Record:
    """What a record's JSON says. Raises ValueError, TypeError or KeyError for what it cannot be."""
    for name in ("host", "boot", "state", "since", "backend", "dashboard", "version"):
        content[name] = untrusted.parse_text(name, content[name])
    for name in ("count", "threads"):
        untrusted.parse_int(name, content[name], 1, _MOST)
    addresses.check_dashboard(content["dashboard"])
    for name in ("scheduler", "workers"):
        if content[name] is not None:
            pid = untrusted.parse_int("pid", content[name]["pid"], 1, _MOST)
            started = content[name]["started"]
            if not isinstance(started, int | float) or not 0 <= started < _MOST:
                raise ValueError(f"started must be a number of seconds, and is {started!r:.60}")
            content[name] = Background(pid, started)
    return Record(**content)


def place(folder: str | os.PathLike[str] | None = None) -> Place:
    """A cluster's folder, by default that of Dask's configuration, ``mgraph.cluster``."""
    return Place(os.path.abspath(folder or configuration.given("cluster")))
