"""Prim's algorithm with a heap, on one core, begun again in each component.

Source: R. C. Prim, "Shortest connection networks and some generalizations" (1957), with a heap that
an edge enters when its first end does; it is passed over if both ends are in by the time it comes
out. Cost: O((n + m) log n) time; 12 bytes an arc and 8 a heap's entry.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.errors import UsageError
from mgraph.spanning_trees.edge_ids_cpu import edge_ids
from mgraph.spanning_trees.weight_keys import ranks

_MOST_ARCS = (1 << 31) - 1  # a key and an edge share a word of the heap


def run(indptr: Any, indices: Any, keys: Any) -> np.ndarray:
    """The forest's edges by id, int64, ascending. Raises UsageError for more than 2^31 arcs."""
    if indices.size >= _MOST_ARCS:
        raise UsageError(
            f"prim takes fewer than 2^31 arcs, and these are {indices.size:,}; use filter_kruskal"
        )
    small = ranks(keys, _MOST_ARCS)
    degrees = np.diff(indptr)
    ends = np.repeat(np.arange(degrees.size, dtype=indices.dtype), degrees)
    chosen = np.empty(degrees.size, np.int64)
    heap = heap_cpu.new(degrees.size, small=True)
    ids, stop = edge_ids(indptr, indices), cancellation.cancel_flag()
    count = _run(indptr, indices, small, ids, ends, chosen, heap, stop)
    cancellation.raise_if_cancelled()
    return np.sort(chosen[:count])


@compiled
def _run(indptr, indices, keys, edges, tails, chosen, heap, stop):
    """Fill ``chosen``; returns how many. tails: each arc's source. stop: the cancel flag."""
    n = indptr.size - 1
    inside = np.zeros(n, np.bool_)
    count = size = np.int64(0)
    for start in range(n):
        if inside[start]:
            continue
        inside[start] = True
        vertex = np.int64(start)
        while not stop[0]:
            begin, end = indptr[vertex], indptr[vertex + 1]
            while size + end - begin > capacity(heap):
                heap = grow(heap)
            for arc in range(begin, end):
                if not inside[indices[arc]]:
                    push(heap, size, keys[arc], edges[arc])
                    size += 1
            found = False
            while size > 0 and not found and not stop[0]:
                _, edge = pop(heap, size)
                size -= 1
                u, v = np.int64(tails[edge]), np.int64(indices[edge])
                found = not (inside[u] and inside[v])
            if not found:
                break
            vertex = u if inside[v] else v
            inside[vertex] = True
            chosen[count] = edge
            count += 1
    return count
