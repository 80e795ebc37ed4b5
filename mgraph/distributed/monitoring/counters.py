"""How much each worker has done: metrics that it sends to the scheduler with its heartbeats.

``mgraph_edges``, ``mgraph_bytes`` and ``mgraph_queries`` are columns of the dashboard's workers
page. ``mgraph_set_point`` and ``mgraph_parallelism`` are there while self-tuning searches run,
``mgraph_gpu`` where there is a GPU. All of it is ``mgraph.core.gauges``'s, and NVML's. And
``mgraph_under_way`` tells, for progress lines, how far each task has come that runs.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any

from distributed import WorkerPlugin

from mgraph import compilation
from mgraph.core import gauges
from mgraph.distributed.monitoring.pruning import MOST_KEYS
from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.protocol.broadcast import in_time

METRIC, UNDER_WAY, COMPILING = "mgraph_edges", "mgraph_under_way", "mgraph_compiling"
ASK_SECONDS = 1.0  # for how far all have come
PRUNE_SECONDS = 60.0
_lock = threading.Lock()
_reported: dict[str, float] = {}  # of this process's counters, by whichever worker
_living: list[Any] = []  # this process's workers; the first tells the levels
_under_way: dict[tuple[str, int], int] = {}  # edges that tasks of this process have counted so far
_thread = threading.local()  # its task's key


class WorkerFigures(WorkerPlugin):
    """Adds the metrics; reaches workers that join or restart later, too."""

    name = "mgraph-figures"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Start at zero."""
        with _lock:
            if not _living:
                _reported.update(gauges.read())  # what was done before is nobody's
            _living.append(worker)
        for name in gauges.COUNTERS:
            setattr(worker, f"mgraph_{name}", 0)
            worker.metrics[f"mgraph_{name}"] = _counter(name)
        for name in gauges.LEVELS:
            worker.metrics[f"mgraph_{name}"] = _level(name)
        worker.metrics[UNDER_WAY] = _tasks_under_way
        worker.metrics[COMPILING] = _compiling
        compilation.tell_with(None)  # the client's progress line tells it
        gpu = gpu_reader()
        if gpu is not None:
            worker.metrics["mgraph_gpu"] = lambda worker: gpu()
        dask_internals.start_periodic_callback(
            worker, "mgraph-pruning", lambda: prune(worker), PRUNE_SECONDS
        )

    def teardown(self, worker: Any) -> None:
        """Stop looking after the worker's memory; another worker tells the levels."""
        with _lock, contextlib.suppress(ValueError):
            _living.remove(worker)
        dask_internals.stop_periodic_callback(worker, "mgraph-pruning")


def _counter(name: str) -> Callable[[Any], float]:
    """The metric of a counter.

    Where a process has several workers, each count is told once, by the worker that reports next.
    """

    def counted(worker: Any) -> float:
        attribute = f"mgraph_{name}"
        with _lock:
            now = gauges.read()[name]
            total: float = getattr(worker, attribute) + now - _reported[name]
            _reported[name] = now
            setattr(worker, attribute, total)
        return total

    return counted


def _level(name: str) -> Callable[[Any], float | None]:
    """The metric of a level: None while it is not set, and of all but a process's first worker."""

    def told(worker: Any) -> float | None:
        with _lock:
            first = bool(_living) and _living[0] is worker
        return gauges.read().get(name) if first else None

    return told


def _compiling(worker: Any) -> bool:
    """The metric: whether a compiler runs in this process now."""
    return compilation.COMPILING.running


def _tasks_under_way(worker: Any) -> list[tuple[str, int, int]]:
    """The metric: operation, part and edges so far, of each task that has counted any."""
    with _lock:
        if not _living or _living[0] is not worker:
            return []
        return [(*key, edges) for key, edges in _under_way.items() if edges]


def gpu_reader() -> Callable[[], dict[str, Any]] | None:
    """What tells of this process's first GPU: uuid, name, use (%), memory, limit (bytes), watts.

    None where there is no GPU, or nvidia-ml-py is not installed. What a GPU does not tell is left
    out. A call takes a millisecond or so.
    """
    try:
        import pynvml

        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        uuid = dask_internals.gpu_uuid(first)
        if uuid is None:
            return None
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        name = pynvml.nvmlDeviceGetName(handle)
    except Exception:  # NVML's many ways to say that it cannot be used here
        return None
    whose = {"uuid": _text(uuid), "name": _text(name)}
    questions: dict[str, Callable[[], float]] = {
        "use": lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
        "limit": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        "watts": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    }

    def tell() -> dict[str, Any]:
        told: dict[str, Any] = dict(whose)
        for what, ask in questions.items():
            try:
                told[what] = ask()
            except pynvml.NVMLError:  # a part of a GPU tells no power, for example
                continue
        return told

    return tell


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def prune(worker: Any) -> None:
    """Forget what Dask would keep in a worker that stays."""
    dask_internals.merge_digests_of_spans(worker)
    dask_internals.forget_key_names(MOST_KEYS)


@contextlib.contextmanager
def counting(key: tuple[str, int]) -> Iterator[None]:
    """Around a task: what its thread counts is its own as well. key: the operation, the part."""
    with _lock:
        _under_way[key] = 0
    _thread.key = key
    try:
        yield
    finally:
        del _thread.key
        with _lock:
            _under_way.pop(key, None)


def count_edges(edges: int) -> None:
    """Called in a task: add to this worker's column, and to what its part has done."""
    gauges.add("edges", edges)
    key = getattr(_thread, "key", None)
    with _lock:
        if key in _under_way:
            _under_way[key] += edges


def under_way(client: Any, operation: str, finished: Container[int]) -> tuple[int, bool]:
    """What running tasks of an operation have counted, but for parts that are known to be finished.

    And whether a worker compiles. As the scheduler was told it with the last heartbeats: half a
    second old, or so. Raises TimeoutError, OSError where the scheduler does not answer.
    """
    identity = in_time(client, dask_internals.identity, client, seconds=ASK_SECONDS)
    tasks = (
        task
        for worker in identity["workers"].values()
        for task in worker["metrics"].get(UNDER_WAY, ())
    )
    edges = sum(edges for of, part, edges in tasks if of == operation and part not in finished)
    metrics = [worker["metrics"] for worker in identity["workers"].values()]
    return edges, any(told.get(COMPILING) for told in metrics)
