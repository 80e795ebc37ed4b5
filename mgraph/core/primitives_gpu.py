"""Parallel primitives on device arrays, whose kernels are compiled with mgraph's own.

Each of CuPy's expressions is a kernel that CuPy compiles when a process first needs it and has none
on disk: 0.1 s for one per element, 2 to 5 s for a reduction. The functions here take their place
where every command passes. Cost: see each.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.cuda.source import C_TYPES, Source, multiprocessors

_ELEMENTS = {**C_TYPES, "uint32": "unsigned", "uint64": "unsigned long long"}
_SUMMARY_BLOCKS = 1024

KERNELS = Source(
    __package__,
    "primitives.cu",
    check=tuple((("MGRAPH_ELEMENT_T", element),) for element in _ELEMENTS.values()),
)


def _launch(name: str, arguments: Sequence[Any], dtype: Any) -> None:
    KERNELS.launch(name, arguments, MGRAPH_ELEMENT_T=_ELEMENTS[str(dtype)])


def fill(array: Any, value: Any) -> Any:
    """Set all elements of a contiguous array, and return it: one write per element."""
    if array.size:
        _launch("fill", (array, np.int64(array.size), array.dtype.type(value)), array.dtype)
    return array


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """Return a new array whose elements all are ``value``."""
    import cupy

    return fill(cupy.empty(shape, dtype), value)


def accumulate(values: Any) -> Any:
    """Replace each element by the sum of all up to it, and return the array.

    values: contiguous, uint32, int64 or uint64, one dimension. Two reads and a write per element.
    """
    import cupy

    count, dtype = np.int64(values.size), values.dtype
    if not count:
        return values
    tiles = -(-int(count) // KERNELS.constant("tile_items", MGRAPH_ELEMENT_T="unsigned"))
    sums = cupy.empty(tiles, dtype)
    _launch("scan_sums", (values, count, sums), dtype)
    _launch("scan_offsets", (sums, np.int64(tiles)), dtype)
    _launch("scan_write", (values, count, sums), dtype)
    return values


def find_rows(indptr: Any, positions: Sequence[int]) -> list[int]:
    """Return the row in which each arc's position lies: the last that begins at or before it."""
    import cupy

    wanted = np.asarray(positions, np.int64)
    rows = cupy.empty(wanted.size, np.int64)
    arguments = (
        indptr, np.int64(indptr.size - 1), cupy.asarray(wanted), np.int64(wanted.size), rows
    )  # fmt: skip
    if wanted.size:
        _launch("find_rows", arguments, "uint32")
    found: list[int] = rows.get().tolist()
    return found


def tails(indptr: Any, num_arcs: int, first_row: int = 0) -> Any:
    """Return each arc's source: int32, ``(num_arcs,)``. One write per arc.

    indptr: of consecutive rows, the first of which is ``first_row``.
    """
    import cupy

    result = cupy.empty(num_arcs, np.int32)
    if num_arcs:
        counts = np.int64(indptr.size - 1), np.int64(num_arcs), np.int32(first_row)
        _launch("write_tails", (indptr, *counts, result), "uint32")
    return result


class DegreeSummary(NamedTuple):
    """Of the degrees: the maximum, and how many pieces of at most ``piece`` arcs the rows have
    that are longer than that."""

    maximum: int
    pieces: int


def summarize_degrees(indptr: Any, piece: int) -> DegreeSummary:
    """Return the summary of all rows' degrees. One read of ``indptr``."""
    import cupy

    result = cupy.zeros(2, np.uint64)
    arguments = (
        indptr, np.int64(indptr.size - 1), np.uint64(piece), result[:1], result[1:]
    )  # fmt: skip
    _launch("summarize_degrees", arguments, "uint32")
    return DegreeSummary(*result.get().tolist())


def sum_as_float(values: Any) -> float:
    """Return the sum of an array of weights as a float64: the same in every run on a device."""
    import cupy

    if not values.size:
        return 0.0
    blocks = min(_SUMMARY_BLOCKS, 8 * multiprocessors())
    sums = cupy.empty(blocks, np.float64)
    kernel = KERNELS.kernel("summarize_weights", MGRAPH_ELEMENT_T=_ELEMENTS[str(values.dtype)])
    kernel((blocks,), (256,), (values, np.int64(values.size), sums))
    return float(sums.get().sum())
