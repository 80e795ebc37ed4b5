"""Run one function over many parts: named tasks, a progress line, one clear error.

A call is an operation: its tasks' keys are (``mgraph-<verb>-<digits>``, part), and the scheduler
receives an event when it begins and when it ends, for the monitor. The worker cancels a task that
the scheduler has released, since it was cancelled or its client is gone: the task ends at its next
``mgraph.core.cancellation.raise_if_cancelled``.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TextIO

from mgraph import compilation, timings
from mgraph.core import cancellation
from mgraph.core.memory import limit_memory
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.monitoring.jobs import COUNTED
from mgraph.distributed.protocol import run_context
from mgraph.distributed.protocol.broadcast import gather_results, on_workers
from mgraph.distributed.protocol.failures import SCHEDULER_LOST, explaining
from mgraph.distributed.protocol.progress import Progress
from mgraph.errors import ConnectionLostError

DRAIN_SECONDS = 30.0
QUIET_COUNTS = 2  # in which nothing runs: at first a task may still be on its way to a worker
FETCH_SECONDS = 0.2  # between two requests for results, at most; less while an operation is young
FEW_RESULTS = 32  # which are fetched as they come
GATHER_SECONDS = 5.0  # for a request: results lost with a worker are computed again first
TOPIC = "mgraph"


def perform(argument: Any, task: Callable[..., Any], **common: Any) -> Any:
    """Run ``task(argument, **common)`` on a worker until it returns or is cancelled."""
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import counting

    worker = get_worker()
    limit_memory(worker.memory_manager.memory_limit)
    tasks, key = worker.state.tasks, worker.get_current_task()

    def is_cancelled() -> bool:
        state = tasks.get(key)
        return state is None or state.state == "cancelled"

    with counting(key), cancellation.cancelled_when(is_cancelled):
        return task(argument, **common)


def worker_address() -> str:
    """Return the address of the worker that runs this task."""
    from distributed import get_worker

    return str(get_worker().address)


def submit_parts(
    cluster: Cluster,
    task: Callable[..., Any],
    arguments: Mapping[int, Any],
    *,
    verb: str,
    workers: Sequence[str] | None = None,
    **common: Any,
) -> dict[int, Any]:
    """Start ``task(argument, **common)`` for each part; return the futures by part.

    arguments: by part. workers: by part, the address of the only worker that may run its task.
    ``common`` is sent with every task, so it must be small; a future among it stands for its
    result, which each worker gets once.
    On the dashboard the tasks are called ``mgraph-<verb>`` and stand in a span of that name, within
    the span of the submitted workflow if there is one.
    """
    from distributed import Future

    operation = f"mgraph-{verb}-{time.time_ns()}"
    keys = [(operation, index) for index in arguments]
    results = {name: value for name, value in common.items() if isinstance(value, Future)}
    values = {name: value for name, value in common.items() if name not in results}
    performed = functools.partial(perform, task=task, **values)
    with explaining(describe_task(verb)), spans(verb):
        if workers is None:
            futures = cluster.client.map(performed, list(arguments.values()), key=keys, **results)
        else:
            futures = [
                cluster.client.submit(
                    performed, arguments[index], key=key, workers=[workers[index]],
                    allow_other_workers=False, pure=False, **results,
                )
                for index, key in zip(arguments, keys, strict=True)
            ]  # fmt: skip
    return dict(zip(arguments, futures, strict=True))


def describe_task(verb: str) -> str:
    """Return what a task does, for an error message."""
    return "reading the graph" if verb == "load" else f"a task of mgraph {verb.partition('-')[0]}"


def fetch_result(future: Any, verb: str) -> Any:
    """Return what a task returned, or raise its error as one of mgraph's."""
    with explaining(describe_task(verb)):
        return future.result()


