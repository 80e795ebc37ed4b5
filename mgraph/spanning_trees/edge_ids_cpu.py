"""Which arcs are one edge: ids of edges, and an edge's ends from its id.

An edge's id is the position in ``indices`` of its arc from the larger end: so in rows that ascend
ids are in order of (larger end, smaller end), whatever the graph was built from.
"""

from typing import Any

import numpy as np
from numba import njit

from mgraph.errors import UsageError


def edge_ids(indptr: Any, indices: Any) -> np.ndarray:
    """Each arc's edge; int64, ``(m,)``, -1 for self-loops. Rows must ascend.

    Cost: O(n + m). Raises UsageError where an arc has no arc back.
    """
    ids = np.empty(indices.size, np.int64)
    bad = int(_pair(indptr, indices, indptr[:-1].copy(), ids))
    if bad >= 0:
        u = int(np.searchsorted(indptr, bad, "right")) - 1
        raise UsageError(
            f"an undirected graph holds both arcs of each edge, and ({u:,}, {int(indices[bad]):,}) "
            "has none back; mgraph.from_edges(…, directed=False) makes both"
        )
    return ids


@njit(cache=True, nogil=True)
def _pair(indptr, indices, cursor, ids):
    """The first arc without one back, or -1. ``cursor[v]``: the first arc of v not yet paired."""
    for u in range(indptr.size - 1):
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v == u:
                ids[arc] = -1
                cursor[u] += 1
            elif v > u:  # u ascends, so v's smaller neighbours come in the order of its row
                back = cursor[v]
                if back == indptr[v + 1] or indices[back] != u:
                    return arc
                ids[arc] = ids[back] = back
                cursor[v] = back + 1
            elif arc >= cursor[u]:
                return arc
    return np.int64(-1)


def tails(indptr: Any, ids: Any) -> np.ndarray:
    """The larger ends of edges in ascending order, int64: a walk over the vertices."""
    found = np.empty(ids.size, np.int64)
    _walk(indptr, ids, found)
    return found


@njit(cache=True, nogil=True)
def _walk(indptr, ids, found):
    u = 0
    for i in range(ids.size):
        while indptr[u + 1] <= ids[i]:
            u += 1
        found[i] = u
