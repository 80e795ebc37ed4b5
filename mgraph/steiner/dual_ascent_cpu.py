"""Dual ascent: a lower bound on every Steiner tree, and the arcs that a good tree is made of.

Source: R. T. Wong, "A dual ascent approach for Steiner tree problems on a directed graph" (1984).
A tree, directed away from a root, enters every set of vertices that holds a terminal and not the
root. So the cost of the cheapest arc into such a set may be taken off all arcs into it and added to
the bound; what is left of an arc's weight is its reduced cost. The set is always a terminal with
all vertices that reach it at reduced cost 0, and the terminal whose set has the fewest arcs into it
comes first. It is done when its set holds the root, or another terminal that is not done and
raises the bound on its behalf.

Raising the bound again and again for one terminal is Dijkstra's algorithm from it against the arcs,
on reduced costs: the set is what is settled, the bound rises with the radius. So an arc is paid off
once a turn, by how far the radius rose while it led into the set, and a turn lasts while the set is
not much worse than that of the next terminal.

All sums are of integers, so that the bound is one whatever was rounded. Fractional weights are
multiplied by a power of two, which is exact, and rounded down, which makes an edge cheaper by less
than n / 2^60 of the largest weight, or of the cost of a known tree: heavier edges, which no better
tree has, count as much. The bound is rounded down when it is divided again.

Cost: of a turn O(a log a) for the a arcs of the set. Where sets grow by a share a turn, a terminal
sees a few times the arcs of its last one. Memory: 8 bytes an arc, 18 a vertex.
"""

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, csr_cpu, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.edges import EdgeList
from mgraph.core.heap_cpu import grown, pop, push, room
from mgraph.shortest_paths import dijkstra_cpu

_1 = np.uint64(1)
_FAR = np.iinfo(np.int64).max
# A terminal's turn goes on until its set has this many times the arcs of the next one's.
SLACK = 1.25


class Ascent(NamedTuple):
    """What a dual ascent ends with.

    bound: on the cost of every tree, int or float; total: the same in units of 1 / scale, int.
    reduced: int64, at u's arc to v that of the arc from v to u. scale: a power of two. complete:
    whether there was time for all, so that the root reaches each terminal at reduced cost 0.
    """

    bound: Any
    total: int
    reduced: Any
    scale: float
    complete: bool


class Part(NamedTuple):
    """A part of a graph. vertex: its vertices' ids, int64, ascending. terminals: places there."""

    csr: tuple[Any, Any, Any]
    vertex: Any
    terminals: Any


@compiled
def _turn(
    indptr, indices, reduced, terminal, root, active, most, radius, inside, touched, heap, stop_word
):
    """Grow a terminal's set until it is done or more than ``most`` arcs lead into it.

    radius, inside: the largest integer and False for all vertices, before and after. touched: room
    for n vertices. stop_word: ends early once its first element is not 0. Returns by how much the
    bound rises, whether the terminal is done, the arcs into the set, and the heap.
    """
    far = radius[terminal]
    radius[terminal], touched[0], count = 0, terminal, np.int64(1)
    push(heap, 0, np.int64(0), terminal)
    size, now, into, done = np.int64(1), np.int64(0), np.int64(0), False
    while size and not stop_word[0]:
        key, y = pop(heap, size)
        size -= 1
        if key != radius[y]:
            continue
        if key > now and into > most:
            break
        now = key
        if y == root or (active[y] and y != terminal):
            done = True
            break
        inside[y] = True
        begin, stop = np.uint64(indptr[y]), np.uint64(indptr[y + _1])
        while size + np.int64(stop - begin) > room(heap):
            heap = grown(heap)
        for arc in range(begin, stop):
            x = np.uint64(indices[arc])
            if inside[x]:
                into -= x != y
                continue
            into += 1
            candidate = now + reduced[arc]
            if candidate < radius[x]:
                if radius[x] == far:
                    touched[count] = x
                    count += 1
                radius[x] = candidate
                push(heap, size, candidate, x)
                size += 1
    heap[0][:size] = heap[0][heap[0].size - 1]
    for y in touched[:count]:
        if inside[y] and radius[y] < now:
            for arc in range(indptr[y], indptr[y + 1]):
                x = indices[arc]
                if radius[x] > radius[y]:
                    reduced[arc] -= min(radius[x], now) - radius[y]
    for y in touched[:count]:
        radius[y], inside[y] = far, False
    return now, done, into, heap


