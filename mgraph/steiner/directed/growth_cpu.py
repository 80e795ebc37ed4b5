"""Arborescences that grow from the root to the nearest terminal each time, in Numba.

The shortest path heuristic (H. Takahashi, A. Matsuyama, 1980) for directed graphs: Dijkstra's
algorithm from the tree, which goes on after a path was added with its vertices at distance 0. There
is no such bound on the cost as for undirected graphs. Weights may be 0.

An arborescence is an array: the arc into each of its vertices, ROOT for the root, NONE elsewhere.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push

NONE, ROOT = -1, -2
UNREACHED = np.iinfo(np.int64).max


@compiled_when_hot
def grow_tree(indptr, heads, tails, weights, root, terminals, heap, flag):
    """Return the arborescence, and how many terminals it lacks: those that cannot be reached.

    weights: int64, 0 or more. heap: empty. Returns early once ``flag[0]`` is not 0.
    """
    n = indptr.size - 1
    above, via = np.full(n, NONE), np.full(n, NONE)
    distance, is_missing = np.full(n, UNREACHED), np.zeros(n, np.bool_)
    is_missing[terminals] = True
    missing = terminals.size
    above[root], distance[root] = ROOT, 0
    push(heap, 0, np.int64(0), root)
    size = 1
    while missing and size and not flag[0]:
        key, vertex = pop(heap, size)
        size -= 1
        u = np.int64(vertex)
        if key != distance[u]:
            continue
        if is_missing[u]:
            is_missing[u] = False
            missing -= 1
            x = u
            while above[x] == NONE:
                above[x], distance[x] = via[x], 0
                while size + 1 > capacity(heap):
                    heap = grow(heap)
                push(heap, size, np.int64(0), x)
                size += 1
                x = tails[via[x]]
            continue
        while size + indptr[u + 1] - indptr[u] > capacity(heap):
            heap = grow(heap)
        for arc in range(indptr[u], indptr[u + 1]):
            v = heads[arc]
            new = distance[u] + weights[arc]
            if new < distance[v]:
                distance[v], via[v] = new, arc
                push(heap, size, new, v)
                size += 1
    return above, missing


@compiled_when_hot
def prune(above, tails, terminals):
    """Remove branches that lead to no terminal."""
    is_needed = np.zeros(above.size, np.bool_)
    for t in terminals:
        x = t
        while not is_needed[x]:
            is_needed[x] = True
            if above[x] < 0:
                break
            x = tails[above[x]]
    for v in range(above.size):
        if above[v] >= 0 and not is_needed[v]:
            above[v] = NONE


@compiled_when_hot
def cost_of(above, weights):
    """Return the sum of the weights of an arborescence's arcs."""
    total = np.int64(0)
    for arc in above:
        if arc >= 0:
            total += weights[arc]
    return total


@compiled_when_hot
def find_distances(indptr, heads, weights, root, heap, flag):
    """Return the length of a shortest path from the root to each vertex, or UNREACHED / 4."""
    distance = np.full(indptr.size - 1, UNREACHED >> 2)
    distance[root] = 0
    push(heap, 0, np.int64(0), root)
    size = 1
    while size and not flag[0]:
        key, vertex = pop(heap, size)
        size -= 1
        u = np.int64(vertex)
        if key != distance[u]:
            continue
        while size + indptr[u + 1] - indptr[u] > capacity(heap):
            heap = grow(heap)
        for arc in range(indptr[u], indptr[u + 1]):
            v = heads[arc]
            if distance[u] + weights[arc] < distance[v]:
                distance[v] = distance[u] + weights[arc]
                push(heap, size, distance[v], v)
                size += 1
    return distance
