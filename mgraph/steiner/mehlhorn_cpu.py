"""Mehlhorn's heuristic: a minimum spanning tree of the terminals' distances, out of one search.

Source: K. Mehlhorn, "A faster approximation algorithm for the Steiner problem in graphs" (1988).
A region holds the vertices that are nearest to one group of vertices, here to one terminal. The
lightest paths across the regions' boundaries hold a minimum spanning tree of the groups' distances.
They are taken while the regions grow: no path shorter than twice the radius can appear any more, so
that the search ends with the last path that is needed, and boundaries within what is already joined
are dropped. At last the paths' vertices get a minimum spanning tree of their own, and lose the
leaves that are no terminals. The tree costs at most 2 - 2 / k times the optimum.

Cost: O((n + m) log n) for the n vertices and m arcs within the largest radius. Memory: 33 bytes a
vertex, 12 to 16 an entry that waits.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.core.union_find_cpu import root
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner import tree_cpu
from mgraph.steiner.takahashi_matsuyama_cpu import length_kind
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


class Regions(NamedTuple):
    """How far each vertex is from the nearest group, which it is, and how one comes from there.

    distance: with infinity as one more element; keys: its bits. via, tail: an arc of the weight of
    the last step, and where that comes from; via is -1 in a group. final: whether all this is.
    """

    distance: Any
    keys: Any
    group: Any
    via: Any
    tail: Any
    final: Any


class Crossings(NamedTuple):
    """Arcs between regions, with the bits of the length of the way across, and the two groups."""

    arc: Any
    key: Any
    one: Any
    other: Any


def new_regions(n: int, kind: np.dtype) -> Regions:
    """Labels for n vertices, none of them reached. kind: int64 or float64, of lengths."""
    distance = np.full(n + 1, infinity_of(kind), kind)
    group, via, tail = (np.empty(n, np.int64) for _ in range(3))
    return Regions(distance, distance.view(np.int64), group, via, tail, np.zeros(n, np.bool_))


def new_heaps(n: int, m: int) -> tuple[Any, Any]:
    """Empty ones, of vertices and of arcs."""
    return heap_cpu.new(n, small=False), heap_cpu.new(m + 1, small=False)


@compiled
def seeded(heap, vertices):
    """An empty heap with these vertices at distance 0."""
    while vertices.size > capacity(heap):
        heap = grow(heap)
    for size in range(vertices.size):
        push(heap, size, np.int64(0), vertices[size])
    return heap


def _reach(count, length, rest):
    """Whether so many such lengths are ``rest``, above 0, or more: no sum that might overflow."""


def _reach_whole(count, length, rest):
    return length > (rest - 1) // count


def _reach_fraction(count, length, rest):
    return length >= rest / count


# In compiled code the type of lengths chooses once and for all.
overload(_reach)(
    lambda count, length, rest: _reach_fraction if isinstance(length, types.Float) else _reach_whole
)


@compiled
def _next(known, at, parent):
    """The first crossing from a place on that joins two groups."""
    while at < known.arc.size:
        one, other = known.one[at], known.other[at]
        if parent[one] >= 0 and parent[other] >= 0 and root(parent, one) != root(parent, other):
            break
        at += 1
    return at


@compiled
def join(indptr, indices, weights, regions, heaps, size, parent, left, known, limit, stop_word):
    """Grow regions until the arcs are known whose ways across join the groups at least cost.

    heaps: one of vertices, from whose ``size`` entries the regions grow, and an empty one of arcs.
    parent: of each group, in a forest of those that are one already; -1 for one that is no more.
    left: the joins that are wanted. known: crossings between final vertices, in ascending order.
    stop_word: ends early once its first element is not 0.
    Returns the arcs, fewer if they would cost ``limit`` or more, the vertices that got labels, and
    the heaps, empty.
    """
    distance, keys, group, via, tail, final = regions
    vertex_heap, arc_heap = heaps
    joined, labelled = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    infinity, m = distance[distance.size - 1], indices.size
    length = np.zeros(1, distance.dtype)
    length_key, total = length.view(np.int64), length[0]
    at, waiting = _next(known, 0, parent), np.int64(0)
    if at < known.arc.size:  # of these one waits at a time
        push(arc_heap, waiting, known.key[at], m)
        waiting += 1
    while left and not stop_word[0]:
        radius, u = infinity, np.uint64(0)
        while size and radius == infinity:
            key, u = pop(vertex_heap, size)
            size -= 1
            if key == keys[u] and not final[u]:
                radius = distance[u]
        # A way across that is not known yet is no shorter than twice the radius.
        while left and waiting:
            length_key[0], entry = pop(arc_heap, waiting)
            if length[0] - radius > radius:
                push(arc_heap, waiting - 1, length_key[0], entry)
                break
            waiting -= 1
            crossing = np.int64(entry)
            if crossing == m:
                crossing, one, other = known.arc[at], known.one[at], known.other[at]
            else:
                one = group[np.searchsorted(indptr, crossing, "right") - 1]
                other = group[indices[crossing]]
            one, other = root(parent, one), root(parent, other)
            if one != other:
                if _reach(left, length[0], limit - total):
                    radius = infinity
                    break
                parent[one] = other
                total += length[0]
                left -= 1
                joined.append(crossing)
            if entry == m:
                at = _next(known, at, parent)
                if at < known.arc.size:
                    push(arc_heap, waiting, known.key[at], m)
                    waiting += 1
        if radius == infinity or left == 0 or _reach(2 * left, radius, limit - total):
            break
        final[u] = True
        begin, stop = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(stop - begin) > capacity(vertex_heap):
            vertex_heap = grow(vertex_heap)
        while waiting + np.int64(stop - begin) > capacity(arc_heap):
            arc_heap = grow(arc_heap)
        mine = root(parent, group[u])
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = radius + weights[arc]
            if candidate >= limit:
                continue
            if candidate < distance[v]:
                if candidate < limit - candidate:
                    if distance[v] == infinity:
                        labelled.append(np.int64(v))
                    distance[v], group[v], via[v], tail[v] = candidate, group[u], arc, u
                    push(vertex_heap, size, keys[v], v)
                    size += 1
            elif final[v] and root(parent, group[v]) != mine:
                length[0] = candidate + distance[v]
                push(arc_heap, waiting, length_key[0], arc)
                waiting += 1
    vertex_heap[0][:size] = vertex_heap[0][vertex_heap[0].size - 1]
    arc_heap[0][:waiting] = arc_heap[0][arc_heap[0].size - 1]
    return np.array(joined), np.array(labelled), (vertex_heap, arc_heap)


@compiled
def paths(indptr, indices, weights, regions, joined):
    """The edges of the paths across boundary arcs: src, dst and weight; uses ``via`` up."""
    src, dst = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    weight = [regions.distance[0] for _ in range(0)]
    kind = np.zeros(1, regions.distance.dtype)
    for arc in joined:
        a, b = np.searchsorted(indptr, arc, "right") - 1, np.int64(indices[arc])
        src.append(a)
        dst.append(b)
        weight.append(kind[0] + weights[arc])
        for x in (a, b):
            while regions.via[x] >= 0:
                src.append(regions.tail[x])
                dst.append(x)
                weight.append(kind[0] + weights[regions.via[x]])
                regions.via[x] = -1
                x = regions.tail[x]
    return np.array(src), np.array(dst), np.array(weight)


@compiled
def spanning_edges(indptr, indices, weights, vertices, kind):
    """A minimum spanning tree of the subgraph that these vertices induce: src, dst and weight.

    kind: an array of one element, of the type of the weights that are returned.
    """
    place = np.full(indptr.size - 1, -1)
    place[vertices] = np.arange(vertices.size)
    src, dst = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    weight = [kind[0] for _ in range(0)]
    for u in vertices:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(indices[arc])
            if v < u and place[v] >= 0:
                src.append(u)
                dst.append(v)
                weight.append(kind[0] + weights[arc])
    parent, kept = np.arange(vertices.size), [np.int64(0) for _ in range(0)]
    for edge in np.argsort(np.array(weight), kind="mergesort"):
        one, other = root(parent, place[src[edge]]), root(parent, place[dst[edge]])
        if one != other:
            parent[one] = other
            kept.append(edge)
    edges = np.array(kept)
    return np.array(src)[edges], np.array(dst)[edges], np.array(weight)[edges]


def spanning_tree(csr: tuple[Any, Any, Any], vertices: Any, terminals: Any) -> Tree:
    """The minimum spanning tree of the subgraph of some vertices, without needless branches."""
    kind = np.zeros(1, length_kind(csr[2]))
    src, dst, weight = spanning_edges(*csr, vertices, kind)
    return tree_cpu.from_edges(src, dst, weight, terminals)


def run(csr: tuple[Any, Any, Any], terminals: Any) -> Tree:
    """Mehlhorn's tree.

    csr: indptr, indices and weights, all above 0. terminals: two or more, int64, ascending, of one
    component.
    """
    n, k, kind = csr[0].size - 1, terminals.size, length_kind(csr[2])
    regions = new_regions(n, kind)
    regions.distance[terminals], regions.via[terminals] = 0, -1
    regions.group[terminals] = np.arange(k)
    vertex_heap, arc_heap = new_heaps(n, csr[1].size)
    heaps = seeded(vertex_heap, terminals), arc_heap
    none = Crossings(*(np.empty(0, np.int64) for _ in range(4)))
    limit = regions.distance[n]
    forest, stop = np.arange(k), cancellation.cancel_flag()
    joined, *_ = join(*csr, regions, heaps, k, forest, k - 1, none, limit, stop)
    cancellation.raise_if_cancelled()
    src, dst, _ = paths(*csr, regions, joined)
    return spanning_tree(csr, np.unique(np.concatenate([src, dst])), terminals)
