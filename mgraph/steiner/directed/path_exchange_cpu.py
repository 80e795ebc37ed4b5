"""Local search on arborescences: a key path is replaced by a shorter path from elsewhere, in Numba.

Key vertices are the terminals and the vertices with two or more children. The path into one, from
the next key vertex above, is taken out; what hangs below is joined again by the shortest path from
what remains. It is found by Dijkstra's algorithm against the arcs, as far as the path was long.

Cost: one search per key vertex and round, each of what lies within the length of its path.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, clear, grow, pop, push
from mgraph.steiner.directed.growth_cpu import NONE, UNREACHED


@compiled_when_hot
def _hangs_below(v, top, above, tails):
    """Return whether a vertex of the tree is below another, or the same."""
    while v != top and above[v] >= 0:
        v = tails[above[v]]
    return v == top


@compiled_when_hot
def exchange_paths(
    in_indptr, in_arcs, heads, tails, weights, is_terminal, order, above, children, distance, via,
    heap, flag,
):  # fmt: skip
    """Do a round over the vertices in some order; return by how much the tree became cheaper.

    above, children: the tree, and the number of each vertex's children. distance: UNREACHED, before
    and after. via: anything.
    """
    gain = np.int64(0)
    touched = np.empty(distance.size, np.int64)
    for x in order:
        if above[x] < 0 or not (is_terminal[x] or children[x] > 1) or flag[0]:
            continue
        # The path into x: its vertices below the next key vertex are free while we search.
        length, v = weights[above[x]], tails[above[x]]
        while above[v] >= 0 and children[v] == 1 and not is_terminal[v]:
            length += weights[above[v]]
            v = tails[above[v]]
        upper = v
        distance[x], touched[0], count, size = 0, x, 1, 1
        push(heap, 0, np.int64(0), x)
        found = np.int64(NONE)
        while size:
            key, popped = pop(heap, size)
            size -= 1
            y = np.int64(popped)
            if key != distance[y]:
                continue
            if key >= length:
                break
            if y != x and above[y] != NONE:
                z = x
                while z not in (upper, y):
                    z = tails[above[z]]
                if z != y or y == upper:  # not on the path into x
                    if _hangs_below(y, x, above, tails):
                        continue
                    found = y
                    break
            while size + in_indptr[y + 1] - in_indptr[y] > capacity(heap):
                heap = grow(heap)
            for i in range(in_indptr[y], in_indptr[y + 1]):
                arc = in_arcs[i]
                u = tails[arc]
                new = key + weights[arc]
                if new < distance[u] and new < length:
                    if distance[u] == UNREACHED:
                        touched[count] = u
                        count += 1
                    distance[u], via[u] = new, arc
                    push(heap, size, new, u)
                    size += 1
        clear(heap, size)
        if found >= 0:
            gain += length - distance[found]
            v = x
            while v != upper:  # take the old path out
                arc = above[v]
                above[v], v = NONE, tails[arc]
                if v != upper:
                    children[v] = 0
            children[upper] -= 1
            y = found
            while y != x:
                children[y] += 1
                v = heads[via[y]]
                above[v] = via[y]
                y = v
        for y in touched[:count]:
            distance[y] = UNREACHED
    return gain
