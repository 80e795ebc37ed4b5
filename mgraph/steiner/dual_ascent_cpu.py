"""Dual ascent: a lower bound on every Steiner tree, and the arcs that a good tree consists of.

Source: R. T. Wong, "A dual ascent approach for Steiner tree problems on a directed graph" (1984).
A tree, directed away from a root, enters every set of vertices that holds a terminal and not the
root. So the cost of the cheapest arc into such a set may be subtracted from all arcs into it and
added to the bound; what remains of an arc's weight is its reduced cost. The set is always a
terminal with all vertices that reach it at reduced cost 0, and the terminal whose set has the
fewest arcs into it comes first. A terminal is finished when its set holds the root, or another
terminal that is not finished and raises the bound on its behalf.

Raising the bound repeatedly for one terminal is Dijkstra's algorithm from it against the arcs, on
reduced costs: the set is what is settled, the bound rises with the radius. So an arc's cost is
reduced once per turn, by how far the radius rose while the arc led into the set, and a turn lasts
while the set is not much worse than that of the next terminal.

All sums are of integers, so that the bound is valid whatever was rounded. Fractional weights are
multiplied by a power of two, which is exact, and rounded down, which makes an edge cheaper by less
than n / 2^60 of the largest weight, or of the cost of a known tree: heavier edges, which no better
tree has, count as much. The bound is rounded down when it is divided again.

Cost: O(a log a) per turn, for the a arcs of the set. Where sets grow by a factor per turn, a
terminal reads a few times the arcs of its last set. Memory: 8 bytes per arc, 18 per vertex.
"""

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, csr_cpu, heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.edges import EdgeList
from mgraph.core.heap_cpu import capacity, clear, grow, pop, push
from mgraph.shortest_paths import dijkstra_cpu

_1 = np.uint64(1)
_UNREACHED = np.iinfo(np.int64).max
# A terminal's turn lasts until its set has this many times the arcs of the next terminal's.
SLACK_FACTOR = 1.25


class Ascent(NamedTuple):
    """The result of a dual ascent.

    bound: on the cost of every tree, int or float. total: the same in units of 1 / scale, int.
    reduced: int64, in u's row the reduced cost of the arc from v to u. scale: a power of two.
    complete: whether there was time for all turns, so that the root reaches each terminal at
    reduced cost 0.
    """

    bound: Any
    total: int
    reduced: Any
    scale: float
    complete: bool


class Subgraph(NamedTuple):
    """A subgraph. vertex: its vertices' ids, int64, ascending. terminals: indices into vertex."""

    csr: tuple[Any, Any, Any]
    vertex: Any
    terminals: Any


@compiled_when_hot
def _take_turn(
    indptr, indices, reduced, terminal, root, active, max_arcs, radius, inside, touched, heap,
    cancelled,
):  # fmt: skip
    """Grow a terminal's set until it is finished or more than ``max_arcs`` arcs lead into it.

    radius, inside: the largest integer and False for all vertices, before and after. touched: an
    array of n vertices to be overwritten. Returns early once the first element of ``cancelled`` is
    not 0. Returns by how much the bound rises, whether the terminal is finished, the number of arcs
    into the set, and the heap.
    """
    unreached = radius[terminal]
    radius[terminal], touched[0], count = 0, terminal, np.int64(1)
    push(heap, 0, np.int64(0), terminal)
    size, now, arcs, finished = np.int64(1), np.int64(0), np.int64(0), False
    while size and not cancelled[0]:
        key, y = pop(heap, size)
        size -= 1
        if key != radius[y]:
            continue
        if key > now and arcs > max_arcs:
            break
        now = key
        if y == root or (active[y] and y != terminal):
            finished = True
            break
        inside[y] = True
        begin, stop = np.uint64(indptr[y]), np.uint64(indptr[y + _1])
        while size + np.int64(stop - begin) > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, stop):
            x = np.uint64(indices[arc])
            if inside[x]:
                arcs -= x != y
                continue
            arcs += 1
            candidate = now + reduced[arc]
            if candidate < radius[x]:
                if radius[x] == unreached:
                    touched[count] = x
                    count += 1
                radius[x] = candidate
                push(heap, size, candidate, x)
                size += 1
    clear(heap, size)
    for y in touched[:count]:
        if inside[y] and radius[y] < now:
            for arc in range(indptr[y], indptr[y + 1]):
                x = indices[arc]
                if radius[x] > radius[y]:
                    reduced[arc] -= min(radius[x], now) - radius[y]
    for y in touched[:count]:
        radius[y], inside[y] = unreached, False
    return now, finished, arcs, heap


