"""Rows of the edge list that follow from the model, and checks of rows that are read."""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.hashing import edge_hash
from mgraph.generators import edge_weights_cpu
from mgraph.generators.copy_draws_cpu import empty_table, repeats

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

GOOD, WRONG_SRC, WRONG_DST, REPEATED = 0, 1, 2, 3
REASONS = {
    WRONG_SRC: "has another src than its position requires",
    WRONG_DST: "has a dst outside [0, src)",
    REPEATED: "repeats an edge",
}


@compiled
def _check(src, dst, v, slot, d):
    """Check rows that should begin at slot ``slot`` of vertex ``v``.

    Returns the checksum, the first wrong row or -1, the reason, and the next row's vertex and slot.
    """
    checksum = uint64(0)
    begin, table = 0, empty_table(d)  # begin: the first row of vertex v in this block
    for row in range(src.size):
        if src[row] != v:
            return checksum, row, WRONG_SRC, v, slot
        if not 0 <= dst[row] < v:
            return checksum, row, WRONG_DST, v, slot
        checksum += edge_hash(uint64(src[row]), uint64(dst[row]))
        slot += 1
        if slot == min(v, d):
            if repeats(dst[begin : row + 1], table):
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
    """Write the sources of a vertex range's edges. src: shape (edges of the range,)."""
    _fill_sources(part.start, part.stop, model.d, src)


@compiled
def _fill_clique(first, stop, dst):
    row = 0
    for v in range(first, stop):
        for u in range(v):
            dst[row] = u
            row += 1


def fill_clique(part: range, dst: np.ndarray) -> None:
    """Write the endpoints of a range of clique vertices to the first elements of dst."""
    _fill_clique(part.start, part.stop, dst)


class RowCheck:
    """Checks one part's rows, block by block: order, ranges, repeated edges, checksum, weights."""

    def __init__(self, model: "CopyModel", first: int) -> None:
        """Expect the edges of vertex ``first`` and on: d per vertex, v for a clique vertex v."""
        self._model, self._v, self._slot = model, max(first, 1), 0
        self.rows = 0
        self.checksum = 0

    def add(self, edges: EdgeList) -> str | None:
        """Check a block; return the fault of its first wrong row, or None."""
        checksum, wrong_row, reason, self._v, self._slot = _check(
            edges.src, edges.dst, self._v, self._slot, self._model.d
        )
        if wrong_row >= 0:
            edge = f"({edges.src[wrong_row]}, {edges.dst[wrong_row]})"
            return f"row {self.rows + wrong_row}, edge {edge}, {REASONS[reason]}"
        if (edges.weight is not None) != bool(self._model.weights):
            return f"the column weight is {'missing' if edges.weight is None else 'unexpected'}"
        if edges.weight is not None:
            expected = np.empty(len(edges), np.int32)
            checksum = edge_weights_cpu.fill(self._model, EdgeList(edges.src, edges.dst, expected))
            wrong = np.flatnonzero(edges.weight != expected)
            if wrong.size:
                row = wrong[0]
                return (
                    f"row {self.rows + row} has weight {edges.weight[row]}, but its endpoints "
                    f"give {expected[row]}"
                )
        self.checksum = (self.checksum + int(checksum)) % (1 << 64)
        self.rows += edges.src.size
        return None
