"""Trees as arrays of edge ids: made of any connected edges, rooted, and grown from a vertex."""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.network_cpu import (
    BASE,
    DEGREE,
    DISTANCE,
    EDGE,
    HEAD,
    INFINITY,
    LINK,
    VIA,
    order_by,
)


class RootedTree(NamedTuple):
    """A tree in preorder, whose root is the smallest terminal; int64 arrays by position.

    vertex: ids. parent: positions, -1 at the root. edge: id of the edge to the parent. end: one
    past the last position of the subtree. degree: the number of edges.
    """

    vertex: Any
    parent: Any
    edge: Any
    end: Any
    degree: Any


@compiled_when_hot
def span(network, weight, edges, work):
    """Return a minimum spanning tree of some edges, pruned, as ascending edge ids.

    edges: connected, some perhaps repeatedly. What is pruned are branches that lead to no terminal.
    """
    ends, parent, links = network.ends, work.parent, work.links
    chosen = np.empty(edges.size, np.int64)
    count = 0
    for i in order_by(weight[edges], network.shift):
        e = edges[i]
        first, second = root(parent, np.int64(ends[e, 0])), root(parent, np.int64(ends[e, 1]))
        if first != second:
            parent[first] = second
            chosen[count] = e
            count += 1
    for e in edges:
        parent[ends[e, 0]], parent[ends[e, 1]] = ends[e, 0], ends[e, 1]
    # A leaf's only edge is the exclusive or of its edges' ids.
    for e in chosen[:count]:
        for side in range(2):
            links[ends[e, side], DEGREE] += 1
            links[ends[e, side], LINK] ^= e
    removed = 0
    for i in range(count):
        for side in range(2):
            x = np.int64(ends[chosen[i], side])
            while links[x, DEGREE] == 1 and not network.is_terminal[x]:
                e = links[x, LINK]
                y = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - x
                links[x, DEGREE], links[x, LINK] = 0, 0
                links[y, DEGREE] -= 1
                links[y, LINK] ^= e
                removed += 1
                x = y
    tree = np.empty(count - removed, np.int64)
    size = 0
    for e in chosen[:count]:
        # Of an edge that was removed one end has no edges left.
        if links[ends[e, 0], DEGREE] > 0 and links[ends[e, 1], DEGREE] > 0:
            tree[size] = e
            size += 1
    for e in chosen[:count]:
        for side in range(2):
            links[ends[e, side], DEGREE], links[ends[e, side], LINK] = 0, 0
    tree.sort()
    return tree


@compiled_when_hot
def hang(network, tree, position):
    """Return the tree rooted; sets the position of its vertices, which the caller resets."""
    ends, size = network.ends, tree.size + 1
    ids = np.empty(size, np.int64)
    ids[0] = network.terminals[0]
    position[ids[0]] = 0
    count = 1
    start = np.zeros(size + 1, np.int64)
    for e in tree:
        for side in range(2):
            x = ends[e, side]
            if position[x] < 0:
                position[x] = count
                ids[count] = x
                count += 1
            start[position[x]] += 1
    degree_of_index = start[:size].copy()
    start = np.cumsum(start)
    rows = np.empty(2 * tree.size, np.int64)
    for e in tree:
        for side in range(2):
            x = ends[e, side]
            start[position[x]] -= 1
            rows[start[position[x]]] = e
    vertex, parent = np.empty(size, np.int64), np.empty(size, np.int64)
    edge, end = np.empty(size, np.int64), np.arange(1, size + 1)
    degree = np.empty(size, np.int64)
    stack, upper, up_edge = np.empty(size, np.int64), np.empty(size, np.int64), edge.copy()
    stack[0], upper[0], up_edge[0], depth, at = 0, -1, -1, 1, 0
    while depth:
        depth -= 1
        i, parent[at], edge[at] = stack[depth], upper[depth], up_edge[depth]
        vertex[at], degree[at] = ids[i], degree_of_index[i]
        here = at
        at += 1
        for j in range(start[i], start[i] + degree_of_index[i]):
            e = rows[j]
            if e != edge[here]:
                other = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - ids[i]
                stack[depth], upper[depth], up_edge[depth] = position[other], here, e
                depth += 1
    for i in range(size):
        position[vertex[i]] = i
    for i in range(size - 1, 0, -1):
        end[parent[i]] = max(end[parent[i]], end[i])
    return RootedTree(vertex, parent, edge, end, degree)


