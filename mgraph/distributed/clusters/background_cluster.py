"""A scheduler and workers on this machine that stay up between commands: ``mgraph cluster``.

The cluster's folder has ``scheduler.json`` (the scheduler file), ``cluster.json`` (the record of
its processes), ``cluster.log`` and ``tls``. A lock on the folder lets one start or stop run at a
time.
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
from collections.abc import Callable
from typing import Any, TextIO

import mgraph
from mgraph.core import backend as backends
from mgraph.core.choices import Backend
from mgraph.core.host import available_cores
from mgraph.distributed.clusters import background_processes, certificates, worker_shares
from mgraph.distributed.clusters.background_processes import BackgroundProcess
from mgraph.distributed.clusters.client import open_client, request, resolve_scheduler
from mgraph.distributed.clusters.cluster_folder import (
    ClusterFolder,
    ClusterRecord,
    cluster_folder,
)
from mgraph.distributed.protocol import addresses, configuration, settings
from mgraph.distributed.protocol.broadcast import on_scheduler
from mgraph.distributed.protocol.dask_internals import SCHEDULER_MODULE, WORKER_MODULE
from mgraph.distributed.protocol.run_context import RUN_KEY
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.installation import install_command

HOST = "127.0.0.1"
MAX_WORKERS = 1024  # and threads of each worker
START_SECONDS = {"cpu": 60, "gpu": 120}
WORKERS_END_SECONDS, SCHEDULER_ENDS_SECONDS = 15.0, 5.0
ABORT_SECONDS = 1.0  # for the processes of a cluster that did not start, which have no work
ANSWER_SECONDS = 3.0
PRELOAD = "mgraph.distributed.scheduler_preload"


class StartError(ClusterError):
    """A cluster did not start, and none of its processes is running. log: its log's last lines."""

    def __init__(self, message: str, log: list[str]) -> None:
        """See the class."""
        super().__init__(message)
        self.log = log


def running_scheduler_file(folder: str | os.PathLike[str] | None = None) -> str | None:
    """Return the scheduler file of the cluster that runs in the background, or None."""
    home = cluster_folder(folder)
    with contextlib.suppress(ClusterError):
        record = home.read()
        if record is None or not record.is_local or record.state != "running":
            return None
        if record.scheduler in record.processes() and _is_alive(record.scheduler):
            return home.scheduler_file if os.path.exists(home.scheduler_file) else None
    return None


def start(
    *,
    workers: int | None = None,
    threads: int | None = None,
    backend: Backend = "auto",
    tls: bool = False,
    host: str = HOST,
    port: int = 0,
    dashboard: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    announce: TextIO | None = None,
) -> ClusterFolder:
    """Start a scheduler and workers in sessions of their own; returns when all workers are there.

    workers: by default one per GPU, or one per core. threads: of each worker; by default one, or a
    GPU's share of the cores. tls: accept only clients with the certificate in the folder's ``tls``.
    host, port: where the scheduler listens. dashboard: HOST:PORT; the configured one is moved to
    another port if its port is taken. announce: the stream for warnings about what other machines
    can reach. Raises UsageError, DeviceError, ClusterError (StartError with the log).
    """
    configuration.check_settings()
    is_fixed = dashboard is not None
    dashboard = addresses.check_dashboard(dashboard or configuration.get_setting("dashboard"))
    for name, number in (("workers", workers), ("threads", threads)):
        if number is not None and not 1 <= number <= MAX_WORKERS:
            raise UsageError(f"{name} must lie in [1, {MAX_WORKERS:,}] (got {number:,})")
    backend = backends.resolve(backend)
    _check_listening(host, port)
    dashboard_host, dashboard_port = addresses.host_and_port(dashboard)
    _check_listening(dashboard_host or "0.0.0.0", dashboard_port if is_fixed else 0)
    home = cluster_folder(folder)
    try:
        certificates.make_private_folder(home.path)
        with home.locked():
            _require_stopped(home)
            plan = _plan(home, backend, workers, threads, dashboard)
            if announce is not None and plan.backend == "cpu":  # before the start, which is slow
                for warning in worker_shares.warnings(plan.count, plan.threads):
                    print(warning, file=announce, flush=True)
            return _start(home, plan, tls, host, port, announce)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"the cluster's folder {home.path} cannot be used: {error.strerror or error}"
        ) from error


