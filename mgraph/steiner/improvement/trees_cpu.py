"""Trees as arrays of edge ids: from any connected edges, pruned, rooted, and grown from a vertex."""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.network_cpu import INFINITY


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
def span(network, weight, kept, spare, work):
    """Return a minimum spanning tree of the kept edges, pruned, as ascending edge ids.

    spare: edges, which are taken only where the kept ones do not connect. Both may hold an edge
    repeatedly. Without branches that lead to no terminal; empty for a single terminal.
    """
    src, dst = network.src, network.dst
    parent, degree, link = work.parent, work.degree, work.link
    chosen = np.empty(kept.size + spare.size, np.int64)
    count = 0
    for group in (kept, spare):
        for i in np.argsort(weight[group], kind="mergesort"):
            e = group[i]
            first, second = root(parent, np.int64(src[e])), root(parent, np.int64(dst[e]))
            if first != second:
                parent[first] = second
                chosen[count] = e
                count += 1
    for group in (kept, spare):
        for e in group:
            parent[src[e]], parent[dst[e]] = src[e], dst[e]
    # A leaf's only edge is the exclusive or of its edges' ids.
    for e in chosen[:count]:
        for x in (src[e], dst[e]):
            degree[x] += 1
            link[x] ^= e
    removed = 0
    for i in range(count):
        for end in (src[chosen[i]], dst[chosen[i]]):
            x = np.int64(end)
            while degree[x] == 1 and not network.is_terminal[x]:
                e = link[x]
                y = np.int64(src[e]) + np.int64(dst[e]) - x
                degree[x], link[x] = 0, 0
                degree[y] -= 1
                link[y] ^= e
                removed += 1
                x = y
    tree = np.empty(count - removed, np.int64)
    size = 0
    for e in chosen[:count]:
        # Of an edge that was removed one end has no edges left.
        if degree[src[e]] > 0 and degree[dst[e]] > 0:
            tree[size] = e
            size += 1
    for e in chosen[:count]:
        for x in (src[e], dst[e]):
            degree[x], link[x] = 0, 0
    tree.sort()
    return tree


@compiled_when_hot
def hang(network, tree, work):
    """Return the tree rooted; sets ``work.position`` of its vertices, which the caller resets."""
    src, dst, position = network.src, network.dst, work.position
    size = tree.size + 1
    ids = np.empty(size, np.int64)
    ids[0] = network.terminals[0]
    position[ids[0]] = 0
    count = 1
    start = np.zeros(size + 1, np.int64)
    for e in tree:
        for x in (src[e], dst[e]):
            if position[x] < 0:
                position[x] = count
                ids[count] = x
                count += 1
            start[position[x]] += 1
    degree_of_index = start[:size].copy()
    start = np.cumsum(start)
    rows = np.empty(2 * tree.size, np.int64)
    for e in tree:
        for x in (src[e], dst[e]):
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
                other = np.int64(src[e]) + np.int64(dst[e]) - ids[i]
                stack[depth], upper[depth], up_edge[depth] = position[other], here, e
                depth += 1
    for i in range(size):
        position[vertex[i]] = i
    for i in range(size - 1, 0, -1):
        end[parent[i]] = max(end[parent[i]], end[i])
    return RootedTree(vertex, parent, edge, end, degree)


@compiled_when_hot
def release(rooted, work):
    """Reset the positions that ``hang`` has set."""
    work.position[rooted.vertex] = -1


@compiled_when_hot
def grow(network, arc_weight, start, work, flag):
    """Return the edges of a tree that takes in the nearest terminal until it holds all of them.

    Source: H. Takahashi, A. Matsuyama (1980); see ``takahashi_matsuyama_cpu``. Returns early, with
    edges that are not a tree, once the first element of ``flag`` is not 0.
    """
    indptr, head, edge, shift = network.indptr, network.head, network.edge, network.shift
    distance, tail, via, heap = work.distance, work.base, work.via, work.heap
    in_tree = work.stamp
    mask = (np.int64(1) << shift) - 1
    missing = network.terminals.size
    tree = np.empty(network.indptr.size - 1, np.int64)
    touched = np.empty(network.indptr.size - 1, np.int64)
    count, touched_count, size = 0, 1, 0
    touched[0] = start
    distance[start], via[start] = 0, -1
    push_word(heap, size, np.int64(start))
    size += 1
    while missing and size and not flag[0]:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != distance[u]:
            continue
        if network.is_terminal[u] and not in_tree[u]:
            missing -= 1
            x = u
            while not in_tree[x]:
                in_tree[x] = True
                if via[x] >= 0:
                    tree[count] = via[x]
                    count += 1
                distance[x] = 0
                if x != u:
                    # The capacity: arcs, and one entry per vertex for when it joins the tree.
                    push_word(heap, size, x)
                    size += 1
                if via[x] < 0:
                    break
                x = tail[x]
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(head[arc])
            candidate = distance[u] + arc_weight[arc]
            if candidate < distance[v]:
                if distance[v] == INFINITY:
                    touched[touched_count] = v
                    touched_count += 1
                distance[v], tail[v], via[v] = candidate, u, edge[arc]
                if size + 4 >= heap.size:
                    size = _compact(heap, size, distance, shift, mask)
                push_word(heap, size, (candidate << shift) | v)
                size += 1
    for i in range(size):
        heap[i] = heap[heap.size - 1]
    for x in touched[:touched_count]:
        distance[x], in_tree[x] = INFINITY, False
    return tree[:count]


@compiled_when_hot
def _compact(heap, size, distance, shift, mask):
    """Remove the entries of a full heap that are out of date; return its new size."""
    entries = np.sort(heap[:size])
    count = 0
    for i in range(size):
        word = entries[i]
        if word >> shift == distance[word & mask] and (i == 0 or word != entries[i - 1]):
            heap[count] = word
            count += 1
    heap[count:size] = heap[heap.size - 1]
    return count


@compiled_when_hot
def induced_edges(network, tree, work):
    """Return the edges between vertices of a tree, those of the tree among them."""
    src, dst, inside = network.src, network.dst, work.stamp
    for e in tree:
        inside[src[e]] = inside[dst[e]] = True
    edges = [np.int64(0) for _ in range(0)]
    for e in tree:
        for x in (np.int64(src[e]), np.int64(dst[e])):
            if work.degree[x] == 0:
                work.degree[x] = 1
                for arc in range(network.indptr[x], network.indptr[x + 1]):
                    y = np.int64(network.head[arc])
                    if y > x and inside[y]:
                        edges.append(np.int64(network.edge[arc]))
    for e in tree:
        for x in (src[e], dst[e]):
            inside[x] = False
            work.degree[x] = 0
    return np.array(edges, np.int64)
