"""Prim's algorithm in two loops, on one core: the paper's first, to compare with.

Source: A. Biagiotti, "Parallel solution for the MST problem": n times, all vertices are looked at
for the one that is nearest to the tree. Cost: O(n² + m) time; 17 bytes a vertex, 8 an arc.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.spanning_trees.edge_ids_cpu import edge_ids


def run(indptr: Any, indices: Any, keys: Any) -> np.ndarray:
    """The forest's edges by id, int64, ascending."""
    chosen = _run(indptr, indices, keys, edge_ids(indptr, indices), cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    return np.sort(chosen[chosen >= 0])


@compiled
def _run(indptr, indices, keys, edges, stop):
    """For each vertex the edge by which it came in, -1 for each component's first.

    stop: ends early once its first element is not 0.
    """
    n = indptr.size - 1
    inside = np.zeros(n, np.bool_)
    through = np.full(n, -1, np.int64)  # the lightest edge from the tree to a vertex, and its key
    key = np.zeros(n, keys.dtype)
    for _ in range(n):
        if stop[0]:
            break
        nearest = -1
        for v in range(n):
            if inside[v]:
                continue
            if nearest < 0 or through[nearest] < 0:
                if nearest < 0 or through[v] >= 0:
                    nearest = v
            elif through[v] >= 0 and (key[v], through[v]) < (key[nearest], through[nearest]):
                nearest = v
        inside[nearest] = True
        for arc in range(indptr[nearest], indptr[nearest + 1]):
            v = indices[arc]
            if inside[v]:
                continue
            if through[v] < 0 or (keys[arc], edges[arc]) < (key[v], through[v]):
                key[v], through[v] = keys[arc], edges[arc]
    return through
