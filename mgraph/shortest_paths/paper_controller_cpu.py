"""The self-tuning controller to the letter of its paper, for experiments.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), sections 4.2 to 4.6; (1) to (8) are its equations. ``self_tuning_cpu`` is what became
of it, and explains the names.

An iteration expands the frontier of X1 vertices, which makes X2 updates of X3 vertices, of which X4
are within the threshold δ. Then

    d       is corrected by algorithm 1, since X2 was expected to be d·X1 (1, 2); the next frontier
            should have P/d vertices (3)
    α       is corrected by it, since X1 was expected to be X4 + α·Δδ of the iteration before (4,
            5); in the first five iterations it is an estimate by sizes (8)
    δ       moves by (P/d - X4)/α (6): far vertices up to it come back, or near ones beyond it leave
    B       the bound between the far queue's partitions, moves down to P/α beyond the one below
            (7); the vertices that are there already stay where they are. When the nearer partition
            is empty, the other one takes its place, and a new one begins

Where the text leaves something open: d begins as the mean degree and δ as the mean weight, as the
first bound does. Where an equation divides by 0, nothing changes. Two partitions are enough: of
them a decision reads the size and the bound of the nearer one alone, in the first five iterations;
the text has the bounds of those behind move as well, and new ones begin there.

Nothing makes δ reach the nearest vertex of the far queue, so that a search may not come to an end:
it is given up after ``MAX_ITERATIONS``. ``CHANGES`` are what ``self_tuning_cpu`` does otherwise,
one by one, so that the effect of each can be seen.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, gauges
from mgraph.core.compiled import compiled_without_counts
from mgraph.errors import UsageError
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
from mgraph.shortest_paths.self_tuning import (
    BIAS_GAIN,
    BOOTSTRAP_ITERATIONS,
    GUARD,
    MAX_BIAS,
    MAX_MISS,
    MIN_BIAS,
)
from mgraph.shortest_paths.self_tuning_cpu import new_model, observe

MAX_ITERATIONS = 400_000
PARTITIONS = 2
CHANGES = {
    "arcs": "X2 counts the frontier's arcs, not the updates",
    "sign": "(5) with the sign that (4) implies",
    "guard": "slopes within a factor of two of the last observation, a memory of 16 steps, d >= 1",
    "nearest": "δ between the nearest queued vertex and the farthest seen, whole if lengths are",
    "sizes": "δ not beyond the point up to which the far queue holds P/d vertices",
    "density": "δ falls by the frontier's density from its nearest vertex on",
    "bias": "5 % of what the last iteration missed corrects the set-point",
}
_ARCS, _SIGN, _GUARD, _NEAREST, _SIZES, _DENSITY, _BIAS = range(7)
_MAX_INT = float(2**31 - 1)  # the last partition's bound
_SLOPE = 0  # of a model
# Of the values: δ, Δδ, X4 when it was decided, the iteration, X1; the bounds of the nearer
# partition, and its slot; the bias; the largest distance seen.
_THRESHOLD, _STEP, _X4, _ITERATION, _X1, _LOWER, _UPPER, _SLOT, _CORRECTION, _FARTHEST = range(10)


class Controller(NamedTuple):
    """Two models and the values above. changes: which of ``CHANGES`` are made, in their order."""

    advance: Any
    bisect: Any
    values: Any
    changes: Any


def new_controller(
    mean_degree: float, mean_weight: float, changes: Collection[str] = ()
) -> Controller:
    """Make a controller that has seen nothing yet."""
    values = np.zeros(10)
    values[_THRESHOLD] = values[_UPPER] = mean_weight
    values[_CORRECTION] = 1
    advance, bisect = new_model(mean_degree), new_model(1)
    return Controller(advance, bisect, values, np.array([name in changes for name in CHANGES]))


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
        if distance <= values[_THRESHOLD]:
            if search.far.partition[v] != NONE:
                remove_far(search.far, v)
            search.frontier[x1] = v
            x1 += 1
        else:
            slot = np.int64(values[_SLOT])
            place_far(search.far, v, slot if distance <= values[_UPPER] else 1 - slot)
    return x1


@compiled_without_counts
def _reach(far, values, need, alpha):
    """Return how far above δ the far queue holds ``need`` vertices, by its partitions' sizes."""
    size = far.size[np.int64(values[_SLOT])]
    upper = max(min(values[_UPPER], values[_FARTHEST]) - values[_THRESHOLD], 0.0)
    if size >= need:
        return upper * need / max(size, 1)
    return upper + (need - size) / alpha


