"""Prim's algorithm in two loops, on one core: the paper's first version, to compare with.

Source: A. Biagiotti, "Parallel solution for the MST problem": n times, a loop over all vertices
selects the one nearest to the tree. Cost: O(n² + m) time; 17 bytes per vertex and 8 per arc.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.spanning_trees.edge_ids_cpu import edge_ids


def run(indptr: Any, indices: Any, keys: Any) -> np.ndarray:
    """Compute the forest's edges by id, int64, ascending."""
    chosen = _run(indptr, indices, keys, edge_ids(indptr, indices), cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    return np.sort(chosen[chosen >= 0])


@compiled
def _run(indptr, indices, keys, edges, cancelled):
    """For each vertex, the edge that connects it to the tree; -1 for the first of a component.

    Ends early once ``cancelled[0]`` is not 0.
    """
    n = indptr.size - 1
    in_tree = np.zeros(n, np.bool_)
    min_edge = np.full(n, -1, np.int64)  # the minimum edge between the tree and a vertex
    min_key = np.zeros(n, keys.dtype)
    for _ in range(n):
        if cancelled[0]:
            break
        nearest = -1
        for v in range(n):
            if in_tree[v]:
                continue
            if nearest < 0 or min_edge[nearest] < 0:
                if nearest < 0 or min_edge[v] >= 0:
                    nearest = v
            elif min_edge[v] >= 0 and (min_key[v], min_edge[v]) < (
                min_key[nearest],
                min_edge[nearest],
            ):
                nearest = v
        in_tree[nearest] = True
        for arc in range(indptr[nearest], indptr[nearest + 1]):
            v = indices[arc]
            if in_tree[v]:
                continue
            if min_edge[v] < 0 or (keys[arc], edges[arc]) < (min_key[v], min_edge[v]):
                min_key[v], min_edge[v] = keys[arc], edges[arc]
    return min_edge
