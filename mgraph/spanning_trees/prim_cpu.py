"""Prim's algorithm with a heap, on one core, started again in each component.

Source: R. C. Prim, "Shortest connection networks and some generalizations" (1957). An edge enters
the heap when its first end joins the tree, and is dropped when it leaves the heap if both ends are
in the tree by then. Cost: O((n + m) log n) time; 12 bytes per arc and 8 per heap entry.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.errors import UsageError
from mgraph.spanning_trees.edge_ids_cpu import edge_ids
from mgraph.spanning_trees.weight_keys import ranks

_MAX_ARCS = (1 << 31) - 1  # keys below it share a word of the heap with an edge


def run(indptr: Any, indices: Any, keys: Any) -> np.ndarray:
    """Compute the forest's edges by id, int64, ascending. UsageError for 2^31 arcs or more."""
    if indices.size >= _MAX_ARCS:
        raise UsageError(
            f"method prim takes graphs of fewer than 2^31 arcs (got {indices.size:,}); use "
            "filter_kruskal"
        )
    small_keys = ranks(keys, _MAX_ARCS)
    degrees = np.diff(indptr)
    tails = np.repeat(np.arange(degrees.size, dtype=indices.dtype), degrees)
    chosen = np.empty(degrees.size, np.int64)
    heap = heap_cpu.new(degrees.size, small=True)
    ids, cancelled = edge_ids(indptr, indices), cancellation.cancel_flag()
    count = _run(indptr, indices, small_keys, ids, tails, chosen, heap, cancelled)
    cancellation.raise_if_cancelled()
    return np.sort(chosen[:count])


@compiled
def _run(indptr, indices, keys, edges, tails, chosen, heap, cancelled):
    """Fill ``chosen`` with edges and return their number.

    tails: each arc's source. Ends early once ``cancelled[0]`` is not 0.
    """
    n = indptr.size - 1
    in_tree = np.zeros(n, np.bool_)
    count = size = np.int64(0)
    for start in range(n):
        if in_tree[start]:
            continue
        in_tree[start] = True
        vertex = np.int64(start)
        while not cancelled[0]:
            begin, end = indptr[vertex], indptr[vertex + 1]
            while size + end - begin > capacity(heap):
                heap = grow(heap)
            for arc in range(begin, end):
                if not in_tree[indices[arc]]:
                    push(heap, size, keys[arc], edges[arc])
                    size += 1
            leaves_tree = False
            while size > 0 and not leaves_tree and not cancelled[0]:
                _, edge = pop(heap, size)
                size -= 1
                u, v = np.int64(tails[edge]), np.int64(indices[edge])
                leaves_tree = not (in_tree[u] and in_tree[v])
            if not leaves_tree:
                break
            vertex = u if in_tree[v] else v
            in_tree[vertex] = True
            chosen[count] = edge
            count += 1
    return count
