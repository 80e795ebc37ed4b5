"""STAR's initial tree on one core: breadth-first search from all terminals until they meet.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
section 2 (``buildInitialTree``).

All searches advance together, level by level, in bit sets of 64 terminals. A vertex keeps two bits
per terminal: 0 before the terminal's search reaches it, then 1 to 3 by the level modulo 3, which
tells a neighbour one level nearer from all others, so that paths need no predecessors. At the first
level at which any vertex is reached by all searches, the one of highest degree among these vertices
is the meeting vertex (of equal degrees the smallest id), and each path goes on to the smallest
neighbour that is nearer to its terminal. Hubs, the vertices of highest degree, are examined before
a level that costs more than that: on graphs with hubs one of them mostly is the meeting vertex, and
the largest level is never searched.

Cost: for k terminals, the arcs of the vertices reached, once per level and 64 terminals. Memory: 24
bytes per vertex and 64 terminals.
"""

import time
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, broken_path_error

HUBS = 64  # one per bit of a 64-bit word: star_initial_tree.cu
_1 = np.uint64(1)
_GIB = 1 << 30
_BYTES_PER_WORD = 24  # three words of 8 bytes, per vertex and 64 terminals
# A vertex's words per 64 terminals: the two bits, and what arrives at this level.
_LOW, _HIGH, _ARRIVING = 0, 1, 2


def find_hubs(indptr: Any) -> Any:
    """Return the vertices of highest degree, of equal degrees the smallest ids first; int64."""
    degree = indptr[1:] - indptr[:-1]
    count = min(HUBS, degree.size)
    min_degree = np.partition(degree, degree.size - count)[degree.size - count] if count else 0
    candidates = np.flatnonzero(degree >= min_degree)
    order = np.lexsort(np.stack([candidates, -degree[candidates]]))
    return candidates[order[:count]]


@compiled
def _is_reached_by_all(state, vertex, all_terminals):
    for word in range(all_terminals.size):
        if state[vertex, _LOW, word] | state[vertex, _HIGH, word] != all_terminals[word]:
            return False
    return True


@compiled
def _find_full_hub(indptr, indices, state, all_terminals, hubs):
    """Return the first hub that the next level would reach from all terminals; -1 for none.

    What would arrive at it then has arrived.
    """
    for hub in hubs:
        missing = np.int64(1)
        for arc in range(indptr[hub], indptr[hub + 1]):
            v = indices[arc]
            missing = np.int64(0)
            for word in range(all_terminals.size):
                reached = state[hub, _LOW, word] | state[hub, _HIGH, word]
                state[hub, _ARRIVING, word] |= (
                    state[v, _LOW, word] | state[v, _HIGH, word]
                ) & ~reached
                missing += reached | state[hub, _ARRIVING, word] != all_terminals[word]
            if missing == 0:
                return hub
        for word in range(all_terminals.size):
            state[hub, _ARRIVING, word] = 0
    return np.int64(-1)


@compiled
def _commit(vertex, level, state):
    """Add what arrived at a vertex to its state. Return whether nothing had before."""
    code, is_first = level % 3 + 1, True
    for word in range(state.shape[2]):
        bits = state[vertex, _ARRIVING, word]
        is_first = is_first and state[vertex, _LOW, word] | state[vertex, _HIGH, word] == 0
        state[vertex, _ARRIVING, word] = 0
        if code & 1:
            state[vertex, _LOW, word] |= bits
        if code & 2:
            state[vertex, _HIGH, word] |= bits
    return is_first


@compiled
def _count_arcs(indptr, vertices):
    arcs = np.int64(0)
    for v in vertices:
        arcs += indptr[v + 1] - indptr[v]
    return arcs


@compiled
def _search(indptr, indices, terminals, hubs, state, touched, all_terminals, cancelled):
    """Search until a vertex is reached by all; return it or -1, the levels and the touched count.

    touched: an array of n vertices; those that are reached are written to it in that order. Once
    the first element of ``cancelled`` is not 0 it returns early, and leaves ``state`` as it is.
    """
    count = np.int64(terminals.size)
    for i in range(count):
        state[terminals[i], _ARRIVING, i >> 6] = _1 << np.uint64(i & 63)
        _commit(terminals[i], np.int64(0), state)
        touched[i] = terminals[i]
    frontier = touched[:count].copy()
    level, hub_arcs = np.int64(0), _count_arcs(indptr, hubs)
    if count == 1:
        return terminals[0], level, count
    while frontier.size:
        level += 1
        arcs = _count_arcs(indptr, frontier)
        if arcs > hub_arcs:
            hub = _find_full_hub(indptr, indices, state, all_terminals, hubs)
            if hub >= 0:
                if _commit(hub, level, state):
                    touched[count] = hub
                    count += 1
                return hub, level, count
        next_frontier = np.empty(min(arcs, indptr.size - 1), np.int64)
        size = np.int64(0)
        for u in frontier:
            if cancelled[0]:
                break
            for arc in range(indptr[u], indptr[u + 1]):
                v = indices[arc]
                is_listed, has_new = False, False
                for word in range(all_terminals.size):
                    reached = state[v, _LOW, word] | state[v, _HIGH, word]
                    bits = (state[u, _LOW, word] | state[u, _HIGH, word]) & ~reached
                    is_listed = is_listed or state[v, _ARRIVING, word] != 0
                    has_new = has_new or bits != 0
                    state[v, _ARRIVING, word] |= bits
                if has_new and not is_listed:
                    next_frontier[size] = v
                    size += 1
        frontier = next_frontier[:size]
        meeting_vertex, max_degree = np.int64(-1), np.int64(-1)
        for v in frontier:
            if _commit(v, level, state):
                touched[count] = v
                count += 1
            if _is_reached_by_all(state, v, all_terminals):
                degree = indptr[v + 1] - indptr[v]
                if degree > max_degree or (degree == max_degree and v < meeting_vertex):
                    max_degree, meeting_vertex = degree, v
        if meeting_vertex >= 0:
            return meeting_vertex, level, count
    return np.int64(-1), np.int64(-1), count