@compiled_when_hot
def grow(network, arc_weight, start, work, flag):
    """Return the edges of a tree that takes in the nearest terminal until it holds all of them.

    Source: H. Takahashi, A. Matsuyama (1980); see ``takahashi_matsuyama_cpu``. Returns early, with
    edges that are not a tree, once the first element of ``flag`` is not 0.
    """
    indptr, arcs, shift = network.indptr, network.arcs, network.shift
    labels, heap, in_tree = work.labels, work.heap, work.stamp
    is_terminal = network.is_terminal
    mask = (np.int64(1) << shift) - 1
    limit = INFINITY >> shift
    missing = network.terminals.size
    tree = np.empty(indptr.size - 1, np.int64)
    touched = np.empty(indptr.size - 1, np.int64)
    count, touched_count, size = 0, 1, 0
    touched[0] = start
    labels[start, DISTANCE], labels[start, VIA] = 0, -1
    push_word(heap, size, np.int64(start))
    size += 1
    while missing and size and not flag[0]:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != labels[u, DISTANCE]:
            continue
        if is_terminal[u] and not in_tree[u]:
            missing -= 1
            x = u
            while not in_tree[x]:
                in_tree[x] = True
                labels[x, DISTANCE] = 0
                if x != u:
                    push_word(heap, size, x)
                    size += 1
                if labels[x, VIA] < 0:
                    break
                tree[count] = labels[x, VIA]
                count += 1
                x = labels[x, BASE]
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            candidate = labels[u, DISTANCE] + arc_weight[arc]
            if candidate < labels[v, DISTANCE] and candidate < limit:
                if labels[v, DISTANCE] == INFINITY:
                    touched[touched_count] = v
                    touched_count += 1
                labels[v, DISTANCE], labels[v, BASE] = candidate, u
                labels[v, VIA] = arcs[arc, EDGE]
                if size + 4 >= heap.size:
                    size = _compact(heap, size, labels, shift)
                push_word(heap, size, (candidate << shift) | v)
                size += 1
    for i in range(size):
        heap[i] = heap[heap.size - 1]
    for x in touched[:touched_count]:
        labels[x, DISTANCE], in_tree[x] = INFINITY, False
    return tree[:count]


@compiled_when_hot
def _compact(heap, size, labels, shift):
    """Remove the entries of a full heap that are out of date; return its new size."""
    entries = np.sort(heap[:size])
    mask = (np.int64(1) << shift) - 1
    count = 0
    for i in range(size):
        word = entries[i]
        if word >> shift == labels[word & mask, DISTANCE] and (i == 0 or word != entries[i - 1]):
            heap[count] = word
            count += 1
    heap[count:size] = heap[heap.size - 1]
    return count


@compiled_when_hot
def induced_edges(network, tree, stamp):
    """Return the edges between vertices of a tree, those of the tree among them."""
    indptr, arcs, ends = network.indptr, network.arcs, network.ends
    vertices, count = np.empty(2 * tree.size, np.int64), 0
    for e in tree:
        for side in range(2):
            x = ends[e, side]
            if not stamp[x]:
                stamp[x] = True
                vertices[count] = x
                count += 1
    vertices = vertices[:count]
    edges = [np.int64(0) for _ in range(0)]
    for x in vertices:
        for arc in range(indptr[x], indptr[x + 1]):
            y = arcs[arc, HEAD]
            if y > x and stamp[y]:
                edges.append(np.int64(arcs[arc, EDGE]))
    for x in vertices:
        stamp[x] = False
    return np.array(edges, np.int64)