def _start(
    home: ClusterFolder, plan: ClusterRecord, tls: bool, host: str, port: int,
    announce: TextIO | None,
) -> ClusterFolder:  # fmt: skip
    warnings = [addresses.dashboard_warning(plan.dashboard)]
    own, protocol = None, "tcp"
    if tls:
        own = certificates.find(home.tls) or certificates.make(home.tls)
        warnings.append(certificates.expiry_warning(own))
    if tls or settings.encryption_is_required():
        protocol = "tls"
    environment = os.environ | settings.environment(own.configuration if own else None)
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    home.clear()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(home.log)
    listening = ["--host", f"[{host}]" if ":" in host else host, "--protocol", protocol]
    security = own.security() if own else None
    record = plan
    try:
        command = [sys.executable, "-m", SCHEDULER_MODULE, *listening]
        command += ["--port", str(port), "--dashboard-address", plan.dashboard]
        command += ["--scheduler-file", home.scheduler_file, "--preload", PRELOAD]
        record = dataclasses.replace(
            record, scheduler=background_processes.spawn(command, environment, home.log)
        )
        home.write(record)
        deadline = time.monotonic() + START_SECONDS[plan.backend]
        _wait(record, deadline, "the scheduler", lambda: os.path.exists(home.scheduler_file))
        address = addresses.read_scheduler_file(home.scheduler_file)
        warnings.append(addresses.scheduler_warning(address))
        os.chmod(home.scheduler_file, 0o600)
        command, environment = _worker_command(plan, listening, home), _gpus(environment, plan)
        record = dataclasses.replace(
            record, workers=background_processes.spawn(command, environment, home.log)
        )
        home.write(record)
        _wait(
            record, deadline, "the workers", lambda: _count_workers(address, security) >= plan.count
        )
        home.write(dataclasses.replace(record, state="running"))
    except BaseException as error:
        _end(record, ABORT_SECONDS)
        log = home.log_tail()
        home.clear()
        if isinstance(error, ClusterError):
            raise StartError(f"{error}; its log is {home.log}", log) from error
        raise
    for warning in filter(None, warnings):
        if announce is not None:
            print(warning, file=announce, flush=True)
    return home


