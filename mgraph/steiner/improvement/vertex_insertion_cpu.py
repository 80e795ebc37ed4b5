"""Steiner-vertex insertion: a vertex beside the tree is added if the tree is cheaper with it.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). The best
tree of the old vertices and a new one is found arc by arc: the tree hangs from the new vertex by
the arc of minimum weight, and each other arc replaces the heaviest edge of the cycle that it closes
if it is lighter than that edge. Then branches that lead to no terminal are removed. If that gains
nothing, everything is undone from a log.

Cost: O(d) walks up to the root for a vertex with d arcs to the tree.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.steiner.improvement.linked_tree_cpu import (
    cut,
    empty_log,
    hang_below,
    load,
    prune,
    undo,
    unload,
)
from mgraph.steiner.improvement.trees_cpu import hang, release


@compiled_when_hot
def _insert(network, weight, v, work, log):
    """Insert v as the root, and prune. Return the weight that was added, and what was removed."""
    indptr, head, edge = network.indptr, network.head, network.edge
    above, up, degree = work.above, work.up, work.degree
    first = np.int64(-1)
    for arc in range(indptr[v], indptr[v + 1]):
        if degree[head[arc]] > 0 and (first < 0 or weight[edge[arc]] < weight[edge[first]]):
            first = np.int64(arc)
    added, removed = weight[edge[first]], np.int64(0)
    hang_below(np.int64(head[first]), v, np.int64(edge[first]), work, log)
    cut_ends = [v for _ in range(0)]
    for arc in range(indptr[v], indptr[v + 1]):
        x, e = np.int64(head[arc]), np.int64(edge[arc])
        if degree[x] == 0 or x == v or arc == first:
            continue
        heaviest = y = x
        while above[y] != v:
            y = above[y]
            if weight[up[y]] > weight[up[heaviest]]:
                heaviest = y
        if weight[up[heaviest]] <= weight[e]:
            continue
        added, removed = added + weight[e], removed + weight[up[heaviest]]
        cut_ends.append(above[heaviest])
        cut_ends.append(heaviest)
        cut(network, up[heaviest], work, log)
        hang_below(x, v, e, work, log)
    for y in cut_ends:
        removed += prune(network, weight, y, work, log)[0]
    return added, removed


@compiled_when_hot
def insert_vertices(network, weight, tree, order, work, flag):
    """Try to insert each vertex once; return a cheaper tree, or the same.

    order: all vertices, in the order in which they are tried. Returns what was found once
    ``flag[0]`` is not 0.
    """
    if tree.size == 0:
        return tree
    indptr, head, degree = network.indptr, network.head, work.degree
    rooted = hang(network, tree, work)
    release(rooted, work)
    vertices, log = load(rooted, work), empty_log()
    has_changed = False
    for candidate in order:
        v = np.int64(candidate)
        if flag[0]:
            break
        if degree[v] > 0:
            continue
        arcs = 0
        for arc in range(indptr[v], indptr[v + 1]):
            arcs += degree[head[arc]] > 0
        if arcs < 2:
            continue
        added, removed = _insert(network, weight, v, work, log)
        if degree[v] > 1 and added < removed:
            vertices.append(v)
            has_changed = True
            log.clear()
        else:
            undo(work, log)
    result = unload(vertices, work)
    return result if has_changed else tree
