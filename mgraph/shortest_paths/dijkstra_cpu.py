"""Dijkstra's algorithm on one core: the oracle of all other methods.

Source: E. W. Dijkstra, "A note on two problems in connexion with graphs" (1959). An improved vertex
is pushed again instead of moved, and old entries are passed over when they surface: on sparse
graphs that is faster than a heap that can decrease keys. Cost: O((n + m) log n) time, at most m
entries of 8 to 16 bytes.
"""

from typing import Any

import numpy as np
from numba import njit

from mgraph.core import heap_cpu
from mgraph.core.heap_cpu import grown, pop, push, room

_1 = np.uint64(1)


def run(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
    first_target: bool, cutoff: Any, infinity: Any,
) -> int:  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, from the sources. Returns the vertices settled.

    Stops when nothing as near as the farthest target, or the nearest with ``first_target``, is
    left; vertices beyond it may then hold lengths that are no distances.
    """
    # Lengths are not negative, so that a float's bits are in order as an integer's are.
    whole = np.dtype(f"i{distance.itemsize}")
    heap = heap_cpu.new(infinity.view(whole), indices.dtype)
    graph = indptr, indices, weights
    bits = distance.view(whole)
    return int(_run(*graph, distance, bits, sources, targets, first_target, cutoff, heap))


@njit(cache=True, nogil=True)
def _run(
    indptr, indices, weights, distance, bits, sources, targets, first_target, cutoff, heap
):  # fmt: skip
    size = np.int64(0)
    for s in sources:
        if distance[s] != 0:
            distance[s] = 0
            if size >= room(heap):
                heap = grown(heap)
            push(heap, size, bits[s], s)
            size += 1
    wanted = np.zeros(distance.size if targets.size else 0, np.bool_)
    left = np.int64(0)
    for t in targets:
        left += not wanted[t]
        wanted[t] = True
    if first_target:
        left = min(left, np.int64(1))
    found, bound, settled = False, cutoff, np.int64(0)
    while size > 0:
        then, u = pop(heap, size)
        size -= 1
        if then != bits[u]:
            continue
        key = distance[u]
        if found and key > bound:
            break
        settled += 1
        if wanted.size and wanted[u] and not found:
            wanted[u] = False
            left -= 1
            found, bound = left == 0, key
        begin, end = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(end - begin) > room(heap):
            heap = grown(heap)
        for arc in range(begin, end):
            v = np.uint64(indices[arc])
            candidate = key + weights[arc]
            if candidate < distance[v] and candidate <= cutoff:
                distance[v] = candidate
                push(heap, size, bits[v], v)
                size += 1
    return settled
