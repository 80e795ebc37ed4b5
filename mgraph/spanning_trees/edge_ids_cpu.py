"""Edge ids: which two arcs are one edge, and the ends of an edge from its id.

The id of an edge is the position in ``indices`` of its arc from the larger end. So in rows that
ascend, ids are in order of (larger end, smaller end), whatever the graph was built from.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled


def edge_ids(indptr: Any, indices: Any) -> np.ndarray:
    """The edge id of each arc: int64, ``(m,)``, -1 for self-loops.

    For a symmetric graph whose rows ascend. Cost: O(n + m).
    """
    ids: np.ndarray = _edge_ids(indptr, indices, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    return ids


@compiled
def _edge_ids(indptr, indices, cancelled):
    """Pair the arcs of each edge; ends early once ``cancelled[0]`` is not 0."""
    ids = np.empty(indices.size, np.int64)
    unpaired = indptr[:-1].copy()  # the first arc of each row that is not paired yet
    for u in range(indptr.size - 1):
        if cancelled[0]:
            break
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v == u:
                ids[arc] = -1
            elif v > u:  # u ascends, so v's smaller neighbours come in the order of its row
                ids[arc] = ids[unpaired[v]] = unpaired[v]
                unpaired[v] += 1
    return ids


def tails(indptr: Any, ids: Any) -> np.ndarray:
    """The larger ends of edges whose ids ascend, int64, by one walk over the vertices."""
    larger_ends = np.empty(ids.size, np.int64)
    _fill_tails(indptr, ids, larger_ends)
    return larger_ends


@compiled
def _fill_tails(indptr, ids, larger_ends):
    """Write the row of each id."""
    u = 0
    for i in range(ids.size):
        while indptr[u + 1] <= ids[i]:
            u += 1
        larger_ends[i] = u
