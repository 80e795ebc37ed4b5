"""The metrics of each worker's work, which it sends to the scheduler with its heartbeats.

``mgraph_edges``, ``mgraph_bytes`` and ``mgraph_queries`` are columns of the dashboard's workers
page. ``mgraph_set_point`` and ``mgraph_parallelism`` exist while self-tuning searches run,
``mgraph_gpu`` on a worker with a GPU. The figures come from ``mgraph.core.gauges`` and from NVML.
``mgraph_under_way`` has the edges that each running task has counted, for progress lines.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from distributed import WorkerPlugin

from mgraph import compilation
from mgraph.core import gauges
from mgraph.distributed.monitoring.pruning import MAX_KEYS
from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.protocol.broadcast import workers_of

METRIC, PARTIAL_COUNTS, COMPILING = "mgraph_edges", "mgraph_under_way", "mgraph_compiling"
ANSWER_SECONDS = 1.0  # for the scheduler's answer to a progress line
PRUNE_SECONDS = 60.0
_PRUNING = "mgraph-pruning"
T = TypeVar("T")
R = TypeVar("R")
_lock = threading.Lock()
_reported: dict[str, float] = {}  # of this process's counters, by any of its workers
_workers: list[Any] = []  # this process's workers; the first one reports the levels
_partial_counts: dict[tuple[str, int], int] = {}  # edges so far, by the key of a running task
_thread = threading.local()  # its attribute ``key`` is the key of the thread's task


class WorkerMetrics(WorkerPlugin):
    """Adds the metrics to each worker; Dask also sets it up on workers that join or restart."""

    name = "mgraph-figures"
    idempotent = True

    def __init__(self) -> None:
        """Remember the client's process, which may be the worker's, too."""
        self._client_process = _this_process()

    def setup(self, worker: Any) -> None:
        """Add the metrics; counters start at zero."""
        with _lock:
            if not _workers:
                _reported.update(gauges.read())  # what was counted before belongs to no worker
            _workers.append(worker)
        for name in gauges.COUNTERS:
            setattr(worker, f"mgraph_{name}", 0)
            worker.metrics[f"mgraph_{name}"] = _counter_metric(name)
        for name in gauges.LEVELS:
            worker.metrics[f"mgraph_{name}"] = _level_metric(name)
        worker.metrics[PARTIAL_COUNTS] = _partial_counts_metric
        worker.metrics[COMPILING] = _compiling_metric
        if _this_process() != self._client_process:
            compilation.set_notifier(None)  # the client's progress line shows it
        read_gpu = gpu_reader()
        if read_gpu is not None:
            worker.metrics["mgraph_gpu"] = lambda worker: read_gpu()
        dask_internals.start_periodic_callback(
            worker, _PRUNING, lambda: prune(worker), PRUNE_SECONDS
        )

    def teardown(self, worker: Any) -> None:
        """Stop pruning; another worker of the process reports the levels from now on."""
        with _lock, contextlib.suppress(ValueError):
            _workers.remove(worker)
        dask_internals.stop_periodic_callback(worker, _PRUNING)


def _this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _counter_metric(name: str) -> Callable[[Any], float]:
    """Return the metric of a counter.

    In a process with several workers, each count is reported once, by the next worker to report.
    """

    def report(worker: Any) -> float:
        attribute = f"mgraph_{name}"
        with _lock:
            count = gauges.read()[name]
            total: float = getattr(worker, attribute) + count - _reported[name]
            _reported[name] = count
            setattr(worker, attribute, total)
        return total

    return report


def _level_metric(name: str) -> Callable[[Any], float | None]:
    """Return the metric of a level: None while it is not set, and for all but the first worker."""

    def report(worker: Any) -> float | None:
        with _lock:
            is_first = bool(_workers) and _workers[0] is worker
        return gauges.read().get(name) if is_first else None

    return report


def _compiling_metric(worker: Any) -> bool:
    """Report whether a compiler is running in this process."""
    return compilation.COMPILING.is_running


def _partial_counts_metric(worker: Any) -> list[tuple[str, int, int]]:
    """Report (operation, part, edges so far) of each running task that has counted any."""
    with _lock:
        if not _workers or _workers[0] is not worker:
            return []
        return [(*key, edges) for key, edges in _partial_counts.items() if edges]


def gpu_reader() -> Callable[[], dict[str, Any]] | None:
    """Return a function that reads this process's first GPU, or None without a GPU or NVML.

    Its result has uuid, name, use (%), memory, limit (bytes) and watts, without those that the GPU
    does not report. A call takes about a millisecond.
    """
    try:
        import pynvml

        uuid = dask_internals.gpu_uuid(
            os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        )
        if uuid is None:
            return None
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        name = pynvml.nvmlDeviceGetName(handle)
    except Exception:  # NVML raises many errors where it cannot be used
        return None
    device = {"uuid": _text(uuid), "name": _text(name)}
    queries: dict[str, Callable[[], float]] = {
        "use": lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
        "limit": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        "watts": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    }

    def read() -> dict[str, Any]:
        figures: dict[str, Any] = dict(device)
        for figure, query in queries.items():
            try:
                figures[figure] = query()
            except pynvml.NVMLError:  # a MIG instance reports no power, for example
                continue
        return figures

    return read


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def prune(worker: Any) -> None:
    """Remove records that Dask keeps for as long as a worker runs."""
    dask_internals.merge_digests_of_spans(worker)
    dask_internals.forget_key_names(MAX_KEYS)


@contextlib.contextmanager
def counting(key: tuple[str, int]) -> Iterator[None]:
    """Add what this thread counts to the task's own count, too. key: the operation, the part."""
    with _lock:
        _partial_counts[key] = 0
    _thread.key = key
    try:
        yield
    finally:
        del _thread.key
        with _lock:
            _partial_counts.pop(key, None)


def for_this_task(function: Callable[[T], R]) -> Callable[[T], R]:
    """Return a function for other threads, whose counts are those of this thread's task as well."""
    key = getattr(_thread, "key", None)

    def run(argument: T) -> R:
        previous, _thread.key = getattr(_thread, "key", None), key
        try:
            return function(argument)
        finally:
            _thread.key = previous

    return run


def count_edges(edges: int) -> None:
    """Add, in a task, to the worker's counter and to the count of the task's part."""
    gauges.add("edges", edges)
    key = getattr(_thread, "key", None)
    with _lock:
        if key in _partial_counts:
            _partial_counts[key] += edges


def partial_counts(metrics: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int, int]]:
    """Yield (operation, part, edges so far) of the tasks that run, from the workers' metrics."""
    for figures in metrics:
        yield from figures.get(PARTIAL_COUNTS, ())


def read_progress(client: Any, operation: str, finished: Container[int]) -> tuple[int, bool]:
    """Return the edges counted by an operation's unfinished parts, and if a worker compiles.

    The figures are those of the last heartbeats, about half a second old. Raises TimeoutError or
    OSError if the scheduler does not answer.
    """
    metrics = [worker["metrics"] for worker in workers_of(client, ANSWER_SECONDS).values()]
    counts = partial_counts(metrics)
    edges = sum(edges for name, part, edges in counts if name == operation and part not in finished)
    return edges, any(worker.get(COMPILING) for worker in metrics)
