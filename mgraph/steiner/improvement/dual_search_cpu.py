"""Search for a better bound: what some terminals added to it is taken back and raised again.

A dual ascent depends on the order of the terminals, and its bound is 1 to 4 % below the best of its
kind. So for a few terminals that lie together what their turns took from the arcs is given back,
and they take turns again, with scores times random factors. The result is kept if it is no worse,
else the old turns are restored. The bound only rises, and each step is local: large sets stay as
they are, and a terminal whose set becomes large is given up.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.hashing import mix64
from mgraph.steiner.improvement.dual_ascent_cpu import (
    BEGIN,
    END,
    RISE,
    TERMINAL,
    raise_bound,
)

# Terminals of a step, and by how much their scores' factors vary: within e^SPREAD. Measured on
# grids with holes. The size of sets that count as large varies within e^_SIZES.
MAX_GROUP, SPREAD = 30, 0.75
_SIZES = 1.4
_MIN_GROUP = 2
_NO_TURN = -1


@compiled_when_hot
def _unit(seed, i):
    """Return a random float of [0, 1)."""
    return np.float64(mix64(np.uint64(seed) ^ mix64(np.uint64(i))) >> np.uint64(11)) / (1 << 53)


@compiled_when_hot
def _find_group(indptr, heads, is_terminal, root, start, size, stamp, group, queue):
    """Fill ``group`` with up to ``size`` terminals around one; return how many there are."""
    queue[0], count, at, filled = start, 1, 0, 0
    stamp[start] = True
    while at < count and filled < size:
        u = queue[at]
        at += 1
        if is_terminal[u] and u != root:
            group[filled] = u
            filled += 1
        for arc in range(indptr[u], indptr[u + 1]):
            v = heads[arc]
            if not stamp[v] and count < queue.size:
                stamp[v] = True
                queue[count] = v
                count += 1
    stamp[queue[:count]] = False
    return filled


@compiled_when_hot
def _add(reduced, turns, taken, turn, sign):
    for row in range(turns[turn, BEGIN], turns[turn, END]):
        reduced[taken[row, 0]] += sign * taken[row, 1]


@compiled_when_hot
def _is_small(turns, turn, max_arcs):
    return turns[turn, END] - turns[turn, BEGIN] <= max_arcs


@compiled_when_hot
def search_bound(
    indptr, heads, reduced, terminals, is_terminal, root, guide, max_arcs, steps, seed, radius,
    inside, touched, heap, words, is_active, turns, num_turns, taken, used, flag,
):  # fmt: skip
    """Take steps until there are enough, or the record is nearly full; return the bound's rise.

    max_arcs: about as many arcs make a set large; and the number of vertices among which the
    terminals of a step are looked for is twice that at most.
    The record is compacted at the end: its new ends are returned, and the heap.
    """
    latest = np.full(indptr.size - 1, _NO_TURN)  # of each terminal; and the turn before each
    before = np.full(turns.shape[0], _NO_TURN)
    for turn in range(num_turns):
        t = turns[turn, TERMINAL]
        before[turn], latest[t] = latest[t], turn
    group_memory = np.empty(MAX_GROUP, np.int64)
    queue = np.empty(min(2 * max_arcs, indptr.size - 1), np.int64)
    gain, no_load = np.int64(0), np.empty(0, np.int64)
    for step in range(steps):
        if flag[0] or used > taken.shape[0] // 8 * 7 or num_turns > turns.shape[0] // 8 * 7:
            break
        key = np.uint64(seed) + np.uint64(step) * np.uint64(2 * MAX_GROUP)
        start = terminals[np.int64(_unit(key, 0) * terminals.size)]
        size = _MIN_GROUP + np.int64(_unit(key, 1) * (MAX_GROUP - _MIN_GROUP + 1))
        count = _find_group(
            indptr, heads, is_terminal, root, start, size, inside, group_memory, queue
        )
        group = group_memory[:count]
        factors = np.empty(count)
        for i in range(count):
            factors[i] = np.exp(SPREAD * (2 * _unit(key, 2 + i) - 1))
        large = np.int64(max_arcs * np.exp(_SIZES * (2 * _unit(key, 2 + count) - 1)))
        old = np.int64(0)
        for t in group:
            turn = latest[t]
            while turn >= 0:
                if _is_small(turns, turn, large):
                    old += turns[turn, RISE]
                    _add(reduced, turns, taken, turn, 1)
                turn = before[turn]
        first_turn, first_used = num_turns, used
        new, num_turns, used, heap = raise_bound(
            indptr, heads, reduced, group, factors, root, is_active, guide, large, radius,
            inside, touched, heap, words, turns, num_turns, taken, used, True, no_load, flag,
        )  # fmt: skip
        has_room = num_turns < turns.shape[0] and used <= taken.shape[0]
        if new >= old and has_room:
            gain += new - old
            for t in group:
                turn = latest[t]
                latest[t] = _NO_TURN
                while turn >= 0:
                    following = before[turn]
                    if not _is_small(turns, turn, large):
                        before[turn], latest[t] = latest[t], turn
                    turn = following
            for turn in range(first_turn, num_turns):
                t = turns[turn, TERMINAL]
                before[turn], latest[t] = latest[t], turn
        else:
            for turn in range(first_turn, num_turns):
                _add(reduced, turns, taken, turn, 1)
            num_turns, used = first_turn, first_used
            for t in group:
                turn = latest[t]
                while turn >= 0:
                    if _is_small(turns, turn, large):
                        _add(reduced, turns, taken, turn, -1)
                    turn = before[turn]
    new_turns, new_taken = np.empty_like(turns), np.empty_like(taken)
    num_turns = used = 0
    for t in terminals:
        turn = latest[t]
        while turn >= 0:
            size = turns[turn, END] - turns[turn, BEGIN]
            new_taken[used : used + size] = taken[turns[turn, BEGIN] : turns[turn, END]]
            new_turns[num_turns, TERMINAL], new_turns[num_turns, RISE] = t, turns[turn, RISE]
            new_turns[num_turns, BEGIN], new_turns[num_turns, END] = used, used + size
            used += size
            num_turns += 1
            turn = before[turn]
    return gain, new_turns, num_turns, new_taken, used, heap
