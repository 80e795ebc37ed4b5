"""Dijkstra's algorithm on one core: the oracle of all other methods.

Source: E. W. Dijkstra, "A note on two problems in connexion with graphs" (1959). There is no
decrease-key: an improved vertex is pushed again, and stale entries are skipped when they are
popped, which is faster on sparse graphs. Cost: O((n + m) log n) time, and at most m entries of 8
bytes, or of 12 to 16 where lengths reach 2^31 or are float64.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push

_1 = np.uint64(1)
_MAX_SMALL_KEY = (1 << 31) - 2  # the maximum that shares a word with its vertex


def find_distances(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
    stop_at_first: bool, cutoff: Any, infinity: Any,
) -> int:  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, and return how many vertices were settled.

    The search stops when all vertices as near as the farthest target are settled, or with
    ``stop_at_first`` as near as the nearest one. Vertices beyond it may then hold lengths that are
    not distances.
    """
    # Lengths are not negative, and the bits of such floats order as integers do.
    keys = distance.view(f"i{distance.itemsize}")
    n, is_integer = distance.size, distance.dtype.kind == "i"
    is_target = np.zeros(n if targets.size else 0, np.bool_)
    is_target[targets] = True
    to_settle = min(np.count_nonzero(is_target), 1 if stop_at_first else n)
    arguments = indptr, indices, weights, distance, keys, sources, is_target, to_settle
    small_cutoff = min(cutoff, distance.dtype.type(_MAX_SMALL_KEY)) if is_integer else cutoff
    heap = heap_cpu.new(n, small=is_integer)
    cancel_flag = cancellation.cancel_flag()
    settled = int(
        _find_distances(*arguments, small_cutoff, small_cutoff < cutoff, heap, cancel_flag)
    )
    if settled < 0:  # 64-bit lengths are rarely that large
        distance.fill(infinity)
        is_target[targets] = True
        large_heap = heap_cpu.new(n, small=False)
        settled = int(_find_distances(*arguments, cutoff, False, large_heap, cancel_flag))
    cancellation.raise_if_cancelled()
    return settled


@compiled_when_hot
def _find_distances(
    indptr, indices, weights, distance, keys, sources, is_target, remaining, cutoff, gives_up, heap,
    cancel_flag,
):  # fmt: skip
    """Return the vertices settled, or -1 if ``gives_up`` and a length was beyond ``cutoff``.

    is_target: by vertex, or of size 0; overwritten. remaining: how many targets to settle.
    """
    size = np.int64(0)
    for source in sources:
        s = np.uint64(source)
        if distance[s] != 0:
            distance[s] = 0
            if size >= capacity(heap):
                heap = grow(heap)
            push(heap, size, keys[s], s)
            size += 1
    targets_settled, bound, settled = False, cutoff, np.int64(0)
    while size > 0 and not cancel_flag[0]:
        popped_key, u = pop(heap, size)
        size -= 1
        if popped_key != keys[u]:
            continue
        length = distance[u]
        if targets_settled and length > bound:
            break
        settled += 1
        if is_target.size and is_target[u] and not targets_settled:
            is_target[u] = False
            remaining -= 1
            targets_settled, bound = remaining == 0, length
        begin, end = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(end - begin) > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, end):
            v = np.uint64(indices[arc])
            candidate = length + weights[arc]
            if candidate < distance[v]:
                if candidate <= cutoff:
                    distance[v] = candidate
                    push(heap, size, keys[v], v)
                    size += 1
                elif gives_up:
                    return np.int64(-1)
    return settled
