"""STAR's first tree on one core: breadth-first search from all terminals until a vertex is reached by
all.

A level at a time, in bit sets of 64 terminals. A vertex keeps two bits a terminal: 0 before it is
reached, then 1 to 3 by the level modulo 3, which tells a neighbour one level nearer from all
others, so that paths need no predecessors. At the first level at which any vertex is reached by all,
the centre is that of most arcs, of these the least; its paths go on to the least neighbour that is
nearer. The vertices of most arcs are looked at before a level that costs more: on graphs with hubs
one of them mostly is the centre, and the largest level is never searched.

Cost: of k terminals, the arcs of the vertices reached once a level and 64 terminals; memory 24
bytes a vertex and 64 terminals.
"""

import time
from typing import Any

import numpy as np
from numba import njit

from mgraph.steiner.star import Centre

HUBS = 64
_1 = np.uint64(1)


def hubs_of(indptr: Any) -> Any:
    """The vertices of most arcs, of as many arcs the least first; int64."""
    degree = indptr[1:] - indptr[:-1]
    count = min(HUBS, degree.size)
    least = np.partition(degree, degree.size - count)[degree.size - count] if count else 0
    candidates = np.flatnonzero(degree >= least)
    order = np.lexsort((candidates, -degree[candidates]))
    return candidates[order[:count]]


@njit(cache=True, nogil=True)
def _reached_by_all(seen, full):
    for word in range(full.size):
        if seen[word] != full[word]:
            return False
    return True


@njit(cache=True, nogil=True)
def _full_hub(indptr, indices, reached, full, hubs):
    """The first of the hubs that the next level would reach from all terminals; -1 for none."""
    seen = np.empty(full.size, np.uint64)
    for hub in hubs:
        for word in range(full.size):
            seen[word] = reached[hub, 0, word] | reached[hub, 1, word]
        for arc in range(indptr[hub], indptr[hub + 1]):
            v = indices[arc]
            for word in range(full.size):
                seen[word] |= reached[v, 0, word] | reached[v, 1, word]
            if _reached_by_all(seen, full):
                return hub
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _commit(vertex, level, reached, arriving):
    """Mark what arrived at a vertex as reached at this level."""
    for word in range(arriving.shape[1]):
        bits = arriving[vertex, word]
        arriving[vertex, word] = 0
        code = level % 3 + 1
        if code & 1:
            reached[vertex, 0, word] |= bits
        if code & 2:
            reached[vertex, 1, word] |= bits


@njit(cache=True, nogil=True)
def _meet(indptr, indices, terminals, hubs, reached, arriving, touched, full):
    """Search until a vertex is reached by all; returns it (or -1), the levels and how many touched.

    touched: room for n vertices; those reached stand there in the order in which they were.
    """
    count = np.int64(0)
    for i in range(terminals.size):
        t = terminals[i]
        arriving[t, i >> 6] = _1 << np.uint64(i & 63)
        _commit(t, 0, reached, arriving)
        touched[count] = t
        count += 1
    hub_arcs = np.int64(0)
    for hub in hubs:
        hub_arcs += indptr[hub + 1] - indptr[hub]
    frontier = touched[:count].copy()
    centre, level = np.int64(-1), np.int64(0)
    if terminals.size == 1:
        return terminals[0], level, count
    while frontier.size:
        level += 1
        arcs = np.int64(0)
        for u in frontier:
            arcs += indptr[u + 1] - indptr[u]
        if arcs > hub_arcs:
            centre = _full_hub(indptr, indices, reached, full, hubs)
            if centre >= 0:
                known = False
                for word in range(full.size):
                    seen = reached[centre, 0, word] | reached[centre, 1, word]
                    known = known or seen != 0
                    arriving[centre, word] = full[word] & ~seen
                _commit(centre, level, reached, arriving)
                if not known:
                    touched[count] = centre
                    count += 1
                return centre, level, count
        following = np.empty(min(arcs, indptr.size - 1), np.int64)
        found = np.int64(0)
        for u in frontier:
            for arc in range(indptr[u], indptr[u + 1]):
                v = indices[arc]
                waits, grows, known = False, False, False
                for word in range(full.size):
                    seen = reached[v, 0, word] | reached[v, 1, word]
                    bits = (reached[u, 0, word] | reached[u, 1, word]) & ~seen
                    known = known or seen != 0
                    waits = waits or arriving[v, word] != 0
                    grows = grows or bits != 0
                    arriving[v, word] |= bits
                if grows and not waits:
                    following[found] = v
                    found += 1
                    if not known:
                        touched[count] = v
                        count += 1
        frontier = following[:found]
        most = np.int64(-1)
        for v in frontier:
            _commit(v, level, reached, arriving)
        for v in frontier:
            if _reached_by_all(reached[v, 0] | reached[v, 1], full):
                degree = indptr[v + 1] - indptr[v]
                if degree > most or (degree == most and v < centre):
                    most, centre = degree, np.int64(v)
        if centre >= 0:
            return centre, level, count
    return centre, np.int64(-1), count


