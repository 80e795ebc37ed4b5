"""Connect to a Dask cluster by address, file or configuration, or start one on this machine."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from mgraph import timings
from mgraph.core import backend as backends
from mgraph.core.choices import Backend
from mgraph.core.formatting import pluralize
from mgraph.core.host import available_cores
from mgraph.core.interrupts import deferred_interrupts
from mgraph.distributed.clusters import local, worker_shares
from mgraph.distributed.clusters.client import open_client
from mgraph.distributed.clusters.dask_objects import current_scheduler, scheduler_of
from mgraph.distributed.clusters.survey import Survey, check_workers, survey_workers
from mgraph.distributed.monitoring.dashboard import find_link
from mgraph.distributed.protocol import addresses, configuration, run_context
from mgraph.distributed.protocol.broadcast import silence_task_prints
from mgraph.errors import DeviceError, UsageError

CONNECT_SECONDS = 10
MAX_WORKERS = 1024  # on one machine
_NOT_ALL_HAVE_A_GPU = "backend gpu was requested, but not every worker of the cluster has a GPU"


@dataclass(frozen=True)
class Cluster:
    """A connected Dask cluster, which ``mgraph.connect`` and ``ClusterSpec.open`` return.

    Attributes
    ----------
    client : distributed.Client
        The client of the cluster's scheduler.
    kind : str
        How the cluster was found, for people: its address, or the machine's cores or GPUs.
    backend : {"cpu", "gpu"}
        Where operations on this cluster compute.
    workers : dict of str to Survey
        The threads, free memory, number of GPUs and mgraph version of each worker, by address.

    Examples
    --------
    >>> with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as cluster:
    ...     print(cluster.kind, cluster.backend, len(cluster.workers), cluster.threads)
    cores of this machine cpu 1 1
    """

    client: Any
    kind: str
    backend: Backend
    workers: dict[str, Survey]

    @property
    def threads(self) -> int:
        """The number of tasks that run at once, over all workers."""
        return sum(worker.threads for worker in self.workers.values())

    @property
    def worker_bytes(self) -> int:
        """The free memory of the worker that has the least, of its GPU where operations use it."""
        return min(
            worker.device_bytes if self.backend == "gpu" else worker.host_bytes
            for worker in self.workers.values()
        )

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's dashboard, or None if the scheduler has none."""
        return find_link(self.client)

    def __str__(self) -> str:
        """Return the line that is printed after connecting."""
        workers, threads = pluralize(len(self.workers), "worker"), pluralize(self.threads, "thread")
        line = f"{self.kind}: {workers}, {threads}, {self.backend}"
        return f"{line}; dashboard {self.dashboard}" if self.dashboard else line


def configured_scheduler() -> str | None:
    """Return the scheduler of Dask's configuration (``DASK_SCHEDULER_ADDRESS``), or None."""
    import dask

    address = dask.config.get("scheduler-address", None)
    return None if address is None else str(address)


