"""Rows of a graph: in pieces, and which of them an arc stands in."""

from typing import Any

import numpy as np

from mgraph.core.arrays import on_gpu


def row_pieces(indptr: Any, arcs: int) -> list[tuple[int, int, int, int]]:
    """Rows in pieces of about so many arcs: from which row to which, and from which arc to which.

    A piece ends where a row does, so it may hold more arcs than asked for by one row's.
    """
    n, m = indptr.size - 1, int(indptr[-1])
    marks = np.searchsorted(indptr, np.arange(0, m, arcs, like=indptr), side="right") - 1
    rows = sorted({0, *marks.tolist(), n})
    bounds = indptr[np.asarray(rows, like=indptr)].tolist()
    return list(zip(rows, rows[1:], bounds, bounds[1:], strict=False))


def tails(indptr: Any, indices: Any) -> Any:
    """Each arc's source, where the arrays are and of the type of ``indices``."""
    if on_gpu(indptr):
        from mgraph.core import rows_gpu

        return rows_gpu.tails(indptr, indices.size).astype(indices.dtype, copy=False)
    return np.repeat(np.arange(indptr.size - 1, dtype=indices.dtype), np.diff(indptr))
