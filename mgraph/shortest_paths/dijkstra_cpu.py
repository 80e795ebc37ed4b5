"""Dijkstra's algorithm on one core: the oracle of all other methods.

Source: E. W. Dijkstra, "A note on two problems in connexion with graphs" (1959). An improved vertex
is pushed again instead of moved, and old entries are passed over when they surface: on sparse
graphs that is faster than a heap that can decrease keys. Cost: O((n + m) log n) time, at most m
entries of 8 bytes, or of 12 to 16 where lengths reach 2^31 or are float64.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push

_1 = np.uint64(1)
_MOST_SMALL = (1 << 31) - 2  # the largest key that shares a word with its vertex


def run(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
    first_target: bool, cutoff: Any, infinity: Any,
) -> int:  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, from the sources. Returns the vertices settled.

    Stops when nothing as near as the farthest target, or the nearest with ``first_target``, is
    left; vertices beyond it may then hold lengths that are no distances.
    """
    # Lengths are not negative, so that a float's bits are in order as an integer's are.
    keys = distance.view(f"i{distance.itemsize}")
    search = indptr, indices, weights, distance, keys, sources, targets, first_target
    n, whole = distance.size, distance.dtype.kind == "i"
    near = min(cutoff, distance.dtype.type(_MOST_SMALL)) if whole else cutoff
    heap = heap_cpu.new(n, small=whole)
    stop = cancellation.cancel_flag()
    settled = int(_run(*search, near, near < cutoff, heap, stop))
    if settled < 0:  # integers of 64 bits are seldom that large
        distance.fill(infinity)
        settled = int(_run(*search, cutoff, False, heap_cpu.new(n, small=False), stop))
    cancellation.raise_if_cancelled()
    return settled


@compiled
def _run(
    indptr, indices, weights, distance, keys, sources, targets, first_target, cutoff, give_up, heap,
    stop,
):  # fmt: skip
    """The vertices settled, or -1 if it is to ``give_up`` at a length beyond ``cutoff``.

    stop: ends early once its first element is not 0.
    """
    size = np.int64(0)
    for s in sources:
        if distance[s] != 0:
            distance[s] = 0
            if size >= capacity(heap):
                heap = grow(heap)
            push(heap, size, keys[s], s)
            size += 1
    wanted = np.zeros(distance.size if targets.size else 0, np.bool_)
    left = np.int64(0)
    for t in targets:
        left += not wanted[t]
        wanted[t] = True
    if first_target:
        left = min(left, np.int64(1))
    found, bound, settled = False, cutoff, np.int64(0)
    while size > 0 and not stop[0]:
        then, u = pop(heap, size)
        size -= 1
        if then != keys[u]:
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
        while size + np.int64(end - begin) > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, end):
            v = np.uint64(indices[arc])
            candidate = key + weights[arc]
            if candidate < distance[v]:
                if candidate <= cutoff:
                    distance[v] = candidate
                    push(heap, size, keys[v], v)
                    size += 1
                elif give_up:
                    return np.int64(-1)
    return settled
