"""A search with the paper's controller on one core, for experiments: the stages of an iteration.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), sections 3.1 and 4.6. ``paper_controller_cpu`` decides what each iteration expands.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, gauges
from mgraph.core.compiled import compiled_without_counts
from mgraph.shortest_paths import paper_controller_cpu as paper
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.near_far_cpu import (
    NONE,
    Search,
    begin,
    min_far_distance,
    min_frontier_distance,
    place_far,
    remove_far,
    take_far,
    targets_are_settled,
)
from mgraph.shortest_paths.paper_controller_cpu import (
    ITERATION,
    PARTITIONS,
    SLOPE,
    SLOT,
    STEP,
    THRESHOLD,
    UPPER,
    X1,
    Controller,
    check_end,
    counts_arcs,
    decide,
    needs_lengths,
)


@compiled_without_counts
def _advance_and_filter(search, x1, iteration, cutoff):
    """Relax the arcs of the frontier; return their number, the updates, and X3."""
    arcs, updates, x3 = np.int64(0), np.int64(0), np.int64(0)
    for i in range(x1):
        if search.cancel_flag[0]:
            break
        u = search.frontier[i]
        length = search.distance[u]
        for arc in range(search.indptr[u], search.indptr[u + 1]):
            v = search.indices[arc]
            candidate = length + search.weights[arc]
            if candidate < search.distance[v] and candidate <= cutoff:
                updates += 1
                search.distance[v] = candidate
                if search.updated_in[v] != iteration:
                    search.updated_in[v] = iteration
                    search.updated[x3] = v
                    x3 += 1
        arcs += search.indptr[u + 1] - search.indptr[u]
    return arcs, updates, x3


@compiled_without_counts
def _bisect(search, values, vertices, count, x1):
    """Append vertices up to δ to the frontier of size x1, put the others away; return the size."""
    for i in range(count):
        v = vertices[i]
        distance = search.distance[v]
        if distance <= values[THRESHOLD]:
            if search.far.partition[v] != NONE:
                remove_far(search.far, v)
            search.frontier[x1] = v
            x1 += 1
        else:
            slot = np.int64(values[SLOT])
            place_far(search.far, v, slot if distance <= values[UPPER] else 1 - slot)
    return x1


@compiled_without_counts
def _rebalance(search, control, x4):
    """Bring far vertices up to δ, or put near ones beyond it away; return the next X1."""
    values = control.values
    if values[STEP] < 0:
        for i in range(x4):
            search.updated[i] = search.frontier[i]
        return _bisect(search, values, search.updated, x4, np.int64(0))
    slot = np.int64(values[SLOT])
    x1 = take_far(search, slot, values[THRESHOLD], x4)
    if values[THRESHOLD] > values[UPPER]:
        x1 = take_far(search, 1 - slot, values[THRESHOLD], x1)
    return x1


@compiled_without_counts
def _iterate(search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row):
    """Do one iteration, and return whether another follows. row: the trace's."""
    values = control.values
    x1 = np.int64(values[X1])
    arcs, updates, x3 = _advance_and_filter(search, x1, np.int64(values[ITERATION]), cutoff)
    x2 = arcs if counts_arcs(control) else updates
    max_updated = 0.0
    for i in range(x3):
        max_updated = max(max_updated, float(search.distance[search.updated[i]]))
    x4 = _bisect(search, values, search.updated, x3, np.int64(0))
    far = search.far.size[0] + search.far.size[1]
    row[0], row[1], row[2], row[3], row[8] = x1, x2, x3, x4, far
    row[4] = values[THRESHOLD]
    row[5], row[6], row[7] = control.advance[SLOPE], control.bisect[SLOPE], PARTITIONS
    if x4 + far == 0:
        return False
    min_queued = 0.0
    if targets.size or needs_lengths(control):
        nearest = min_frontier_distance(search, x4, infinity)
        for p in range(PARTITIONS):
            nearest = min(nearest, min_far_distance(search, p, infinity))
        if targets.size and targets_are_settled(search, targets, stop_at_first, nearest):
            return False
        min_queued = float(nearest)
    decide(search.far.size, control, set_point, x1, x2, x4, min_queued, max_updated, min_step)
    values[X1] = _rebalance(search, control, x4)
    values[ITERATION] += 1
    row[5], row[6] = control.advance[SLOPE], control.bisect[SLOPE]
    return True


def find_distances_traced(
    search: Search, sources: Any, control: Controller, set_point: float, *bounds: Any,
    max_iterations: int | None = None,
) -> tuple[Any, bool]:  # fmt: skip
    """Fill the distances, and return the trace, and whether the search came to an end.

    bounds: as ``find_distances`` takes them.
    """
    control.values[X1] = begin(search, sources)
    has_more, left = True, max_iterations or paper.MAX_ITERATIONS

    def iterate(row: Any) -> bool:
        nonlocal has_more, left
        has_more, left = _iterate(search, control, set_point, *bounds, row), left - 1
        return has_more and left > 0

    return traces.record_iterations(iterate), not has_more


def find_distances(
    search: Search, sources: Any, control: Controller, set_point: float, targets: Any,
    stop_at_first: bool, cutoff: Any, infinity: Any, min_step: float,
) -> None:  # fmt: skip
    """Fill the distances, to the end or until the targets (int64, perhaps none) are settled.

    Raises UsageError if the search does not come to an end.
    """
    control.values[X1] = begin(search, sources)
    row = np.zeros(traces.SEARCH_COLUMNS)
    bounds = targets, stop_at_first, cutoff, infinity, min_step
    with gauges.showing(set_point=set_point, parallelism=lambda: float(row[1])):
        is_finished = _iterate_all(search, control, set_point, *bounds, row, paper.MAX_ITERATIONS)
    cancellation.raise_if_cancelled()
    check_end(bool(is_finished))


@compiled_without_counts
def _iterate_all(
    search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row, left
):
    while left > 0 and not search.cancel_flag[0]:
        if not _iterate(
            search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row
        ):
            return True
        left -= 1
    return False