def stop(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """End the workers, then the scheduler; returns the IDs of runs that were unfinished.

    Raises ClusterError if no cluster runs from the folder.
    """
    home = cluster_folder(folder)
    if not os.path.isdir(home.path):
        raise ClusterError(f"no cluster runs from the folder {home.path}")
    with home.locked():
        record = home.read()
        if record is None:
            raise ClusterError(f"no cluster runs from the folder {home.path}")
        home.require_local(record)
        runs = _query_runs(home) if _is_alive(record.scheduler) else []
        _end(record)
        home.clear()
    return runs


def _end(record: ClusterRecord, limit: float = WORKERS_END_SECONDS) -> None:
    """End all processes of a cluster; those that are running after ``limit`` seconds are killed."""
    trees = {process: process.tree() for process in record.processes()}
    for process, seconds in (
        (record.workers, WORKERS_END_SECONDS),
        (record.scheduler, SCHEDULER_ENDS_SECONDS),
    ):
        if process in trees:
            leaders = [member for member in trees[process] if member.pid == process.pid]
            background_processes.terminate(leaders, min(seconds, limit))
    remaining = {member for tree in trees.values() for member in tree}
    for process in trees:
        remaining |= set(process.tree())
    background_processes.kill(background_processes.wait(remaining, 1.0))


def _plan(
    home: ClusterFolder, backend: Backend, workers: int | None, threads: int | None, dashboard: str
) -> ClusterRecord:
    cores = available_cores()
    count = workers or cores
    if backend == "gpu":
        if importlib.util.find_spec("dask_cuda") is None:
            raise ClusterError(
                "this machine has a GPU, but dask-cuda is not installed; "
                f"{install_command('gpu')}, or use backend cpu"
            )
        gpus = backends.gpu_count()
        if workers and workers > gpus:
            raise UsageError(f"workers must be at most {gpus}, one per GPU (got {workers:,})")
        count = workers or gpus
    return ClusterRecord(
        host=socket.gethostname(),
        boot=background_processes.boot_id(),
        state="starting",
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        backend=backend,
        count=count,
        threads=threads or (max(1, cores // count) if backend == "gpu" else 1),
        dashboard=dashboard,
        version=mgraph.__version__,
    )


def _worker_command(plan: ClusterRecord, listening: list[str], home: ClusterFolder) -> list[str]:
    command = [sys.executable, "-m", WORKER_MODULE, "--nworkers", str(plan.count)]
    memory = worker_shares.memory_by_threads(plan.count, plan.threads)
    if plan.backend == "gpu":
        memory = worker_shares.memory_per_worker(plan.count)
        command = [sys.executable, "-m", "dask", "cuda", "worker"]
    command += [*listening, "--scheduler-file", home.scheduler_file]
    command += ["--nthreads", str(plan.threads), "--memory-limit", str(memory)]
    return [*command, "--dashboard-address", "127.0.0.1:0"]


def _gpus(environment: dict[str, str], plan: ClusterRecord) -> dict[str, str]:
    """Return the environment with as many visible GPUs as workers: dask-cuda takes every one."""
    if plan.backend != "gpu":
        return environment
    visible = environment.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(plan.count)))
    return environment | {"CUDA_VISIBLE_DEVICES": ",".join(visible.split(",")[: plan.count])}


def _wait(
    record: ClusterRecord, deadline: float, subject: str, is_there: Callable[[], bool]
) -> None:
    """Wait until ``is_there()``. Raises ClusterError if a process ends, or after the deadline."""
    while not is_there():
        for process, name in ((record.scheduler, "the scheduler"), (record.workers, "the workers")):
            if process is not None and not process.is_alive:
                raise ClusterError(f"{name} ended while the cluster was starting")
        if time.monotonic() > deadline:
            raise ClusterError(
                f"{subject} did not start within {START_SECONDS[record.backend]} seconds"
            )
        time.sleep(0.05)


def query_identity(home: ClusterFolder, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """Ask the scheduler for its own and its workers' figures. Raises ClusterError."""
    address, security, _ = resolve_scheduler(None, home.scheduler_file)
    try:
        answer: dict[str, Any] = request(address, security, seconds, op="identity")
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"the scheduler at {address} does not answer ({error})") from error
    return answer


def _is_alive(process: BackgroundProcess | None) -> bool:
    return process is not None and process.is_alive


def _count_workers(address: str, security: Any) -> int:
    try:
        answer = request(address, security, ANSWER_SECONDS, op="identity", n_workers=0)
    except (OSError, TimeoutError):
        return 0
    return int(answer["n_workers"])


def unfinished_runs(dask_scheduler: Any) -> list[str]:
    """Runs on the scheduler: return the IDs of submitted workflows that have not ended."""
    return [
        str(key).removeprefix(RUN_KEY)
        for key, task in dask_scheduler.tasks.items()
        if str(key).startswith(RUN_KEY)
        and task.state in ("processing", "queued", "no-worker", "waiting")
    ]


def _query_runs(home: ClusterFolder) -> list[str]:
    with contextlib.suppress(Exception):  # the cluster is to end, whatever its state
        file, seconds = home.scheduler_file, ANSWER_SECONDS
        with open_client(None, file, seconds=seconds, workers_needed=False, silent=True) as client:
            runs: list[str] = on_scheduler(client, unfinished_runs, seconds=seconds)
            return runs
    return []


def _require_stopped(home: ClusterFolder) -> None:
    record = home.read()
    if record is None:
        return
    home.require_local(record)
    if any(process.tree() for process in record.processes()):
        raise ClusterError(
            f"a cluster is already running from {home.path}; mgraph cluster stop ends it; for "
            "another cluster give another folder (`folder=DIR`)"
        )


def _check_listening(host: str, port: int) -> None:
    """Raise UsageError unless an address is this machine's, ClusterError if its port is taken."""
    if not 0 <= port < 1 << 16:
        raise UsageError(f"port must lie in [0, 65535] (got {port:,})")
    try:
        entry = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"host must be a name or an address of this machine (got {host!r}: {error})"
        ) from None
    try:
        with socket.socket(entry[0], entry[1]) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(entry[4])
    except OSError as error:
        reason = error.strerror or error
        if port and error.errno != errno.EADDRNOTAVAIL:
            raise ClusterError(f"nothing can listen at {host}:{port}: {reason}") from error
        raise UsageError(
            f"nothing can listen at {host}, which must be an address of this machine: {reason}"
        ) from None
