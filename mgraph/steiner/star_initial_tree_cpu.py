"""STAR's first tree on one core: breadth-first search from all terminals until they meet.

A level at a time, in bit sets of 64 terminals. A vertex keeps two bits a terminal: 0 before it is
reached, then 1 to 3 by the level modulo 3, which tells a neighbour one level nearer from all
others, so that paths need no predecessors. At the first level at which any vertex is reached by
all, the meeting vertex is that of most arcs, of these the least; its paths go on to the least
neighbour that is nearer. The vertices of most arcs are looked at before a level that costs more: on
graphs with hubs one of them mostly is the meeting vertex, and the largest level is never searched.

Cost: of k terminals, the arcs of the vertices reached once a level and 64 terminals; memory 24
bytes a vertex and 64 terminals.
"""

import time
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, no_way_back

HUBS = 64  # as many as a word of star_initial_tree.cu has bits
_1 = np.uint64(1)
_GIB = 1 << 30
_LOW, _HIGH, _ARRIVING = 0, 1, 2  # of a vertex's words: the two bits, and what comes at this level


def hubs_of(indptr: Any, xp: Any = np) -> Any:
    """The vertices of most arcs, of as many arcs the least first; int64. xp: numpy or cupy."""
    degree = indptr[1:] - indptr[:-1]
    count = min(HUBS, degree.size)
    least = xp.partition(degree, degree.size - count)[degree.size - count] if count else 0
    candidates = xp.flatnonzero(degree >= least)
    order = xp.lexsort(xp.stack([candidates, -degree[candidates]]))
    return candidates[order[:count]]


@compiled
def _reached_by_all(state, vertex, full):
    for word in range(full.size):
        if state[vertex, _LOW, word] | state[vertex, _HIGH, word] != full[word]:
            return False
    return True


@compiled
def _full_hub(indptr, indices, state, full, hubs):
    """The first of the hubs that the next level would reach from all terminals; -1 for none.

    What arrives at it then arrives now.
    """
    for hub in hubs:
        left = np.int64(1)
        for arc in range(indptr[hub], indptr[hub + 1]):
            v = indices[arc]
            left = np.int64(0)
            for word in range(full.size):
                seen = state[hub, _LOW, word] | state[hub, _HIGH, word]
                state[hub, _ARRIVING, word] |= (
                    state[v, _LOW, word] | state[v, _HIGH, word]
                ) & ~seen
                left += seen | state[hub, _ARRIVING, word] != full[word]
            if left == 0:
                return hub
        state[hub, _ARRIVING] = 0
    return np.int64(-1)


@compiled
def _commit(vertex, level, state):
    """What arrived at a vertex has reached it, at this level. Returns whether it is the first."""
    code, first = level % 3 + 1, True
    for word in range(state.shape[2]):
        bits = state[vertex, _ARRIVING, word]
        first = first and state[vertex, _LOW, word] | state[vertex, _HIGH, word] == 0
        state[vertex, _ARRIVING, word] = 0
        if code & 1:
            state[vertex, _LOW, word] |= bits
        if code & 2:
            state[vertex, _HIGH, word] |= bits
    return first


@compiled
def _meet(indptr, indices, terminals, hubs, state, touched, full, stop):
    """Search until a vertex is reached by all; returns it (or -1), the levels and how many touched.

    touched: room for n vertices; those reached stand there in the order in which they were. stop:
    ends early, and leaves ``state`` as it is, once its first element is not 0.
    """
    count = np.int64(terminals.size)
    for i in range(count):
        state[terminals[i], _ARRIVING, i >> 6] = _1 << np.uint64(i & 63)
        _commit(terminals[i], 0, state)
    touched[:count] = terminals
    frontier = touched[:count].copy()
    level, hub_arcs = np.int64(0), (indptr[hubs + 1] - indptr[hubs]).sum()
    if count == 1:
        return terminals[0], level, count
    while frontier.size:
        level += 1
        arcs = (indptr[frontier + 1] - indptr[frontier]).sum()
        if arcs > hub_arcs:
            hub = _full_hub(indptr, indices, state, full, hubs)
            if hub >= 0:
                if _commit(hub, level, state):
                    touched[count] = hub
                    count += 1
                return hub, level, count
        following = np.empty(min(arcs, indptr.size - 1), np.int64)
        found = np.int64(0)
        for u in frontier:
            if stop[0]:
                break
            for arc in range(indptr[u], indptr[u + 1]):
                v = indices[arc]
                waits, grows = False, False
                for word in range(full.size):
                    seen = state[v, _LOW, word] | state[v, _HIGH, word]
                    bits = (state[u, _LOW, word] | state[u, _HIGH, word]) & ~seen
                    waits = waits or state[v, _ARRIVING, word] != 0
                    grows = grows or bits != 0
                    state[v, _ARRIVING, word] |= bits
                if grows and not waits:
                    following[found] = v
                    found += 1
        frontier = following[:found]
        meeting_vertex, most = np.int64(-1), np.int64(-1)
        for v in frontier:
            if _commit(v, level, state):
                touched[count] = v
                count += 1
            if _reached_by_all(state, v, full):
                degree = indptr[v + 1] - indptr[v]
                if degree > most or (degree == most and v < meeting_vertex):
                    most, meeting_vertex = degree, v
        if meeting_vertex >= 0:
            return meeting_vertex, level, count
    return np.int64(-1), np.int64(-1), count


