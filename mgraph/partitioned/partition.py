"""Which rank owns which vertices: ranges, cut where the ranks need equal memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_BUCKETS = 1 << 20  # of neighbouring vertices, between which ranges are cut
VERTEX_BYTES = 16  # that a vertex needs beside its arcs
NARROW_N = 1 << 31  # from so many vertices on, numbers take 64 bits


@dataclass(frozen=True)
class Partition:
    """Ranges of vertices. bounds: ``(size + 1,)`` int64, ascending, from 0 to n."""

    bounds: np.ndarray

    @property
    def n(self) -> int:
        """The number of vertices."""
        return int(self.bounds[-1])

    def owned(self, rank: int) -> range:
        """The vertices of a rank."""
        return range(int(self.bounds[rank]), int(self.bounds[rank + 1]))

    def owner(self, vertices: Any) -> Any:
        """Return the rank that owns each vertex."""
        return np.searchsorted(self.bounds[1:-1], vertices, side="right")


def number_dtype(n: int) -> np.dtype:
    """Return the type of numbers below n, and of -1: int32, or int64."""
    return np.dtype(np.int32 if n < NARROW_N else np.int64)


def bucket_shift(n: int) -> int:
    """Return by how many bits vertices are shifted to be counted in ``MAX_BUCKETS`` buckets."""
    return max(0, (max(n, 1) - 1).bit_length() - MAX_BUCKETS.bit_length() + 1)


def cut(n: int, size: int, arcs: np.ndarray, arc_bytes: int) -> Partition:
    """Cut the vertices into ``size`` ranges that need about equal memory.

    arcs: of each bucket. arc_bytes: that an arc needs.
    """
    shift = bucket_shift(n)
    starts = np.minimum(np.arange(arcs.size + 1, dtype=np.int64) << shift, n)
    needed = np.cumsum(arcs * arc_bytes + np.diff(starts) * VERTEX_BYTES)
    shares = needed[-1] / size * np.arange(1, size) if arcs.size else np.zeros(size - 1)
    inner = starts[np.searchsorted(needed, shares) + 1] if arcs.size else np.zeros(size - 1)
    return Partition(np.array([0, *inner, n], np.int64))
