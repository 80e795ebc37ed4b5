"""The cheapest completion of a part of a tree, by dynamic programming, in Numba.

The part is connected. Groups that it does not touch are to be joined to it by branches: trees that
end at one of its vertices. If the part ends at a vertex that is of no use by itself, its tip, a
branch must end there.

A state is a vertex outside of the part and a set of groups; its label is the length of a tree that
holds both. States are settled in the order of their labels and their distances to the part (A*),
united at their vertex, and step along edges; where a step reaches the part, the label is that of a
branch. At the end branches are put together
to one of each set of groups. They may touch each other; then the result is only a lower bound.

Cost: 3^r merges per vertex and 2^r steps per edge that lie within the length of the completion, for
r groups. Memory: 48 bytes per state.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.steiner.state_table_cpu import KEY, NO_STATE, enlarge, find_slot

LABEL, FROM, BY, NEXT = 1, 2, 3, 4
_COLUMNS = 5
SOURCE, NOT_SETTLED = -1, -2
INFINITY = np.int64(1 << 62)


@compiled_when_hot
def _combine(branch, tip_branch, total, tip_total):
    """Find the least sums of branches for each set of groups, without and with one at the tip."""
    total[:], tip_total[:] = INFINITY, INFINITY
    total[0] = 0
    for groups in range(1, branch.size):
        part = groups
        while part:
            rest = groups ^ part
            if branch[part] < INFINITY and total[rest] < INFINITY:
                total[groups] = min(total[groups], branch[part] + total[rest])
            if branch[part] < INFINITY and tip_total[rest] < INFINITY:
                tip_total[groups] = min(tip_total[groups], branch[part] + tip_total[rest])
            if tip_branch[part] < INFINITY and total[rest] < INFINITY:
                tip_total[groups] = min(tip_total[groups], tip_branch[part] + total[rest])
            part = (part - 1) & groups


@compiled_when_hot
def _distances(indptr, heads, lengths, is_excluded, is_barred, part, limit, heap):
    """Return the distance of each vertex to the part, INFINITY beyond a limit; and the heap."""
    distance = np.full(indptr.size - 1, INFINITY)
    size = 0
    for v in part:
        distance[v] = 0
        while size + 1 > capacity(heap):
            heap = grow(heap)
        push(heap, size, np.int64(0), v)
        size += 1
    while size:
        key, popped = pop(heap, size)
        size -= 1
        u = np.int64(popped)
        if key != distance[u]:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v, new = heads[arc], key + lengths[arc]
            if is_excluded[arc] or is_barred[v]:
                continue
            if new < distance[v] and new <= limit:
                distance[v] = new
                while size + 1 > capacity(heap):
                    heap = grow(heap)
                push(heap, size, new, v)
                size += 1
    return distance, heap


@compiled_when_hot
def complete(
    indptr, heads, lengths, is_excluded, is_barred, part, tip, vertices, starts, limit, heap, flag
):  # fmt: skip
    """Return the arcs of the cheapest completion, away from the part, and its length.

    lengths: of arcs, above 0. is_excluded: arcs that are not used. is_barred: vertices that are
    not. part: its vertices. tip: that at which a branch must end, or -1. Group i is
    ``vertices[starts[i]:starts[i + 1]]``. limit: the length is -1 if there is no completion up to
    that, or ``flag[0]`` is not 0.
    """
    r = starts.size - 1
    full = (np.int64(1) << r) - 1
    slots, states = np.full(1024, NO_STATE), np.empty((512, _COLUMNS), np.int64)
    latest = {np.int64(-1): np.int64(NO_STATE)}
    branch, tip_branch = np.full(full + 1, INFINITY), np.full(full + 1, INFINITY)
    ends = np.full((2, full + 1, 2), np.int64(-1))  # the state and the arc of each branch
    total, tip_total = np.empty(full + 1, np.int64), np.empty(full + 1, np.int64)
    goal = limit + 1
    ahead, heap = _distances(indptr, heads, lengths, is_excluded, is_barred, part, limit, heap)
    count, size = 0, 0
    for i in range(r):
        for v in vertices[starts[i] : starts[i + 1]]:
            if ahead[v] > limit:
                continue
            if count + 1 >= states.shape[0]:
                slots, states = enlarge(slots, states, count)
            key = (np.int64(v) << r) | (np.int64(1) << i)
            slots[find_slot(key, slots, states)] = count
            states[count, KEY], states[count, LABEL], states[count, BY] = key, 0, SOURCE
            states[count, FROM], states[count, NEXT] = NO_STATE, NOT_SETTLED
            while size + 1 > capacity(heap):
                heap = grow(heap)
            push(heap, size, ahead[v], count)
            size += 1
            count += 1
    while size and not flag[0]:
        key, number = pop(heap, size)
        size -= 1
        state = np.int64(number)
        if key >= goal:
            break
        v, groups = states[state, KEY] >> r, states[state, KEY] & full
        now = states[state, LABEL]
        if now + ahead[v] != key or states[state, NEXT] != NOT_SETTLED:
            continue
        other = latest[v] if v in latest else np.int64(NO_STATE)
        states[state, NEXT], latest[v] = other, state
        arc, stop = np.int64(indptr[v]), np.int64(indptr[v + 1])
        while other >= 0 or arc < stop:
            if other >= 0:
                x, new_groups = v, states[other, KEY] & full
                new, by = now + states[other, LABEL], -2 - other
                other = states[other, NEXT]
                if new_groups & groups:
                    continue
                new_groups |= groups
            else:
                x, new_groups, new, by = np.int64(heads[arc]), groups, now + lengths[arc], arc
                arc += 1
                if is_excluded[by]:
                    continue
                if ahead[x] == 0:
                    is_better = False
                    if new < branch[groups]:
                        branch[groups], is_better = new, True
                        ends[0, groups, 0], ends[0, groups, 1] = state, by
                    if x == tip and new < tip_branch[groups]:
                        tip_branch[groups], is_better = new, True
                        ends[1, groups, 0], ends[1, groups, 1] = state, by
                    if is_better:
                        _combine(branch, tip_branch, total, tip_total)
                        goal = min(goal, tip_total[full] if tip >= 0 else total[full])
                    continue
            if new + ahead[x] >= goal:
                continue
            key2 = (x << r) | new_groups
            slot = find_slot(key2, slots, states)
            target = slots[slot]
            if target >= 0 and states[target, LABEL] <= new:
                continue
            if target < 0:
                if count + 1 >= states.shape[0]:
                    slots, states = enlarge(slots, states, count)
                    slot = find_slot(key2, slots, states)
                target = count
                slots[slot], states[target, KEY] = target, key2
                states[target, NEXT] = NOT_SETTLED
                count += 1
            states[target, LABEL], states[target, FROM], states[target, BY] = new, state, by
            while size + 1 > capacity(heap):
                heap = grow(heap)
            push(heap, size, new + ahead[x], target)
            size += 1
    arcs = [np.int64(0) for _ in range(0)]
    if goal > limit or flag[0]:
        return np.array(arcs, np.int64), np.int64(-1)
    # Which branches the completion consists of, then their arcs.
    stack = [np.int64(0) for _ in range(0)]
    groups, needs_tip = full, tip >= 0
    while groups:
        length = tip_total[groups] if needs_tip else total[groups]
        part = groups
        while part:
            rest, kind = groups ^ part, -1
            if needs_tip and tip_branch[part] < INFINITY and total[rest] < INFINITY:
                kind = 1 if tip_branch[part] + total[rest] == length else -1
            if kind < 0 and branch[part] < INFINITY:
                below = tip_total[rest] if needs_tip else total[rest]
                kind = 0 if below < INFINITY and branch[part] + below == length else -1
            if kind >= 0:
                arcs.append(ends[kind, part, 1])
                stack.append(ends[kind, part, 0])
                needs_tip = needs_tip and kind == 0
                groups = rest
                break
            part = (part - 1) & groups
    while len(stack) > 0:
        state = stack.pop()
        by = states[state, BY]
        if by == SOURCE:
            continue
        stack.append(states[state, FROM])
        if by >= 0:
            arcs.append(by)
        else:
            stack.append(-2 - by)
    return np.array(arcs, np.int64), goal