@contextlib.contextmanager
def spans(verb: str) -> Iterator[None]:
    """Put tasks submitted in the block into the operation's span, and its workflow's if any."""
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

    sizes: each part's, in ``unit``, for the progress line, which moves within a part if its task
    counts that unit (``count_edges``). The tasks of a worker that dies run on another. When a task
    fails, the others are cancelled and awaited, and its error is raised.
    """
    batches = _finished_batches(cluster, futures, sizes, verb, unit, progress)
    with explaining(describe_task(verb)), contextlib.closing(batches):
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
    workers: Sequence[str] | None = None,
    on_submit: Callable[[Sequence[Any]], None] = lambda futures: None,
    on_results: Callable[[Mapping[int, Any]], None] = lambda results: None,
    **common: Any,
) -> dict[int, Any]:
    """Submit a task per part, and fetch the results as they come, several per request.

    So a worker that dies loses the tasks that it was running, and no finished result. workers: as
    for ``submit_parts``. on_submit: receives the futures. on_results: receives results as they
    come.
    """
    futures = submit_parts(cluster, task, arguments, verb=verb, workers=workers, **common)
    on_submit(list(futures.values()))
    results: dict[int, Any] = {}
    batches = _finished_batches(cluster, futures, sizes, verb, unit, progress)
    with (
        explaining(describe_task(verb)),
        contextlib.closing(batches),
    ):  # an error ends them before anything else is done
        for batch in batches:
            fetched = _fetch_results(cluster.client, batch)
            results |= fetched
            on_results(fetched)
            for index in fetched:
                del futures[index]
    return results


def _finished_batches(
    cluster: Cluster,
    futures: dict[int, Any],
    sizes: Mapping[int, int],
    verb: str,
    unit: str,
    progress: TextIO | None,
) -> Generator[dict[int, Any], None, None]:
    """Yield finished futures until the caller has removed all; those it keeps are yielded again."""
    from distributed import as_completed

    from mgraph.distributed.monitoring import counters

    if not futures:
        return
    operation = _operation_name(futures)
    index_of = {future.key: index for index, future in futures.items()}
    waiting = as_completed(list(futures.values()))
    total, counted = sum(sizes.values()), set[int]()

    compiling = False

    def read_partial_counts() -> int:
        nonlocal compiling
        edges, compiling = counters.read_progress(cluster.client, operation, counted)
        return edges if unit in COUNTED else 0

    def note() -> str:
        return f", {compilation.NOTICE}" if compiling else ""

    with _reporting(cluster, futures, verb, total, unit, counted), timings.step(timings.WAITING):
        try:
            with Progress(
                verb, total, len(sizes), progress, unit, read_partial_counts, note
            ) as line:
                began = time.monotonic()
                while futures:
                    ready: dict[int, Any] = {}
                    for future in waiting.next_batch():
                        if future.status == "finished":
                            ready[index_of[future.key]] = future
                        elif future.status in ("pending", "lost"):  # lost with its worker
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
                    if len(futures) > FEW_RESULTS:
                        time.sleep(min(FETCH_SECONDS, 0.02 * (time.monotonic() - began)))
        except BaseException:
            _cancel_tasks(cluster.client, futures)
            raise


def _operation_name(futures: Mapping[int, Any]) -> str:
    key: tuple[str, int] = next(iter(futures.values())).key
    return key[0]


def _fetch_results(client: Any, finished: dict[int, Any]) -> dict[int, Any]:
    """Return the results of finished tasks, or of none if one was lost with its worker."""
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
    """Raise the error of a failed future, or retry a task that was cancelled by mistake."""
    if future.status == "cancelled":
        raise ConnectionLostError(SCHEDULER_LOST)
    error: BaseException = future.exception()
    if isinstance(error, cancellation.Cancelled):  # and submitted again before it had ended
        future.retry()
        return
    with explaining(describe_task(verb)):
        raise error


@contextlib.contextmanager
def _reporting(
    cluster: Cluster, futures: dict[int, Any], verb: str, size: int, unit: str, done: set[int]
) -> Iterator[None]:
    """Report the start and the end of an operation to the scheduler and the run's folder.

    done: the parts that are finished, filled while it runs.
    """
    operation = _operation_name(futures)
    identity = {"operation": operation, "verb": verb}

    def report(state: str, **more: Any) -> None:
        event = identity | {"state": state} | more
        run_context.tell("operation", **event)
        with contextlib.suppress(Exception):  # a lost scheduler is reported elsewhere
            cluster.client.log_event(TOPIC, event | {"client": cluster.client.id})

    parts = len(futures)
    who = {"run": run_context.current_run(), "folder": run_context.subject()}
    report("running", parts=parts, size=size, unit=unit, error=None, **who)
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        report("cancelled", error=None, done=len(done))
        raise
    except BaseException as error:
        report("failed", error=str(error) or type(error).__name__, done=len(done))
        raise
    report("finished", error=None, done=len(done))


def _cancel_tasks(client: Any, futures: dict[int, Any]) -> None:
    """Cancel all tasks and wait for running ones, so that none writes after this returns."""
    if client.status != "running" or not futures:
        return
    operation = _operation_name(futures)
    with contextlib.suppress(Exception):
        client.cancel(list(futures.values()), force=True)
        deadline, quiet = time.monotonic() + DRAIN_SECONDS, 0
        while time.monotonic() < deadline and quiet < QUIET_COUNTS:
            quiet = 0 if any(count_running(client, operation).values()) else quiet + 1
            time.sleep(0.05)


def count_running(client: Any, operation: str | None = None) -> dict[str, int]:
    """Count the threads of each worker that run tasks of an operation, by default of all."""
    counts = on_workers(client, count_running_tasks, operation)
    return {address: count for address, count in counts.items() if isinstance(count, int)}


def count_running_tasks(operation: str | None, dask_worker: Any) -> int:
    """Count this worker's threads for ``count_running``, without drivers of workflows."""
    keys = [key for key in list(dask_worker.active_threads.values()) if isinstance(key, tuple)]
    if operation is None:
        return sum(str(key[0]).startswith("mgraph-") for key in keys)
    return sum(key[0] == operation for key in keys)
