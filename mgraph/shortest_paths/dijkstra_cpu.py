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


def run(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
    first_target: bool, cutoff: Any, infinity: Any,
) -> int:  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, from the sources. Returns the vertices settled.

    Stops when nothing as near as the farthest target, or the nearest with ``first_target``, is
    left; vertices beyond it may then hold lengths that are no distances.
    """
    heap = heap_cpu.new(infinity, indices.dtype)
    return int(
        _run(indptr, indices, weights, distance, sources, targets, first_target, cutoff, heap)
    )


@njit(cache=True, nogil=True)
def _run(indptr, indices, weights, distance, sources, targets, first_target, cutoff, heap):
    size = np.int64(0)
    for s in sources:
        if distance[s] != 0:
            distance[s] = 0
            if size >= room(heap):
                heap = grown(heap)
            push(heap, size, distance[s], s)
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
        key, u = pop(heap, size)
        size -= 1
        if key != distance[u]:
            continue
        if found and key > bound:
            break
        settled += 1
        if wanted.size and wanted[u] and not found:
            wanted[u] = False
            left -= 1
            found, bound = left == 0, key
        while size + indptr[u + 1] - indptr[u] > room(heap):
            heap = grown(heap)
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            candidate = key + weights[arc]
            if candidate < distance[v] and candidate <= cutoff:
                distance[v] = candidate
                push(heap, size, candidate, v)
                size += 1
    return settled
