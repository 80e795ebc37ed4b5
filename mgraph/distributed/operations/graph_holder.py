"""One graph on each worker: read or made there, once, by whichever task comes first.

How to get the graph goes to the workers, not the graph. A worker that restarts or joins later has
the plugin from the scheduler, and gets the graph when its first task asks for it.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from distributed import WorkerPlugin, get_worker

from mgraph.core import cancellation
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.protocol.failures import explaining


class GraphHolder(WorkerPlugin):
    """Holds what ``load`` returns, a graph, for the tasks of a worker.

    ``device_lock`` is held by a search that must not run beside another. ``memory``: what tasks of
    this worker keep for later ones.
    """

    idempotent = True

    def __init__(self, load: Callable[[], Any]) -> None:
        """Name the graph; nothing is loaded."""
        self.name = f"mgraph-graph-{time.time_ns()}"
        self._load = load

    def setup(self, worker: Any) -> None:
        """Runs in the worker's event loop, so nothing is loaded here either."""
        self.device_lock, self._loading = threading.Lock(), threading.Lock()
        self.ids_lock = threading.Lock()  # while the ids of all vertices are read
        self.memory: dict[str, Any] = {}
        self._graph: Any = None

    def teardown(self, worker: Any) -> None:
        """Let go of the graph."""
        self._graph = None
        self.memory.clear()

    def graph(self) -> Any:
        """Return the graph, loaded by the first caller; raise what ``load`` raises."""
        with cancellation.acquiring(self._loading):
            if self._graph is None:
                self._graph = self._load()
            return self._graph


@contextlib.contextmanager
def held_by_workers(cluster: Cluster, load: Callable[[], Any]) -> Iterator[str]:
    """Yield the name of a holder that every worker has for the length of a block."""
    plugin = GraphHolder(load)
    with explaining("reading the graph"):
        cluster.client.register_plugin(plugin)
    try:
        yield plugin.name
    finally:
        cluster.client.unregister_worker_plugin(plugin.name)


def holder(name: str) -> GraphHolder:
    """Return, in a task, this worker's holder of that name."""
    plugin: GraphHolder = get_worker().plugins[name]
    return plugin
