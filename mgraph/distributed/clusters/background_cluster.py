"""A scheduler and workers on this machine that stay up between commands: ``mgraph cluster``.

Its folder holds ``scheduler.json`` (for ``--scheduler-file``), ``cluster.json`` (which processes
there are), ``cluster.log`` and ``tls``. A lock on the folder lets one start or stop at a time.
"""

import contextlib
import dataclasses
import datetime
import errno
import importlib.util
import os
import socket
import sys
import time
from typing import Any, TextIO

import mgraph
from mgraph.core import backend as backends
from mgraph.core.host import available_cores
from mgraph.distributed.clusters import background_processes, certificates, worker_shares
from mgraph.distributed.clusters.background_processes import Background
from mgraph.distributed.clusters.client import ask, joined, located
from mgraph.distributed.clusters.cluster_folder import Place, Record, place
from mgraph.distributed.protocol import addresses, configuration, settings
from mgraph.distributed.protocol.dask_internals import SCHEDULER_MODULE, WORKER_MODULE
from mgraph.distributed.protocol.run_context import RUN_KEY
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.installation import install_command

HOST = "127.0.0.1"
MOST = 1024  # workers, and threads of each
START_SECONDS = {"cpu": 60, "gpu": 120}
WORKERS_END_SECONDS, SCHEDULER_ENDS_SECONDS = 15.0, 5.0
UNUSED_END_SECONDS = 1.0  # of what has only begun to start, and has nothing to lose
ANSWER_SECONDS = 3.0
PRELOAD = "mgraph.distributed.scheduler_preload"


class StartError(ClusterError):
    """A cluster did not come up, and nothing of it runs. log: its log's last lines."""

    def __init__(self, message: str, log: list[str]) -> None:
        """See the class."""
        super().__init__(message)
        self.log = log


def running_scheduler_file(folder: str | os.PathLike[str] | None = None) -> str | None:
    """The scheduler file of the cluster that runs in the background here, or None."""
    where = place(folder)
    with contextlib.suppress(ClusterError):
        record = where.read()
        running = record is not None and record.here and record.state == "running"
        if record and running and record.scheduler in record.processes():
            there = _alive(record.scheduler) and os.path.exists(where.file)
            return where.file if there else None
    return None


def start(
    *,
    workers: int | None = None,
    threads: int | None = None,
    backend: str = "auto",
    tls: bool = False,
    host: str = HOST,
    port: int = 0,
    dashboard: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    announce: TextIO | None = None,
) -> Place:
    """Start a scheduler and workers in sessions of their own; returns when all workers are there.

    workers: by default one a GPU, or one a core. threads: of each; by default one, or a GPU's share
    of the cores. tls: only who has the certificate in the folder's ``tls`` is let in. host, port:
    where the scheduler listens. dashboard: HOST:PORT; the one of the configuration is moved to
    another port where that is taken. announce: is told what others can reach.
    Raises UsageError, ClusterError (StartError with the log), DeviceError.
    """
    configuration.check()
    asked = dashboard is not None
    dashboard = addresses.check_dashboard(dashboard or configuration.given("dashboard"))
    for what, number in (("workers", workers), ("threads", threads)):
        if number is not None and not 1 <= number <= MOST:
            raise UsageError(f"{what} must lie in [1, {MOST:,}], and is {number:,}")
    backend = backends.resolve(backend)
    _check_listening(host, port)
    shown, page = addresses.host_and_port(dashboard)
    _check_listening(shown or "0.0.0.0", page if asked else 0)
    where = place(folder)
    try:
        certificates.make_private(where.folder)
        with where.locked():
            _refuse_second(where)
            plan = _plan(where, backend, workers, threads, dashboard)
            if announce is not None and plan.backend == "cpu":  # before what may take long
                for warning in worker_shares.warnings(plan.count, plan.threads):
                    print(warning, file=announce, flush=True)
            return _start(where, plan, tls, host, port, announce)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"the cluster's folder {where.folder} cannot be used: {error.strerror or error}"
        ) from error


