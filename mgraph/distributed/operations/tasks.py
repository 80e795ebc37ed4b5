"""Run one function over many parts: named tasks, a progress line, one clear error.

A call is an operation: its tasks' keys are (``mgraph-<verb>-<digits>``, part), and the scheduler is
told when it begins and how it ends, for whoever watches (``monitor``). A task that nobody wants any
more, since it was cancelled or its client is gone, is told so by the worker that runs it, and ends
at its next ``mgraph.core.cancellation.raise_if_cancelled``.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, TextIO

from mgraph import compilation
from mgraph.core import cancellation
from mgraph.core.memory import limit_memory
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.protocol import run_context
from mgraph.distributed.protocol.broadcast import gather_results, on_workers
from mgraph.distributed.protocol.failures import SCHEDULER_LOST, explaining
from mgraph.distributed.protocol.progress import Progress
from mgraph.errors import ConnectionLostError

DRAIN_SECONDS = 30.0
FETCH_SECONDS = 0.2  # between two requests for results, at most; less while an operation is young
GATHER_SECONDS = 5.0  # for a request: results that died with a worker are made again first
TOPIC = "mgraph"
COUNTED = ("edges", "arcs")  # units of sizes that tasks count as they go


def perform(argument: Any, task: Callable[..., Any], **common: Any) -> Any:
    """What runs on a worker: ``task(argument, **common)``, which ends when nobody wants it."""
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import counting

    worker = get_worker()
    limit_memory(worker.memory_manager.memory_limit)
    tasks, key = worker.state.tasks, worker.get_current_task()

    def unwanted() -> bool:
        state = tasks.get(key)
        return state is None or state.state == "cancelled"

    with counting(key), cancellation.cancelled_when(unwanted):
        return task(argument, **common)


def worker_address() -> str:
    """The address of the worker that runs this task."""
    from distributed import get_worker

    return str(get_worker().address)


def submit_parts(
    cluster: Cluster,
    task: Callable[..., Any],
    arguments: Mapping[int, Any],
    *,
    verb: str,
    **common: Any,
) -> dict[int, Any]:
    """Start ``task(argument, **common)`` for each part; return the futures by part.

    arguments: what each part's task is given; ``common`` travels with every task, so it is small.
    On the dashboard the tasks are called ``mgraph-<verb>`` and stand in a span of that name, within
    the span of the submitted workflow if there is one.
    """
    operation = f"mgraph-{verb}-{time.time_ns()}"
    keys = [(operation, index) for index in arguments]
    performed = functools.partial(perform, task=task, **common)
    with explaining(work_of(verb)), spans(verb):
        futures = cluster.client.map(performed, list(arguments.values()), key=keys)
    return dict(zip(arguments, futures, strict=True))


def work_of(verb: str) -> str:
    """What a task does, for a sentence."""
    return "reading the graph" if verb == "load" else f"a task of mgraph {verb.partition('-')[0]}"


def result_of(future: Any, verb: str) -> Any:
    """What a task returned; raises its error as one of mgraph's."""
    with explaining(work_of(verb)):
        return future.result()


@contextlib.contextmanager
def spans(verb: str) -> Iterator[None]:
    """What is submitted in it stands in the operation's span, and in its workflow's, if any."""
    from dask import annotate
    from distributed import span

    run = run_context.current_run()
    with (
        annotate(**run_context.annotation()),  # also here: a script's other threads inherit none
        span(f"{run_context.RUN_KEY}{run}") if run else contextlib.nullcontext(),
        span(f"mgraph-{verb}"),
    ):
        yield


def follow_parts(
    cluster: Cluster,
    futures: dict[int, Any],
    sizes: Mapping[int, int],
    *,
    verb: str,
    unit: str = "edges",
    progress: TextIO | None = sys.stderr,
) -> Iterator[tuple[int, Any]]:
    """Yield each index with its finished future, as they come; ``futures`` is emptied.

    sizes: each part's, in ``unit``, for the progress line, which moves within a part where that is
    what its task counts (``count_edges``). A worker that dies has its tasks done by another. When a
    task fails, the rest is cancelled, what runs is awaited, its error raised.
    """
    batches = _batches(cluster, futures, sizes, verb, unit, progress)
    with explaining(work_of(verb)), contextlib.closing(batches):
        for batch in batches:
            for index, future in batch.items():
                del futures[index]
                yield index, future


def run_parts(
    cluster: Cluster,
    task: Callable[..., Any],
    arguments: Mapping[int, Any],
    sizes: Mapping[int, int],
    *,
    verb: str,
    unit: str = "edges",
    progress: TextIO | None = sys.stderr,
    **common: Any,
) -> dict[int, Any]:
    """``submit_parts``, follow, and fetch the results as they come, several a request.

    So a worker that dies takes with it what it was working on, and nothing that was finished.
    """
    futures = submit_parts(cluster, task, arguments, verb=verb, **common)
    results: dict[int, Any] = {}
    batches = _batches(cluster, futures, sizes, verb, unit, progress)
    with (
        explaining(work_of(verb)),
        contextlib.closing(batches),
    ):  # what fails here ends them, before anything else is done
        for batch in batches:
            fetched = _fetch(cluster.client, batch)
            results |= fetched
            for index in fetched:
                del futures[index]
    return results


