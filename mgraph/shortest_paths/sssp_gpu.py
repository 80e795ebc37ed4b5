"""The GPU's side of the front door: move the graph, launch the method, and finish the answer."""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import DeviceError
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.near_far_gpu import TRACE_ROWS, Searcher
from mgraph.shortest_paths.problem import Problem


def on_device(graph: Graph) -> Graph:
    """The graph with its arrays on the current device; itself where they are."""
    if graph.backend == "gpu":
        return graph
    import cupy

    weights = None if graph.weights is None else cupy.asarray(graph.weights)
    return Graph.unchecked(
        cupy.asarray(graph.indptr), cupy.asarray(graph.indices), weights, graph.directed
    )


def near_far(
    asked: Problem, graph: Graph, delta: float, set_point: float | None, trace: bool
) -> tuple[Any, Any]:
    """Distances ``(k, n)`` on the device by near-far (delta > 0) or self-tuning, and the trace."""
    searcher = Searcher(graph, asked.dtype)
    found = searcher.run(
        asked.sources,
        mean_weight=asked.mean_weight,
        cutoff=asked.cutoff,
        delta=delta,
        set_point=set_point,
        targets=asked.targets if asked.targets.size else None,
        first_target=asked.first_target,
        trace_rows=TRACE_ROWS if trace else 0,
    )
    if not trace:
        return found.distance, None
    count = int(found.iterations[0])
    if count >= TRACE_ROWS:
        raise DeviceError(
            f"a trace holds {TRACE_ROWS:,} iterations, and this search took {count:,}"
        )
    rows = found.trace[: count + 1].get()
    # Row 0 tells what came of the sources; times are those at which an iteration was over.
    rows[1:, -1] = np.diff(rows[:, -1])
    return found.distance, traces.as_records(rows[1:])
