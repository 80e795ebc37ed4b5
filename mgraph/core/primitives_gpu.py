"""Parallel primitives on device arrays, whose kernels are compiled with mgraph's own.

Each of CuPy's expressions is a kernel that CuPy compiles when a process first needs it and has none
on disk: 0.1 s for one per element, 2 to 5 s for a reduction. The functions here take their place
where every command passes. Cost: see each.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.cuda.source import C_TYPES, Loader, Source, multiprocessors

_ELEMENTS = {
    **C_TYPES, "uint8": "unsigned char", "uint32": "unsigned", "uint64": "unsigned long long"
}  # fmt: skip
_SUMMARY_BLOCKS = 1024

KERNELS = Source(
    __package__,
    "primitives.cu",
    check=tuple((("MGRAPH_ELEMENT_T", element),) for element in _ELEMENTS.values()),
)


def _launch(name: str, arguments: Sequence[Any], dtype: Any) -> None:
    KERNELS.launch(name, arguments, MGRAPH_ELEMENT_T=_ELEMENTS[str(dtype)])


def loaders(*dtypes: str) -> list[Loader]:
    """Return functions that compile or load the kernels for elements of these types."""
    return [KERNELS.loader(MGRAPH_ELEMENT_T=_ELEMENTS[dtype]) for dtype in dtypes]


def fill(array: Any, value: Any) -> Any:
    """Set all elements of a contiguous array, and return it: one write per element."""
    if array.size:
        _launch("fill", (array, np.int64(array.size), array.dtype.type(value)), array.dtype)
    return array


def fill_leading(array: Any, leading: int, value: Any) -> None:
    """Set the first elements of each row, of the last dimension of a contiguous array."""
    width = array.shape[-1]
    rows = array.size // width
    if rows:
        arguments = np.int64(rows), np.int64(width), np.int64(leading), array.dtype.type(value)
        _launch("fill_leading", (array, *arguments), array.dtype)


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """Return a new array whose elements all are ``value``."""
    import cupy

    return fill(cupy.empty(shape, dtype), value)


def assign(array: Any, values: np.ndarray) -> None:
    """Copy a NumPy array to a contiguous device array of its shape and type."""
    array.set(values)


def put(array: Any, positions: Any, value: Any) -> None:
    """Set some elements of a contiguous array. positions: CuPy int64, within the array."""
    if positions.dtype != np.int64:
        raise TypeError(f"positions are int64, not {positions.dtype}")
    if positions.size:
        arguments = array, positions, np.int64(positions.size), array.dtype.type(value)
        _launch("put", arguments, array.dtype)


def put_each(array: Any, positions: np.ndarray, values: np.ndarray) -> None:
    """Set some elements of a contiguous array to values of its type, given on the host."""
    import cupy

    if positions.size:
        on_device = cupy.asarray(positions.astype(np.int64)), cupy.asarray(values)
        _launch("put_each", (array, *on_device, np.int64(positions.size)), array.dtype)


def accumulate(values: Any) -> Any:
    """Replace each element by the sum of all up to it, and return the array.

    values: contiguous, of integers, one dimension. Two reads and a write per element.
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

    arcs = np.asarray(positions, np.int64)
    rows = cupy.empty(arcs.size, np.int64)
    arguments = (
        indptr, np.int64(indptr.size - 1), cupy.asarray(arcs), np.int64(arcs.size), rows
    )  # fmt: skip
    if arcs.size:
        _launch("find_rows", arguments, "uint32")
    found: list[int] = rows.get().tolist()
    return found


def tails(indptr: Any, num_arcs: int, first_row: int = 0) -> Any:
    """Return each arc's source: int32, as if unsigned, ``(num_arcs,)``. One write per arc.

    indptr: of consecutive rows, the first of which is ``first_row``.
    """
    import cupy

    result = cupy.empty(num_arcs, np.int32)
    if num_arcs:
        counts = np.int64(indptr.size - 1), np.int64(num_arcs), np.uint32(first_row)
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


def largest_rows(indptr: Any, count: int) -> np.ndarray:
    """Return the rows of highest degree, of equal degrees the first ones: int64, on the host.

    In descending order of degree. Cost: a read of ``indptr`` per bit of n and of a degree.
    """
    n = indptr.size - 1
    count = min(count, n)
    if not count:
        return np.empty(0, np.int64)
    highest = summarize_degrees(indptr, 1).maximum + 1

    # The greatest degree that so many rows have at least; fewer have more.
    lowest = _last(highest, lambda degree: _count_rows(indptr, n, degree, highest) >= count)
    above = _list_rows(indptr, n, lowest + 1, highest, count)
    missing = count - len(above)
    # Of the rows of that degree, the first ones.
    stop = 1 + _last(n, lambda row: _count_rows(indptr, row, lowest, lowest + 1) < missing)
    rows = np.concatenate([above, _list_rows(indptr, stop, lowest, lowest + 1, missing)])
    return rows[np.lexsort((rows[:, 0], -rows[:, 1])), 0]


def _last(stop: int, holds: Callable[[int], bool]) -> int:
    """Return the last number below ``stop`` for which something holds that holds up to it, or 0."""
    low, high = 0, stop
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _count_rows(indptr: Any, stop: int, low: int, high: int) -> int:
    """Return the number of rows before ``stop`` with low <= degree < high."""
    import cupy

    count = cupy.zeros(1, np.uint64)
    arguments = indptr, np.int64(stop), np.uint64(low), np.uint64(high), count
    _launch("count_rows", arguments, "uint32")
    return int(count[0])


def _list_rows(indptr: Any, stop: int, low: int, high: int, most: int) -> np.ndarray:
    """Return these rows, at most ``most``, in any order, and their degrees: ``(k, 2)``."""
    import cupy

    count, rows = cupy.zeros(1, np.uint64), cupy.empty((2, most), np.int64)
    arguments = indptr, np.int64(stop), np.uint64(low), np.uint64(high), count, rows[0], rows[1]
    _launch("list_rows", arguments, "uint32")
    listed: np.ndarray = rows.get()[:, : int(count[0])].T
    return listed


def sum_integers(values: Any) -> int:
    """Return the exact sum of an array of int32 or int64. One read."""
    low, high = _sum_by_blocks("sum_integers", values, np.int64, 2)
    return sum(low.tolist()) + (sum(high.tolist()) << 32)


def sum_as_float(values: Any) -> float:
    """Return the sum of an array of weights as float64, the same in every run on a device."""
    (sums,) = _sum_by_blocks("summarize_weights", values, np.float64, 1)
    return float(sums.sum())


def _sum_by_blocks(name: str, values: Any, dtype: Any, count: int) -> np.ndarray:
    """Launch a kernel that writes ``count`` sums per block; return them, ``(count, blocks)``."""
    import cupy

    if not values.size:
        return np.zeros((count, 1), dtype)
    blocks = min(_SUMMARY_BLOCKS, 8 * multiprocessors())
    sums = cupy.empty((count, blocks), dtype)
    kernel = KERNELS.kernel(name, MGRAPH_ELEMENT_T=_ELEMENTS[str(values.dtype)])
    kernel((blocks,), (256,), (values, np.int64(values.size), *sums))
    host: np.ndarray = sums.get()
    return host
