"""Run one function over many parts: named tasks, a progress line, one clear error."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from mgraph.distributed.connect import Cluster
from mgraph.distributed.progress import Progress
from mgraph.errors import ClusterError

DRAIN_SECONDS = 30.0
LOST = (
    "the connection to the scheduler was lost; what is finished is kept, and --resume goes on from "
    "there"
)


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
    On the dashboard the tasks are called ``mgraph-<verb>`` and stand in a span of that name.
    """
    from distributed import span

    run = f"mgraph-{verb}-{time.time_ns()}"
    keys = [(run, index) for index in arguments]
    with span(f"mgraph-{verb}"):
        futures = cluster.client.map(task, list(arguments.values()), key=keys, **common)
    return dict(zip(arguments, futures, strict=True))


def follow_parts(
    cluster: Cluster,
    futures: dict[int, Any],
    sizes: Mapping[int, int],
    *,
    verb: str,
    unit: str = "edges",
    progress: TextIO | None = sys.stderr,
    watch: Callable[[], int] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield each index with its finished future, as they come; ``futures`` is emptied.

    sizes: each part's, in ``unit``, for the progress line; watch: what is done of all, where a part
    takes long. A worker that dies has its tasks done by another. When a task fails, the rest is
    cancelled, what runs is awaited, its error raised.
    """
    from distributed import as_completed
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    index_of = {future.key: index for index, future in futures.items()}
    waiting = as_completed(list(futures.values()))
    try:
        with Progress(verb, sum(sizes.values()), len(sizes), progress, unit, watch) as line:
            for future in waiting:
                index = index_of[future.key]
                if future.status != "finished":
                    raise _failure(future)
                line.add(sizes[index])
                del futures[index]
                yield index, future
    except KilledWorker as error:
        _cancel(cluster.client, futures)
        raise ClusterError(
            "workers died again and again while they worked on one part; mostly they ran out of "
            "memory: use fewer workers, more --parts or a smaller --batch"
        ) from error
    except CommClosedError as error:
        raise ClusterError(LOST) from error
    except BaseException:
        _cancel(cluster.client, futures)
        raise


def run_parts(
    cluster: Cluster,
    task: Callable[..., Any],
    arguments: Mapping[int, Any],
    sizes: Mapping[int, int],
    *,
    verb: str,
    unit: str = "edges",
    progress: TextIO | None = sys.stderr,
    watch: Callable[[], int] | None = None,
    **common: Any,
) -> dict[int, Any]:
    """``submit_parts``, follow, and fetch all results at once: a request each would add up."""
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    futures = submit_parts(cluster, task, arguments, verb=verb, **common)
    following = follow_parts(
        cluster, futures, sizes, verb=verb, unit=unit, progress=progress, watch=watch
    )
    finished = dict(following)
    try:
        results = cluster.client.gather(list(finished.values()))
    except (CommClosedError, FutureCancelledError) as error:
        raise ClusterError(LOST) from error
    return dict(zip(finished, results, strict=True))


def _failure(future: Any) -> BaseException:
    """The error of a future that did not finish."""
    if future.status in ("cancelled", "lost"):
        return ClusterError(LOST)
    error: BaseException = future.exception()
    return error


def _cancel(client: Any, futures: dict[int, Any]) -> None:
    """Drop what has not begun and wait for what runs, so that nothing writes after we are gone."""
    if client.status != "running":
        return
    with contextlib.suppress(Exception):
        client.cancel(list(futures.values()), force=True)
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and any(client.run(running_tasks).values()):
            time.sleep(0.05)


def running_tasks(dask_worker: Any) -> int:
    """Runs on a worker: the number of tasks that hold a thread."""
    return len(dask_worker.active_threads)