@compiled_without_counts
def _decide(far, control, set_point, x1, x4, min_queued, max_updated, min_step):
    """Learn α, and move δ, by (3) to (6) and (8). x1: of this iteration. min_queued: if known."""
    values, model, changes = control.values, control.bisect, control.changes
    threshold, step = values[_THRESHOLD], values[_STEP]
    values[_FARTHEST] = max(values[_FARTHEST], max_updated)
    brought, degree = x1 - values[_X4], control.advance[_SLOPE]
    if degree == 0:
        return
    target = values[_CORRECTION] * set_point / degree
    need = target - x4
    if values[_ITERATION] >= BOOTSTRAP_ITERATIONS:
        if step != 0 and (step > 0 or not changes[_DENSITY]):
            sign = -1 if changes[_SIGN] else 1
            observe(model, step, brought, sign, changes[_GUARD])
            if changes[_GUARD] and step > 0 and brought > 0:
                seen = brought / step
                model[_SLOPE] = min(max(model[_SLOPE], seen / GUARD), seen * GUARD)
    elif need <= 0:
        if threshold != 0:
            model[_SLOPE] = x4 / threshold
    elif values[_UPPER] != threshold:
        size = far.size[np.int64(values[_SLOT])]
        model[_SLOPE] = size / (values[_UPPER] - threshold)
    start = threshold
    if changes[_DENSITY] and need < 0:
        start = min(threshold, max(max_updated, min_queued))
        model[_SLOPE] = x4 / max(start - min_queued, min_step)
    alpha = model[_SLOPE]
    if alpha == 0:
        moved = threshold
    else:
        change = need / alpha
        if changes[_SIZES] and need > 0 and alpha > 0:
            change = min(change, _reach(far, values, need, alpha))
        moved = start + change
    if changes[_NEAREST]:
        moved = max(min(moved, values[_FARTHEST]), min_queued)
        if min_step >= 1:  # whole lengths
            moved = np.ceil(moved) if 2 * x4 < target else max(np.rint(moved), min_queued)
    if moved == moved:  # a number
        values[_THRESHOLD] = moved
    values[_STEP] = values[_THRESHOLD] - threshold
    values[_X4] = x4


@compiled_without_counts
def _learn_degree(control, set_point, x1, x2):
    """Learn d, by (1) and (2)."""
    values, model, changes = control.values, control.advance, control.changes
    observe(model, float(x1), float(x2), -1, changes[_GUARD])
    if changes[_GUARD] and x1 > 0:
        seen = max(x2 / x1, 1.0)
        model[_SLOPE] = max(min(max(model[_SLOPE], seen / GUARD), seen * GUARD), 1.0)
    missed = set_point / max(x2, 1)
    if changes[_BIAS] and x1 > 0 and 1 / MAX_MISS < missed < MAX_MISS:
        bias = values[_CORRECTION] * (1 + BIAS_GAIN * (missed - 1))
        values[_CORRECTION] = min(max(bias, MIN_BIAS), MAX_BIAS)