@njit(cache=True, nogil=True)
def _code(reached, vertex, terminal):
    """0, or 1 to 3 by the level at which the terminal's search reached the vertex."""
    word, bit = terminal >> 6, np.uint64(terminal & 63)
    low, high = reached[vertex, 0, word] >> bit, reached[vertex, 1, word] >> bit
    return np.int64(low & _1) + 2 * np.int64(high & _1)


@njit(cache=True, nogil=True)
def _walk(indptr, indices, weights, terminals, centre, levels, reached, kind):
    vertex = np.empty(1 + terminals.size * (levels + 1), np.int64)
    weight = np.zeros(vertex.size, kind.dtype)
    start = np.zeros(terminals.size + 1, np.int64)
    at = np.int64(0)
    for i in range(terminals.size):
        x = centre
        vertex[at] = x
        at += 1
        while x != terminals[i]:
            nearer = (_code(reached, x, i) + 1) % 3 + 1
            least = np.int64(-1)
            lightest = weight[0]
            for arc in range(indptr[x], indptr[x + 1]):
                u = np.int64(indices[arc])
                if (least < 0 or u <= least) and _code(reached, u, i) == nearer:
                    w = kind[0] + weights[arc]
                    if u != least or w < lightest:
                        least, lightest = u, w
            x = least
            vertex[at], weight[at] = x, lightest
            at += 1
        start[i + 1] = at
    return vertex[:at], weight[:at], start


class CentreFinder:
    """A graph's bit sets, for one set of terminals at a time."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, kind: str) -> None:
        """Allocate nothing yet. kind: int64 or float64, of the weights that are returned."""
        self.csr = indptr, indices, weights
        self.kind = np.zeros(1, kind)
        self.hubs = hubs_of(indptr)
        self.touched = np.empty(indptr.size - 1, np.int64)
        self.arriving = np.zeros((0, 0), np.uint64)

    def run(self, terminals: Any) -> Centre:
        """Find the centre of terminals (int64, ascending, distinct) and its paths to them."""
        began = time.perf_counter()
        n, words = self.touched.size, -(-terminals.size // 64)
        if self.arriving.shape != (n, words):
            self.reached = np.zeros((n, 2, words), np.uint64)
            self.arriving = np.zeros((n, words), np.uint64)
        full = np.full(words, ~np.uint64(0))
        if terminals.size % 64:
            full[-1] = (1 << terminals.size % 64) - 1
        indptr, indices, _ = self.csr
        centre, levels, count = _meet(
            indptr, indices, terminals, self.hubs, self.reached, self.arriving, self.touched, full
        )
        if levels < 0:
            seen = self.reached[terminals]
            paths = terminals[:0], self.kind[:0], (seen[:, 0] | seen[:, 1])[:, 0] & _1
        else:
            paths = _walk(*self.csr, terminals, centre, levels, self.reached, self.kind)
        self.reached[self.touched[:count]] = 0
        return Centre(*paths, int(levels), time.perf_counter() - began)
