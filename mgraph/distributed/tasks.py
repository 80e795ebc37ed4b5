"""Run one function over many parts: named tasks, a progress line, one clear error."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from mgraph.distributed.connect import Cluster
from mgraph.distributed.progress import Progress
from mgraph.errors import ClusterError, MgraphError

DRAIN_SECONDS = 30.0


def run_parts(
    cluster: Cluster,
    task: Callable[..., Any],
    edges: Mapping[int, int],
    *,
    verb: str,
    progress: TextIO | None = sys.stderr,
    **common: Any,
) -> Iterator[tuple[int, Any]]:
    """Call ``task(index, **common)`` on the cluster for each index; yield results as they come.

    edges: each part's index and size, for the progress line. verb: names the tasks
    (``mgraph-<verb>`` on the dashboard). A worker that dies has its tasks done by another. When a
    task fails, the rest is cancelled, what runs is awaited, and its error raised.
    """
    from distributed import as_completed, span
    from distributed.scheduler import KilledWorker

    run = time.time_ns()
    keys = [(f"mgraph-{verb}-{run}", index) for index in edges]
    with span(f"mgraph-{verb}"):
        futures = cluster.client.map(task, list(edges), key=keys, **common)
    index_of = {future.key: index for future, index in zip(futures, edges, strict=True)}
    try:
        with Progress(verb, sum(edges.values()), len(edges), progress) as line:
            for future in as_completed(futures):
                result = future.result()
                index = index_of[future.key]
                line.add(edges[index])
                yield index, result
    except KilledWorker as error:
        raise ClusterError(
            f"workers died again and again while they worked on one part ({error}); mostly they ran "
            "out of memory: use fewer workers or more parts"
        ) from error
    except BaseException as error:
        _cancel(cluster.client, futures)
        if isinstance(error, (MgraphError, KeyboardInterrupt, GeneratorExit)):
            raise
        if type(error).__name__ in ("CancelledError", "FutureCancelledError", "CommClosedError"):
            raise ClusterError(
                "the connection to the scheduler was lost; what is finished is kept, and --resume "
                "goes on from there"
            ) from error
        raise


def _cancel(client: Any, futures: list[Any]) -> None:
    """Drop what has not begun and wait for what runs, so that nothing writes after we are gone."""
    with contextlib.suppress(Exception):
        client.cancel(futures, force=True)
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and any(client.run(running_tasks).values()):
            time.sleep(0.05)


def running_tasks(dask_worker: Any) -> int:
    """Runs on a worker: the number of tasks that hold a thread."""
    return len(dask_worker.active_threads)