def ascend(
    csr: tuple[Any, Any, Any],
    terminals: Any,
    root: int,
    deadline: Deadline = NEVER,
    cost: float = math.inf,
) -> Ascent:
    """Compute the bound of a dual ascent away from a root, one of the terminals.

    csr: indptr, indices and weights, of both arcs of every edge. terminals: two or more, int64,
    ascending, of one component. deadline: when it is over, the bound so far is returned. cost: of a
    known tree.
    """
    indptr, indices, weights = csr
    n = indptr.size - 1
    reduced, scale = _to_integers(weights, n, cost)
    labels = np.full(n, _UNREACHED), np.zeros(n, np.bool_), np.empty(n, np.int64)
    heap = heap_cpu.new(n, small=False)
    active = np.zeros(n, np.bool_)
    active[terminals] = True
    active[root] = False
    total, cancelled = 0, cancellation.cancel_flag()
    queue = [(int(indptr[t + 1] - indptr[t]), t) for t in terminals.tolist() if t != root]
    heapq.heapify(queue)
    while queue and not deadline.is_over:
        arcs, t = heapq.heappop(queue)
        max_arcs = max(arcs, int(SLACK_FACTOR * queue[0][0])) if queue else _UNREACHED
        rise, finished, arcs, heap = _take_turn(
            indptr, indices, reduced, t, root, active, max_arcs, *labels, heap, cancelled
        )
        total += rise
        if finished:
            active[t] = False
        else:
            heapq.heappush(queue, (arcs, t))
    cancellation.raise_if_cancelled()
    bound = total if weights.dtype.kind == "i" else _round_down(total) / scale
    return Ascent(bound, total, reduced, scale, not queue)


def _to_integers(weights: Any, n: int, cost: float) -> tuple[Any, float]:
    """Return weights as integers of which n can be added in 64 bits, and their scale.

    Fractional weights above ``cost`` count as that.
    """
    if weights.dtype.kind == "i":
        return weights.astype(np.int64), 1.0
    maximum = min(weights.max(initial=0).item(), cost)
    exponent = 62 - n.bit_length() - math.frexp(maximum)[1]
    exponent = min(exponent, 1000)  # so that no bound, divided again, has less than 53 bits
    capped = np.minimum(weights, maximum, dtype=np.float64)
    return np.ldexp(capped, exponent).astype(np.int64), math.ldexp(1.0, exponent)


def _round_down(total: int) -> float:
    nearest = float(total)
    return nearest if nearest <= total else math.nextafter(nearest, 0)


def slack_below(ascent: Ascent, cost: Any) -> int:
    """Return by how much more than the bound a cheaper tree may cost, in units of 1 / scale."""
    below = cost - 1 if isinstance(cost, int) else int(cost * ascent.scale)
    return below - ascent.total


@compiled_when_hot
def _arcs_within(indptr, indices, weights, reduced, rest, slack):
    """Return the arcs that begin a path to a terminal within ``slack``.

    rest: the distance from each vertex to a terminal. Returns src, dst, reduced cost and weight.
    """
    count = np.int64(0)
    for y in range(indptr.size - 1):
        for arc in range(indptr[y], indptr[y + 1]):
            count += rest[y] <= slack and reduced[arc] <= slack - rest[y]
    src, dst = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    cost, weight = np.empty(count, np.int64), np.empty(count, weights.dtype)
    i = np.int64(0)
    for y in range(indptr.size - 1):
        for arc in range(indptr[y], indptr[y + 1]):
            if rest[y] <= slack and reduced[arc] <= slack - rest[y]:
                src[i], dst[i] = indices[arc], y
                cost[i], weight[i] = reduced[arc], weights[arc]
                i += 1
    return src, dst, cost, weight


def _distances_within(indptr: Any, indices: Any, lengths: Any, sources: Any, slack: int) -> Any:
    """Return the distances from the sources; beyond the slack any that is larger."""
    distance, no_targets = np.full(indptr.size - 1, _UNREACHED), sources[:0]
    dijkstra_cpu.find_distances(
        indptr, indices, lengths, distance, sources, no_targets, False, np.int64(slack), _UNREACHED
    )
    return distance


def promising_edges(graph: Subgraph, root: int, ascent: Ascent, slack: int) -> Subgraph:
    """Return the edges of all trees whose cost exceeds the bound by no more than the slack.

    Such a tree pays, on top of the bound, the reduced costs from the root to an arc, of the arc,
    and from there to a terminal. No edge remains if no tree is that cheap. With a slack of 0 these
    are the arcs at reduced cost 0, which hold a good tree if the ascent is complete.
    """
    (indptr, indices, weights), vertex, terminals = graph
    rest = _distances_within(indptr, indices, ascent.reduced, terminals, slack)
    src, dst, cost, weight = _arcs_within(indptr, indices, weights, ascent.reduced, rest, slack)
    out = csr_cpu.build(
        EdgeList(src, dst, cost), vertex.size, directed=True, drop_loops=True, merge=True
    )
    distance = _distances_within(out.indptr, out.indices, out.weights, np.array([root]), slack)
    kept = np.flatnonzero((distance[src] <= slack) & (src != dst))
    kept = kept[cost[kept] <= slack - distance[src[kept]] - rest[dst[kept]]]
    if (distance[terminals] > slack).any():
        kept = kept[:0]
    return edge_subgraph(src[kept], dst[kept], weight[kept], graph)


def edge_subgraph(src: Any, dst: Any, weight: Any, graph: Subgraph) -> Subgraph:
    """Return the subgraph of some edges, given as indices, once or more; with all terminals."""
    _, vertex, terminals = graph
    kept = np.unique(np.concatenate([src, dst, terminals]))
    low, high = (np.searchsorted(kept, end(src, dst)) for end in (np.minimum, np.maximum))
    edges = EdgeList(low.astype(src.dtype), high.astype(src.dtype), weight)
    built = csr_cpu.build(edges, kept.size, directed=False, drop_loops=True, merge=True)
    csr = built.indptr, built.indices, built.weights
    return Subgraph(csr, vertex[kept], np.searchsorted(kept, terminals))
