"""The best tree that holds a vertex of each group, by dynamic programming, in Numba.

A state is a vertex and a set of groups; its label is the length of a tree that holds the vertex and
a vertex of each group of the set. States are settled in ascending order. Each is united with the
settled ones of its vertex whose sets are disjoint with its own, and steps along each edge.

Half of the tree suffices. In a tree of length L there is a vertex at which each branch, without its
edge to the vertex, has length L / 2 at most. So states beyond half of the length U of a known tree
are neither united nor stepped from; they only complete each other. Whenever a state gets a label,
that of the complement at the same vertex gives a tree. The search ends when labels exceed U / 2,
and before that twice the label is a lower bound.

Sources: S. E. Dreyfus, R. A. Wagner (1971); R. E. Erickson, C. L. Monma, A. F. Veinott (1987); the
bound of a half is that of R. Li, L. Qin, J. X. Yu, R. Mao, "Efficient and progressive group Steiner
tree search" (SIGMOD 2016), which they prove for trees that are merged at a vertex.

Cost: at most 3^k n merges and 2^k m steps for k groups, n vertices, m arcs; mostly what lies within
half of the tree's length from the groups. Memory: 8 k bytes per vertex that is reached, 4 per
vertex, and 60 per state of two or more groups.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.steiner.state_table_cpu import KEY, NO_STATE, enlarge, find_slot

# Columns of states. KEY: the vertex, and in the low bits the set. FROM, BY: the state that it comes
# from, and the one that it is united with, or STEP. NEXT: the settled state of the vertex before.
LABEL, FROM, BY, NEXT = 1, 2, 3, 4
_COLUMNS = 5
STEP, NOT_SETTLED = -1, -2
# States of one group have the numbers below n·k, by vertex and group; the others follow.


@compiled_when_hot
def _lowest(groups):
    """Return the index of the lowest bit of a set."""
    i = 0
    while not groups >> i & 1:
        i += 1
    return i


@compiled_when_hot
def _is_single(groups):
    return groups & (groups - 1) == 0


@compiled_when_hot
def _label_of(v, groups, singles, has_sets, slots, states):
    """Return the label of a state, or -1 if it has none."""
    if _is_single(groups):
        return singles[v, _lowest(groups)] - 1
    if not has_sets[v]:
        return np.int64(-1)
    state = slots[find_slot((v << singles.shape[1]) | groups, slots, states)]
    return states[state, LABEL] if state >= 0 else np.int64(-1)


@compiled_when_hot
def _is_hopeless(v, label, groups, now, upper, singles, has_sets, slots, states):
    """Return whether the rest of a tree that has this state makes it too long.

    The rest is a tree, too: it is no shorter than the way to any of its groups, nor, unless it is a
    settled state, than what is settled now.
    """
    rest = ((np.int64(1) << singles.shape[1]) - 1) ^ groups
    least = np.int64(0)
    for i in range(singles.shape[1]):
        if rest >> i & 1:
            way = singles[v, i] - 1
            least = max(least, now if way < 0 or way > now else way)
    if label + least >= upper:
        return True
    if label + now < upper or _is_single(rest):
        return False
    known = _label_of(v, rest, singles, has_sets, slots, states)
    return known < 0 or known > now


@compiled_when_hot
def search(indptr, heads, lengths, vertices, starts, upper, singles, heap, max_states, flag):
    """Search for a tree shorter than ``upper``; return where its two halves meet, and the states.

    lengths: of arcs, above 0. Group i is ``vertices[starts[i]:starts[i + 1]]``. singles: ``(n, k)``
    zeros; gets the labels of states of one group, plus 1. The search is given up when there are
    ``max_states`` others, or when ``flag[0]`` is not 0.

    Returns the vertex, or -1 if no tree was found, and the set of one half, or 0 if the tree
    consists of the paths to the vertex; the tree's length, or ``upper``; a lower bound on all
    trees, the same if none is shorter; the other states, and the hash table of their numbers.
    """
    n, k = indptr.size - 1, starts.size - 1
    everything = (np.int64(1) << k) - 1
    slots, states = np.full(4096, NO_STATE), np.empty((2048, _COLUMNS), np.int64)
    latest = np.zeros(n, np.int32)  # the state of each vertex settled last, plus 1
    has_sets = np.zeros(n, np.bool_)  # whether a vertex has states of several groups
    count, size = 0, 0
    meeting, half = np.int64(-1), np.int64(0)
    for i in range(k):
        for v in vertices[starts[i] : starts[i + 1]]:
            singles[v, i] = 1
            while size + 1 > capacity(heap):
                heap = grow(heap)
            push(heap, size, np.int64(0), v * k + i)
            size += 1
    now, bound = np.int64(0), np.int64(-1)
    while size:
        if flag[0] or count >= max_states:
            bound = 2 * now
            break
        key, number = pop(heap, size)
        size -= 1
        now, settled = np.int64(key), np.int64(number)
        if 2 * now >= upper:
            break
        if settled < n * k:
            v, i = settled // k, settled % k
            if singles[v, i] != now + 1:
                continue
            groups, paths = np.int64(1) << i, np.int64(0)
            for j in range(k):
                if not singles[v, j]:
                    paths = upper
                    break
                paths += singles[v, j] - 1
            if paths < upper:
                upper, meeting, half = paths, v, np.int64(0)
            for arc in range(indptr[v], indptr[v + 1]):
                x, new = np.int64(heads[arc]), now + lengths[arc]
                known = singles[x, i]
                if (
                    new >= upper
                    or 0 < known <= new + 1
                    or _is_hopeless(x, new, groups, now, upper, singles, has_sets, slots, states)
                ):
                    continue
                singles[x, i] = new + 1
                rest = _label_of(x, everything ^ groups, singles, has_sets, slots, states)
                if rest >= 0 and new + rest < upper:
                    upper, meeting, half = new + rest, x, groups
                if 2 * new < upper:
                    while size + 1 > capacity(heap):
                        heap = grow(heap)
                    push(heap, size, new, x * k + i)
                    size += 1
            step, stop = np.int64(0), np.int64(0)  # taken already
        else:
            row = settled - n * k
            if states[row, LABEL] != now or states[row, NEXT] != NOT_SETTLED:
                continue
            v, groups = states[row, KEY] >> k, states[row, KEY] & everything
            states[row, NEXT], latest[v] = latest[v] - 1, row + 1
            step, stop = np.int64(indptr[v]), np.int64(indptr[v + 1])
        # Unions with states of one group, with others, and steps.
        alone, other = np.int64(-1), np.int64(latest[v]) - 1
        while alone < k - 1 or other >= 0 or step < stop:
            if alone < k - 1:
                alone += 1
                label = singles[v, alone] - 1
                if groups >> alone & 1 or label < 0 or label > now:
                    continue
                x, new_groups, new = v, groups | (np.int64(1) << alone), now + label
                by = v * k + alone
            elif other >= 0:
                x, new_groups = v, states[other, KEY] & everything
                new, by = now + states[other, LABEL], n * k + other
                other = states[other, NEXT]
                if new_groups & groups:
                    continue
                new_groups |= groups
            else:
                x, new_groups = np.int64(heads[step]), groups
                new, by = now + lengths[step], np.int64(STEP)
                step += 1
            if new >= upper:
                continue
            if new_groups == everything:
                upper, meeting, half = new, v, groups
                continue
            known = _label_of(x, new_groups, singles, has_sets, slots, states)
            if 0 <= known <= new or _is_hopeless(
                x, new, new_groups, now, upper, singles, has_sets, slots, states
            ):
                continue
            if count + 1 >= states.shape[0]:
                slots, states = enlarge(slots, states, count)
            slot = find_slot((x << k) | new_groups, slots, states)
            if slots[slot] < 0:
                slots[slot], has_sets[x] = count, True
                states[count, KEY], states[count, NEXT] = (x << k) | new_groups, NOT_SETTLED
                count += 1
            row = slots[slot]
            states[row, LABEL], states[row, FROM], states[row, BY] = new, settled, by
            rest = _label_of(x, everything ^ new_groups, singles, has_sets, slots, states)
            if rest >= 0 and new + rest < upper:
                upper, meeting, half = new + rest, x, new_groups
            if 2 * new < upper:
                while size + 1 > capacity(heap):
                    heap = grow(heap)
                push(heap, size, new, n * k + row)
                size += 1
    return meeting, half, upper, upper if bound < 0 else bound, states, slots


@compiled_when_hot
def trace(indptr, heads, lengths, meeting, half, singles, states, slots):
    """Return the arcs of a tree that was found, their tails, and the vertex of each group."""
    n, k = singles.shape
    stack = [np.int64(meeting * k + i) for i in range(k if half == 0 else 0)]
    for groups in (half, ((np.int64(1) << k) - 1) ^ half):
        if half and _is_single(groups):
            stack.append(meeting * k + _lowest(groups))
        elif half:
            stack.append(n * k + slots[find_slot((meeting << k) | groups, slots, states)])
    arcs, tails = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    chosen = np.empty(k, np.int64)
    while len(stack) > 0:
        state = stack.pop()
        if state >= n * k:
            row = state - n * k
            before, by = states[row, FROM], states[row, BY]
            stack.append(before)
            if by != STEP:
                stack.append(by)
                continue
            v, label = states[row, KEY] >> k, states[row, LABEL]
            origin = states[before - n * k, KEY] >> k  # only unions are stepped from
            step = label - states[before - n * k, LABEL]
            for arc in range(indptr[v], indptr[v + 1]):
                if heads[arc] == origin and lengths[arc] == step:
                    arcs.append(np.int64(arc))
                    tails.append(v)
                    break
            continue
        v, i = state // k, state % k
        while singles[v, i] > 1:
            for arc in range(indptr[v], indptr[v + 1]):
                before = singles[heads[arc], i]
                if before > 0 and before + lengths[arc] == singles[v, i]:
                    arcs.append(np.int64(arc))
                    tails.append(v)
                    v = np.int64(heads[arc])
                    break
        chosen[i] = v
    return np.array(arcs, np.int64), np.array(tails, np.int64), chosen
