"""How many edges each worker has handled: a column of the dashboard's workers page."""

import threading
from typing import Any

from distributed import WorkerPlugin, get_worker

METRIC = "mgraph_edges"
_lock = threading.Lock()


class EdgeCounter(WorkerPlugin):
    """Adds the column ``mgraph_edges``; reaches workers that join or restart later, too."""

    name = "mgraph-edges"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Start at zero."""
        worker.mgraph_edges = 0
        worker.metrics[METRIC] = lambda worker: worker.mgraph_edges


def counted_edges(client: Any) -> int:
    """The columns of all workers, as the scheduler knows them: half a second old, or so."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(int(worker["metrics"].get(METRIC, 0)) for worker in workers)


def count_edges(edges: int) -> None:
    """Called in a task: add to this worker's column."""
    worker = get_worker()
    with _lock:
        worker.mgraph_edges = getattr(worker, "mgraph_edges", 0) + edges
