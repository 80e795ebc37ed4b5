"""The shortest path heuristic: a tree takes in the nearest terminal until it holds all of them.

Source: H. Takahashi, A. Matsuyama, "An approximate solution for the Steiner problem in graphs"
(1980). One search serves all terminals: Dijkstra's algorithm from the tree, which continues after a
path was added, with the path's vertices at distance 0. The tree costs at most 2 - 2 / k times the
optimum if the search starts at a terminal.

Cost: k searches in the worst case, mostly one or two: only those labels of a vertex are computed
again that the tree's growth improves. Memory: 25 bytes per vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


def sum_dtype(weights: Any) -> np.dtype:
    """Return the type of sums of these weights: int64 or float64."""
    return np.dtype(np.int64 if weights.dtype.kind == "i" else np.float64)


@compiled_when_hot
def _grow_tree(
    indptr, indices, weights, terminals, start, distance, keys, via, tail, heap, cancelled
):
    """Return the edges of the tree: src, dst and weight.

    via, tail: of a labelled vertex, the arc that its label came by, and that arc's first vertex.
    Returns early, with edges that are not a tree, once the first element of ``cancelled`` is not 0.
    """
    is_missing = np.zeros(distance.size, np.bool_)
    missing = np.int64(0)
    for t in terminals:
        is_missing[t] = True
        missing += t != start
    is_missing[start] = False
    src, dst = [start for _ in range(0)], [start for _ in range(0)]
    weight = [distance[0] for _ in range(0)]
    distance[start] = 0
    push(heap, 0, keys[start], start)
    size = np.int64(1)
    while missing and size and not cancelled[0]:
        key, u = pop(heap, size)
        size -= 1
        if key != keys[u]:
            continue
        if is_missing[u]:
            is_missing[u] = False
            missing -= 1
            x = np.int64(u)
            while distance[x] > 0:
                predecessor = tail[x]
                src.append(predecessor)
                dst.append(x)
                weight.append(distance.dtype.type(weights[via[x]]))
                distance[x] = 0
                if size >= capacity(heap):
                    heap = grow(heap)
                push(heap, size, keys[x], x)
                size += 1
                x = predecessor
            continue
        begin, stop = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(stop - begin) > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = distance[u] + weights[arc]
            if candidate < distance[v]:
                distance[v], via[v], tail[v] = candidate, arc, u
                push(heap, size, keys[v], v)
                size += 1
    return np.array(src, np.int64), np.array(dst, np.int64), np.array(weight, distance.dtype)


def build_tree(csr: tuple[Any, Any, Any], terminals: Any, start: int) -> Tree:
    """Build the tree that grows from a vertex of the terminals' component.

    csr: indptr, indices and weights, all above 0. terminals: two or more, int64, ascending.
    """
    indptr, _, weights = csr
    n, dtype = indptr.size - 1, sum_dtype(weights)
    distance = np.full(n, infinity_of(dtype), dtype)
    labels = distance, distance.view(np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    heap, cancelled = heap_cpu.new(n, small=False), cancellation.cancel_flag()
    src, dst, weight = _grow_tree(*csr, terminals, np.int64(start), *labels, heap, cancelled)
    cancellation.raise_if_cancelled()
    return tree_cpu.from_edges(src, dst, weight, terminals)