@contextlib.contextmanager
def connect(
    *,
    scheduler: Any = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    backend: Backend = "auto",
    threaded: bool = False,
    in_process: bool = False,
    dashboard: str | None = None,
    announce: TextIO | None = None,
) -> Iterator[Cluster]:
    """Connect to a Dask cluster, or start one on this machine, for the length of a ``with`` block.

    Without ``scheduler`` and ``scheduler_file``, the scheduler of the ``distributed.Client`` that
    this program has open is used, else that of Dask's configuration (``DASK_SCHEDULER_ADDRESS``).
    Without either, or with ``workers``, a cluster is started on this machine, which ends with the
    block.

    Parameters
    ----------
    scheduler : str, distributed.Client or a cluster of Dask's, optional
        Address of a running scheduler, as in ``"tcp://host:8786"``; or what has one, which is left
        open at the end.
    scheduler_file : path, optional
        The JSON file that a running scheduler wrote.
    workers : int, optional
        Number of workers to start on this machine; by default one per GPU, or one per core.
    backend : {"auto", "cpu", "gpu"}
        Where operations compute; "auto" is "gpu" if every worker has a GPU.
    threaded : bool, default False
        Start one worker (or ``workers``) with all cores as its threads, which share what the worker
        holds, such as a graph. Only for workers on cores.
    in_process : bool, default False
        Start one worker as threads of this process, unless ``workers`` is given. The worker of a
        machine's only GPU always is one.
    dashboard : str, optional
        HOST:PORT at which a scheduler that is started here serves its pages; by default the setting
        ``mgraph.dashboard``, 127.0.0.1:8787.
    announce : text stream, optional
        Receives one line about the cluster, and warnings, for example of a scheduler without
        encryption that other machines can reach.

    Yields
    ------
    Cluster
        The cluster, with a connected ``distributed.Client``.

    Raises
    ------
    UsageError
        If a parameter is invalid.
    ClusterError
        If no scheduler answers, no workers start, or the workers have another version of mgraph.
    DeviceError
        If ``backend="gpu"`` and a worker has no GPU.

    Notes
    -----
    A worker in this process starts in a tenth of a second, worker processes in one to three
    seconds. A program that starts processes must do so under ``if __name__ == "__main__":``, since
    each worker runs the program's file again.

    Examples
    --------
    >>> with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as cluster:
    ...     cluster.client.submit(sum, [1, 2, 3]).result()
    6
    """
    _check_single(scheduler, scheduler_file)
    security = None
    found = scheduler_of(scheduler)
    if scheduler is None and scheduler_file is None and workers is None:
        found = current_scheduler()
    if found is not None:
        scheduler, security = found
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise UsageError(f"workers must lie in [1, {MAX_WORKERS:,}] (got {workers:,})")
    configuration.check_settings()
    dashboard = addresses.check_dashboard(dashboard or configuration.get_setting("dashboard"))
    if backend not in backends.BACKENDS:
        backends.resolve(backend)
    address = scheduler or (None if scheduler_file else configured_scheduler())
    if (address or scheduler_file) and workers is not None:
        raise UsageError(
            "workers is the number of workers to start on this machine, and a running cluster has "
            "its own; leave it out"
        )
    # The output of a submitted run's tasks reaches the run's log by itself, with the worker's name.
    silent = run_context.current_run() is not None
    with contextlib.ExitStack() as stack:
        if address or scheduler_file:
            opened = open_client(
                address, scheduler_file, seconds=CONNECT_SECONDS, workers_needed=True,
                silent=silent, security=security,
            )  # fmt: skip
            client = stack.enter_context(opened)
            kind = f"cluster at {client.scheduler.address}"
            _warn(announce, addresses.scheduler_warning(client.scheduler.address))
        else:
            backend = backends.resolve(backend)
            _warn(announce, addresses.dashboard_warning(dashboard))
            if backend == "cpu" and announce is not None:
                count = workers or (1 if threaded or in_process else available_cores())
                for warning in worker_shares.warnings(count):
                    _warn(announce, warning)
            with deferred_interrupts():
                if backend == "gpu" and workers is None and backends.gpu_count() == 1:
                    client, kind = local.start_in_process(
                        stack, "GPU of this machine", available_cores(), dashboard, on_gpu=True
                    )
                elif backend == "gpu":
                    client, kind = local.start_gpu_workers(stack, workers, dashboard)
                elif in_process and workers is None:
                    client, kind = local.start_in_process(
                        stack, "cores of this machine", available_cores(), dashboard
                    )
                else:
                    client, kind = local.start_cpu_workers(stack, workers, dashboard, threaded)
            if silent:
                silence_task_prints(client)
        surveys = survey_workers(client, with_devices=backend != "cpu")
        all_have_gpus = all(worker.gpus for worker in surveys.values())
        if backend == "gpu" and not all_have_gpus:
            raise DeviceError(_NOT_ALL_HAVE_A_GPU)
        if backend == "auto":
            backend = "gpu" if all_have_gpus else "cpu"
        from mgraph.distributed.monitoring import monitor
        from mgraph.distributed.monitoring.counters import WorkerMetrics

        client.register_plugin(WorkerMetrics())
        _warn(announce, monitor.register(client))
        cluster = Cluster(client, kind, backend, surveys)
        if announce is not None:
            print(cluster, file=announce, flush=True)
        yield cluster


