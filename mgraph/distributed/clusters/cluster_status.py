"""The state of a cluster in the background, as ``mgraph cluster status`` shows it."""

import contextlib
import dataclasses
import os
from dataclasses import dataclass

from mgraph.core.formatting import format_local_time, pluralize
from mgraph.distributed.clusters import background_cluster, certificates
from mgraph.distributed.clusters.cluster_folder import (
    ClusterFolder,
    ClusterRecord,
    cluster_folder,
)
from mgraph.distributed.protocol import addresses
from mgraph.errors import ClusterError


@dataclass(frozen=True)
class Status:
    """A cluster's state and figures.

    state: running (complete), stopped, starting, broken (a process is gone, or does not answer) or
    elsewhere (on another machine). why: what is wrong. workers, expected: the number of workers
    that are connected, and that were requested. memory, memory_limit: bytes, over all workers.
    """

    folder: str
    state: str
    why: str = ""
    since: str | None = None
    backend: str | None = None
    scheduler_pid: int | None = None
    workers_pid: int | None = None
    scheduler_file: str | None = None
    address: str | None = None
    workers: int = 0
    expected: int = 0
    threads: int = 0
    memory: int = 0
    memory_limit: int = 0
    dashboard: str | None = None
    monitor: str | None = None
    certificate_ends: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return all fields by name."""
        return dataclasses.asdict(self)

    def lines(self) -> list[str]:
        """Return the lines that the command prints."""
        head = f"{self.state}, {self.why}" if self.why else self.state
        rows = {"cluster": f"{head}; {self.folder}"}
        if self.since:
            rows["since"] = format_local_time(self.since)
        if self.scheduler_pid:
            rows["scheduler"] = f"process {self.scheduler_pid}" + (
                f", {self.address}" if self.address else ""
            )
        if self.workers_pid:
            rows["workers"] = (
                f"process {self.workers_pid}, {self.workers} of {self.expected}, "
                f"{pluralize(self.threads, 'thread')}, {self.backend}"
            )
        if self.memory_limit:
            rows["memory"] = f"{self.memory / 2**30:.2f} of {self.memory_limit / 2**30:.2f} GiB"
        optional = {
            "dashboard": self.dashboard,
            "monitor": self.monitor,
            "certificate": self.certificate_ends and f"valid until {self.certificate_ends}",
            "use": self.scheduler_file and f"--scheduler-file {self.scheduler_file}",
        }
        rows |= {name: value for name, value in optional.items() if value}
        return [f"{name:11s} {value}" for name, value in rows.items()]


def status(folder: str | os.PathLike[str] | None = None) -> Status:
    """Look at the processes, and ask the scheduler. Raises ClusterError for a corrupt record."""
    home = cluster_folder(folder)
    record = home.read()
    if record is None:
        return Status(home.path, "stopped", "no cluster runs from this folder")
    known = Status(
        home.path,
        record.state,
        since=record.since,
        backend=record.backend,
        scheduler_pid=record.scheduler.pid if record.scheduler else None,
        workers_pid=record.workers.pid if record.workers else None,
        expected=record.count,
    )
    if not record.is_local:
        return dataclasses.replace(known, state="elsewhere", why=f"it was started on {record.host}")
    alive = [process for process in record.processes() if process.is_alive]
    if not alive:
        return dataclasses.replace(known, state="stopped", why="its processes are gone")
    if record.state == "starting":
        return known
    gone = [
        f"{name} {'is' if name == 'the scheduler' else 'are'} gone"
        for name, process in (("the scheduler", record.scheduler), ("the workers", record.workers))
        if process not in alive
    ]
    if gone:
        return dataclasses.replace(known, state="broken", why=" and ".join(gone))
    return _ask_scheduler(home, record, known)


def _ask_scheduler(home: ClusterFolder, record: ClusterRecord, known: Status) -> Status:
    try:
        answer = background_cluster.query_identity(home)
    except ClusterError as error:
        return dataclasses.replace(known, state="broken", why=str(error))
    workers = list(answer["workers"].values())
    missing = record.count - len(workers)
    listening = addresses.host_and_port(record.dashboard)[0] or "0.0.0.0"
    scheduler_host = addresses.host_and_port(answer["address"])[0]
    host = addresses.dashboard_host([listening], scheduler_host)
    port = answer["services"].get("dashboard")
    ends = None
    if answer["address"].startswith("tls://") and (own := certificates.find(home.tls)):
        with contextlib.suppress(ClusterError):
            end = certificates.expiry(own.cert)
            ends = f"{end:%Y-%m-%d}" if end else None
    return dataclasses.replace(
        known,
        state="broken" if missing > 0 else "running",
        why=f"{pluralize(missing, 'worker')} missing" if missing > 0 else "",
        scheduler_file=home.scheduler_file,
        address=answer["address"],
        workers=len(workers),
        threads=sum(worker["nthreads"] for worker in workers),
        memory=sum(int(worker["metrics"].get("memory", 0)) for worker in workers),
        memory_limit=sum(int(worker["memory_limit"] or 0) for worker in workers),
        dashboard=f"http://{host}:{port}/status" if port else None,
        monitor=f"http://{host}:{port}/mgraph" if port else None,
        certificate_ends=ends,
    )
