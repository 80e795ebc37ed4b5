"""The GPU's side of the front door: move the graph, launch the method, and finish the answer."""

import time
from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, csr_gpu, gauges
from mgraph.core.graph import Graph
from mgraph.core.memory import memory_guard
from mgraph.cuda.energy import EnergyMeter
from mgraph.cuda.memory import free_bytes
from mgraph.errors import DeviceError
from mgraph.shortest_paths import frontier_gpu, near_far_gpu, predecessors_gpu
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.shortest_paths.near_far_gpu import TRACE_ROWS
from mgraph.shortest_paths.power_governor import PowerGovernor
from mgraph.shortest_paths.problem import Manner, Problem

LAUNCH_SECONDS = 0.25  # at most about so long, where the power is looked at after each


def fits(asked: Problem, how: Manner) -> bool:
    """Whether the current device has room for the graph, a search and all answers."""
    graph, length = asked.graph, asked.dtype.itemsize
    wide = graph.indices.itemsize > 4
    tails = how.predecessors or how.method == "frontier_edge"
    arcs = graph.nbytes + graph.num_arcs * (4 * wide + 8 * tails)
    answer = length + (4 + 8 * wide if how.predecessors else 0)
    search = 4 * (4 + length)  # in short lists
    if how.method == "heap":
        search += 2 * (4 + length)
    counted = graph.n <= csr_gpu.MOST_VERTICES and graph.num_arcs < near_far_gpu.MAX_ARCS
    return counted and arcs + graph.n * (len(asked.sources) * answer + search) < free_bytes()


def run(asked: Problem, how: Manner) -> tuple[Any, Any, Any]:
    """Distances and predecessors ``(k, n)`` on the device, and the trace; None unless asked.

    Raises OutOfMemoryError where the graph is too large for the device, and DeviceError where it is
    for the kernels.
    """
    import cupy

    if asked.graph.n > csr_gpu.MOST_VERTICES:
        raise DeviceError(f"a GPU searches fewer than 2^31 vertices, not {asked.graph.n:,}")
    rows = None
    with memory_guard(
        f"{len(asked.sources)} searches on {asked.graph}",
        "ask for fewer sources at a time (--batch), or use --backend cpu",
    ):
        graph = asked.graph.to_gpu()
        if how.method.startswith("frontier"):
            distance = _frontier(asked, graph, by_arc=how.method == "frontier_edge")
        elif how.power_limit:
            distance = _near_far_within(asked, graph, how.power_limit, how.concurrency)
        else:
            distance, rows = _near_far(asked, graph, how)
        cancellation_gpu.finish()
        if asked.targets.size:
            key = distance.view(key_dtype(asked.dtype))  # CuPy takes subnormal floats for zero
            found = key[:, cupy.asarray(asked.targets)]
            bound = found.min(axis=1) if asked.first_target else found.max(axis=1)
            distance[key > bound[:, None]] = asked.infinity
        if not how.predecessors:
            return distance, None, rows
        predecessor = cupy.empty(distance.shape, np.int32)
        finder = predecessors_gpu.Finder(graph, asked.dtype)
        for i, sources in enumerate(asked.sources):
            cancellation.raise_if_cancelled()
            finder.run(distance[i], sources, predecessor[i])
        predecessor = predecessor.astype(graph.indices.dtype, copy=False)
    return distance, predecessor, rows


def _frontier(asked: Problem, graph: Graph, *, by_arc: bool) -> Any:
    import cupy

    searcher = frontier_gpu.Searcher(graph, asked.dtype, by_arc=by_arc)
    distance = cupy.empty((len(asked.sources), graph.n), asked.dtype)
    targets = cupy.asarray(asked.targets, np.int32)
    for i, sources in enumerate(asked.sources):
        cancellation.raise_if_cancelled()
        searcher.launch(
            sources,
            distance[i],
            targets=targets,
            stop_at_first=asked.first_target,
            cutoff=asked.cutoff,
        )
    return distance


def _near_far_within(
    asked: Problem, graph: Graph, limit: float | PowerGovernor, concurrency: int | None
) -> Any:
    """Distances by self-tuning, a few searches at a time, the set-point following their power."""
    import cupy

    governor = limit if isinstance(limit, PowerGovernor) else PowerGovernor(limit)
    searches = len(asked.sources)
    searcher = near_far_gpu.Searcher(graph, asked.dtype, searches, concurrency)
    distance = cupy.empty((searches, graph.n), asked.dtype)
    searcher.kernel()  # compiled before the power is looked at
    done = 0
    with EnergyMeter() as meter:
        while done < searches:
            cancellation.raise_if_cancelled()
            here = slice(done, done + governor.rounds * searcher.groups)
            aim = governor.factor * searcher.default_set_point
            with gauges.showing(set_point=aim):
                searcher.launch(
                    asked.sources[here],
                    mean_weight=asked.mean_weight,
                    cutoff=asked.cutoff,
                    set_point=aim,
                    targets=asked.targets if asked.targets.size else None,
                    stop_at_first=asked.first_target,
                    distance=distance[here],
                )
                began = time.perf_counter()
                cupy.cuda.Device().synchronize()
            took = time.perf_counter() - began
            time.sleep(took * (1 / governor.busy - 1))
            done = here.stop
            governor.observe(*meter.lap())
            if done <= searches:  # every group had as many
                enough = int(governor.rounds * LAUNCH_SECONDS / max(took, 1e-6))
                governor.rounds = max(1, min(4 * governor.rounds, enough))
    return distance


def _near_far(asked: Problem, graph: Graph, how: Manner) -> tuple[Any, Any]:
    """Distances by near-far, self-tuning or with heaps, and the trace."""
    delta = float(how.delta or asked.default_delta) if how.method == "near_far" else 0.0
    set_point = how.set_point
    if how.heap_threshold:
        set_point = how.heap_threshold * max(asked.mean_degree, 1.0)
    heaps = how.method == "heap"
    searcher = near_far_gpu.Searcher(graph, asked.dtype, len(asked.sources), how.concurrency, heaps)
    shown = {}
    if how.method == "self_tuning":
        shown["set_point"] = float(set_point or searcher.default_set_point)
    with gauges.showing(**shown):
        found = searcher.launch(
            asked.sources,
            mean_weight=asked.mean_weight,
            cutoff=asked.cutoff,
            delta=delta,
            set_point=set_point,
            targets=asked.targets if asked.targets.size else None,
            stop_at_first=asked.first_target,
            trace_rows=TRACE_ROWS if how.trace else 0,
        )
        cancellation_gpu.finish()
    if not how.trace:
        return found.distance, None
    count = int(found.iterations[0])
    cancellation.raise_if_cancelled()
    if count >= TRACE_ROWS:
        raise DeviceError(
            f"a trace holds {TRACE_ROWS:,} iterations, and this search took {count:,}"
        )
    rows = found.trace[: count + 1].get()
    # Row 0 tells what came of the sources; times are those at which an iteration was over.
    rows[1:, -1] = np.diff(rows[:, -1])
    return found.distance, traces.as_records(rows[1:])
