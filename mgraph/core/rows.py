"""Rows of a graph: their division into pieces, and the row of each arc."""

from typing import Any

import numpy as np

from mgraph.core.arrays import on_gpu


def row_pieces(indptr: Any, arcs: int) -> list[tuple[int, int, int, int]]:
    """Divide the rows into pieces of about ``arcs`` arcs: (row, stop row, arc, stop arc) of each.

    A piece ends where a row ends, so it may exceed ``arcs`` by the arcs of one row.
    """
    n, num_arcs = indptr.size - 1, int(indptr[-1])
    cuts = np.arange(0, num_arcs, arcs, like=indptr)
    cut_rows = np.searchsorted(indptr, cuts, side="right") - 1
    rows = sorted({0, *cut_rows.tolist(), n})
    bounds = indptr[np.asarray(rows, like=indptr)].tolist()
    return list(zip(rows, rows[1:], bounds, bounds[1:], strict=False))


def tails(indptr: Any, indices: Any) -> Any:
    """Return each arc's source, on the same backend and in the type of ``indices``."""
    if on_gpu(indptr):
        from mgraph.core import rows_gpu

        return rows_gpu.tails(indptr, indices.size).astype(indices.dtype, copy=False)
    return np.repeat(np.arange(indptr.size - 1, dtype=indices.dtype), np.diff(indptr))