@compiled_without_counts
def _move_bound(far, control, set_point):
    """Move the bound between the partitions down, by (7); leave a partition that is empty."""
    values, alpha = control.values, control.bisect[_SLOPE]
    slot = np.int64(values[_SLOT])
    if far.size[slot] == 0:
        values[_LOWER], values[_UPPER] = values[_UPPER], _MAX_INT
        values[_SLOT] = 1 - slot
    if alpha != 0:
        bound = values[_LOWER] + set_point / alpha
        if bound < values[_UPPER]:
            values[_UPPER] = bound


@compiled_without_counts
def _rebalance(search, control, x4):
    """Bring far vertices up to δ, or put near ones beyond it away; return the next X1."""
    values = control.values
    if values[_STEP] < 0:
        for i in range(x4):
            search.updated[i] = search.frontier[i]
        return _bisect(search, values, search.updated, x4, np.int64(0))
    slot = np.int64(values[_SLOT])
    x1 = take_far(search, slot, values[_THRESHOLD], x4)
    if values[_THRESHOLD] > values[_UPPER]:
        x1 = take_far(search, 1 - slot, values[_THRESHOLD], x1)
    return x1


@compiled_without_counts
def _iterate(search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row):
    """Do one iteration, and return whether another follows. row: the trace's."""
    values, changes = control.values, control.changes
    x1 = np.int64(values[_X1])
    arcs, updates, x3 = _advance_and_filter(search, x1, np.int64(values[_ITERATION]), cutoff)
    x2 = arcs if changes[_ARCS] else updates
    max_updated = 0.0
    for i in range(x3):
        max_updated = max(max_updated, float(search.distance[search.updated[i]]))
    x4 = _bisect(search, values, search.updated, x3, np.int64(0))
    far = search.far.size[0] + search.far.size[1]
    row[0], row[1], row[2], row[3], row[8] = x1, x2, x3, x4, far
    row[4] = values[_THRESHOLD]
    row[5], row[6], row[7] = control.advance[_SLOPE], control.bisect[_SLOPE], PARTITIONS
    if x4 + far == 0:
        return False
    min_queued = 0.0
    if targets.size or changes[_NEAREST] or changes[_DENSITY]:
        nearest = min_frontier_distance(search, x4, infinity)
        for p in range(PARTITIONS):
            nearest = min(nearest, min_far_distance(search, p, infinity))
        if targets.size and targets_are_settled(search, targets, stop_at_first, nearest):
            return False
        min_queued = float(nearest)
    _learn_degree(control, set_point, x1, x2)
    _decide(search.far, control, set_point, x1, x4, min_queued, max_updated, min_step)
    _move_bound(search.far, control, set_point)
    values[_X1] = _rebalance(search, control, x4)
    values[_ITERATION] += 1
    row[5], row[6] = control.advance[_SLOPE], control.bisect[_SLOPE]
    return True


def find_distances_traced(
    search: Search, sources: Any, control: Controller, set_point: float, *bounds: Any,
    max_iterations: int | None = None,
) -> tuple[Any, bool]:  # fmt: skip
    """Fill the distances, and return the trace, and whether the search came to an end.

    bounds: as ``find_distances`` takes them.
    """
    control.values[_X1] = begin(search, sources)
    has_more, left = True, max_iterations or MAX_ITERATIONS

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
    control.values[_X1] = begin(search, sources)
    row = np.zeros(traces.SEARCH_COLUMNS)
    bounds = targets, stop_at_first, cutoff, infinity, min_step
    with gauges.showing(set_point=set_point, parallelism=lambda: float(row[1])):
        is_finished = _iterate_all(search, control, set_point, *bounds, row, MAX_ITERATIONS)
    cancellation.raise_if_cancelled()
    check_end(bool(is_finished))


def check_end(is_finished: bool) -> None:
    """Raise UsageError unless a search came to an end."""
    if not is_finished:
        raise UsageError(
            f"the paper's controller has not come to an end in {MAX_ITERATIONS:,} iterations; "
            'pass `controller="mgraph"`',
            parameter="controller",
        )


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
