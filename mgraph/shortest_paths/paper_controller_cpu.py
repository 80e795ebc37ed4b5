"""The self-tuning controller to the letter of its paper, for experiments.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), sections 4.2 to 4.6; (1) to (8) are its equations. ``self_tuning_cpu`` is what became
of it, and explains the names. As in the paper the controller runs on the CPU, also where the stages
of an iteration run on a GPU: ``paper_search_cpu`` and ``paper_search_gpu`` have these.

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

from mgraph.core.compiled import compiled_without_counts
from mgraph.errors import UsageError
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
SLOPE = 0  # of a model
# Of the values: δ, Δδ, X4 when it was decided, the iteration, X1; the bounds of the nearer
# partition, and its slot; the bias; the largest distance seen.
THRESHOLD, STEP, X4, ITERATION, X1, LOWER, UPPER, SLOT, CORRECTION, FARTHEST = range(10)


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
    values[THRESHOLD] = values[UPPER] = mean_weight
    values[CORRECTION] = 1
    advance, bisect = new_model(mean_degree), new_model(1)
    return Controller(advance, bisect, values, np.array([name in changes for name in CHANGES]))


@compiled_without_counts
def _reach(sizes, values, need, alpha):
    """Return how far above δ the far queue holds ``need`` vertices, by its partitions' sizes."""
    size = sizes[np.int64(values[SLOT])]
    upper = max(min(values[UPPER], values[FARTHEST]) - values[THRESHOLD], 0.0)
    if size >= need:
        return upper * need / max(size, 1)
    return upper + (need - size) / alpha


@compiled_without_counts
def _move_threshold(sizes, control, set_point, x1, x4, min_queued, max_updated, min_step):
    """Learn α, and move δ, by (3) to (6) and (8). x1: of this iteration. min_queued: if known."""
    values, model, changes = control.values, control.bisect, control.changes
    threshold, step = values[THRESHOLD], values[STEP]
    values[FARTHEST] = max(values[FARTHEST], max_updated)
    brought, degree = x1 - values[X4], control.advance[SLOPE]
    if degree == 0:
        return
    target = values[CORRECTION] * set_point / degree
    need = target - x4
    if values[ITERATION] >= BOOTSTRAP_ITERATIONS:
        if step != 0 and (step > 0 or not changes[_DENSITY]):
            sign = -1 if changes[_SIGN] else 1
            observe(model, step, brought, sign, changes[_GUARD])
            if changes[_GUARD] and step > 0 and brought > 0:
                seen = brought / step
                model[SLOPE] = min(max(model[SLOPE], seen / GUARD), seen * GUARD)
    elif need <= 0:
        if threshold != 0:
            model[SLOPE] = x4 / threshold
    elif values[UPPER] != threshold:
        size = sizes[np.int64(values[SLOT])]
        model[SLOPE] = size / (values[UPPER] - threshold)
    start = threshold
    if changes[_DENSITY] and need < 0:
        start = min(threshold, max(max_updated, min_queued))
        model[SLOPE] = x4 / max(start - min_queued, min_step)
    alpha = model[SLOPE]
    if alpha == 0:
        moved = threshold
    else:
        change = need / alpha
        if changes[_SIZES] and need > 0 and alpha > 0:
            change = min(change, _reach(sizes, values, need, alpha))
        moved = start + change
    if changes[_NEAREST]:
        moved = max(min(moved, values[FARTHEST]), min_queued)
        if min_step >= 1:  # whole lengths
            moved = np.ceil(moved) if 2 * x4 < target else max(np.rint(moved), min_queued)
    if moved == moved:  # a number
        values[THRESHOLD] = moved
    values[STEP] = values[THRESHOLD] - threshold
    values[X4] = x4


@compiled_without_counts
def _learn_degree(control, set_point, x1, x2):
    """Learn d, by (1) and (2)."""
    values, model, changes = control.values, control.advance, control.changes
    observe(model, float(x1), float(x2), -1, changes[_GUARD])
    if changes[_GUARD] and x1 > 0:
        seen = max(x2 / x1, 1.0)
        model[SLOPE] = max(min(max(model[SLOPE], seen / GUARD), seen * GUARD), 1.0)
    missed = set_point / max(x2, 1)
    if changes[_BIAS] and x1 > 0 and 1 / MAX_MISS < missed < MAX_MISS:
        bias = values[CORRECTION] * (1 + BIAS_GAIN * (missed - 1))
        values[CORRECTION] = min(max(bias, MIN_BIAS), MAX_BIAS)


@compiled_without_counts
def _move_bound(sizes, control, set_point):
    """Move the bound between the partitions down, by (7); leave a partition that is empty."""
    values, alpha = control.values, control.bisect[SLOPE]
    slot = np.int64(values[SLOT])
    if sizes[slot] == 0:
        values[LOWER], values[UPPER] = values[UPPER], _MAX_INT
        values[SLOT] = 1 - slot
    if alpha != 0:
        bound = values[LOWER] + set_point / alpha
        if bound < values[UPPER]:
            values[UPPER] = bound


@compiled_without_counts
def decide(sizes, control, set_point, x1, x2, x4, min_queued, max_updated, min_step):
    """Learn from an iteration, and move δ and the bound between the far queue's partitions.

    sizes: of the two partitions, by slot. min_queued, max_updated: the distances of the nearest
    queued vertex and of the farthest one that was improved, 0 where no change needs them.
    """
    _learn_degree(control, set_point, x1, x2)
    _move_threshold(sizes, control, set_point, x1, x4, min_queued, max_updated, min_step)
    _move_bound(sizes, control, set_point)


@compiled_without_counts
def needs_lengths(control):
    """Return whether one of the controller's changes needs min_queued and max_updated."""
    return control.changes[_NEAREST] or control.changes[_DENSITY] or control.changes[_SIZES]


@compiled_without_counts
def counts_arcs(control):
    """Return whether X2 is the frontier's arcs, not the updates."""
    return control.changes[_ARCS]


def check_end(is_finished: bool) -> None:
    """Raise UsageError unless a search came to an end."""
    if not is_finished:
        raise UsageError(
            f"the paper's controller has not come to an end in {MAX_ITERATIONS:,} iterations; "
            'pass `controller="mgraph"`',
            parameter="controller",
        )
