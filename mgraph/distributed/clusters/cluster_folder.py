"""The folder of a cluster in the background, and the record of the cluster in it."""

import contextlib
import dataclasses
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from mgraph.distributed.clusters import background_processes
from mgraph.distributed.clusters.background_processes import BackgroundProcess
from mgraph.distributed.protocol import addresses, configuration
from mgraph.errors import ClusterError
from mgraph.io import untrusted
from mgraph.io.whole_file import write_atomically

_TAIL_LINES = 8
_Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]


@dataclass(frozen=True)
class ClusterRecord:
    """The content of ``cluster.json``.

    boot: the machine's boot ID. state: starting or running. since: an ISO 8601 time, UTC. count,
    threads: the number of workers, and of threads per worker. version: mgraph's.
    """

    host: str
    boot: str
    state: str
    since: str
    backend: str
    count: _Count
    threads: _Count
    dashboard: str
    version: str
    scheduler: BackgroundProcess | None = None
    workers: BackgroundProcess | None = None

    @property
    def is_local(self) -> bool:
        """Whether the cluster was started on this machine."""
        return self.host == socket.gethostname()

    def processes(self) -> list[BackgroundProcess]:
        """Return the workers' and the scheduler's process, if started since the machine booted."""
        if self.boot != background_processes.boot_id():
            return []
        return [process for process in (self.workers, self.scheduler) if process is not None]


@dataclass(frozen=True)
class ClusterFolder:
    """A cluster's folder and the files in it."""

    path: str

    @property
    def scheduler_file(self) -> str:
        """The file that the scheduler writes, and that clients read."""
        return os.path.join(self.path, "scheduler.json")

    @property
    def log(self) -> str:
        """The file for the output of all processes."""
        return os.path.join(self.path, "cluster.log")

    @property
    def tls(self) -> str:
        """The folder of the certificates."""
        return os.path.join(self.path, "tls")

    @property
    def _record_file(self) -> str:
        return os.path.join(self.path, "cluster.json")

    def read(self) -> ClusterRecord | None:
        """Return the record, or None without one. Raises ClusterError for a corrupt record."""
        try:
            with open(self._record_file, encoding="utf-8") as stream:
                return _parse_record(untrusted.parse_json_object(stream.read()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"{self._record_file} is not the record of a cluster ({error}); delete it if no "
                "cluster is running from this folder"
            ) from error

    def write(self, record: ClusterRecord) -> None:
        """Replace the record atomically."""
        write_atomically(
            self._record_file, json.dumps(dataclasses.asdict(record), indent=1).encode()
        )

    def clear(self) -> None:
        """Remove the scheduler file and the record."""
        for file in (self.scheduler_file, self._record_file):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)

    def require_local(self, record: ClusterRecord) -> None:
        """Raise ClusterError for a cluster of another machine, whose processes cannot be seen."""
        if not record.is_local:
            raise ClusterError(
                f"the cluster of {self.path} was started on {record.host}; run this there, or give "
                f"another folder (`folder=DIR`); if {record.host} is gone for good, delete "
                f"{self._record_file}"
            )

    def log_tail(self) -> list[str]:
        """Return the last lines of the log."""
        try:
            with open(self.log, errors="replace") as stream:
                lines = [line.rstrip() for line in stream if line.strip()]
        except OSError:
            return []
        return lines[-_TAIL_LINES:]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock. Raises ClusterError if another process holds it."""
        with open(
            os.open(os.path.join(self.path, ".lock"), os.O_RDWR | os.O_CREAT, 0o600), "r+"
        ) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(
                    f"another mgraph cluster start or stop is running in {self.path}; wait for it"
                ) from None
            yield


def _parse_record(content: dict[str, Any]) -> ClusterRecord:
    """Check a record's JSON. Raises ValueError for anything else."""
    record = msgspec.convert(untrusted.printable_strings(content), ClusterRecord)
    addresses.check_dashboard(record.dashboard)
    return record


def cluster_folder(folder: str | os.PathLike[str] | None = None) -> ClusterFolder:
    """Return a cluster's folder; by default the one of the setting ``mgraph.cluster``."""
    return ClusterFolder(os.path.abspath(folder or configuration.get_setting("cluster")))
