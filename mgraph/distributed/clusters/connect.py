"""Find or start a Dask cluster: by address, file or Dask's configuration, or on this machine."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import mgraph
from mgraph.core import backend as backends
from mgraph.core.formatting import pluralize
from mgraph.core.host import available_cores, available_memory
from mgraph.core.interrupts import interrupted_later
from mgraph.distributed.clusters import local, worker_shares
from mgraph.distributed.clusters.client import joined
from mgraph.distributed.monitoring.dashboard import link_of
from mgraph.distributed.protocol import addresses, configuration, run_context
from mgraph.distributed.protocol.broadcast import on_workers, print_nothing
from mgraph.distributed.protocol.dask_internals import thread_and_memory_limits
from mgraph.distributed.protocol.failures import explained
from mgraph.errors import ClusterError, DeviceError, UsageError
from mgraph.installation import install_command

CONNECT_SECONDS = 10
SURVEY_SECONDS = 60  # a GPU's worker may begin with CUDA and CuPy
MOST_WORKERS = 1024  # on one machine
_NOT_ALL_HAVE_ONE = "backend gpu was asked for, and not every worker of the cluster has a GPU"


@dataclass(frozen=True)
class Survey:
    """What one worker offers: threads, free bytes of host and device memory, GPUs, versions."""

    threads: int
    host_bytes: int
    device_bytes: int
    gpus: int
    version: str


@dataclass(frozen=True)
class Cluster:
    """A connected Dask cluster.

    client: the ``distributed.Client``. kind: how it was found, for people. backend: cpu or gpu.
    workers: a ``Survey`` of each worker, by address.
    """

    client: Any
    kind: str
    backend: str
    workers: dict[str, Survey]

    @property
    def threads(self) -> int:
        """Tasks that run at once."""
        return sum(worker.threads for worker in self.workers.values())

    @property
    def dashboard(self) -> str | None:
        """The dashboard's address, or None where it does not run."""
        return link_of(self.client)

    def __str__(self) -> str:
        """The line that is printed on connecting."""
        workers, threads = pluralize(len(self.workers), "worker"), pluralize(self.threads, "thread")
        line = f"{self.kind}: {workers}, {threads}, {self.backend}"
        return f"{line}; dashboard {self.dashboard}" if self.dashboard else line


def survey(dask_worker: Any) -> Survey:
    """Runs on each worker: see ``Survey``."""
    gpus = backends.gpu_count()
    device_bytes = 0
    if gpus:
        from mgraph.cuda.memory import free_bytes

        device_bytes = free_bytes()
    threads, limit = thread_and_memory_limits(dask_worker)
    return Survey(
        threads=threads,
        host_bytes=available_memory(limit),
        device_bytes=device_bytes,
        gpus=gpus,
        version=mgraph.__version__,
    )


def configured_scheduler() -> str | None:
    """The scheduler that Dask's own configuration names (``DASK_SCHEDULER_ADDRESS``)."""
    import dask

    found = dask.config.get("scheduler-address", None)
    return None if found is None else str(found)


@contextlib.contextmanager
def connect(
    *,
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    backend: str = "auto",
    threaded: bool = False,
    dashboard: str | None = None,
    announce: TextIO | None = None,
) -> Iterator[Cluster]:
    """A cluster for the length of a ``with`` block; one that was started here ends with it.

    scheduler: an address (``tcp://host:8786``). scheduler_file: the JSON file that a scheduler
    wrote. Without either, the scheduler of Dask's configuration; without that, this machine: one
    worker a GPU, or one a core, or ``workers``. backend: auto, cpu or gpu. threaded: on cores, one
    worker (or ``workers``) with all of them as threads, which share what it holds, as a graph.
    dashboard: where a scheduler started here shows its pages, HOST:PORT; by default Dask's
    configuration ``mgraph.dashboard`` says. announce: a stream that is told which cluster it is,
    and that others reach it who should not.
    Raises UsageError, ClusterError where no scheduler answers, DeviceError for gpu without one.
    """
    _check_one(scheduler, scheduler_file)
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"workers must lie in [1, {MOST_WORKERS:,}], and is {workers:,}")
    configuration.check()
    dashboard = addresses.check_dashboard(dashboard or configuration.given("dashboard"))
    if backend not in backends.BACKENDS:
        backends.resolve(backend)
    address = scheduler or (None if scheduler_file else configured_scheduler())
    if (address or scheduler_file) and workers is not None:
        raise UsageError(
            "workers says how many to start on this machine; a running cluster has its own"
        )
    with contextlib.ExitStack() as stack:
        if address or scheduler_file:
            client = stack.enter_context(
                joined(address, scheduler_file, seconds=CONNECT_SECONDS, workers_needed=True)
            )
            kind = f"cluster at {client.scheduler.address}"
            _warn(announce, addresses.warning_of_scheduler(client.scheduler.address))
        else:
            backend = backends.resolve(backend)
            _warn(announce, addresses.warning_of_dashboard(dashboard))
            if backend == "cpu" and announce is not None:
                count = workers or (1 if threaded else available_cores())
                for warning in worker_shares.warnings(count):
                    _warn(announce, warning)
            with interrupted_later():
                if backend == "gpu":
                    client, kind = local.start_gpus(stack, workers, dashboard)
                else:
                    client, kind = local.start_cores(stack, workers, dashboard, threaded)
        found = _survey_all(client)
        with_gpu = all(worker.gpus for worker in found.values())
        if backend == "gpu" and not with_gpu:
            raise DeviceError(_NOT_ALL_HAVE_ONE)
        if backend == "auto":
            backend = "gpu" if with_gpu else "cpu"
        from mgraph.distributed.monitoring import monitor
        from mgraph.distributed.monitoring.counters import WorkerFigures

        client.register_plugin(WorkerFigures())
        if run_context.current_run():  # whose tasks' output comes with the workers' names
            print_nothing(client)
        _warn(announce, monitor.add_to(client))
        cluster = Cluster(client, kind, backend, found)
        if announce is not None:
            print(cluster, file=announce, flush=True)
        yield cluster


