"""What there is to see of the cluster in the background."""

import contextlib
import dataclasses
import os
from dataclasses import dataclass

from mgraph.core.formatting import format_local_time
from mgraph.distributed.clusters import background_cluster, certificates
from mgraph.distributed.clusters.cluster_folder import Place, Record
from mgraph.distributed.protocol import addresses
from mgraph.errors import ClusterError


@dataclass(frozen=True)
class Status:
    """A cluster's state and figures.

    state: running (whole), stopped, starting, broken (a process is gone, or is silent), elsewhere
    (on another machine). why: what is amiss. workers, expected: how many there are, and were asked
    for. memory, memory_limit: bytes of all workers.
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
        """Everything, by name."""
        return dataclasses.asdict(self)

    def lines(self) -> list[str]:
        """The same for people, a line a thing."""
        head = f"{self.state}, {self.why}" if self.why else self.state
        told = {"cluster": f"{head}; {self.folder}"}
        if self.since:
            told["since"] = format_local_time(self.since)
        if self.scheduler_pid:
            told["scheduler"] = f"process {self.scheduler_pid}" + (
                f", {self.address}" if self.address else ""
            )
        if self.workers_pid:
            told["workers"] = (
                f"process {self.workers_pid}, {self.workers} of {self.expected}, "
                f"{self.threads} threads, {self.backend}"
            )
        if self.memory_limit:
            told["memory"] = f"{self.memory / 2**30:.2f} of {self.memory_limit / 2**30:.2f} GiB"
        pages = {
            "dashboard": self.dashboard,
            "monitor": self.monitor,
            "certificate": self.certificate_ends and f"valid until {self.certificate_ends}",
            "use": self.scheduler_file and f"--scheduler-file {self.scheduler_file}",
        }
        told |= {name: value for name, value in pages.items() if value}
        return [f"{name:11s} {value}" for name, value in told.items()]


def status(folder: str | os.PathLike[str] | None = None) -> Status:
    """Look at the processes, and ask the scheduler. Raises ClusterError for a spoilt record."""
    where = background_cluster.place(folder)
    record = where.read()
    if record is None:
        return Status(where.folder, "stopped", "no cluster was started from this folder")
    known = Status(
        where.folder,
        record.state,
        since=record.since,
        backend=record.backend,
        scheduler_pid=record.scheduler.pid if record.scheduler else None,
        workers_pid=record.workers.pid if record.workers else None,
        expected=record.count,
    )
    if not record.here:
        return dataclasses.replace(known, state="elsewhere", why=f"it was started on {record.host}")
    living = [process for process in record.processes() if process.alive]
    if not living:
        return dataclasses.replace(known, state="stopped", why="its processes are gone")
    if record.state == "starting":
        return known
    gone = [
        f"{name} {'is' if name == 'the scheduler' else 'are'} gone"
        for name, process in (("the scheduler", record.scheduler), ("the workers", record.workers))
        if process not in living
    ]
    if gone:
        return dataclasses.replace(known, state="broken", why=" and ".join(gone))
    return _asked(where, record, known)


def _asked(where: Place, record: Record, known: Status) -> Status:
    try:
        found = background_cluster.identity(where)
    except ClusterError as error:
        return dataclasses.replace(known, state="broken", why=str(error))
    workers = list(found["workers"].values())
    missing = record.count - len(workers)
    listening = addresses.host_and_port(record.dashboard)[0] or "0.0.0.0"
    at = addresses.host_and_port(found["address"])[0]
    host = addresses.dashboard_host([listening], at)
    port = found["services"].get("dashboard")
    ends = None
    if found["address"].startswith("tls://") and (own := certificates.found_in(where.tls)):
        with contextlib.suppress(ClusterError):
            end = certificates.expiry(own.cert)
            ends = f"{end:%Y-%m-%d}" if end else None
    return dataclasses.replace(
        known,
        state="broken" if missing > 0 else "running",
        why=f"{missing} workers are missing" if missing > 0 else "",
        scheduler_file=where.file,
        address=found["address"],
        workers=len(workers),
        threads=sum(worker["nthreads"] for worker in workers),
        memory=sum(int(worker["metrics"].get("memory", 0)) for worker in workers),
        memory_limit=sum(int(worker["memory_limit"] or 0) for worker in workers),
        dashboard=f"http://{host}:{port}/status" if port else None,
        monitor=f"http://{host}:{port}/mgraph" if port else None,
        certificate_ends=ends,
    )
