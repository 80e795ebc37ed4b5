"""Self-tuning near-far: a controller moves the threshold so that parallelism stays at a set-point.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), section 4.

A GPU's controller (``self_tuning.cuh``) is this one only where many arcs are
under way, as on power-law graphs. Where few are, as on roads and grids, an iteration of a GPU is
not one step of the frontier but a wave of up to 128 hops within each block, and equations 4 to 6 do
not hold: most of the vertices that a wave expands waited in no queue when it was decided on. Its
threshold follows another law, which is not the paper's (``follow_wave`` there), and X1 and X2 are
sums over all its hops. Here an iteration always has one hop.

X1 vertices make X2 arcs, of which X4 vertices come to wait within the threshold δ. Two slopes are
learned while the search runs (algorithm 1): X2 = d·X1 (equations 1, 2), and the vertices that a
higher threshold brings, X1' = X4 + α·Δδ (4, 5). So P arcs want P/d vertices (3), and the threshold
moves by (P/d - X4)/α (6). The far queue is kept in partitions of about as many vertices as an
iteration wants (7), so that raising δ looks at one or two of them.

What the paper leaves open, or what measurements wanted otherwise:

* X2 is the arcs of the frontier, which is the work; the paper counts the vertices after advance.
* Stochastic gradient descent forgets too slowly when α falls from one iteration to the next, as it
  does all the time; so both slopes stay within a factor of two of the last observation, and the
  memory within 16 steps. d is 1 at least.
* (5) has the sign that (4) implies; the paper's is a misprint.
* Before α is known the paper takes it from the current partition's size (8); here that serves, in
  the first iterations, where the last step brought nothing. Sizes tell more: δ never passes the
  point up to which the partitions hold P/d vertices already, nor the farthest vertex seen. It is
  never below the nearest vertex that waits, and a whole number where lengths are.
* With X4 above P/d, δ falls by the density of the frontier itself over the stretch that it covers,
  from its nearest vertex on; the paper's X4/δ is the mean from 0 on. α begins anew from that
  density, and is learned from rising steps alone.
* What iteration k taught of d serves δ(k + 1), since d may change a hundredfold after a hub; what
  it taught of α serves δ(k + 2), on both backends, so that a GPU learns while it works.
* A partition is divided when it is read, since that is when its vertices are at hand: so sizes
  always belong to their boundaries, and a boundary never moves past a vertex that waits. (7) gives
  the first part's width as P/α; P counts arcs, so it is (P/d)/α here. Each further part is twice as
  wide, which sixteen partitions need to cover everything, so the last ones hold more than P/d.
* Fractional lengths are measured in a power of two near the mean weight, so that nothing is divided
  by what rounds to 0, whatever the weights.
* Integral action: the set-point is corrected by 5 % of what the last iteration missed, within 0.5
  to 3 times, since two linear models of curved things keep an error. So P is the mean that X2 comes
  to, where the paper would have X2 at P or below.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, gauges
from mgraph.core.compiled import compiled
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.near_far_cpu import (
    NOWHERE,
    Search,
    advance_and_filter,
    begin,
    far_place,
    far_remove,
    nearest,
    nearest_far,
    settled,
)

PARTITIONS = 16
DEFAULT_SET_POINT = 4096  # a core gains nothing from more, and does needless work
BOOTSTRAP = 5
GUARD = 2.0
LONGEST_MEMORY = 16.0
ENDLESS = 1e300
_EPSILON = 1e-6
# A model: slope, and of its gradient the mean, the mean square, the curvature, and the memory τ.
_SLOPE, _GRADIENT, _SQUARE, _CURVATURE, _MEMORY = range(5)
# The controller's numbers: δ; P/d, corrected: the X1 that is wanted; α; the correction; Δδ of the
# last decision; X4 when it was made; the farthest vertex seen; …
_THRESHOLD, _TARGET, _ALPHA, _BIAS, _STEP, _NEAR, _FARTHEST, _ITERATION, _X1, _LIVE = range(10)


class Controller(NamedTuple):
    """Two models, the numbers above, and of the far queue's partitions bounds and slots in order.

    ``slots[i]``: where the i-th partition is kept; slots from the live ones on are free. scale:
    what lengths are multiplied by, a power of two.
    """

    advance: Any
    bisect: Any
    numbers: Any
    bounds: Any
    slots: Any
    scale: float


def new_controller(
    set_point: float, mean_degree: float, mean_weight: float, whole: bool
) -> Controller:
    """A controller that has seen nothing yet: two partitions, split at the mean weight.

    whole: whether lengths are integers, which are not scaled.
    """
    scale = 1.0 if whole else 2.0 ** -min(max(math.frexp(mean_weight)[1], -1000), 1000)
    mean_degree, mean_weight = max(mean_degree, 1.0), mean_weight * scale
    numbers = np.zeros(10)
    numbers[_STEP] = mean_weight  # as if a step of the mean weight had brought the source
    numbers[_TARGET] = set_point / mean_degree
    numbers[_ALPHA] = 1 / mean_weight
    numbers[_BIAS], numbers[_LIVE] = 1, 2
    bounds = np.full(PARTITIONS, ENDLESS)
    bounds[0] = mean_weight
    models = [np.array([slope, 0, _EPSILON, 1, 2 * (1 + _EPSILON)]) for slope in (mean_degree, 1)]
    return Controller(models[0], models[1], numbers, bounds, np.arange(PARTITIONS), scale)


@compiled
def _observe(model, given, came):
    """Algorithm 1: the model said slope·given, and ``came`` came."""
    gradient = -2 * (came - model[_SLOPE] * given) * given
    take = 1 / model[_MEMORY]
    model[_GRADIENT] += take * (gradient - model[_GRADIENT])
    model[_SQUARE] += take * (gradient * gradient - model[_SQUARE])
    model[_CURVATURE] += take * (2 * given * given - model[_CURVATURE])
    if model[_SQUARE] <= 0 or model[_CURVATURE] <= 0:
        return
    share = min(model[_GRADIENT] * model[_GRADIENT] / model[_SQUARE], 1.0)  # 1 but for rounding
    model[_MEMORY] = min((1 - share) * model[_MEMORY] + 1, LONGEST_MEMORY)
    model[_SLOPE] -= share / model[_CURVATURE] * gradient


@compiled
def _partition_of(control, distance):
    """The slot of the partition with B[i-1] < distance <= B[i].

    A partition keeps its slot when the order changes: only ``slots`` moves, and no vertex.
    """
    i = 0
    while i < control.numbers[_LIVE] - 1 and distance > control.bounds[i]:
        i += 1
    return control.slots[i]


@compiled
def _bisect(search, control, vertices, count, x):
    """Vertices up to the threshold join the frontier's first x, the others the far queue.

    Returns the frontier's new size.
    """
    for i in range(count):
        v = vertices[i]
        distance = search.distance[v] * control.scale
        if distance <= control.numbers[_THRESHOLD]:
            if search.far.partition[v] != NOWHERE:
                far_remove(search.far, v)
            search.frontier[x] = v
            x += 1
        else:
            far_place(search.far, v, _partition_of(control, distance))
    return x


@compiled
def _reach(far, control, need):
    """How far beyond the threshold the far queue holds ``need`` vertices, by partition sizes."""
    threshold, farthest = control.numbers[_THRESHOLD], control.numbers[_FARTHEST]
    lower, held = 0.0, 0.0
    for i in range(int(control.numbers[_LIVE]) - 1):
        size = far.size[control.slots[i]]
        upper = max(min(control.bounds[i], farthest) - threshold, 0.0)
        if held + size >= need:
            return lower + (upper - lower) * (need - held) / max(size, 1)
        held += size
        lower = upper
    return lower + (need - held) / control.numbers[_ALPHA]


@compiled
def _decide(far, control, x1, x4, least, largest, quantum):
    """Equations 6 and 8: move the threshold."""
    numbers = control.numbers
    threshold, need, alpha = numbers[_THRESHOLD], numbers[_TARGET] - x4, numbers[_ALPHA]
    end = max(largest, least)
    farthest = max(numbers[_FARTHEST], end)
    numbers[_FARTHEST] = farthest
    if need > 0:
        brought = x1 - numbers[_NEAR]
        size = far.size[control.slots[0]]
        if numbers[_STEP] > 0 and brought > 0:
            density = brought / numbers[_STEP]
            alpha = min(max(alpha, density / GUARD), density * GUARD)
        elif numbers[_ITERATION] < BOOTSTRAP and size > 0:
            alpha = size / max(min(control.bounds[0], farthest) - threshold, quantum)
        numbers[_ALPHA] = alpha
        following = min(threshold + min(need / alpha, _reach(far, control, need)), farthest)
    else:
        start = min(threshold, end)
        alpha = x4 / max(start - least, quantum)
        following = start + need / alpha
    if quantum >= 1:  # between two whole lengths there is nothing to be had
        following = np.ceil(following) if 2 * x4 < numbers[_TARGET] else np.rint(following)
    following = max(following, least)
    numbers[_STEP] = following - threshold
    numbers[_NEAR], numbers[_ALPHA] = x4, alpha
    numbers[_THRESHOLD] = following
    numbers[_ITERATION] += 1


@compiled
def _learn_degree(control, set_point, x1, x2):
    """Equations 1 to 3, with integral action."""
    numbers, model = control.numbers, control.advance
    if x1 == 0:
        return
    _observe(model, float(x1), float(x2))
    seen = max(x2 / x1, 1.0)
    model[_SLOPE] = max(min(max(model[_SLOPE], seen / GUARD), seen * GUARD), 1.0)
    missed = set_point / max(x2, 1)
    if 0.25 < missed < 4:
        numbers[_BIAS] = min(max(numbers[_BIAS] * (1 + 0.05 * (missed - 1)), 0.5), 3.0)
    numbers[_TARGET] = numbers[_BIAS] * set_point / model[_SLOPE]


@compiled
def _learn_density(control, x1, step, near):
    """Equations 4 and 5, after the step that was taken before this iteration."""
    numbers, model = control.numbers, control.bisect
    if step > 0:
        model[_SLOPE] = numbers[_ALPHA]
        _observe(model, step, x1 - near)
        if model[_SLOPE] > 0:
            numbers[_ALPHA] = model[_SLOPE]


@compiled
def _divide(control, quantum):
    """Divide what lies beyond the threshold in the partitions that it enters. Returns how many."""
    numbers, bounds, slots = control.numbers, control.bounds, control.slots
    threshold, live = numbers[_THRESHOLD], int(numbers[_LIVE])
    reads = 1
    while reads < live and bounds[reads - 1] < threshold:
        reads += 1
    end, kept = bounds[reads - 1], live - reads
    width = max(numbers[_TARGET] / max(numbers[_ALPHA], 1e-30), quantum)
    # Half of the free slots: the threshold may fall back and want to divide again.
    room = (PARTITIONS - kept + 1) // 2
    made = 1
    while made < room and threshold + width * (2.0**made - 1) < end - width / 2:
        made += 1
    old_bounds, old_slots = bounds.copy(), slots.copy()
    free = np.concatenate((old_slots[:reads], old_slots[live:]))
    for i in range(made):
        bounds[i] = end if i == made - 1 else threshold + width * (2.0 ** (i + 1) - 1)
        slots[i] = free[i]
    bounds[made : made + kept] = old_bounds[reads:live]
    slots[made : made + kept] = old_slots[reads:live]
    slots[made + kept :] = free[made:]
    numbers[_LIVE] = made + kept
    return reads


@compiled
def _rebalance(search, control, quantum, x4):
    """Bisect-far-queue: far vertices up to the threshold join the frontier. Returns its size."""
    first_slots = control.slots.copy()
    reads = _divide(control, quantum)
    waiting = np.int64(0)  # taken out first, since a slot may serve again at once
    for i in range(reads):
        v = search.far.head[first_slots[i]]
        while v != NOWHERE:
            after = search.far.next[v]
            far_remove(search.far, v)
            search.updated[waiting] = v
            waiting += 1
            v = after
    return _bisect(search, control, search.updated, waiting, x4)


@compiled
def _trace_models(control, row):
    row[5], row[6] = control.advance[_SLOPE], control.numbers[_ALPHA] * control.scale
    row[7] = control.numbers[_LIVE]


@compiled
def _iterate(search, control, set_point, targets, first_target, cutoff, infinity, quantum, row):
    """One iteration; False when it was the last. row: the trace's."""
    numbers = control.numbers
    x1 = np.int64(numbers[_X1])
    x2, x3 = advance_and_filter(search, x1, numbers[_ITERATION], cutoff)
    largest = 0.0
    for i in range(x3):
        largest = max(largest, float(search.distance[search.updated[i]]))
    x4 = _bisect(search, control, search.updated, x3, np.int64(0))
    far = search.far.size.sum()
    row[0], row[1], row[2], row[3], row[8] = x1, x2, x3, x4, far
    row[4] = numbers[_THRESHOLD] / control.scale
    _trace_models(control, row)
    least = nearest(search, x4, infinity)
    if x4 == 0:
        if far == 0:
            return False
        for p in range(PARTITIONS):
            least = min(least, nearest_far(search, p, infinity))
    if targets.size and settled(search, targets, first_target, least):
        return False
    _learn_degree(control, set_point, x1, x2)
    step, near = numbers[_STEP], numbers[_NEAR]
    lengths = least * control.scale, largest * control.scale
    _decide(search.far, control, x1, x4, *lengths, quantum)
    if numbers[_STEP] < 0:
        search.updated[:x4] = search.frontier[:x4]
        numbers[_X1] = _bisect(search, control, search.updated, x4, np.int64(0))
    elif numbers[_STEP] > 0:
        numbers[_X1] = _rebalance(search, control, quantum, x4)
    else:
        numbers[_X1] = x4
    _trace_models(control, row)
    _learn_density(control, x1, step, near)
    return True


def traced(
    search: Search, sources: Any, control: Controller, set_point: float, *bounds: Any
) -> Any:
    """The search with a row an iteration; ``bounds`` as ``run`` takes them."""
    control.numbers[_X1] = begin(search, sources)
    return traces.timed(lambda row: _iterate(search, control, set_point, *bounds, row))


def run(
    search: Search, sources: Any, control: Controller, set_point: float, targets: Any,
    first_target: bool, cutoff: Any, infinity: Any, quantum: float,
) -> None:  # fmt: skip
    """The search to its end, or until the targets (int64, perhaps none) are settled."""
    control.numbers[_X1] = begin(search, sources)
    row = np.zeros(traces.COLUMNS)  # the last iteration's, X2 its arcs
    with gauges.showing(set_point=set_point, parallelism=lambda: float(row[1])):
        _run(search, control, set_point, targets, first_target, cutoff, infinity, quantum, row)
    cancellation.raise_if_cancelled()


@compiled
def _run(search, control, set_point, targets, first_target, cutoff, infinity, quantum, row):
    while not search.stop[0] and _iterate(
        search, control, set_point, targets, first_target, cutoff, infinity, quantum, row
    ):
        pass
