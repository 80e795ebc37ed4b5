"""The best of two trees, block by block.

What both trees have is contracted. What one of them has makes up the rest, whose blocks (maximal
biconnected parts) meet in single vertices. So within a block either tree may be taken, whatever is
taken elsewhere: where a large tree has become better in one place and worse in another, the gain
remains and the loss does not.

Source: J. Hopcroft, R. Tarjan, "Efficient algorithms for graph manipulation" (1973), for blocks.
Cost: O(size of the trees).
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.trees_cpu import span

_NEITHER = -1


@compiled_when_hot
def _compare(first, second):
    """Return the edges of both trees, of the first alone and of the second alone."""
    common = np.empty(min(first.size, second.size), np.int64)
    own, other = np.empty(first.size, np.int64), np.empty(second.size, np.int64)
    i, j, a, b, c = 0, 0, 0, 0, 0
    while i < first.size or j < second.size:
        if j == second.size or (i < first.size and first[i] < second[j]):
            own[a] = first[i]
            a, i = a + 1, i + 1
        elif i == first.size or second[j] < first[i]:
            other[b] = second[j]
            b, j = b + 1, j + 1
        else:
            common[c] = first[i]
            c, i, j = c + 1, i + 1, j + 1
    return common[:c], own[:a], other[:b]


@compiled_when_hot
def _contract(common, edges, ends, parent):
    """Return the ends of some edges, as representatives of what the common ones connect."""
    for e in common:
        parent[root(parent, np.int64(ends[e, 0]))] = root(parent, np.int64(ends[e, 1]))
    contracted = np.empty((edges.size, 2), np.int64)
    for i in range(edges.size):
        for side in range(2):
            contracted[i, side] = root(parent, np.int64(ends[edges[i], side]))
    for group in (common, edges):
        for e in group:
            parent[ends[e, 0]], parent[ends[e, 1]] = ends[e, 0], ends[e, 1]
    return contracted


@compiled_when_hot
def _find_blocks(ends, n):
    """Return the number of each edge's block, and the number of blocks. n: of vertices."""
    m = ends.shape[0]
    start = np.zeros(n + 1, np.int64)
    for i in range(m):
        start[ends[i, 0]] += 1
        start[ends[i, 1]] += 1
    start = np.cumsum(start)
    rows = np.empty(2 * m, np.int64)
    for i in range(m):
        for side in range(2):
            start[ends[i, side]] -= 1
            rows[start[ends[i, side]]] = i
    cursor = start[:-1].copy()
    depth, low = np.full(n, -1), np.empty(n, np.int64)
    block, is_open = np.full(m, _NEITHER), np.zeros(m, np.bool_)
    path, entered = np.empty(n, np.int64), np.empty(n, np.int64)
    waiting, size, count = np.empty(m, np.int64), 0, 0
    for first in range(n):
        if depth[first] >= 0:
            continue
        path[0], depth[first], low[first], length = first, 0, 0, 1
        while length:
            v = path[length - 1]
            if cursor[v] < start[v + 1]:
                edge = rows[cursor[v]]
                cursor[v] += 1
                if is_open[edge]:
                    continue
                is_open[edge] = True
                waiting[size] = edge
                size += 1
                x = ends[edge, 0] + ends[edge, 1] - v
                if depth[x] >= 0:
                    low[v] = min(low[v], depth[x])
                    continue
                depth[x] = low[x] = length
                path[length], entered[length] = x, edge
                length += 1
                continue
            length -= 1
            if length == 0:
                break
            upper = path[length - 1]
            low[upper] = min(low[upper], low[v])
            if low[v] >= depth[upper]:  # the edges since v was entered are a block
                while True:
                    size -= 1
                    block[waiting[size]] = count
                    if waiting[size] == entered[length]:
                        break
                count += 1
    return block, count


@compiled_when_hot
def choose(ends, weight, is_second, number):
    """Return which edges to take of those that one of two trees has alone.

    ends: ``(m, 2)``, where what both trees have is contracted. number: a vertex's is -1. Per block
    either those with ``is_second`` are taken, unless they cost more, or the others.
    """
    numbered = np.empty_like(ends)
    count = 0
    for i in range(ends.shape[0]):
        for side in range(2):
            x = ends[i, side]
            if number[x] < 0:
                number[x] = count
                count += 1
            numbered[i, side] = number[x]
    for i in range(ends.shape[0]):
        number[ends[i, 0]] = number[ends[i, 1]] = -1
    block, blocks = _find_blocks(numbered, count)
    gain = np.zeros(blocks, np.int64)
    for i in range(weight.size):
        gain[block[i]] += -weight[i] if is_second[i] else weight[i]
    is_chosen = np.empty(weight.size, np.bool_)
    for i in range(weight.size):
        is_chosen[i] = (gain[block[i]] >= 0) == is_second[i]
    return is_chosen


@compiled_when_hot
def combine(network, weight, first, second, work):
    """Return a tree that has in each block what costs less, of two alike what ``second`` has.

    first, second: trees, ascending edge ids.
    """
    common, own, other = _compare(first, second)
    if own.size == 0 and other.size == 0:
        return second
    edges = np.concatenate((own, other))
    ends = _contract(common, edges, network.ends, work.parent)
    is_second = np.arange(edges.size) >= own.size
    chosen = edges[choose(ends, weight[edges], is_second, work.position)]
    return span(network, weight, np.concatenate((common, chosen)), work)
