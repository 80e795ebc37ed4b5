"""Dual ascent: a lower bound on every Steiner tree, and the arcs that a good tree consists of.

Source: R. T. Wong, "A dual ascent approach for Steiner tree problems on a directed graph" (1984).
A tree, directed away from a root, enters every set of vertices that holds a terminal and not the
root. So the cost of the cheapest arc into such a set may be subtracted from all arcs into it and
added to the bound; what remains of an arc's weight is its reduced cost. The set is always a
terminal with all vertices that reach it at reduced cost 0, and the terminal with the lowest score
comes first. A terminal is finished when its set holds the root, or another terminal that is not
finished and raises the bound on its behalf.

Raising the bound repeatedly for one terminal is Dijkstra's algorithm from it against the arcs, on
reduced costs: the set is what is settled, the bound rises with the radius. So an arc's cost is
reduced once per turn, by how far the radius rose while the arc led into the set, and a turn lasts
while the set is not much worse than that of the next terminal.

The score is the number of arcs into the set, and more where a known tree, the guide, enters the set
more than once: in the best of all bounds every set that counts is entered once by the best tree
(T. Pajor, E. Uchoa, R. F. Werneck, "A robust and scalable algorithm for the Steiner problem in
graphs", 2018).

What each turn took from which arc is recorded, so that ``dual_search_cpu`` can take it back.

Cost: O(a log a) per turn, for the a arcs of the set. Where sets grow by a factor per turn, a
terminal reads a few times the arcs of its last set.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, clear, grow, pop, pop_word, push, push_word

UNREACHED = np.iinfo(np.int64).max
# A terminal's turn lasts until its score is this many times that of the next terminal.
PATIENCE = 1.25
# What an entry of the guide into a set counts, in arcs, beyond the first.
CROSSING = 10
_MAX_SCORE = 1 << 34
_SCORE_SHIFT = 28  # the low bits of a word hold the number of a terminal
# Columns of turns.
TERMINAL, BEGIN, END, RISE = 0, 1, 2, 3


@compiled_when_hot
def _score(num_arcs, crossings):
    return num_arcs + CROSSING * (crossings - 1 if crossings > 1 else 0)


@compiled_when_hot
def _take_turn(
    indptr, heads, reduced, terminal, root, is_active, guide, max_score, max_arcs, radius, inside,
    touched, heap, taken, used, must_record, load, flag,
):  # fmt: skip
    """Grow a terminal's set until it is finished or its score exceeds ``max_score``.

    guide: the vertex before each vertex of a tree; -1 elsewhere. max_arcs: a larger set is given
    up as finished. radius, inside: UNREACHED and False, before and after. touched: n vertices to be
    overwritten. taken: gets arcs and amounts from row ``used`` on. must_record: whether a set for
    which ``taken`` has too few rows is given up without a rise; the new end is beyond them then.
    load: empty, or by how much sets raised the bound while they held each vertex. Returns early
    once ``flag[0]`` is not 0. Returns by how much the bound rises, whether the terminal is
    finished, its score, the new end of ``taken``, and the heap.
    """
    radius[terminal], touched[0], count = 0, terminal, 1
    push(heap, 0, np.int64(0), terminal)
    size, now, num_arcs, crossings = 1, np.int64(0), np.int64(0), np.int64(0)
    is_finished = False
    while size and not flag[0]:
        key, vertex = pop(heap, size)
        y = np.int64(vertex)
        size -= 1
        if key != radius[y]:
            continue
        if key > now and _score(num_arcs, crossings) > max_score:
            break
        now = key
        if y == root or (is_active[y] and y != terminal) or num_arcs > max_arcs:
            is_finished = True
            break
        inside[y] = True
        if guide[y] >= 0 and not inside[guide[y]]:
            crossings += 1
        begin, stop = indptr[y], indptr[y + 1]
        while size + stop - begin > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, stop):
            x = np.int64(heads[arc])
            if inside[x]:
                num_arcs -= x != y
                if guide[x] == y and x != y:
                    crossings -= 1
                continue
            num_arcs += 1
            candidate = now + reduced[arc]
            if candidate < radius[x]:
                if radius[x] == UNREACHED:
                    touched[count] = x
                    count += 1
                radius[x] = candidate
                push(heap, size, candidate, x)
                size += 1
    clear(heap, size)
    if now > 0 and must_record:
        end = used
        for y in touched[:count]:
            if inside[y] and radius[y] < now:
                end += indptr[y + 1] - indptr[y]
        if end > taken.shape[0]:
            now, used = np.int64(0), np.int64(taken.shape[0] + 1)
    if now > 0:
        for y in touched[:count]:
            if inside[y] and radius[y] < now:
                if load.size:
                    load[y] += now - radius[y]
                for arc in range(indptr[y], indptr[y + 1]):
                    x = heads[arc]
                    if radius[x] > radius[y]:
                        amount = min(radius[x], now) - radius[y]
                        reduced[arc] -= amount
                        if used < taken.shape[0]:
                            taken[used, 0], taken[used, 1] = arc, amount
                        used += 1
    for y in touched[:count]:
        radius[y], inside[y] = UNREACHED, False
    return now, is_finished, _score(num_arcs, crossings), used, heap


@compiled_when_hot
def raise_bound(
    indptr, heads, reduced, terminals, factors, root, is_active, guide, max_arcs, radius, inside,
    touched, heap, words, turns, num_turns, taken, used, must_record, load, flag,
):  # fmt: skip
    """Take turns for some terminals until all are finished; return by how much the bound rises.

    factors: of the terminals' scores. load: see ``_take_turn``. must_record: whether to end when
    there are too few rows, so that what has been taken can be given back. words: EMPTY words, more
    than there are terminals. turns, taken: get rows from ``num_turns`` and from ``used`` on; the
    new ends are returned, where a larger end than there are rows says that not all could be
    recorded, and the heap.
    """
    total, size = np.int64(0), 0
    scores = np.zeros(terminals.size, np.int64)
    for i in range(terminals.size):
        t = terminals[i]
        if t != root:
            is_active[t] = True
            scores[i] = indptr[t + 1] - indptr[t]
            push_word(words, size, (np.int64(scores[i] * factors[i]) << _SCORE_SHIFT) | i)
            size += 1
    while size and not flag[0]:
        if must_record and (num_turns == turns.shape[0] or used > taken.shape[0]):
            break
        i = pop_word(words, size) & ((1 << _SCORE_SHIFT) - 1)
        size -= 1
        max_score = np.int64(_MAX_SCORE)
        if size:
            max_score = np.int64(PATIENCE * (words[0] >> _SCORE_SHIFT) / factors[i])
            max_score = max(scores[i], max_score)
        begin = used
        rise, is_finished, scores[i], used, heap = _take_turn(
            indptr, heads, reduced, terminals[i], root, is_active, guide, max_score, max_arcs,
            radius, inside, touched, heap, taken, used, must_record, load, flag,
        )  # fmt: skip
        if rise:
            if num_turns < turns.shape[0]:
                turns[num_turns, TERMINAL], turns[num_turns, RISE] = terminals[i], rise
                turns[num_turns, BEGIN], turns[num_turns, END] = begin, used
            num_turns += 1
        total += rise
        if is_finished:
            is_active[terminals[i]] = False
        else:
            score = np.int64(min(scores[i] * factors[i], _MAX_SCORE))
            push_word(words, size, (score << _SCORE_SHIFT) | i)
            size += 1
    for i in range(size):
        words[i] = words[words.size - 1]
    is_active[terminals] = False
    return total, num_turns, used, heap