def _start(
    where: Place, plan: Record, tls: bool, host: str, port: int, announce: TextIO | None
) -> Place:
    warnings = [addresses.warning_of_dashboard(plan.dashboard)]
    secure, protocol = None, "tcp"
    if tls:
        names = {host, socket.gethostname(), "localhost", HOST} - {"0.0.0.0", "::"}
        secure = certificates.found_in(where.tls) or certificates.make(where.tls, sorted(names))
        warnings.append(certificates.told_of(secure))
    if tls or settings.encryption_is_required():
        protocol = "tls"
    environment = os.environ | settings.environment(secure.configuration if secure else None)
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    where.forget()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(where.log)
    listening = ["--host", f"[{host}]" if ":" in host else host, "--protocol", protocol]
    security = secure.security() if secure else None
    record = plan
    try:
        command = [sys.executable, "-m", SCHEDULER_MODULE, *listening]
        command += ["--port", str(port), "--dashboard-address", plan.dashboard]
        command += ["--scheduler-file", where.file, "--preload", PRELOAD]
        record = dataclasses.replace(
            record, scheduler=background_processes.spawn(command, environment, where.log)
        )
        where.write(record)
        deadline = time.monotonic() + START_SECONDS[plan.backend]
        _wait(record, deadline, "the scheduler", lambda: os.path.exists(where.file))
        address = addresses.in_file(where.file)
        warnings.append(addresses.warning_of_scheduler(address))
        os.chmod(where.file, 0o600)
        record = dataclasses.replace(
            record,
            workers=background_processes.spawn(
                _worker_command(plan, listening, where), _of_workers(environment, plan), where.log
            ),
        )
        where.write(record)
        _wait(record, deadline, "the workers", lambda: _count(address, security) >= plan.count)
        where.write(dataclasses.replace(record, state="running"))
    except BaseException as error:
        _end(record, UNUSED_END_SECONDS)
        log = where.tail()
        where.forget()
        if isinstance(error, ClusterError):
            raise StartError(f"{error}; its log is {where.log}", log) from error
        raise
    for warning in filter(None, warnings):
        if announce is not None:
            print(warning, file=announce, flush=True)
    return where


