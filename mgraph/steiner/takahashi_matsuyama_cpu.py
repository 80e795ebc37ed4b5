"""The shortest path heuristic: a tree takes in the nearest terminal until it holds them all.

Source: H. Takahashi, A. Matsuyama, "An approximate solution for the Steiner problem in graphs"
(1980). One search serves all terminals: Dijkstra's algorithm from the tree, which goes on where it
stood after a path was added, with the path's vertices at distance 0. The tree costs at most
2 - 2 / k times the optimum if the start is a terminal.

Cost: in the worst case k searches, mostly one or two: of a vertex only those labels are made anew
that the tree's growth improves. Memory: 25 bytes a vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


def length_kind(weights: Any) -> np.dtype:
    """The type of sums of weights."""
    return np.dtype(np.int64 if weights.dtype.kind == "i" else np.float64)


@compiled
def _grow(indptr, indices, weights, terminals, start, distance, keys, via, tail, heap, stop_word):
    """The edges of the tree: src, dst and weight.

    via, tail: of a labelled vertex, the arc that its label came by, and that arc's first vertex.
    stop_word: ends early once its first element is not 0.
    """
    wanted = np.zeros(distance.size, np.bool_)
    left = np.int64(0)
    for t in terminals:
        wanted[t] = True
        left += t != start
    wanted[start] = False
    src, dst = [start for _ in range(0)], [start for _ in range(0)]
    weight = [distance[0] for _ in range(0)]
    distance[start] = 0
    push(heap, 0, keys[start], start)
    size = np.int64(1)
    while left and size and not stop_word[0]:
        key, u = pop(heap, size)
        size -= 1
        if key != keys[u]:
            continue
        if wanted[u]:
            wanted[u] = False
            left -= 1
            x = np.int64(u)
            while distance[x] > 0:
                before = tail[x]
                src.append(before)
                dst.append(x)
                weight.append(distance.dtype.type(weights[via[x]]))
                distance[x] = 0
                if size >= capacity(heap):
                    heap = grow(heap)
                push(heap, size, keys[x], x)
                size += 1
                x = before
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
    return np.array(src), np.array(dst), np.array(weight)


def run(csr: tuple[Any, Any, Any], terminals: Any, start: int) -> Tree:
    """The tree that grows from a vertex of the terminals' component.

    csr: indptr, indices and weights, all above 0. terminals: two or more, int64, ascending.
    """
    indptr, _, weights = csr
    n, kind = indptr.size - 1, length_kind(weights)
    distance = np.full(n, infinity_of(kind), kind)
    labels = distance, distance.view(np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    heap = heap_cpu.new(n, small=False)
    begin = np.int64(start)
    src, dst, weight = _grow(*csr, terminals, begin, *labels, heap, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    return tree_cpu.from_edges(src, dst, weight, terminals)
