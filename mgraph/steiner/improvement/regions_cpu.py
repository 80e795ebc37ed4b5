"""The Voronoi regions of a tree's vertices, and the paths across their boundaries.

A region holds the vertices that are nearest to one vertex of the tree, its base. An edge between
two regions stands for the shortest path between their bases that uses it.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.steiner.improvement.network_cpu import BASE, DISTANCE, EDGE, HEAD, INFINITY, VIA


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
def grow_regions(network, arc_weight, rooted, limit, labels, heap, flag):
    """Label the vertices within ``limit`` of the tree; return them.

    Sets distance, base (a position) and via (the edge towards the base, -1 for the base itself);
    the caller resets the distances. Returns early once ``flag[0]`` is not 0.
    """
    indptr, arcs, shift = network.indptr, network.arcs, network.shift
    mask = (np.int64(1) << shift) - 1
    labelled = np.empty(indptr.size - 1, np.int64)
    count, size, seed = rooted.vertex.size, 0, 0
    for i in range(count):
        x = rooted.vertex[i]
        labelled[i] = x
        labels[x, DISTANCE], labels[x, BASE], labels[x, VIA] = 0, i, -1
    while (seed < rooted.vertex.size or size) and not flag[0]:
        if seed < rooted.vertex.size:
            u = labelled[seed]
            seed += 1
        else:
            word = pop_word(heap, size)
            size -= 1
            u = word & mask
            if word >> shift != labels[u, DISTANCE]:
                continue
            labelled[count] = u
            count += 1
        distance, base = labels[u, DISTANCE], labels[u, BASE]
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            candidate = distance + arc_weight[arc]
            if candidate < labels[v, DISTANCE] and candidate <= limit:
                labels[v, DISTANCE], labels[v, BASE] = candidate, base
                labels[v, VIA] = arcs[arc, EDGE]
                push_word(heap, size, (candidate << shift) | v)
                size += 1
    for i in range(size):  # labelled, but not settled
        labels[heap[i] & mask, DISTANCE] = INFINITY
        heap[i] = heap[heap.size - 1]
    return labelled[:count]


@compiled_when_hot
def find_boundary(network, arc_weight, labelled, in_tree, limit, labels):
    """Return the edges between regions across which a path is shorter than ``limit``.

    in_tree: whether an edge is one of the tree, which is left out.
    """
    indptr, arcs, ends, shift = network.indptr, network.arcs, network.ends, network.shift
    words = [np.int64(0) for _ in range(0)]
    for u in labelled:
        distance, base = labels[u, DISTANCE], labels[u, BASE]
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            if u < v and labels[v, DISTANCE] < INFINITY and base != labels[v, BASE]:
                length = distance + arc_weight[arc] + labels[v, DISTANCE]
                if length < limit and not in_tree[arcs[arc, EDGE]]:
                    words.append((length << shift) | np.int64(arc))
    order = np.array(words, np.int64)
    order.sort()
    arc_ids = order & ((np.int64(1) << shift) - 1)
    first, second = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    for i in range(order.size):
        v, e = np.int64(arcs[arc_ids[i], HEAD]), arcs[arc_ids[i], EDGE]
        u = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - v
        first[i], second[i] = labels[u, BASE], labels[v, BASE]
    return Boundary(arc_ids, order >> shift, first, second)


@compiled_when_hot
def trace(arc, arcs, ends, labels, fresh, path):
    """Append the edges of the path across an arc: towards both bases, by fresh labels if any."""
    edge, v = np.int64(arcs[arc, EDGE]), np.int64(arcs[arc, HEAD])
    u = np.int64(ends[edge, 0]) + np.int64(ends[edge, 1]) - v
    path.append(edge)
    for end in (u, v):
        x = end
        while True:
            e = fresh[x, VIA] if fresh[x, DISTANCE] < INFINITY else labels[x, VIA]
            if e < 0:
                break
            path.append(e)
            x = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - x


@compiled_when_hot
def group_by_base(size, labelled, labels):
    """Return the labelled vertices by base, and the index of the first of each of ``size``."""
    start = np.zeros(size + 1, np.int64)
    for x in labelled:
        start[labels[x, BASE] + 1] += 1
    start = np.cumsum(start)
    cursor, members = start[:-1].copy(), np.empty(labelled.size, np.int64)
    for x in labelled:
        members[cursor[labels[x, BASE]]] = x
        cursor[labels[x, BASE]] += 1
    return members, start


@compiled_when_hot
def label_again(
    removed, indptr, arcs, arc_weight, shift, members, start, limit, labels, fresh, stamp, heap
):
    """Label the regions of removed bases from the regions around, within ``limit``.

    Sets the fresh labels, and the stamp of all vertices of these regions, which are returned.
    """
    mask = (np.int64(1) << shift) - 1
    total = 0
    for at in removed:
        total += start[at + 1] - start[at]
    region = np.empty(total, np.int64)
    count = 0
    for at in removed:
        for i in range(start[at], start[at + 1]):
            region[count] = members[i]
            stamp[members[i]] = True
            count += 1
    size = 0
    for x in region:
        best = np.int64(INFINITY)
        for arc in range(indptr[x], indptr[x + 1]):
            y = arcs[arc, HEAD]
            if not stamp[y] and labels[y, DISTANCE] < INFINITY:
                candidate = labels[y, DISTANCE] + arc_weight[arc]
                if candidate < best and candidate <= limit:
                    best = candidate
                    fresh[x, BASE], fresh[x, VIA] = labels[y, BASE], arcs[arc, EDGE]
        if best < INFINITY:
            fresh[x, DISTANCE] = best
            push_word(heap, size, (best << shift) | x)
            size += 1
    while size:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        distance = fresh[u, DISTANCE]
        if word >> shift != distance:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            if stamp[v]:
                candidate = distance + arc_weight[arc]
                if candidate < fresh[v, DISTANCE] and candidate <= limit:
                    fresh[v, DISTANCE], fresh[v, BASE] = candidate, fresh[u, BASE]
                    fresh[v, VIA] = arcs[arc, EDGE]
                    push_word(heap, size, (candidate << shift) | v)
                    size += 1
    return region


@compiled_when_hot
def clear_labels(region, fresh, stamp):
    """Reset what ``label_again`` has set."""
    for x in region:
        stamp[x], fresh[x, DISTANCE] = False, INFINITY