def run(
    csr: tuple[Any, Any, Any],
    terminals: Any,
    root: int,
    deadline: Deadline = NEVER,
    cost: float = math.inf,
) -> Ascent:
    """The bound of a dual ascent away from a root, one of the terminals.

    csr: indptr, indices and weights, of both arcs of every edge. terminals: two or more, int64,
    ascending, of one component. deadline: the bound is then what it is. cost: of a known tree.
    """
    indptr, indices, weights = csr
    n = indptr.size - 1
    reduced, scale = _whole(weights, n, cost)
    labels = np.full(n, _FAR), np.zeros(n, np.bool_), np.empty(n, np.int64)
    heap = heap_cpu.new(n, small=False)
    active = np.zeros(n, np.bool_)
    active[terminals] = True
    active[root] = False
    total, stop_word = 0, cancellation.cancel_flag()
    queue = [(int(indptr[t + 1] - indptr[t]), t) for t in terminals.tolist() if t != root]
    heapq.heapify(queue)
    while queue and not deadline.over:
        into, t = heapq.heappop(queue)
        most = max(into, int(SLACK * queue[0][0])) if queue else _FAR
        rise, done, into, heap = _turn(
            indptr, indices, reduced, t, root, active, most, *labels, heap, stop_word
        )
        total += rise
        if done:
            active[t] = False
        else:
            heapq.heappush(queue, (into, t))
    cancellation.raise_if_cancelled()
    bound = total if weights.dtype.kind == "i" else _rounded_down(total) / scale
    return Ascent(bound, total, reduced, scale, not queue)


def _whole(weights: Any, n: int, cost: float) -> tuple[Any, float]:
    """Weights as integers of which n can be added in 64 bits, and by what they were multiplied.

    Fractional ones above ``cost`` are taken for it.
    """
    if weights.dtype.kind == "i":
        return weights.astype(np.int64), 1.0
    most = min(weights.max(initial=0).item(), cost)
    exponent = 62 - n.bit_length() - math.frexp(most)[1]
    exponent = min(exponent, 1000)  # so that no bound, divided again, has less than 53 bits
    whole = np.ldexp(np.minimum(weights, most, dtype=np.float64), exponent).astype(np.int64)
    return whole, math.ldexp(1.0, exponent)


def _rounded_down(total: int) -> float:
    nearest = float(total)
    return nearest if nearest <= total else math.nextafter(nearest, 0)


def slack_below(ascent: Ascent, cost: Any) -> int:
    """By how much more than the bound a cheaper tree may cost, in units of 1 / scale."""
    below = cost - 1 if isinstance(cost, int) else int(cost * ascent.scale)
    return below - ascent.total


@compiled
def _arcs_within(indptr, indices, weights, reduced, rest, slack):
    """The arcs that begin a way to a terminal within ``slack``: from, to, reduced and weight."""
    count = np.int64(0)
    for y in range(indptr.size - 1):
        for arc in range(indptr[y], indptr[y + 1]):
            count += rest[y] <= slack and reduced[arc] <= slack - rest[y]
    tail, head = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    cost, weight = np.empty(count, np.int64), np.empty(count, weights.dtype)
    place = np.int64(0)
    for y in range(indptr.size - 1):
        for arc in range(indptr[y], indptr[y + 1]):
            if rest[y] <= slack and reduced[arc] <= slack - rest[y]:
                tail[place], head[place] = indices[arc], y
                cost[place], weight[place] = reduced[arc], weights[arc]
                place += 1
    return tail, head, cost, weight


def _within(indptr: Any, indices: Any, lengths: Any, sources: Any, slack: int) -> Any:
    """The distances from the sources; beyond the slack they are larger than that."""
    distance, nothing = np.full(indptr.size - 1, _FAR), sources[:0]
    dijkstra_cpu.find_distances(
        indptr, indices, lengths, distance, sources, nothing, False, np.int64(slack), _FAR
    )
    return distance


def promising(part: Part, root: int, ascent: Ascent, slack: int) -> Part:
    """The edges that a tree may have whose cost exceeds the bound by no more than the slack.

    The reduced costs from the root to an arc, its own, and those on to a terminal come on top of
    the bound. No edge at all where no tree is that cheap. With a slack of 0 these are the arcs at
    reduced cost 0, which hold a good tree if the ascent is complete.
    """
    (indptr, indices, weights), vertex, terminals = part
    rest = _within(indptr, indices, ascent.reduced, terminals, slack)
    tail, head, cost, weight = _arcs_within(indptr, indices, weights, ascent.reduced, rest, slack)
    out = csr_cpu.build(
        EdgeList(tail, head, cost), vertex.size, directed=True, drop_loops=True, merge=True
    )
    way = _within(out.indptr, out.indices, out.weights, np.array([root]), slack)
    kept = np.flatnonzero((way[tail] <= slack) & (tail != head))
    kept = kept[cost[kept] <= slack - way[tail[kept]] - rest[head[kept]]]
    if (way[terminals] > slack).any():
        kept = kept[:0]
    return subgraph(tail[kept], head[kept], weight[kept], part)


def subgraph(src: Any, dst: Any, weight: Any, part: Part) -> Part:
    """The part with some of the edges, given as places, each once or more; and all terminals."""
    _, vertex, terminals = part
    places = np.unique(np.concatenate([src, dst, terminals]))
    low, high = (np.searchsorted(places, end(src, dst)) for end in (np.minimum, np.maximum))
    edges = EdgeList(low.astype(src.dtype), high.astype(src.dtype), weight)
    graph = csr_cpu.build(edges, places.size, directed=False, drop_loops=True, merge=True)
    csr = graph.indptr, graph.indices, graph.weights
    return Part(csr, vertex[places], np.searchsorted(places, terminals))
