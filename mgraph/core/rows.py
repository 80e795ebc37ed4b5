"""Rows of a graph: their division into pieces, and the row of each arc."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.core.arrays import on_gpu


def row_pieces(indptr: Any, arcs: int) -> list[tuple[int, int, int, int]]:
    """Divide the rows into pieces of about ``arcs`` arcs: (row, stop row, arc, stop arc) of each.

    A piece ends where a row ends, so it may exceed ``arcs`` by the arcs of one row.
    """
    n, num_arcs = indptr.size - 1, int(indptr[-1])
    rows = sorted({0, *find_rows(indptr, range(0, num_arcs, arcs)), n})
    bounds = [int(indptr[row]) for row in rows]
    return list(zip(rows, rows[1:], bounds, bounds[1:], strict=False))


def find_rows(indptr: Any, positions: Sequence[int]) -> list[int]:
    """Return the row in which each arc's position lies: the last that begins at or before it."""
    if on_gpu(indptr):
        from mgraph.core import primitives_gpu

        return primitives_gpu.find_rows(indptr, positions)
    rows: list[int] = (np.searchsorted(indptr, np.asarray(positions), side="right") - 1).tolist()
    return rows


def tails(indptr: Any, indices: Any) -> Any:
    """Return each arc's source, on the same backend and in the type of ``indices``."""
    if on_gpu(indptr):
        from mgraph.core import primitives_gpu

        return primitives_gpu.tails(indptr, indices.size).astype(indices.dtype, copy=False)
    return np.repeat(np.arange(indptr.size - 1, dtype=indices.dtype), np.diff(indptr))
