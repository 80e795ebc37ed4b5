"""Degree counts on the CPU, and the histogram of counts."""

import numpy as np

from mgraph.core.compiled import compiled


@compiled
def count_endpoints(ids, first, counts):
    """Add 1 to ``counts[v - first]`` for each v in ``ids`` that ``counts`` has an element for.

    ids: int32 or int64. counts: uint32 or int64, one element per vertex from ``first`` on.
    """
    for i in range(ids.size):
        index = ids[i] - first
        if 0 <= index < counts.size:
            counts[index] += 1


def histogram(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of ``counts``, ascending, and how often each occurs, as int64."""
    if not counts.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    small = np.minimum(counts, 1 << 16).astype(np.int64)
    occurrences = np.bincount(small, minlength=(1 << 16) + 1)
    values = np.flatnonzero(occurrences[: 1 << 16])
    large, large_occurrences = np.unique(counts[counts >= 1 << 16], return_counts=True)
    return (
        np.concatenate([values, large.astype(np.int64)]),
        np.concatenate([occurrences[values], large_occurrences.astype(np.int64)]),
    )
