"""Exact Steiner trees of few terminals, by dynamic programming over sets of them.

Sources: S. E. Dreyfus, R. A. Wagner, "The Steiner problem in graphs" (1971); S. Hougardy, J.
Silvanus, J. Vygen, "Dijkstra meets Steiner: a fast exact goal-oriented Steiner tree algorithm"
(2017). A state is a vertex with a set of terminals; its label is the cost of the cheapest tree
known that connects them. One terminal, the goal, is in no set. As in Dijkstra's algorithm states
are settled in order of cost: from a state along an edge to the next vertex with the same set, and
together with a settled state of the same vertex and other terminals to the union of both sets. The
tree is found when the goal is settled with the set of all others.

States are settled in order of label plus a lower bound on what connects the vertex with the missing
terminals: the greatest distance to one of them, or half of the way round two of them. It never
falls by more than a label rises, so that settled labels are final. Those above the cost of a known
tree are dropped.

The same finds trees that hold a vertex of each of several groups (L. Ding et al., "Finding top-k
min-cost connected trees in databases", 2007): a state begins at each vertex of a group, and the
bound is the greatest distance to a group. A terminal is a group of one.

Cost: at most 3^(k-1) n merges and 2^(k-1) m steps for k groups, n vertices, m edges; mostly a small
part of that. A merge looks up two states, some 0.2 µs. Memory: 48 bytes per state that is reached.
"""

from typing import Any

import numpy as np

from mgraph.core import heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.steiner.improvement.network_cpu import EDGE, HEAD, Network
from mgraph.steiner.improvement.reduction_cpu import find_nearest
from mgraph.steiner.state_table_cpu import KEY, NO_STATE, enlarge, find_slot

MAX_GROUPS = 12
_NO_EDGE = -1
_LOOK_UP = 3  # what it costs to look for a state, in states of a vertex that are passed
_HEAP_SIZE = 1 << 31  # states have numbers below
# Columns of states. KEY: the vertex, and in the low bits the set. FROM, BY: how it was reached, by
# an edge from another state, or (below -1) from two of them; or not, as the vertex of a group.
COST, FROM, BY, NEXT = 1, 2, 3, 4
_COLUMNS = 5


@compiled_when_hot
def _bound_rest(v, groups, distance, between):
    """Return a lower bound on a tree that connects a vertex with some groups, given as bits."""
    bound = np.int64(0)
    count = distance.shape[1]
    for a in range(count):
        if groups >> a & 1:
            bound = max(bound, distance[v, a])
            for b in range(a):
                if groups >> b & 1:
                    around = distance[v, a] + distance[v, b] + between[a, b]
                    bound = max(bound, around >> 1)
    return bound


@compiled_when_hot
def _count_bits(number):
    count = np.int64(0)
    while number:
        number &= number - 1
        count += 1
    return count


