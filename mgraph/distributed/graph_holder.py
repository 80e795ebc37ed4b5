"""One graph on each worker: read there, once, by whichever task comes first.

The graph's address goes to the workers, not the graph. A worker that restarts or joins later gets
the plugin from the scheduler, and reads the graph when its first task asks for it.
"""

import threading
import time
from typing import Any

from distributed import WorkerPlugin, get_worker

from mgraph.core.graph import Graph


class GraphHolder(WorkerPlugin):
    """Holds ``mgraph.read_graph(location, **options)`` for the tasks of a worker.

    ``device``: a lock, for searches that must not run side by side. ``memory``: what tasks of this
    worker leave for the next.
    """

    idempotent = True

    def __init__(self, location: str, options: dict[str, Any]) -> None:
        """Name the graph; nothing is read."""
        self.name = f"mgraph-graph-{time.time_ns()}"
        self._location, self._options = location, options

    def setup(self, worker: Any) -> None:
        """Runs in the worker's event loop, so nothing is read here either."""
        self.device, self._reading = threading.Lock(), threading.Lock()
        self.memory: dict[str, Any] = {}
        self._graph: Graph | None = None

    def teardown(self, worker: Any) -> None:
        """Let go of the graph."""
        self._graph = None
        self.memory.clear()

    def graph(self) -> Graph:
        """The graph, read by the first caller; raises what reading it raises."""
        with self._reading:
            if self._graph is None:
                from mgraph.io.formats import read_graph

                self._graph = read_graph(self._location, **self._options)
            return self._graph


def holder(name: str) -> GraphHolder:
    """Called in a task: this worker's holder of that name."""
    found: GraphHolder = get_worker().plugins[name]
    return found
