"""Self-tuning near-far on one core: near-far whose threshold a controller moves every iteration."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from mgraph.shortest_paths.near_far_cpu import (
    NOWHERE,
    advance_and_filter,
    bisect_far_queue,
    far_place,
    far_remove,
    nearest_far,
)

PARTITIONS = 16
BOOTSTRAP = 5
EPSILON = 1e-6
GUARD = 2.0


class Controller(NamedTuple):
    """Models ``[value, g, h, v, tau]``; ``bounds`` and ``[current, last]`` of the far queue."""

    advance: Any
    bisect: Any
    bounds: Any
    span: Any


def new_model(value: float) -> Any:
    return np.array([value, 0.0, 1.0, EPSILON, (1 + EPSILON) * 2])


def new_controller(mean_degree: float, mean_weight: float) -> Controller:
    bounds = np.full(PARTITIONS, np.inf)
    bounds[0] = mean_weight
    return Controller(new_model(mean_degree), new_model(1.0), bounds, np.array([0, 1]))


@njit(cache=True, nogil=True)
def sgd(model, gradient, curvature):
    keep = 1 - 1 / model[4]
    model[1] = keep * model[1] + gradient / model[4]
    model[3] = keep * model[3] + gradient * gradient / model[4]
    model[2] = keep * model[2] + curvature / model[4]
    if model[3] == 0 or model[2] == 0:
        return
    share = model[1] * model[1] / model[3]
    model[4] = min((1 - share) * model[4] + 1, 16.0)
    model[0] -= share / model[2] * gradient


@njit(cache=True, nogil=True)
def partition_of(control, d):
    p = control.span[0]
    while p < control.span[1] and d > control.bounds[p % PARTITIONS]:
        p += 1
    return p % PARTITIONS


@njit(cache=True, nogil=True)
def bisect_frontier(search, control, updated, count, threshold, frontier):
    x4 = np.int64(0)
    for i in range(count):
        v = updated[i]
        d = search.distance[v]
        if d <= threshold:
            if search.far.partition[v] != NOWHERE:
                far_remove(search.far, v)
            frontier[x4] = v
            x4 += 1
        else:
            far_place(search.far, v, partition_of(control, d))
    return x4


@njit(cache=True, nogil=True)
def pull(search, control, p, threshold, frontier, x1):
    v = search.far.head[p % PARTITIONS]
    bound = control.bounds[p % PARTITIONS]
    while v != NOWHERE:
        after = search.far.next[v]
        d = search.distance[v]
        if d <= threshold:
            far_remove(search.far, v)
            frontier[x1] = v
            x1 += 1
        elif d > bound:
            far_place(search.far, v, partition_of(control, d))
        v = after
    return x1


@njit(cache=True, nogil=True)
def rebalance(search, control, new, frontier, x4):
    """Pull far ones up to new."""
    x = np.int64(x4)
    p = control.span[0]
    while True:
        x = pull(search, control, p, new, frontier, x)
        if p == control.span[1] or control.bounds[p % PARTITIONS] >= new:
            return x
        p += 1


@njit(cache=True, nogil=True)
def least_pending(search, control, frontier, x4, infinity):
    least = infinity
    for i in range(x4):
        least = min(least, search.distance[frontier[i]])
    if x4 > 0:
        return least
    for p in range(control.span[0], control.span[1] + 1):
        if search.far.size[p % PARTITIONS] > 0:
            return nearest_far(search, p % PARTITIONS, infinity)
    return infinity


@njit(cache=True, nogil=True)
def move_bounds(search, control, target, threshold):
    current, last = control.span[0], control.span[1]
    while (
        current < last
        and search.far.size[current % PARTITIONS] == 0
        and control.bounds[current % PARTITIONS] <= threshold
    ):
        current += 1
    control.span[0] = current
    width = max(target / max(control.bisect[0], 1e-12), 1.0)
    bound = threshold
    for p in range(current, last + 1):
        bound += width
        if p == last:
            if last - current + 1 < PARTITIONS:
                control.bounds[p % PARTITIONS] = bound
                control.bounds[(p + 1) % PARTITIONS] = np.inf
                control.span[1] = last + 1
        elif bound < control.bounds[p % PARTITIONS]:
            control.bounds[p % PARTITIONS] = bound
        else:
            bound = control.bounds[p % PARTITIONS]


@njit(cache=True, nogil=True)
def density_ahead(search, control, need, threshold, largest):
    lower, taken = threshold, 0.0
    for p in range(control.span[0], control.span[1] + 1):
        size = search.far.size[p % PARTITIONS]
        upper = max(lower, min(control.bounds[p % PARTITIONS], largest))
        if taken + size >= need:
            return need / max(lower + (upper - lower) * (need - taken) / max(size, 1) - threshold, 1.0)
        taken += size
        lower = upper
    return need / max(lower - threshold, 1.0)


@njit(cache=True, nogil=True)
def iterate(search, control, setpoint, state, frontier, updated, cutoff, infinity, row, seen):
    """state: [x1, iteration, threshold, step, x4 before]."""
    x1, k, threshold = np.int64(state[0]), np.int64(state[1]), state[2]
    re = 0
    if x1 == 0:
        return False
    for i in range(x1):
        if seen[frontier[i]]:
            re += 1
        seen[frontier[i]] = True
    x2, x3 = advance_and_filter(search, frontier, x1, k, cutoff, updated)
    x4 = bisect_frontier(search, control, updated, x3, threshold, frontier)
    sgd(control.advance, -2.0 * (x2 - control.advance[0] * x1) * x1, 2.0 * x1 * x1)
    control.advance[0] = min(max(control.advance[0], x2 / x1 / GUARD, 1.0), max(x2 / x1 * GUARD, 1.0))
    step = state[3]
    if k >= BOOTSTRAP and step != 0 and state[6] == 0:
        sgd(control.bisect, -2.0 * (x1 - state[4] - control.bisect[0] * step) * step, 2.0 * step * step)
    target = setpoint / control.advance[0]
    far = np.int64(0)
    for p in range(PARTITIONS):
        far += search.far.size[p]
    row[0], row[1], row[2], row[3], row[4] = x1, x2, x3, x4, threshold
    row[5], row[6] = control.advance[0], control.bisect[0]
    row[7], row[8], row[9] = control.span[1] - control.span[0] + 1, far, re
    if x4 == 0 and far == 0:
        return False
    least = float(least_pending(search, control, frontier, x4, infinity))
    largest = max(state[7], threshold)
    for i in range(x3):
        largest = max(largest, float(search.distance[updated[i]]))
    state[7] = largest
    saturated = x4 + far <= target
    if saturated:
        new = largest + state[5]
    else:
        if x4 >= target:
            density = x4 / max(threshold - least, 1.0)
        else:
            density = density_ahead(search, control, target - x4, threshold, largest)
        if k < BOOTSTRAP:
            control.bisect[0] = density
        control.bisect[0] = min(max(control.bisect[0], density / GUARD), density * GUARD)
        new = threshold + (target - x4) / control.bisect[0]
    new = max(new, least)
    if new < threshold:
        for i in range(x4):
            updated[i] = frontier[i]
        x = bisect_frontier(search, control, updated, x4, new, frontier)
    else:
        x = rebalance(search, control, new, frontier, x4)
    move_bounds(search, control, target, new)
    state[0], state[1], state[2], state[3], state[4] = x, k + 1, new, new - threshold, x4
    state[6] = saturated
    return True


@njit(cache=True, nogil=True)
def run(search, control, setpoint, state, frontier, updated, cutoff, infinity, trace, seen):
    k = 0
    while iterate(search, control, setpoint, state, frontier, updated, cutoff, infinity, trace[k], seen):
        k += 1
    return k + 1
