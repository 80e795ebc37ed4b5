"""Steiner-vertex insertion: a vertex beside the tree is added if the tree is cheaper with it.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). The best
tree of the old vertices and a new one is found arc by arc: the tree hangs from the new vertex by
the arc of minimum weight, and each other arc replaces the heaviest edge of the cycle that it closes
if it is lighter than that edge. Then branches that lead to no terminal are removed. If that gains
nothing, everything is undone from a log.

Cost: O(d) walks up to the root for a vertex with d arcs to the tree. Memory: 33 bytes per vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_when_hot
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import MIN_RELATIVE_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree

_ROOT, _OUTSIDE = -1, -2


@compiled_when_hot
def _find_candidates(indptr, indices, vertices, degree):
    """Return the vertices outside the tree with two arcs or more to it, in any order."""
    arcs = np.zeros(degree.size, np.int64)
    candidates = [np.int64(0) for _ in range(0)]
    for u in vertices:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(indices[arc])
            if degree[v] == 0:
                arcs[v] += 1
                if arcs[v] == 2:
                    candidates.append(v)
    return np.array(candidates, np.int64)


@compiled_when_hot
def _hang(x, new_parent, new_weight, last, parent, weight, degree, log):
    """Reverse the links from x up to ``last``, and hang x below ``new_parent``."""
    while True:
        log.append((x, parent[x], weight[x], degree[x]))
        old_parent, old_weight = parent[x], weight[x]
        parent[x], weight[x] = new_parent, new_weight
        if x == last:
            break
        x, new_parent, new_weight = old_parent, x, old_weight


@compiled_when_hot
def _insert(indptr, indices, weights, v, root, parent, weight, degree, terminal, log):
    """Insert v as the root, and prune. Return the weight that was added, and what was removed.

    log: gets each vertex that is about to change, with its parent, weight and degree.
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
    cut_ends = [v for _ in range(0)]
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
        cut_ends.append(upper)
        cut_ends.append(heaviest)
    for y in cut_ends:
        while y != v and degree[y] == 1 and not terminal[y]:
            upper = parent[y]
            removed += weight[y]
            log.append((y, upper, weight[y], degree[y]))
            log.append((upper, parent[upper], weight[upper], degree[upper]))
            parent[y], degree[y] = _OUTSIDE, 0
            degree[upper] -= 1
            y = upper
    return added, removed


@compiled_when_hot
def _try_all(
    indptr, indices, weights, candidates, root, factor, parent, weight, degree, terminal, inserted,
    cancelled,
):  # fmt: skip
    """Try each candidate once; return how many vertices were added.

    parent, weight, degree, terminal: the tree, by vertex. inserted: filled with what was added.
    factor: what is added counts as cheaper below this share of what is removed. Returns early once
    the first element of ``cancelled`` is not 0.
    """
    log = [(root, root, weight[root], root) for _ in range(0)]
    count = np.int64(0)
    for v in candidates:
        if cancelled[0]:
            break
        arcs = np.int64(0)
        for arc in range(indptr[v], indptr[v + 1]):
            arcs += degree[indices[arc]] > 0
        if arcs < 2:  # the tree has changed since the candidates were found
            continue
        added, removed = _insert(
            indptr, indices, weights, v, root, parent, weight, degree, terminal, log
        )
        if degree[v] > 1 and added < removed * factor:
            inserted[count] = v
            count += 1
            root = v
        else:
            for i in range(len(log) - 1, -1, -1):
                x, parent[x], weight[x], degree[x] = log[i]
        log.clear()
    return count


def improve(csr: tuple[Any, Any, Any], tree: Tree) -> Tree:
    """Try each vertex beside the tree once; return the same object if none is added."""
    indptr, indices, _ = csr
    n, vertex = indptr.size - 1, tree.vertex
    parent, degree = np.full(n, _OUTSIDE), np.zeros(n, np.int64)
    weight, terminal = np.zeros(n, tree.weight.dtype), np.zeros(n, np.bool_)
    degree[vertex], terminal[vertex] = tree_cpu.count_degrees(tree), tree.terminal
    weight[vertex], parent[vertex] = tree.weight, vertex[tree.parent]
    parent[vertex[0]] = _ROOT
    arcs = int((indptr[vertex + 1] - indptr[vertex]).sum())
    candidates = np.sort(_find_candidates.with_work(arcs, indptr, indices, vertex, degree))
    arcs += int((indptr[candidates + 1] - indptr[candidates]).sum())
    factor = 1 - MIN_RELATIVE_GAIN if sum_dtype(csr[2]).kind == "f" else 1
    inserted, labels = np.empty_like(candidates), (parent, weight, degree, terminal)
    count = _try_all.with_work(
        arcs, *csr, candidates, vertex[0], factor, *labels, inserted, cancellation.cancel_flag()
    )
    cancellation.raise_if_cancelled()
    if not count:
        return tree
    members = np.concatenate([vertex, inserted[:count]])
    lower = members[parent[members] >= 0]
    return tree_cpu.from_edges(parent[lower], lower, weight[lower], vertex[tree.terminal])