@compiled
def _code(state, vertex, terminal):
    """0, or 1 to 3 by the level at which the terminal's search reached the vertex."""
    word, bit = terminal >> 6, np.uint64(terminal & 63)
    low, high = state[vertex, _LOW, word] >> bit, state[vertex, _HIGH, word] >> bit
    return np.int64(low & _1) + 2 * np.int64(high & _1)


@compiled
def _walk(indptr, indices, weights, terminals, meeting_vertex, levels, state, kind):
    vertex = np.empty(1 + terminals.size * (levels + 1), np.int64)
    weight = np.zeros(vertex.size, kind.dtype)
    begin = np.empty(terminals.size, np.int64)
    at = np.int64(0)
    for i in range(terminals.size):
        x, begin[i] = meeting_vertex, at
        vertex[at] = x
        at += 1
        end = at + levels
        while x != terminals[i] and x >= 0 and at < end:
            nearer = (_code(state, x, i) + 1) % 3 + 1
            least = np.int64(-1)
            lightest = weight[0]
            for arc in range(indptr[x], indptr[x + 1]):
                u = np.int64(indices[arc])
                if (least < 0 or u <= least) and _code(state, u, i) == nearer:
                    w = kind[0] + weights[arc]
                    if u != least or w < lightest:
                        least, lightest = u, w
            x = least
            vertex[at], weight[at] = x, lightest
            at += 1
        if x != terminals[i]:  # the levels are not those of a graph with both arcs of each edge
            vertex[at - 1] = -1
    return vertex, weight, begin, np.append(begin[1:], at) - begin


class InitialTreeBuilder:
    """A graph's bit sets, for one set of terminals at a time."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, kind: str) -> None:
        """Allocate nothing yet. kind: int64 or float64, of the weights that are returned."""
        self.csr = indptr, indices, weights
        self.kind = np.zeros(1, kind)
        self.hubs = hubs_of(indptr)
        self.touched = np.empty(indptr.size - 1, np.int64)
        self.state = np.zeros((0, 3, 0), np.uint64)

    def _check_room(self, terminals: int, words: int) -> None:
        """Raise OutOfMemoryError where the bits of many terminals do not fit in memory."""
        needed, free = 24 * words * self.touched.size, free_memory()
        if words > 1 and needed > free:
            raise OutOfMemoryError(
                f"a tree of {terminals:,} terminals needs {needed / _GIB:,.1f} GiB on a CPU to "
                f"find its initial tree, and {free / _GIB:,.1f} GiB are free; give fewer "
                "terminals, or use a machine with more memory"
            )

    def run(self, terminals: Any) -> InitialTree:
        """Build the initial tree of some terminals (int64, ascending, distinct)."""
        began = time.perf_counter()
        n, words = self.touched.size, -(-terminals.size // 64)
        if self.state.shape[2] != words:
            self.state = np.zeros((0, 3, 0), np.uint64)
            self._check_room(terminals.size, words)
            self.state = np.full((n, 3, words), 0, np.uint64)  # touched now, not while it searches
        full = np.full(words, ~np.uint64(0))
        if terminals.size % 64:
            full[-1] = (1 << terminals.size % 64) - 1
        meeting_vertex, levels, count = _meet(
            *self.csr[:2],
            terminals,
            self.hubs,
            self.state,
            self.touched,
            full,
            cancellation.cancel_flag(),
        )
        try:
            cancellation.raise_if_cancelled()
        except cancellation.Cancelled:
            self.state = np.zeros((0, 3, 0), np.uint64)
            raise
        tree, other = None, -1
        try:
            if levels < 0:
                seen = self.state[terminals]
                apart = terminals[(seen[:, _LOW] | seen[:, _HIGH])[:, 0] & _1 == 0]
                if not apart.size:
                    raise no_way_back()
                other = int(apart[0])
            else:
                paths = _walk(*self.csr, terminals, meeting_vertex, levels, self.state, self.kind)
                if (paths[0][: paths[2][-1] + paths[3][-1]] < 0).any():
                    raise no_way_back()
                tree = tree_cpu.from_paths(*paths, terminals, self.kind[0])
        finally:
            self.state[self.touched[:count]] = 0
        return InitialTree(tree, other, int(levels), time.perf_counter() - began)
