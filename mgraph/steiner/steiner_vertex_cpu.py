"""Steiner-vertex insertion: a vertex beside the tree comes in where the tree is cheaper with it.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). The best
tree of the old vertices and a new one is found arc by arc: the tree hangs from the new vertex by
the lightest of its arcs, and each other arc replaces the heaviest edge of the circle that it closes
if it is lighter than that. Then branches that lead to no terminal go. If that gains nothing, all is
put back as it was.

Cost: of a vertex with d arcs to the tree O(d) walks up to the root; memory 33 bytes a vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import LEAST_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import length_kind
from mgraph.steiner.tree_cpu import Tree

_ROOT, _OUTSIDE = -1, -2


@compiled
def _candidates(indptr, indices, vertices, degree):
    """The vertices outside of the tree with two arcs or more to it, ascending."""
    arcs = np.zeros(degree.size, np.int64)
    found = [np.int64(0) for _ in range(0)]
    for u in vertices:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(indices[arc])
            if degree[v] == 0:
                arcs[v] += 1
                if arcs[v] == 2:
                    found.append(v)
    return np.sort(np.array(found))


@compiled
def _hang(x, over, over_weight, last, parent, weight, degree, log):
    """Turn the way from x up to ``last`` round, and hang it below ``over``."""
    while True:
        log.append((x, parent[x], weight[x], degree[x]))
        then, then_weight = parent[x], weight[x]
        parent[x], weight[x] = over, over_weight
        if x == last:
            break
        x, over, over_weight = then, x, then_weight


@compiled
def _insert(indptr, indices, weights, v, root, parent, weight, degree, terminal, log):
    """Put v in as the root, and leave branches out. Returns what was added and what was removed.

    log: each vertex that is about to change, with what it has.
    """
    first = np.int64(-1)
    for arc in range(indptr[v], indptr[v + 1]):
        if degree[indices[arc]] > 0 and (first < 0 or weights[arc] < weights[first]):
            first = np.int64(arc)
    x = np.int64(indices[first])
    added, removed = weight[v] * 0 + weights[first], weight[v] * 0
    _hang(x, v, added, root, parent, weight, degree, log)
    log.append((v, parent[v], weight[v], degree[v]))
    parent[v], degree[v] = _ROOT, 1
    degree[x] += 1
    fallen = [v for _ in range(0)]
    for arc in range(indptr[v], indptr[v + 1]):
        x = np.int64(indices[arc])
        if degree[x] == 0 or x == v or arc == first:
            continue
        heaviest = y = x
        while parent[y] != v:
            y = parent[y]
            if weight[y] > weight[heaviest]:
                heaviest = y
        if weight[heaviest] <= weights[arc]:
            continue
        upper, lighter = parent[heaviest], weight[v] * 0 + weights[arc]
        added, removed = added + lighter, removed + weight[heaviest]
        log.append((upper, parent[upper], weight[upper], degree[upper]))
        _hang(x, v, lighter, heaviest, parent, weight, degree, log)
        degree[upper] -= 1
        degree[heaviest] -= 1
        degree[x] += 1
        degree[v] += 1
        fallen.append(upper)
        fallen.append(heaviest)
    for y in fallen:
        while y != v and degree[y] == 1 and not terminal[y]:
            upper = parent[y]
            removed += weight[y]
            log.append((y, upper, weight[y], degree[y]))
            log.append((upper, parent[upper], weight[upper], degree[upper]))
            parent[y], degree[y] = _OUTSIDE, 0
            degree[upper] -= 1
            y = upper
    return added, removed


@compiled
def _pass(indptr, indices, weights, tree, share, stop):
    """Try each candidate once; returns the edges of the tree that comes out, and how many came in.

    share: of what is removed, below which what is added counts as cheaper. stop: ends early once
    its first element is not 0.
    """
    n = indptr.size - 1
    parent, degree = np.full(n, _OUTSIDE), np.zeros(n, np.int64)
    weight, terminal = np.zeros(n, tree.weight.dtype), np.zeros(n, np.bool_)
    degree[tree.vertex], terminal[tree.vertex] = tree_cpu.degrees(tree), tree.terminal
    weight[tree.vertex] = tree.weight
    parent[tree.vertex[0]] = _ROOT
    for at in range(1, tree.vertex.size):
        parent[tree.vertex[at]] = tree.vertex[tree.parent[at]]
    root = tree.vertex[0]
    log = [(root, root, weight[root], root) for _ in range(0)]
    members = list(tree.vertex)
    for v in _candidates(indptr, indices, tree.vertex, degree):
        if stop[0]:
            break
        arcs = 0
        for arc in range(indptr[v], indptr[v + 1]):
            arcs += degree[indices[arc]] > 0
        if arcs < 2:  # the tree has changed meanwhile
            continue
        added, removed = _insert(
            indptr, indices, weights, v, root, parent, weight, degree, terminal, log
        )
        if degree[v] > 1 and added < removed * share:
            members.append(v)
            root = v
        else:
            for i in range(len(log) - 1, -1, -1):
                x, parent[x], weight[x], degree[x] = log[i]
        log.clear()
    left = np.array([x for x in members if parent[x] >= 0])
    return parent[left], left, weight[left], len(members) - tree.vertex.size


def improved(csr: tuple[Any, Any, Any], tree: Tree) -> Tree:
    """The tree after one pass over the vertices beside it; the same object if none comes in."""
    share = 1 - LEAST_GAIN if length_kind(csr[2]).kind == "f" else 1
    src, dst, weight, inserted = _pass(*csr, tree, share, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    if not inserted:
        return tree
    return tree_cpu.from_edges(src, dst, weight, tree.vertex[tree.terminal])