def stop(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """End the workers, then the scheduler; returns the runs that were running, as far as is known.

    Raises ClusterError where no cluster was started here.
    """
    where = place(folder)
    if not os.path.isdir(where.folder):
        raise ClusterError(f"no cluster was started from {where.folder}")
    with where.locked():
        record = where.read()
        if record is None:
            raise ClusterError(f"no cluster was started from {where.folder}")
        where.refuse_elsewhere(record)
        runs = _running_runs(where) if _alive(record.scheduler) else []
        _end(record)
        where.forget()
    return runs


def _end(record: Record, most: float = WORKERS_END_SECONDS) -> None:
    """Nothing of the cluster runs when this returns. most: seconds before processes are killed."""
    everyone = {process: process.family() for process in record.processes()}
    for process, seconds in (
        (record.workers, WORKERS_END_SECONDS),
        (record.scheduler, SCHEDULER_ENDS_SECONDS),
    ):
        if process in everyone:
            leaders = [one for one in everyone[process] if one.pid == process.pid]
            background_processes.end(leaders, min(seconds, most))
    left = {one for family in everyone.values() for one in family}
    for process in everyone:
        left |= set(process.family())
    background_processes.kill(background_processes.wait(left, 1.0))


def _plan(
    where: Place, backend: str, workers: int | None, threads: int | None, dashboard: str
) -> Record:
    cores = available_cores()
    count = workers or cores
    if backend == "gpu":
        if importlib.util.find_spec("dask_cuda") is None:
            raise ClusterError(
                f"a GPU is here but dask-cuda is not; {install_command('gpu')}, or use "
                "--backend cpu"
            )
        gpus = backends.gpu_count()
        if workers and workers > gpus:
            raise UsageError(f"there is one worker a GPU, so {gpus} at most here, not {workers:,}")
        count = workers or gpus
    return Record(
        host=socket.gethostname(),
        boot=background_processes.boot(),
        state="starting",
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        backend=backend,
        count=count,
        threads=threads or (max(1, cores // count) if backend == "gpu" else 1),
        dashboard=dashboard,
        version=mgraph.__version__,
    )


def _worker_command(plan: Record, listening: list[str], where: Place) -> list[str]:
    command = [sys.executable, "-m", WORKER_MODULE, "--nworkers", str(plan.count)]
    memory = worker_shares.memory_by_threads(plan.count, plan.threads)
    if plan.backend == "gpu":
        memory = worker_shares.memory_of_each(plan.count)
        command = [sys.executable, "-m", "dask", "cuda", "worker"]
    command += [*listening, "--scheduler-file", where.file, "--nthreads", str(plan.threads)]
    command += ["--memory-limit", str(memory)]
    return [*command, "--dashboard-address", "127.0.0.1:0"]


def _of_workers(environment: dict[str, str], plan: Record) -> dict[str, str]:
    """The environment, with as many GPUs as there are workers: dask-cuda takes all it sees."""
    if plan.backend != "gpu":
        return environment
    seen = environment.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(plan.count)))
    return environment | {"CUDA_VISIBLE_DEVICES": ",".join(seen.split(",")[: plan.count])}


def _wait(record: Record, deadline: float, who: str, there: Any) -> None:
    """Until something is there. Raises ClusterError where a process ends, or it takes too long."""
    while not there():
        for process, name in ((record.scheduler, "the scheduler"), (record.workers, "the workers")):
            if process is not None and not process.alive:
                raise ClusterError(f"{name} ended while the cluster started")
        if time.monotonic() > deadline:
            raise ClusterError(
                f"{who} did not come up within {START_SECONDS[record.backend]} seconds"
            )
        time.sleep(0.05)


def identity(where: Place, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """What the scheduler tells of itself and its workers. Raises ClusterError for a silent one."""
    address, security, _ = located(None, where.file)
    try:
        found: dict[str, Any] = ask(address, security, seconds, op="identity")
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"the scheduler at {address} does not answer ({error})") from error
    return found


def _alive(process: Background | None) -> bool:
    return process is not None and process.alive


def _count(address: str, security: Any) -> int:
    try:
        found = ask(address, security, ANSWER_SECONDS, op="identity", n_workers=0)
    except (OSError, TimeoutError):
        return 0
    return int(found["n_workers"])


def runs_on(dask_scheduler: Any) -> list[str]:
    """Runs on the scheduler: the IDs of submitted workflows that have not ended."""
    return [
        str(key).removeprefix(RUN_KEY)
        for key, task in dask_scheduler.tasks.items()
        if str(key).startswith(RUN_KEY)
        and task.state in ("processing", "queued", "no-worker", "waiting")
    ]


def _running_runs(where: Place) -> list[str]:
    with contextlib.suppress(Exception):  # the cluster is to end, whatever state it is in
        seconds = ANSWER_SECONDS
        with joined(None, where.file, seconds=seconds, workers_needed=False) as client:
            found: list[str] = client.run_on_scheduler(runs_on, callback_timeout=seconds)
            return found
    return []


def _refuse_second(where: Place) -> None:
    record = where.read()
    if record is None:
        return
    where.refuse_elsewhere(record)
    if any(process.family() for process in record.processes()):
        raise ClusterError(
            f"a cluster runs already from {where.folder}; mgraph cluster stop ends it, and another "
            "--folder is for another"
        )


def _check_listening(host: str, port: int) -> None:
    """Raise UsageError for an address that is not this machine's, ClusterError for a taken port."""
    if not 0 <= port < 1 << 16:
        raise UsageError(f"a port lies in [0, 65535], and is {port:,}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host!r} is no name or address of this machine ({error})") from None
    try:
        with socket.socket(found[0], found[1]) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(found[4])
    except OSError as error:
        told = error.strerror or error
        if port and error.errno != errno.EADDRNOTAVAIL:
            raise ClusterError(f"nothing can listen at {host}:{port}: {told}") from error
        raise UsageError(
            f"nothing can listen at {host}, which must be this machine's: {told}"
        ) from None
