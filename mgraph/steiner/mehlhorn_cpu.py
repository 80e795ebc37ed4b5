"""Mehlhorn's heuristic: a minimum spanning tree of the terminals' distances, out of one search.

Source: K. Mehlhorn, "A faster approximation algorithm for the Steiner problem in graphs" (1988).
A region holds the vertices that are nearest to one terminal. The shortest paths across the regions'
boundaries hold a minimum spanning tree of the terminals' distances. They are taken while the
regions grow: no path shorter than twice the radius can appear any more, so that the search ends
with the last path that is needed, and boundaries within what is already joined are dropped. At last
the paths' vertices get a minimum spanning tree of their own, which loses the leaves that are no
terminals. The tree costs at most 2 - 2 / k times the optimum.

Cost: O((n + m) log n) for the n vertices and m arcs within the largest radius. Memory: 33 bytes per
vertex, 12 to 16 per queued entry.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.core.union_find_cpu import root
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner import tree_cpu
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


class Regions(NamedTuple):
    """The nearest terminal of each vertex, its distance, and the last arc of a path from there.

    distance: n + 1 elements, the last of which is infinity. keys: the bits of distance. nearest:
    the index of the nearest terminal. via, tail: an arc of the weight of the last step, and the
    vertex that step comes from; via is -1 for a terminal. final: whether all of these are final.
    """

    distance: Any
    keys: Any
    nearest: Any
    via: Any
    tail: Any
    final: Any


def new_regions(n: int, dtype: np.dtype) -> Regions:
    """Return labels of n unreached vertices. dtype: int64 or float64, of lengths."""
    distance = np.full(n + 1, infinity_of(dtype), dtype)
    nearest, via, tail = (np.empty(n, np.int64) for _ in range(3))
    return Regions(distance, distance.view(np.int64), nearest, via, tail, np.zeros(n, np.bool_))


def new_heaps(n: int, num_arcs: int) -> tuple[Any, Any]:
    """Return an empty heap of vertices, and one of arcs."""
    return heap_cpu.new(n, small=False), heap_cpu.new(num_arcs + 1, small=False)


@compiled_when_hot
def seed_heap(heap, vertices):
    """Push these vertices at distance 0 on an empty heap; return the heap."""
    while vertices.size > capacity(heap):
        heap = grow(heap)
    for size in range(vertices.size):
        push(heap, size, np.int64(0), vertices[size])
    return heap


@compiled_when_hot
def join_terminals(indptr, indices, weights, regions, heaps, size, parent, cancelled):
    """Grow regions until the arcs are known whose paths across join the terminals at minimum cost.

    heaps: one of vertices, from whose ``size`` entries the regions grow, and an empty one of arcs.
    parent: each nearest itself. Returns the arcs; early once the first element of ``cancelled`` is
    not 0.
    """
    distance, keys, nearest, via, tail, final = regions
    vertex_heap, arc_heap = heaps
    joined, joins = [np.int64(0) for _ in range(0)], parent.size - 1
    infinity, arc_size = distance[distance.size - 1], np.int64(0)
    length = np.zeros(1, distance.dtype)
    length_key = length.view(np.int64)
    while joins and not cancelled[0]:
        radius, u = infinity, np.uint64(0)
        while size and radius == infinity:
            key, u = pop(vertex_heap, size)
            size -= 1
            if key == keys[u] and not final[u]:
                radius = distance[u]
        # A path across that is not known yet is no shorter than twice the radius.
        while joins and arc_size:
            length_key[0], crossing = pop(arc_heap, arc_size)
            if length[0] - radius > radius:
                push(arc_heap, arc_size - 1, length_key[0], crossing)
                break
            arc_size -= 1
            first = root(parent, nearest[np.searchsorted(indptr, np.int64(crossing), "right") - 1])
            second = root(parent, nearest[indices[crossing]])
            if first != second:
                parent[first] = second
                joins -= 1
                joined.append(np.int64(crossing))
        if radius == infinity or joins == 0:
            break
        final[u] = True
        begin, stop = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(stop - begin) > capacity(vertex_heap):
            vertex_heap = grow(vertex_heap)
        while arc_size + np.int64(stop - begin) > capacity(arc_heap):
            arc_heap = grow(arc_heap)
        u_root = root(parent, nearest[u])
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = radius + weights[arc]
            if candidate < distance[v]:
                distance[v], nearest[v], via[v], tail[v] = candidate, nearest[u], arc, u
                push(vertex_heap, size, keys[v], v)
                size += 1
            elif final[v] and root(parent, nearest[v]) != u_root:
                length[0] = candidate + distance[v]
                push(arc_heap, arc_size, length_key[0], arc)
                arc_size += 1
    return np.array(joined, np.int64)


@compiled_when_hot
def collect_paths(indptr, indices, weights, regions, joined):
    """Return the edges of the paths across joined arcs: src, dst and weight. Overwrites ``via``."""
    src, dst = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    weight = [regions.distance[0] for _ in range(0)]
    zero = np.zeros(1, regions.distance.dtype)
    for arc in joined:
        a, b = np.searchsorted(indptr, arc, "right") - 1, np.int64(indices[arc])
        src.append(a)
        dst.append(b)
        weight.append(zero[0] + weights[arc])
        for x in (a, b):
            while regions.via[x] >= 0:
                src.append(regions.tail[x])
                dst.append(x)
                weight.append(zero[0] + weights[regions.via[x]])
                regions.via[x] = -1
                x = regions.tail[x]
    return np.array(src, np.int64), np.array(dst, np.int64), np.array(weight, zero.dtype)


@compiled_when_hot
def _spanning_edges(indptr, indices, weights, vertices, zero):
    """Return a minimum spanning tree of the subgraph that vertices induce: src, dst and weight.

    zero: an array of one 0 of the type of the weights that are returned.
    """
    index = np.full(indptr.size - 1, -1)
    index[vertices] = np.arange(vertices.size)
    src, dst = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    weight = [zero[0] for _ in range(0)]
    for u in vertices:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(indices[arc])
            if v < u and index[v] >= 0:
                src.append(u)
                dst.append(v)
                weight.append(zero[0] + weights[arc])
    parent, kept = np.arange(vertices.size), [np.int64(0) for _ in range(0)]
    weights_kept = np.array(weight, zero.dtype)
    for edge in np.argsort(weights_kept, kind="mergesort"):
        first, second = root(parent, index[src[edge]]), root(parent, index[dst[edge]])
        if first != second:
            parent[first] = second
            kept.append(edge)
    edges = np.array(kept, np.int64)
    return np.array(src, np.int64)[edges], np.array(dst, np.int64)[edges], weights_kept[edges]


def spanning_tree(csr: tuple[Any, Any, Any], vertices: Any, terminals: Any) -> Tree:
    """Return the minimum spanning tree of the subgraph of some vertices, pruned."""
    zero = np.zeros(1, sum_dtype(csr[2]))
    src, dst, weight = _spanning_edges(*csr, vertices, zero)
    return tree_cpu.from_edges(src, dst, weight, terminals)


def build_tree(csr: tuple[Any, Any, Any], terminals: Any) -> Tree:
    """Build Mehlhorn's tree.

    csr: indptr, indices and weights, all above 0. terminals: two or more, int64, ascending, of one
    component.
    """
    n, k = csr[0].size - 1, terminals.size
    regions = new_regions(n, sum_dtype(csr[2]))
    regions.distance[terminals], regions.via[terminals] = 0, -1
    regions.nearest[terminals] = np.arange(k)
    vertex_heap, arc_heap = new_heaps(n, csr[1].size)
    heaps = seed_heap(vertex_heap, terminals), arc_heap
    forest, cancelled = np.arange(k), cancellation.cancel_flag()
    joined = join_terminals(*csr, regions, heaps, k, forest, cancelled)
    cancellation.raise_if_cancelled()
    src, dst, _ = collect_paths(*csr, regions, joined)
    return spanning_tree(csr, np.unique(np.concatenate([src, dst])), terminals)
