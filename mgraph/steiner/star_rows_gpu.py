"""Rows sorted by weight, with marks: a search that takes arcs up to a length reads about these.

Cost: a sort of the weights, one of each row, and a binary search per row and mark.
"""

from typing import Any

import numpy as np

from mgraph.core import csr_gpu
from mgraph.cuda.memory import copy
from mgraph.cuda.source import Source
from mgraph.steiner.star_types_gpu import MARKED_SHARES, VARIANTS, kernel_defines

KERNELS = Source(__package__, "star_rows.cu", check=VARIANTS)


def sort_by_weight(indptr: Any, indices: Any, weights: Any) -> tuple[Any, Any, Any, Any]:
    """Return copies of indices and weights whose rows ascend by weight, the marks, and the rows.

    indices: int32. marks: some weights, ascending, the last of which is the maximum. rows: bytes of
    one ``sorted_row`` per vertex.
    """
    import cupy

    ascending = copy(weights)
    ascending.sort()
    marked = [int(share * (weights.size - 1)) for share in MARKED_SHARES]
    marks = cupy.asarray(np.concatenate([ascending[arc : arc + 1].get() for arc in marked]))
    del ascending
    indices, weights = copy(indices), copy(weights)
    csr_gpu.sort_rows_by_weight(indptr, indices, weights)
    defines = kernel_defines(str(weights.dtype), "int64")
    n = indptr.size - 1
    row_bytes = KERNELS.struct("sorted_row", None, **defines).dtype.itemsize
    rows = cupy.empty(n * row_bytes, np.uint8)
    KERNELS.launch("star_write_rows", (indptr, weights, marks, np.int64(n), rows), **defines)
    return indices, weights, marks, rows
