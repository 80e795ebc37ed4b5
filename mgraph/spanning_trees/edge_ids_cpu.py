"""Which arcs are one edge: ids of edges, and an edge's ends from its id.

An edge's id is the position in ``indices`` of its arc from the larger end: so in rows that ascend
ids are in order of (larger end, smaller end), whatever the graph was built from.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled


def edge_ids(indptr: Any, indices: Any) -> np.ndarray:
    """Each arc's edge; int64, ``(m,)``, -1 for self-loops. Of a symmetric graph whose rows ascend.

    Cost: O(n + m).
    """
    ids: np.ndarray = _edge_ids(indptr, indices, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    return ids


@compiled
def _edge_ids(indptr, indices, stop):
    ids = np.empty(indices.size, np.int64)
    back = indptr[:-1].copy()  # of each vertex the first arc that is not paired yet
    for u in range(indptr.size - 1):
        if stop[0]:
            break
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v == u:
                ids[arc] = -1
            elif v > u:  # u ascends, so v's smaller neighbours come in the order of its row
                ids[arc] = ids[back[v]] = back[v]
                back[v] += 1
    return ids


def tails(indptr: Any, ids: Any) -> np.ndarray:
    """The larger ends of edges in ascending order, int64: a walk over the vertices."""
    found = np.empty(ids.size, np.int64)
    _walk(indptr, ids, found)
    return found


@compiled
def _walk(indptr, ids, found):
    u = 0
    for i in range(ids.size):
        while indptr[u + 1] <= ids[i]:
            u += 1
        found[i] = u