@compiled
def _code(state, vertex, terminal):
    """Return 0, or 1 to 3 by the level at which the terminal's search reached the vertex."""
    word, bit = terminal >> 6, np.uint64(terminal & 63)
    low, high = state[vertex, _LOW, word] >> bit, state[vertex, _HIGH, word] >> bit
    return np.int64(low & _1) + 2 * np.int64(high & _1)


@compiled
def _walk(indptr, indices, weights, terminals, meeting_vertex, levels, state, zero_weight):
    """Follow the paths from the meeting vertex to all terminals, for ``tree_cpu.from_paths``."""
    vertex = np.empty(1 + terminals.size * (levels + 1), np.int64)
    weight = np.zeros(vertex.size, zero_weight.dtype)
    start, size = np.empty(terminals.size, np.int64), np.empty(terminals.size, np.int64)
    at = np.int64(0)
    for i in range(terminals.size):
        x, start[i] = meeting_vertex, at
        vertex[at] = x
        at += 1
        end = at + levels
        while x != terminals[i] and x >= 0 and at < end:
            nearer = (_code(state, x, i) + 1) % 3 + 1
            smallest = np.int64(-1)
            min_weight = weight[0]
            for arc in range(indptr[x], indptr[x + 1]):
                u = np.int64(indices[arc])
                if (smallest < 0 or u <= smallest) and _code(state, u, i) == nearer:
                    arc_weight = zero_weight[0] + weights[arc]
                    if u != smallest or arc_weight < min_weight:
                        smallest, min_weight = u, arc_weight
            x = smallest
            vertex[at], weight[at] = x, min_weight
            at += 1
        if x != terminals[i]:  # the levels are not those of a graph with both arcs of each edge
            vertex[at - 1] = -1
        size[i] = at - start[i]
    return vertex, weight, start, size


class InitialTreeBuilder:
    """The bit sets of a graph's vertices, for the terminals of one query at a time."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, dtype: str) -> None:
        """Allocate no bit sets yet. dtype: of the weights that are returned, int64 or float64."""
        self.csr = indptr, indices, weights
        self.zero_weight = np.zeros(1, dtype)
        self.hubs = find_hubs(indptr)
        self.touched = np.empty(indptr.size - 1, np.int64)
        self.state = np.zeros((0, 3, 0), np.uint64)

    def _check_memory(self, terminals: int, words: int) -> None:
        """Raise OutOfMemoryError if the bits of many terminals do not fit in memory."""
        needed, available = _BYTES_PER_WORD * words * self.touched.size, free_memory()
        if words > 1 and needed > available:
            raise OutOfMemoryError(
                f"the initial tree of {terminals:,} terminals needs {needed / _GIB:,.1f} GiB on a "
                f"CPU, and {available / _GIB:,.1f} GiB are free; give fewer terminals, or use a "
                "machine with more memory"
            )

    def build(self, terminals: Any) -> InitialTree:
        """Build the initial tree of some terminals (int64, ascending, distinct)."""
        start = time.perf_counter()
        n, words = self.touched.size, -(-terminals.size // 64)
        if self.state.shape[2] != words:
            self.state = np.zeros((0, 3, 0), np.uint64)
            self._check_memory(terminals.size, words)
            self.state = np.full((n, 3, words), 0, np.uint64)  # touches the pages before the search
        all_terminals = np.full(words, ~np.uint64(0))
        if terminals.size % 64:
            all_terminals[-1] = (1 << terminals.size % 64) - 1
        meeting_vertex, levels, count = _search(
            *self.csr[:2],
            terminals,
            self.hubs,
            self.state,
            self.touched,
            all_terminals,
            cancellation.cancel_flag(),
        )
        try:
            cancellation.raise_if_cancelled()
        except cancellation.Cancelled:
            self.state = np.zeros((0, 3, 0), np.uint64)
            raise
        tree, unreachable = None, -1
        try:
            if levels < 0:
                state = self.state[terminals]
                not_reached = terminals[(state[:, _LOW] | state[:, _HIGH])[:, 0] & _1 == 0]
                if not not_reached.size:
                    raise broken_path_error()
                unreachable = int(not_reached[0])
            else:
                paths = _walk(
                    *self.csr, terminals, meeting_vertex, levels, self.state, self.zero_weight
                )
                if (paths[0][: paths[2][-1] + paths[3][-1]] < 0).any():
                    raise broken_path_error()
                tree = tree_cpu.from_paths(*paths, terminals, self.zero_weight[0])
        finally:
            self.state[self.touched[:count]] = 0
        return InitialTree(tree, unreachable, int(levels), time.perf_counter() - start)