@dataclass(frozen=True)
class ClusterSpec:
    """Which cluster to use, or how to start one on this machine.

    A description: an operation that is given one as its ``cluster`` opens the cluster after all
    other checks, with the ``backend``, ``threaded`` and ``in_process`` that the operation needs,
    and closes it at the end. Use ``mgraph.connect`` for several operations on one cluster.

    Parameters
    ----------
    scheduler, scheduler_file, workers, dashboard, announce : optional
        As for ``mgraph.connect``.

    Examples
    --------
    >>> mgraph.ClusterSpec("tcp://host:8786").is_local
    False
    >>> mgraph.ClusterSpec(workers=2).workers
    2
    """

    scheduler: Any = None
    scheduler_file: str | os.PathLike[str] | None = None
    workers: int | None = None
    dashboard: str | None = None
    announce: TextIO | None = None

    @property
    def is_local(self) -> bool:
        """Whether a cluster would be started on this machine."""
        if self.scheduler or self.scheduler_file or configured_scheduler():
            return False
        return self.workers is not None or current_scheduler() is None

    def open(
        self, *, backend: Backend = "auto", threaded: bool = False, in_process: bool = False
    ) -> contextlib.AbstractContextManager[Cluster]:
        """Return a context that opens the cluster; the parameters are those of ``connect``."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return connect(**options, backend=backend, threaded=threaded, in_process=in_process)


# What operations take as their ``cluster``: also a Client or a cluster of Dask's.
ClusterLike = Cluster | ClusterSpec | contextlib.AbstractContextManager[Any] | None


@contextlib.contextmanager
def open_cluster(
    cluster: ClusterLike,
    *,
    backend: Backend = "auto",
    threaded: bool = False,
    in_process: bool = False,
) -> Iterator[Cluster]:
    """Open the cluster of an operation, whose ``backend`` says where the operation computes.

    CPU or GPU is decided here. backend: "auto" is "gpu" if every worker has a GPU, and "cpu" uses
    none of their GPUs. threaded, in_process: as for ``connect``, if a cluster is started. Raises
    UsageError for an unknown backend, DeviceError for "gpu" if a worker has none.
    """
    if cluster is None or isinstance(cluster, str) or scheduler_of(cluster) is not None:
        cluster = ClusterSpec(cluster)
    if isinstance(cluster, ClusterSpec):
        cluster = cluster.open(backend=backend, threaded=threaded, in_process=in_process)
    if isinstance(cluster, Cluster):
        cluster = contextlib.nullcontext(cluster)
    if not isinstance(cluster, contextlib.AbstractContextManager):
        raise UsageError(
            "`cluster` must be what mgraph.connect() gives, a ClusterSpec, the address of a "
            f"scheduler, or a client or a cluster of Dask's (got {type(cluster).__name__})"
        )
    with contextlib.ExitStack() as stack:
        with timings.step(timings.CONNECTING):
            opened = stack.enter_context(cluster)
        if backend not in backends.BACKENDS:
            backends.resolve(backend)
        if backend == "gpu" and opened.backend == "cpu":
            raise DeviceError(_NOT_ALL_HAVE_A_GPU)
        yield opened if backend == "auto" else dataclasses.replace(opened, backend=backend)


@contextlib.contextmanager
def connect_client(
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    announce: TextIO | None = None,
    *,
    workers_needed: bool = False,
) -> Iterator[Any]:
    """Connect a ``distributed.Client`` to a running scheduler, without a survey of its workers.

    scheduler, scheduler_file: as for ``connect``; without either, the scheduler of Dask's
    configuration. announce: receives a warning of an unencrypted scheduler. workers_needed: wait
    for a worker. Raises UsageError if no scheduler is named, ClusterError if none answers, or if
    its workers have another version of mgraph.
    """
    _check_single(scheduler, scheduler_file)
    address = scheduler or (None if scheduler_file else configured_scheduler())
    if not (address or scheduler_file):
        raise UsageError(
            "no cluster is named; give `scheduler=ADDRESS` or `scheduler_file=FILE`, or start a "
            "cluster with mgraph cluster start"
        )
    opened = open_client(
        address,
        scheduler_file,
        seconds=CONNECT_SECONDS,
        workers_needed=workers_needed,
        silent=True,
    )
    with opened as client:
        _warn(announce, addresses.scheduler_warning(client.scheduler.address))
        if workers_needed:
            check_workers(client)
        yield client


def _check_single(scheduler: str | None, scheduler_file: Any) -> None:
    if scheduler and scheduler_file:
        raise UsageError("give a scheduler's address or a scheduler file, not both")


def _warn(announce: TextIO | None, warning: str | None) -> None:
    if announce is not None and warning:
        print(warning, file=announce, flush=True)
