"""The Voronoi regions of a tree's vertices, and the paths across their boundaries.

A region holds the vertices that are nearest to one vertex of the tree, its base. An edge between
two regions stands for the shortest path between their bases that uses it.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.steiner.improvement.network_cpu import INFINITY


class Boundary(NamedTuple):
    """Edges between regions, in ascending order of the paths across: int64.

    arc: from the region of ``first`` to that of ``second``, bases as positions. length: of the path
    between the bases.
    """

    arc: Any
    length: Any
    first: Any
    second: Any


@compiled_when_hot
def _relax(network, arc_weight, u, limit, distance, base, via, heap, size):
    indptr, head, edge, shift = network.indptr, network.head, network.edge, network.shift
    for arc in range(indptr[u], indptr[u + 1]):
        v = np.int64(head[arc])
        candidate = distance[u] + arc_weight[arc]
        if candidate < distance[v] and candidate <= limit:
            distance[v], base[v], via[v] = candidate, base[u], edge[arc]
            push_word(heap, size, (candidate << shift) | v)
            size += 1
    return size


@compiled_when_hot
def grow_regions(network, arc_weight, rooted, limit, work, flag):
    """Label the vertices within ``limit`` of the tree; return them.

    Sets distance, base (a position) and via (the edge towards the base, -1 for the base itself) of
    the workspace; the caller resets the distances. Returns early once ``flag[0]`` is not 0.
    """
    distance, base, via, heap = work.distance, work.base, work.via, work.heap
    shift = network.shift
    mask = (np.int64(1) << shift) - 1
    labelled = np.empty(network.indptr.size - 1, np.int64)
    count, size = rooted.vertex.size, 0
    for i in range(count):
        x = rooted.vertex[i]
        labelled[i] = x
        distance[x], base[x], via[x] = 0, i, -1
    for x in rooted.vertex:
        size = _relax(network, arc_weight, x, limit, distance, base, via, heap, size)
    while size and not flag[0]:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != distance[u]:
            continue
        labelled[count] = u
        count += 1
        size = _relax(network, arc_weight, u, limit, distance, base, via, heap, size)
    for i in range(size):
        heap[i] = heap[heap.size - 1]
    return labelled[:count]


@compiled_when_hot
def find_boundary(network, arc_weight, labelled, in_tree, limit, work):
    """Return the edges between regions across which a path is shorter than ``limit``.

    in_tree: whether an edge is one of the tree, which is left out.
    """
    indptr, head, edge, shift = network.indptr, network.head, network.edge, network.shift
    distance, base = work.distance, work.base
    words = [np.int64(0) for _ in range(0)]
    for u in labelled:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(head[arc])
            if u < v and distance[v] < INFINITY and base[u] != base[v] and not in_tree[edge[arc]]:
                length = distance[u] + arc_weight[arc] + distance[v]
                if length < limit:
                    words.append((length << shift) | np.int64(arc))
    order = np.array(words, np.int64)
    order.sort()
    arcs = order & ((np.int64(1) << shift) - 1)
    first, second = np.empty(arcs.size, np.int64), np.empty(arcs.size, np.int64)
    for i in range(arcs.size):
        arc = arcs[i]
        v = np.int64(head[arc])
        u = np.int64(network.src[edge[arc]]) + np.int64(network.dst[edge[arc]]) - v
        first[i], second[i] = base[u], base[v]
    return Boundary(arcs, order >> shift, first, second)


@compiled_when_hot
def trace(network, arc, distance_of_ends, via, fresh_distance, fresh_via, path):
    """Append the edges of the path across an arc: towards both bases, by fresh labels if any."""
    edge, v = np.int64(network.edge[arc]), np.int64(network.head[arc])
    u = np.int64(network.src[edge]) + np.int64(network.dst[edge]) - v
    path.append(edge)
    for end in (u, v):
        x = end
        while True:
            e = fresh_via[x] if fresh_distance[x] < INFINITY else via[x]
            if e < 0:
                break
            path.append(e)
            x = np.int64(network.src[e]) + np.int64(network.dst[e]) - x