def _batches(
    cluster: Cluster,
    futures: dict[int, Any],
    sizes: Mapping[int, int],
    verb: str,
    unit: str,
    progress: TextIO | None,
) -> Generator[dict[int, Any], None, None]:
    """Yield finished futures until the caller has taken all away; those it left come again."""
    from distributed import as_completed

    from mgraph.distributed.monitoring import counters

    if not futures:
        return
    operation = _operation_of(futures)
    index_of = {future.key: index for index, future in futures.items()}
    waiting = as_completed(list(futures.values()))
    total, counted = sum(sizes.values()), set[int]()

    compiling = False

    def under_way() -> int:
        nonlocal compiling
        edges, compiling = counters.under_way(cluster.client, operation, counted)
        return edges if unit in COUNTED else 0

    def note() -> str:
        return f", {compilation.NOTICE}" if compiling else ""

    with _telling(cluster, futures, verb, total, unit):
        try:
            with Progress(verb, total, len(sizes), progress, unit, under_way, note) as line:
                began = time.monotonic()
                while futures:
                    ready: dict[int, Any] = {}
                    for future in waiting.next_batch():
                        if future.status == "finished":
                            ready[index_of[future.key]] = future
                        elif future.status in ("pending", "lost"):  # with its worker, since then
                            waiting.add(future)
                        else:
                            _raise_or_retry(future, verb)
                            waiting.add(future)
                    for index in ready.keys() - counted:
                        counted.add(index)
                        line.add(sizes[index])
                    yield ready
                    for index in ready.keys() & futures.keys():
                        waiting.add(ready[index])
                    if futures:
                        time.sleep(min(FETCH_SECONDS, 0.02 * (time.monotonic() - began)))
        except BaseException:
            _cancel(cluster.client, futures)
            raise


def _operation_of(futures: Mapping[int, Any]) -> str:
    key: tuple[str, int] = next(iter(futures.values())).key
    return key[0]


def _fetch(client: Any, finished: dict[int, Any]) -> dict[int, Any]:
    """The results of finished tasks; of none where one of them died with its worker meanwhile."""
    from distributed.client import FutureCancelledError

    if not finished:
        return {}
    try:
        results = gather_results(client, list(finished.values()), GATHER_SECONDS)
    except TimeoutError:
        return {}
    except (FutureCancelledError, OSError) as error:
        raise ConnectionLostError(SCHEDULER_LOST) from error
    return dict(zip(finished, results, strict=True))


def _raise_or_retry(future: Any, verb: str) -> None:
    """Raise the error of a future that failed, but for a task that was stopped by mistake."""
    if future.status == "cancelled":
        raise ConnectionLostError(SCHEDULER_LOST)
    error: BaseException = future.exception()
    if isinstance(error, cancellation.Cancelled):  # and wanted again before it had ended
        future.retry()
        return
    with explaining(work_of(verb)):
        raise error


@contextlib.contextmanager
def _telling(
    cluster: Cluster, futures: dict[int, Any], verb: str, size: int, unit: str
) -> Iterator[None]:
    """Tell the scheduler, and the run's folder, how an operation begins and how it ends."""
    operation = _operation_of(futures)
    told = {"operation": operation, "verb": verb}

    def tell(state: str, **more: Any) -> None:
        event = told | {"state": state} | more
        run_context.tell("operation", **event)
        with contextlib.suppress(Exception):  # a scheduler that is gone is told of elsewhere
            cluster.client.log_event(TOPIC, event | {"client": cluster.client.id})

    parts = len(futures)
    tell("running", parts=parts, size=size, unit=unit, run=run_context.current_run(), error=None)
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        tell("cancelled", error=None)
        raise
    except BaseException as error:
        tell("failed", error=str(error) or type(error).__name__)
        raise
    tell("finished", error=None)


def _cancel(client: Any, futures: dict[int, Any]) -> None:
    """Drop what has not begun, stop what runs, and wait: nothing writes when we are gone."""
    if client.status != "running" or not futures:
        return
    operation = _operation_of(futures)
    with contextlib.suppress(Exception):
        client.cancel(list(futures.values()), force=True)
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and any(running(client, operation).values()):
            time.sleep(0.05)


def running(client: Any, operation: str | None = None) -> dict[str, int]:
    """How many tasks of an operation, or of all that are mgraph's, hold a thread of each worker."""
    found = on_workers(client, running_tasks, operation)
    return {address: count for address, count in found.items() if isinstance(count, int)}


def running_tasks(operation: str | None, dask_worker: Any) -> int:
    """Runs on a worker: see ``running``. Drivers of submitted workflows do not count."""
    keys = [key for key in list(dask_worker.active_threads.values()) if isinstance(key, tuple)]
    if operation is None:
        return sum(str(key[0]).startswith("mgraph-") for key in keys)
    return sum(key[0] == operation for key in keys)