@dataclass(frozen=True)
class ClusterSpec:
    """Which cluster to use, or how to start one on this machine; the options are ``connect``'s.

    A description: an operation that is given one opens it when all else is checked, and adds what
    only the operation knows, as whether workers share a graph.
    """

    scheduler: str | None = None
    scheduler_file: str | os.PathLike[str] | None = None
    workers: int | None = None
    dashboard: str | None = None
    announce: TextIO | None = None

    @property
    def is_local(self) -> bool:
        """Whether a cluster would be started on this machine."""
        return not (self.scheduler or self.scheduler_file or configured_scheduler())

    def open(
        self, *, backend: str = "auto", threaded: bool = False
    ) -> contextlib.AbstractContextManager[Cluster]:
        """A context that gives the cluster."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return connect(**options, backend=backend, threaded=threaded)


# What operations take as their ``cluster``.
ClusterLike = Cluster | ClusterSpec | contextlib.AbstractContextManager[Cluster] | None


@contextlib.contextmanager
def open_cluster(
    cluster: ClusterLike, *, backend: str = "auto", threaded: bool = False
) -> Iterator[Cluster]:
    """A context that gives the cluster of an operation, whose ``backend`` is where it works.

    This is where CPU or GPU is decided. backend: auto is a GPU where every worker has one, and
    ``cpu`` uses no GPU of theirs. threaded: as for ``connect``, where a cluster is started.
    Raises UsageError for an unknown backend, DeviceError for gpu where a worker has none.
    """
    if cluster is None:
        cluster = ClusterSpec()
    if isinstance(cluster, ClusterSpec):
        cluster = cluster.open(backend=backend, threaded=threaded)
    if isinstance(cluster, Cluster):
        cluster = contextlib.nullcontext(cluster)
    with cluster as opened:
        if backend not in backends.BACKENDS:
            backends.resolve(backend)
        if backend == "gpu" and opened.backend == "cpu":
            raise DeviceError(_NOT_ALL_HAVE_ONE)
        yield opened if backend == "auto" else dataclasses.replace(opened, backend=backend)


@contextlib.contextmanager
def client_of(
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    announce: TextIO | None = None,
    *,
    workers_needed: bool = False,
) -> Iterator[Any]:
    """A ``distributed.Client`` of a scheduler that runs, whose workers are not asked anything.

    scheduler, scheduler_file: as for ``connect``; without either, that of Dask's configuration.
    announce: a stream that is told where the scheduler is reached by others in plain.
    workers_needed: wait for one. Raises UsageError where none is named, ClusterError where none
    answers, or its workers have another mgraph.
    """
    _check_one(scheduler, scheduler_file)
    address = scheduler or (None if scheduler_file else configured_scheduler())
    if not (address or scheduler_file):
        raise UsageError(
            "no cluster is named; give --scheduler ADDRESS or --scheduler-file FILE, or start one "
            "with mgraph cluster start"
        )
    with joined(
        address, scheduler_file, seconds=CONNECT_SECONDS, workers_needed=workers_needed
    ) as client:
        print_nothing(client)
        _warn(announce, addresses.warning_of_scheduler(client.scheduler.address))
        if workers_needed:
            _check_workers(client)
        yield client


def _check_one(scheduler: str | None, scheduler_file: Any) -> None:
    if scheduler and scheduler_file:
        raise UsageError("give a scheduler's address or a scheduler file, not both")


def _warn(announce: TextIO | None, warning: str | None) -> None:
    if announce is not None and warning:
        print(warning, file=announce, flush=True)


def _survey_all(client: Any) -> dict[str, Survey]:
    try:
        found: dict[str, Survey] = client.run(survey, callback_timeout=SURVEY_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"not every worker answered within {SURVEY_SECONDS} s; mgraph doctor with the same "
            "--scheduler or --scheduler-file tells which did not"
        ) from error
    except (ImportError, AttributeError) as error:
        raise _cannot_load(error) from error
    except Exception as error:
        raise explained(error, "looking at the workers") from error
    if not found:
        raise ClusterError("the cluster has lost its workers; see their logs, and start them again")
    _check_versions({worker.version for worker in found.values()})
    return found


def _version() -> str:
    """Runs on each worker."""
    return mgraph.__version__


def _check_workers(client: Any) -> None:
    """Raise ClusterError where a worker that answers has no mgraph, or another."""
    answers = list(on_workers(client, _version).values())
    for answer in answers:
        if isinstance(answer, Exception):
            raise _cannot_load(answer) from answer
    _check_versions(set(answers))


def _cannot_load(error: Exception) -> ClusterError:
    return ClusterError(
        f"the cluster's workers cannot load mgraph {mgraph.__version__} ({error}); install the "
        f"same version on every worker: {install_command()}. (The mgraph of PyPI is another "
        "project.)"
    )


def _check_versions(versions: set[str]) -> None:
    others = versions - {mgraph.__version__}
    if others:
        raise ClusterError(
            f"this is mgraph {mgraph.__version__}, the workers have {', '.join(sorted(others))}; "
            "install the same version everywhere"
        )
