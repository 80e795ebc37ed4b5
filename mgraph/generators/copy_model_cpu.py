"""Rows of the edge list that are known beforehand, and checks of rows that are read."""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.hashing import edge_hash
from mgraph.generators import edge_weights_cpu
from mgraph.generators.copy_draws_cpu import repeats

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

GOOD, WRONG_SRC, WRONG_DST, REPEATED = 0, 1, 2, 3
REASONS = {
    WRONG_SRC: "has another src than its place demands",
    WRONG_DST: "has a dst outside [0, src)",
    REPEATED: "repeats an edge",
}


@compiled
def _check(src, dst, v, slot, d):
    """Walk rows that should begin at slot ``slot`` of vertex ``v``.

    Returns the checksum, the first bad row or -1, its reason, and where the next row should be.
    """
    checksum = uint64(0)
    begin = 0  # the row where vertex v's edges begin in this block
    for row in range(src.size):
        if src[row] != v:
            return checksum, row, WRONG_SRC, v, slot
        if not 0 <= dst[row] < v:
            return checksum, row, WRONG_DST, v, slot
        checksum += edge_hash(uint64(src[row]), uint64(dst[row]))
        slot += 1
        if slot == min(v, d):
            if repeats(dst[begin : row + 1]):
                return checksum, row, REPEATED, v, slot
            v, slot, begin = v + 1, int64(0), row + 1
    return checksum, -1, GOOD, v, slot


@compiled
def _fill_sources(first, stop, d, src):
    row = 0
    for v in range(first, stop):
        for _ in range(min(v, d)):
            src[row] = v
            row += 1


def fill_sources(model: "CopyModel", part: range, src: np.ndarray) -> None:
    """Write the sources of a vertex range's edges; src: of shape (edges of the range,)."""
    _fill_sources(part.start, part.stop, model.d, src)


@compiled
def _fill_clique(first, stop, dst):
    row = 0
    for v in range(first, stop):
        for u in range(v):
            dst[row] = u
            row += 1


def fill_clique(part: range, dst: np.ndarray) -> None:
    """Write the endpoints of vertices ``part`` of the clique, to dst's first elements."""
    _fill_clique(part.start, part.stop, dst)


class RowCheck:
    """Follows one part's rows, block by block: order, ranges, no repeated edge, checksum."""

    def __init__(self, model: "CopyModel", first: int) -> None:
        """Expect the edges of vertex ``first`` and on, d a vertex (v of a clique vertex v)."""
        self._model, self._v, self._slot = model, max(first, 1), 0
        self.rows = 0
        self.checksum = 0

    def add(self, edges: EdgeList) -> str | None:
        """Check a block; return what is wrong with its first bad row, or None."""
        checksum, bad, reason, self._v, self._slot = _check(
            edges.src, edges.dst, self._v, self._slot, self._model.d
        )
        if bad >= 0:
            edge = f"({edges.src[bad]}, {edges.dst[bad]})"
            return f"row {self.rows + bad}, edge {edge}, {REASONS[reason]}"
        if (edges.weight is not None) != bool(self._model.weights):
            return f"a column weight is {'not there' if edges.weight is None else 'one too many'}"
        if edges.weight is not None:
            expected = np.empty(len(edges), np.int32)
            checksum = edge_weights_cpu.fill(self._model, EdgeList(edges.src, edges.dst, expected))
            wrong = np.flatnonzero(edges.weight != expected)
            if wrong.size:
                bad = wrong[0]
                return (
                    f"row {self.rows + bad} has weight {edges.weight[bad]}, and its endpoints "
                    f"give {expected[bad]}"
                )
        self.checksum = (self.checksum + int(checksum)) % (1 << 64)
        self.rows += edges.src.size
        return None
