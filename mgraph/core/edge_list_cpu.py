"""Checksums of edges, and the checks that every edge-list dataset must pass."""

from typing import Any

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.hash_keys import weight_key
from mgraph.core.hashing import edge_hash, edge_weight, weighted_edge_hash

GOOD, OUT_OF_ORDER, WRONG_SRC, WRONG_DST = 0, 1, 2, 3
REASONS = {
    OUT_OF_ORDER: "comes after one with a larger src",
    WRONG_SRC: "has a src outside the part's range",
    WRONG_DST: "has a dst outside [0, n)",
}


@compiled
def _sum(src, dst):
    checksum = uint64(0)
    for i in range(src.size):
        checksum += edge_hash(uint64(src[i]), uint64(dst[i]))
    return checksum


@compiled
def _sum_weighted(src, dst, bits):
    checksum = uint64(0)
    for i in range(src.size):
        checksum += weighted_edge_hash(uint64(src[i]), uint64(dst[i]), uint64(int64(bits[i])))
    return checksum


@compiled
def _draw(src, dst, key, low, span, weight):
    for i in range(src.size):
        weight[i] = edge_weight(uint64(src[i]), uint64(dst[i]), key, low, span)


def draw_weights(src: Any, dst: Any, low: int, high: int, seed: int) -> np.ndarray:
    """Return a weight in [low, high] for each edge, int32: a hash of its ends and the seed.

    The same as ``generate`` gives; both directions of an edge have the same.
    """
    weight = np.empty(src.size, np.int32)
    key = weight_key(seed)
    _draw(src, dst, key, np.uint64(low), np.uint64(high - low + 1), weight)
    return weight


def checksum(edges: EdgeList) -> int:
    """Return the sum modulo 2^64 of the edges' hashes, weights hashed as int64 or float64 bits."""
    if edges.weight is None:
        return int(_sum(edges.src, edges.dst))
    bits = edges.weight
    if bits.dtype.kind == "f":
        bits = bits.astype(np.float64, copy=False).view(np.int64)
    return int(_sum_weighted(edges.src, edges.dst, bits))


@compiled
def _find_bad_row(src, dst, first, stop, n, last):
    """Return the first bad row, or -1, and the reason. last: the src of the row before."""
    for i in range(src.size):
        if not first <= src[i] < stop:
            return int64(i), WRONG_SRC
        if src[i] < last:
            return int64(i), OUT_OF_ORDER
        if not 0 <= dst[i] < n:
            return int64(i), WRONG_DST
        last = src[i]
    return int64(-1), GOOD


class EdgeCheck:
    """Checks the rows of one part, block by block: ranges, order, checksum."""

    def __init__(self, first: int, stop: int, n: int) -> None:
        """Expect ascending src in [first, stop), in a graph of n vertices."""
        self._first, self._stop, self._n, self._last = first, stop, n, first
        self.rows = 0
        self.checksum = 0

    def add(self, edges: EdgeList) -> str | None:
        """Check a block; return a description of its first bad row, or None."""
        ends: Any = edges.src, edges.dst
        bad, reason = _find_bad_row(*ends, self._first, self._stop, self._n, self._last)
        if bad >= 0:
            edge = f"({edges.src[bad]}, {edges.dst[bad]})"
            return f"row {self.rows + bad}, edge {edge}, {REASONS[reason]}"
        self.checksum = (self.checksum + checksum(edges)) % (1 << 64)
        self.rows += edges.src.size
        self._last = int(edges.src[-1]) if edges.src.size else self._last
        return None
