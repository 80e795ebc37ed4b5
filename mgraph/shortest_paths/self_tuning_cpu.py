"""Self-tuning near-far: a controller moves the threshold so that parallelism stays at a set-point.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), section 4.

A GPU's controller (``self_tuning.cuh``) is this one only where many arcs are under way, as on
power-law graphs. Where few are, as on roads and grids, an iteration of a GPU is not one step of the
frontier but a wave of up to 128 hops within each block, and equations 4 to 6 do not hold: most of
the vertices that a wave expands were in no queue when it was decided on. Its threshold follows
another law, which is not the paper's (``follow_wave`` there), and X1 and X2 are sums over all its
hops. Here an iteration always has one hop.

X1 vertices have X2 arcs, and of the vertices that those improve X4 stay within the threshold δ. Two
slopes are learned while the search runs (algorithm 1): the ADVANCE-MODEL's d in X2 = d·X1
(equations 1, 2), and the BISECT-MODEL's α in X1' = X4 + α·Δδ, the vertices that a higher threshold
brings (4, 5). So P arcs need P/d vertices (3), and the threshold moves by (P/d - X4)/α (6). The far
queue is kept in partitions of about as many vertices as an iteration needs (7), so that raising δ
reads one or two of them.

What the paper leaves open, and where measurements led elsewhere:

* X2 counts the arcs of the frontier, which is the work; the paper counts the vertices after
  advance.
* Stochastic gradient descent forgets too slowly when α falls from one iteration to the next, as it
  does all the time; so both slopes stay within a factor of two of the last observation, and the
  memory τ within 16 steps. d is at least 1.
* (5) has the sign that (4) implies; the paper's is a misprint.
* Before α is known the paper takes it from the current partition's size (8). Here that serves, in
  the first iterations, where the last step brought nothing. Sizes are used further: δ never passes
  the point up to which the partitions hold P/d vertices already, nor the farthest vertex seen. It
  is never below the nearest queued vertex, and an integer where lengths are.
* With X4 above P/d, δ falls by the density of the frontier itself over the interval that it covers,
  from its nearest vertex on; the paper's X4/δ is the mean from 0 on. α starts again from that
  density, and is learned from rising steps alone.
* What iteration k taught about d serves δ(k + 1), since d may change a hundredfold after a hub;
  what it taught about α serves δ(k + 2), on both backends, so that a GPU learns while it works.
* A partition is divided when it is read, since that is when its vertices are at hand: so sizes
  always belong to their bounds, and a bound never moves past a queued vertex. (7) gives the first
  part's width as P/α; P counts arcs, so it is (P/d)/α here. Each further part is twice as wide,
  which sixteen partitions need to cover everything, so the last ones hold more than P/d.
* Fractional lengths are measured in a power of two near the mean weight, so that no quotient rounds
  to 0, whatever the weights.
* Integral action: the set-point is corrected by 5 % of what the last iteration missed, within 0.5
  to 3 times, since two linear models of curved functions keep an error. So P is the mean that X2
  comes to, where the paper has X2 at P or below. With ``is_bound`` it is an upper bound: the
  set-point falls by 19 % after each iteration that exceeds P, and rises by 1 % after each other
  one, so that it comes to rest where one of twenty iterations exceeds P (stochastic approximation
  of a quantile).
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, gauges
from mgraph.core.compiled import compiled, compiled_without_counts
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.near_far_cpu import (
    NONE,
    Search,
    advance_and_filter,
    begin,
    min_far_distance,
    min_frontier_distance,
    place_far,
    remove_far,
    targets_are_settled,
)
from mgraph.shortest_paths.self_tuning import (
    BIAS_GAIN,
    BOOTSTRAP_ITERATIONS,
    BOUND_GAIN,
    EPSILON,
    GUARD,
    MAX_BIAS,
    MAX_EXCEEDING,
    MAX_MEMORY,
    MAX_MISS,
    MIN_BIAS,
    MIN_BOUND_BIAS,
    PARTITIONS,
    UNBOUNDED,
)

DEFAULT_SET_POINT = 4096  # with more a core gains nothing, and relaxes more arcs
# A model: its slope, the moving averages of the gradient, of its square and of the curvature, and
# their time constant τ.
_SLOPE, _GRADIENT, _SQUARE, _CURVATURE, _MEMORY = range(5)
# A controller's values: δ; the X1 to aim at, P/d with the bias; α; the bias; the last Δδ; X4 when
# it was decided; the largest distance seen; the iteration; X1; the number of live partitions;
# whether P is an upper bound; α before the last decision; the mean weight.
(
    _THRESHOLD, _TARGET, _ALPHA, _BIAS, _STEP, _X4, _MAX_DISTANCE, _ITERATION, _X1, _LIVE,
    _IS_BOUND, _LEARNED_ALPHA, _MEAN_WEIGHT,
) = range(13)  # fmt: skip


class Controller(NamedTuple):
    """Two models, the values above, and the far queue's partitions in ascending order.

    bounds: the partitions' upper bounds. slots: where in the far queue each partition is; slots
    beyond the live partitions are free. scale: the factor by which lengths are multiplied, a power
    of two.
    """

    advance: Any
    bisect: Any
    values: Any
    bounds: Any
    slots: Any
    scale: float


def new_controller(
    set_point: float, mean_degree: float, mean_weight: float, unit: float, *, is_bound: bool = False
) -> Controller:
    """Make a controller that has seen nothing yet: two partitions, split at the mean weight.

    unit: that in which it measures lengths. is_bound: whether the set-point is an upper bound.
    """
    scale = 1 / unit
    mean_weight = mean_weight * scale
    values = np.zeros(13)
    values[_IS_BOUND] = is_bound
    values[_STEP] = values[_MEAN_WEIGHT] = (
        mean_weight  # as if a step of the mean weight had brought the source
    )
    values[_TARGET] = set_point / mean_degree
    values[_ALPHA] = 1 / mean_weight
    values[_BIAS], values[_LIVE] = 1, 2
    bounds = np.full(PARTITIONS, UNBOUNDED)
    bounds[0] = mean_weight
    advance, bisect = new_model(mean_degree), new_model(1)
    return Controller(advance, bisect, values, bounds, np.arange(PARTITIONS), scale)


def new_model(slope: float) -> Any:
    """Make a model as algorithm 1 begins."""
    return np.array([slope, 0, EPSILON, 1, 2 * (1 + EPSILON)])


@compiled_without_counts
def observe(model, model_input, output, sign, is_bounded):
    """Update a model by algorithm 1: it predicted slope·input, and ``output`` was observed.

    sign: -1, or 1 for equation 5 as it is printed. is_bounded: whether the memory is.
    """
    gradient = 2 * sign * (output + sign * model[_SLOPE] * model_input) * model_input
    rate = 1 / model[_MEMORY]
    model[_GRADIENT] += rate * (gradient - model[_GRADIENT])
    model[_SQUARE] += rate * (gradient * gradient - model[_SQUARE])
    model[_CURVATURE] += rate * (2 * model_input * model_input - model[_CURVATURE])
    if model[_SQUARE] <= 0 or model[_CURVATURE] <= 0:
        return
    ratio = min(model[_GRADIENT] * model[_GRADIENT] / model[_SQUARE], 1.0)  # 1 but for rounding
    memory = (1 - ratio) * model[_MEMORY] + 1
    model[_MEMORY] = min(memory, MAX_MEMORY) if is_bounded else memory
    model[_SLOPE] -= ratio / model[_CURVATURE] * gradient


@compiled_without_counts
def _find_slot(control, distance):
    """Return the slot of the partition with B[i-1] < distance <= B[i].

    A partition keeps its slot when the order changes: only ``slots`` moves, and no vertex.
    """
    i = 0
    while i < control.values[_LIVE] - 1 and distance > control.bounds[i]:
        i += 1
    return control.slots[i]


@compiled_without_counts
def _bisect(search, control, vertices, count, x1):
    """Append vertices up to the threshold to the frontier, and put the others into the far queue.

    x1: the frontier's size; the new size is returned.
    """
    for i in range(count):
        v = vertices[i]
        distance = search.distance[v] * control.scale
        if distance <= control.values[_THRESHOLD]:
            if search.far.partition[v] != NONE:
                remove_far(search.far, v)
            search.frontier[x1] = v
            x1 += 1
        else:
            place_far(search.far, v, _find_slot(control, distance))
    return x1


@compiled_without_counts
def _find_reach(far, control, need):
    """Return how far above the threshold the far queue holds ``need`` vertices, by its sizes."""
    threshold, max_distance = control.values[_THRESHOLD], control.values[_MAX_DISTANCE]
    lower, held = 0.0, 0.0
    for i in range(int(control.values[_LIVE]) - 1):
        size = far.size[control.slots[i]]
        upper = max(min(control.bounds[i], max_distance) - threshold, 0.0)
        if held + size >= need:
            return lower + (upper - lower) * (need - held) / max(size, 1)
        held += size
        lower = upper
    return lower + (need - held) / control.values[_ALPHA]


@compiled_without_counts
def _decide(far, control, x1, x4, min_queued, max_updated, min_step):
    """Move the threshold, by equations 6 and 8."""
    values = control.values
    threshold, need, alpha = values[_THRESHOLD], values[_TARGET] - x4, values[_ALPHA]
    values[_LEARNED_ALPHA] = alpha
    end = max(max_updated, min_queued)
    max_distance = max(values[_MAX_DISTANCE], end)
    values[_MAX_DISTANCE] = max_distance
    if need > 0:
        brought = x1 - values[_X4]
        size = far.size[control.slots[0]]
        if values[_STEP] > 0 and brought > 0:
            observed = brought / values[_STEP]
            alpha = min(max(alpha, observed / GUARD), observed * GUARD)
        elif values[_ITERATION] < BOOTSTRAP_ITERATIONS and size > 0:
            alpha = size / max(min(control.bounds[0], max_distance) - threshold, min_step)
        values[_ALPHA] = alpha
        step = min(need / alpha, _find_reach(far, control, need))
        next_threshold = min(threshold + step, max_distance)
    else:
        start = min(threshold, end)
        alpha = x4 / max(start - min_queued, min_step)
        next_threshold = start + need / alpha
    if min_step >= 1:  # integer lengths have nothing between two integers
        rounds_up = 2 * x4 < values[_TARGET]
        next_threshold = np.ceil(next_threshold) if rounds_up else np.rint(next_threshold)
    next_threshold = max(next_threshold, min_queued)
    values[_STEP] = next_threshold - threshold
    values[_X4], values[_ALPHA] = x4, alpha
    values[_THRESHOLD] = next_threshold
    values[_ITERATION] += 1


@compiled_without_counts
def _learn_degree(control, set_point, x1, x2):
    """Learn d and set the target, by equations 1 to 3 with integral action."""
    values, model = control.values, control.advance
    if x1 == 0:
        return
    observe(model, float(x1), float(x2), -1, True)
    observed = max(x2 / x1, 1.0)
    model[_SLOPE] = max(min(max(model[_SLOPE], observed / GUARD), observed * GUARD), 1.0)
    missed = set_point / max(x2, 1)
    if values[_IS_BOUND]:
        bias = values[_BIAS] * (1 + BOUND_GAIN * (MAX_EXCEEDING - (missed < 1)))
        values[_BIAS] = min(max(bias, MIN_BOUND_BIAS), 1)
    elif 1 / MAX_MISS < missed < MAX_MISS:
        bias = values[_BIAS] * (1 + BIAS_GAIN * (missed - 1))
        values[_BIAS] = min(max(bias, MIN_BIAS), MAX_BIAS)
    values[_TARGET] = values[_BIAS] * set_point / model[_SLOPE]


@compiled_without_counts
def _learn_density(control, x1, step, x4):
    """Learn α by equations 4 and 5, from the step and the X4 decided before this iteration."""
    values, model = control.values, control.bisect
    mean_weight = values[_MEAN_WEIGHT]  # α is learned for a step of this size
    if step > 0:
        model[_SLOPE] = values[_ALPHA] * mean_weight
        observe(model, step / mean_weight, x1 - x4, -1, True)
        if model[_SLOPE] > 0:
            values[_ALPHA] = model[_SLOPE] / mean_weight


@compiled
def _divide(control, min_step):
    """Divide the part above the threshold of the partitions to read, and return their number.

    The partitions that begin below the threshold are read, since some of their vertices may be
    within it.
    """
    values, bounds, slots = control.values, control.bounds, control.slots
    threshold, live = values[_THRESHOLD], int(values[_LIVE])
    reads = 1
    while reads < live and bounds[reads - 1] < threshold:
        reads += 1
    end, kept = bounds[reads - 1], live - reads
    width = max(values[_TARGET] / max(values[_LEARNED_ALPHA], 1e-30), min_step)
    # Half of the free slots: the threshold may fall back, and the interval be divided again.
    max_made = (PARTITIONS - kept + 1) // 2
    made = 1
    while made < max_made and threshold + width * (2.0**made - 1) < end - width / 2:
        made += 1
    old_bounds, old_slots = bounds.copy(), slots.copy()
    free = np.concatenate((old_slots[:reads], old_slots[live:]))
    for i in range(made):
        bounds[i] = end if i == made - 1 else threshold + width * (2.0 ** (i + 1) - 1)
        slots[i] = free[i]
    bounds[made : made + kept] = old_bounds[reads:live]
    slots[made : made + kept] = old_slots[reads:live]
    slots[made + kept :] = free[made:]
    values[_LIVE] = made + kept
    return reads


@compiled
def _rebalance(search, control, min_step, x4):
    """Append far vertices up to the threshold to the frontier of size x4, and return X1."""
    old_slots = control.slots.copy()
    reads = _divide(control, min_step)
    removed = np.int64(0)  # all are removed first, since a slot may be filled again at once
    for i in range(reads):
        v = search.far.head[old_slots[i]]
        while v != NONE:
            after = search.far.next[v]
            remove_far(search.far, v)
            search.updated[removed] = v
            removed += 1
            v = after
    return _bisect(search, control, search.updated, removed, x4)


@compiled_without_counts
def _trace_models(control, row):
    row[5], row[6] = control.advance[_SLOPE], control.values[_ALPHA] * control.scale
    row[7] = control.values[_LIVE]


@compiled
def _iterate(search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row):
    """Do one iteration, and return whether another follows. row: the trace's."""
    values = control.values
    x1 = np.int64(values[_X1])
    x2, x3 = advance_and_filter(search, x1, values[_ITERATION], cutoff)
    max_updated = 0.0
    for i in range(x3):
        max_updated = max(max_updated, float(search.distance[search.updated[i]]))
    x4 = _bisect(search, control, search.updated, x3, np.int64(0))
    far = search.far.size.sum()
    row[0], row[1], row[2], row[3], row[8] = x1, x2, x3, x4, far
    row[4] = values[_THRESHOLD] / control.scale
    _trace_models(control, row)
    min_queued = min_frontier_distance(search, x4, infinity)
    if x4 == 0:
        if far == 0:
            return False
        for p in range(PARTITIONS):
            min_queued = min(min_queued, min_far_distance(search, p, infinity))
    if targets.size and targets_are_settled(search, targets, stop_at_first, min_queued):
        return False
    _learn_degree(control, set_point, x1, x2)
    last_step, last_x4 = values[_STEP], values[_X4]
    lengths = min_queued * control.scale, max_updated * control.scale
    _decide(search.far, control, x1, x4, *lengths, min_step)
    if values[_STEP] < 0:
        search.updated[:x4] = search.frontier[:x4]
        values[_X1] = _bisect(search, control, search.updated, x4, np.int64(0))
    elif values[_STEP] > 0:
        values[_X1] = _rebalance(search, control, min_step, x4)
    else:
        values[_X1] = x4
    _trace_models(control, row)
    _learn_density(control, x1, last_step, last_x4)
    return True


def find_distances_traced(
    search: Search, sources: Any, control: Controller, set_point: float, *bounds: Any
) -> Any:
    """Fill the distances, and return the trace; ``bounds`` as ``find_distances`` takes them."""
    control.values[_X1] = begin(search, sources)
    return traces.record_iterations(lambda row: _iterate(search, control, set_point, *bounds, row))


def find_distances(
    search: Search, sources: Any, control: Controller, set_point: float, targets: Any,
    stop_at_first: bool, cutoff: Any, infinity: Any, min_step: float,
) -> None:  # fmt: skip
    """Fill the distances, to the end or until the targets (int64, perhaps none) are settled."""
    control.values[_X1] = begin(search, sources)
    row = np.zeros(traces.SEARCH_COLUMNS)  # the last iteration's: row[1] is X2
    bounds = targets, stop_at_first, cutoff, infinity, min_step
    with gauges.showing(set_point=set_point, parallelism=lambda: float(row[1])):
        _iterate_all(search, control, set_point, *bounds, row)
    cancellation.raise_if_cancelled()


@compiled
def _iterate_all(
    search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row
):
    while not search.cancel_flag[0] and _iterate(
        search, control, set_point, targets, stop_at_first, cutoff, infinity, min_step, row
    ):
        pass
