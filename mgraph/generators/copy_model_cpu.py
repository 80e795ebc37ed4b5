"""Rows of the edge list that follow from the model, and checks of rows that are read."""

from typing import TYPE_CHECKING

import numpy as np
from numba import int32, int64, uint64

from mgraph.core.array_types import Array
from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.hashing import edge_hash
from mgraph.generators import edge_weights_cpu
from mgraph.generators.copy_draws_cpu import PAIRWISE, empty_table, repeats

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

GOOD, WRONG_SRC, WRONG_DST, REPEATED = 0, 1, 2, 3
REASONS = {
    WRONG_SRC: "has another src than its position requires",
    WRONG_DST: "has a dst outside [0, src)",
    REPEATED: "repeats an edge",
}
_CHECKED_ROWS = 1024  # at a time: they and their columns fit an L1 cache


@compiled
def _check_rows(src, dst, v, earlier, d):
    """Check rows that should begin at vertex ``v``, one after another.

    earlier: the endpoints of ``v`` that an earlier block had. Returns the checksum if all are
    right, the first wrong row or -1, the reason, and the next row's vertex and slot.
    """
    checksum, slot = uint64(0), int64(earlier.size)
    begin, table = 0, empty_table(d)  # begin: the first row of vertex v in this block
    for row in range(src.size):
        if src[row] != v:
            return checksum, row, WRONG_SRC, v, slot
        if not 0 <= dst[row] < v:
            return checksum, row, WRONG_DST, v, slot
        checksum += edge_hash(uint64(src[row]), uint64(dst[row]))
        slot += 1
        if slot == min(v, d):
            ends = dst[begin : row + 1]
            if earlier.size:
                ends, earlier = np.concatenate((earlier, ends)), earlier[:0]
            if repeats(ends, table):
                return checksum, row, REPEATED, v, slot
            v, slot, begin = v + 1, int64(0), row + 1
    return checksum, -1, GOOD, v, slot


@compiled
def _check_vertices(src, dst, v, owners, columns):
    """Return the checksum of the rows of whole vertices from ``v`` on, and whether all are right.

    owners: each row's vertex less ``v``. columns: room for as many vertices' endpoints, slot by
    slot. Faults are collected without branches, as 32-bit numbers, so that the loops vectorise.
    """
    checksum, faults = uint64(0), int32(0)
    for row in range(src.size):
        checksum += edge_hash(uint64(src[row]), uint64(dst[row]))
        is_wrong = (src[row] - v != owners[row]) | (dst[row] < 0) | (dst[row] >= src[row])
        faults |= int32(is_wrong)
    d = columns.shape[0]
    count = src.size // d
    for slot in range(d):
        column = columns[slot]
        for i in range(count):
            column[i] = dst[uint64(i * d + slot)]  # unsigned: no index from the end
        for lower in range(slot):
            lower_column = columns[lower]
            for i in range(count):
                faults |= int32(column[i] == lower_column[i])
    return checksum, faults == 0


@compiled
def check_block(src, dst, v, earlier, d):
    """Do what ``_check_rows`` does, fast where many vertices in turn have good rows."""
    checksum, row, slot = uint64(0), 0, int64(earlier.size)
    vertices = max(1, _CHECKED_ROWS // d)
    owners = np.arange(vertices * d).astype(src.dtype) // d
    columns = np.empty((d if d <= PAIRWISE else 0, vertices), dst.dtype)
    while row < src.size:
        whole = min((src.size - row) // d, vertices)
        is_good = False
        if slot == 0 and v >= d and whole and d <= PAIRWISE:
            stop = row + whole * d
            part, is_good = _check_vertices(src[row:stop], dst[row:stop], v, owners, columns)
        else:
            stop = src.size if d > PAIRWISE else min(row + min(v, d) - slot, src.size)
        if is_good:
            v += whole
        else:
            part, wrong, reason, v, slot = _check_rows(src[row:stop], dst[row:stop], v, earlier, d)
            if wrong >= 0:
                return checksum, row + wrong, reason, v, slot
            earlier = earlier[:0]
        checksum += part
        row = stop
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
        self._model, self._v = model, max(first, 1)
        self._earlier: Array = np.empty(0, np.int32)  # the endpoints of vertex v in earlier blocks
        self.rows = 0
        self.checksum = 0

    def add(self, edges: EdgeList) -> str | None:
        """Check a block; return the fault of its first wrong row, or None."""
        dst = edges.dst
        earlier = self._earlier.astype(dst.dtype, copy=False)
        checksum, wrong_row, reason, self._v, slot = check_block(
            edges.src, dst, self._v, earlier, self._model.d
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
        ends = np.concatenate([earlier, dst[max(0, dst.size - slot) :]])
        self._earlier = ends[ends.size - slot :]
        self.checksum = (self.checksum + int(checksum)) % (1 << 64)
        self.rows += edges.src.size
        return None