@compiled_when_hot
def solve(
    indptr, heads, edges, lengths, vertices, starts, distance, between, max_cost, heap, max_states,
    flag,
):  # fmt: skip
    """Return the edges of the cheapest tree, its cost, and how many states were reached.

    lengths: of arcs, even. Group i is ``vertices[starts[i]:starts[i + 1]]``; the last one is the
    goal. distance: (n, k), to each group. between: (k, k), between terminals; 0 between groups.
    max_cost: dearer trees are of no use. The cost is -1 if there is no tree, or if there are more
    than ``max_states`` or ``flag[0]`` is not 0.
    """
    k = starts.size - 1
    full, everything = (np.int64(1) << (k - 1)) - 1, (np.int64(1) << k) - 1
    slots, states = np.full(4096, NO_STATE), np.empty((2048, _COLUMNS), np.int64)
    settled = np.full(indptr.size - 1, NO_STATE)  # the latest state of each vertex
    sets = np.zeros(indptr.size - 1, np.int64)  # how many of its states are settled
    is_goal = np.zeros(indptr.size - 1, np.bool_)
    is_goal[vertices[starts[k - 1] :]] = True
    count, size = 0, 0
    for i in range(k - 1):
        for v in vertices[starts[i] : starts[i + 1]]:
            rest = _bound_rest(v, everything ^ (np.int64(1) << i), distance, between)
            if rest > max_cost:
                continue
            if count + 1 >= states.shape[0]:
                slots, states = enlarge(slots, states, count)
            key = (np.int64(v) << k) | (np.int64(1) << i)
            states[count, KEY], states[count, COST], states[count, BY] = key, 0, _NO_EDGE
            slots[find_slot(key, slots, states)] = count
            while size + 1 > capacity(heap):
                heap = grow(heap)
            push(heap, size, rest, count)
            size += 1
            count += 1
    result, cost = np.int64(NO_STATE), np.int64(-1)
    is_settled = np.zeros(states.shape[0], np.bool_)
    while size and not flag[0] and count < max_states:
        _, popped = pop(heap, size)
        size -= 1
        state = np.int64(popped)
        if state >= is_settled.size:
            longer = np.zeros(states.shape[0], np.bool_)
            longer[: is_settled.size] = is_settled
            is_settled = longer
        if is_settled[state]:
            continue
        v, group_set = states[state, KEY] >> k, states[state, KEY] & everything
        is_settled[state] = True
        label = states[state, COST]
        if group_set == full and is_goal[v]:
            result, cost = state, label
            break
        # Unions with states of the same vertex: of all, or of each set of missing terminals, which
        # are often fewer. Then steps along edges.
        other, missing = settled[v], full ^ group_set
        states[state, NEXT], settled[v] = other, state
        subset = np.int64(0)
        if _LOOK_UP * (np.int64(1) << _count_bits(missing)) < sets[v]:
            other, subset = np.int64(NO_STATE), missing
        sets[v] += 1
        arc, stop = indptr[v], indptr[v + 1]
        while subset > 0 or other >= 0 or arc < stop:
            if subset > 0:
                found = slots[find_slot((v << k) | subset, slots, states)]
                x, new_set, by = v, group_set | subset, -2 - found
                subset = (subset - 1) & missing
                is_useful = found >= 0 and found < is_settled.size and is_settled[found]
                new = label + states[found, COST] if is_useful else label
            elif other >= 0:
                other_set = states[other, KEY] & everything
                x, new_set, by = v, group_set | other_set, -2 - other
                new = label + states[other, COST]
                is_useful = other_set & group_set == 0
                other = states[other, NEXT]
            else:
                x, new_set, by = np.int64(heads[arc]), group_set, np.int64(edges[arc])
                new = label + lengths[arc]
                is_useful = True
                arc += 1
            if not is_useful or new > max_cost:
                continue
            key = (x << k) | new_set
            slot = find_slot(key, slots, states)
            target = slots[slot]
            if target >= 0 and states[target, COST] <= new:
                continue
            rest = _bound_rest(x, everything ^ new_set, distance, between)
            if new + rest > max_cost:
                continue
            if target < 0:
                if count + 1 >= states.shape[0]:
                    slots, states = enlarge(slots, states, count)
                    slot = find_slot(key, slots, states)
                target = count
                slots[slot], states[target, KEY] = target, key
                count += 1
            states[target, COST], states[target, FROM], states[target, BY] = new, state, by
            while size + 1 > capacity(heap):
                heap = grow(heap)
            push(heap, size, new + rest, target)
            size += 1
    tree, stack = [np.int64(0) for _ in range(0)], [result for _ in range(0)]
    if result >= 0:
        stack.append(result)
    while len(stack) > 0:
        state = stack.pop()
        by = states[state, BY]
        if by == _NO_EDGE:
            continue
        stack.append(states[state, FROM])
        if by >= 0:
            tree.append(by)
        else:
            stack.append(-2 - by)
    return np.array(tree, np.int64), cost, count


def solve_network(
    network: Network, weight: Any, max_cost: int, max_states: int, flag: Any
) -> tuple[Any, bool]:
    """Return the edges of the best tree, and whether that is sure.

    None instead of edges if no tree was found that costs ``max_cost`` at most.
    """
    terminals, arcs = network.terminals, network.arcs
    heads, edges, lengths = arcs[:, HEAD].copy(), arcs[:, EDGE].copy(), 2 * weight[arcs[:, EDGE]]
    limit = np.int64(2 * max_cost)
    columns = [
        find_nearest(
            network.indptr, heads, lengths, terminals[i : i + 1], limit, network.shift, flag
        ).distance
        for i in range(terminals.size)
    ]
    distance = np.minimum(np.stack(columns, axis=1), limit + 1)
    starts, heap = np.arange(terminals.size + 1), heap_cpu.new(_HEAP_SIZE, small=False)
    elements = 2 * min(network.indptr.size << (terminals.size - 1), max_states)
    tree, cost, states = solve.with_work(
        elements, network.indptr, heads, edges, lengths, terminals, starts, distance,
        distance[terminals],
        limit, heap, max_states, flag,
    )  # fmt: skip
    return tree if cost >= 0 else None, bool(not flag[0] and states < max_states)
