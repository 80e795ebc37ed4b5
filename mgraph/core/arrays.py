"""What users give for an array: sequences and arrays of any kind, taken without loss or refused."""

import contextlib
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mgraph.errors import UsageError

INDEX_DTYPES = ("int32", "int64")
WEIGHT_DTYPES = ("int32", "int64", "float32", "float64")
_NUMBERS = "iuf"


def on_gpu(array: Any) -> bool:
    """Whether the array lives in a device's memory (CuPy's does)."""
    return hasattr(array, "__cuda_array_interface__")


def plain(*values: Any) -> tuple[Any, ...]:
    """The values, NumPy's numbers among them as Python's, which JSON takes."""
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def check_whole(**values: Any) -> None:
    """Raise UsageError for a parameter that is given and is no whole number."""
    for name, value in values.items():
        if value is not None and not _is_whole(value):
            raise UsageError(f"{name} must be a whole number, and is {value!r}")


def as_list(name: str, given: Any) -> list[Any]:
    """The elements of a list or whatever iterates in order; UsageError for text, sets, and others.

    A dictionary and a single path are refused, too, since their elements are hardly meant.
    """
    if isinstance(given, (str, bytes, Mapping, set, frozenset)) or not isinstance(given, Iterable):
        raise UsageError(f"{name} must be a list, and is {type(given).__name__}")
    return list(given)


def checked_vertices(name: str, given: Any, n: int) -> np.ndarray:
    """A vertex, or several in any form, as an int64 array. Raises UsageError for what is none."""
    array = as_array(name, given, ordered=False)
    array = np.atleast_1d(array.get() if on_gpu(array) else array)
    whole = array.dtype.kind in "iu" or all(map(_is_whole, array.flat))
    if array.ndim != 1 or not whole:
        raise UsageError(
            f"{name} must be a vertex or a list of vertices, and is {type(given).__name__} of "
            f"shape {array.shape} and type {array.dtype}"
        )
    bad = array[(array < 0) | (array >= n)]
    if bad.size:
        raise UsageError(f"{name} must lie in [0, {n:,}), and {int(bad[0]):,} does not")
    return array.astype(np.int64)


def as_weights(values: Any) -> Any:
    """Numbers as one of a weight's types; UsageError for complex ones, say."""
    values = _native(values)
    if str(values.dtype) in WEIGHT_DTYPES:
        return values
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise UsageError(f"weights must be real numbers of 64 bits at most, not {values.dtype}")
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    if values.dtype == np.uint64 and values.size and int(values.max()) >= 1 << 63:
        raise UsageError(f"weights must lie below 2^63, and one is {int(values.max()):,}")
    return values.astype(np.int32 if values.dtype.itemsize < 4 else np.int64)


def as_array(name: str, given: Any, *, ordered: bool = True) -> Any:
    """``given`` as a NumPy array, or itself where it is a CuPy array.

    Takes arrays, numbers, and whatever iterates: lists, tuples, ranges, generators, and, unless
    ``ordered``, sets, whose elements then ascend. Python integers stay exact, whatever their size.
    Raises UsageError for text, dictionaries, masked elements, and rows of different lengths.
    """
    if on_gpu(given):
        return given
    if isinstance(given, (str, bytes, bytearray, Mapping)):
        raise UsageError(f"{name} must be an array or a list, and is {type(given).__name__}")
    if np.ma.is_masked(given):
        raise UsageError(f"{name} must have a value everywhere, and some elements are masked")
    if isinstance(given, (set, frozenset)):
        if ordered:
            raise UsageError(f"{name} must be an array or a list: a set has no order")
        try:
            given = sorted(given)
        except TypeError:
            given = list(given)
    is_array = _is_array(given)
    if not is_array and isinstance(given, Iterable):
        given = list(given)
    try:
        array = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be an array or a list of numbers: {error}") from error
    if array.dtype.kind == "f" and array.size and not is_array:
        exact = np.asarray(given, object)  # integers of mixed types become floats in NumPy
        sizes = [abs(int(value)) for value in exact.flat if _is_whole(value)]
        if len(sizes) == exact.size or max(sizes, default=0) > 1 << 53:
            array = exact
    if array.dtype == object and array.size and all(map(_is_whole, array.flat)):
        with contextlib.suppress(OverflowError):
            return array.astype(np.int64)
    return _native(array)


def _native(array: Any) -> Any:
    """The same numbers in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_array(given: Any) -> bool:
    if hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        return True
    try:
        memoryview(given)
    except TypeError:
        return False
    return True


def as_dtype(name: str, given: Any, dtype: Any, reason: str = "") -> Any:
    """``as_array`` of a numeric type; raises UsageError where a value would not survive.

    Integers must lie in the type's range, fractions are refused for integer types, and an array's
    floats must be representable. Python's own floats are rounded to the nearest, as they have no
    shorter type, but do not become infinite. reason: why it must be this type, for the message.
    """
    array, dtype = as_array(name, given), np.dtype(dtype)
    if array.dtype == dtype or not array.size:
        return array.astype(dtype, copy=False)
    must = f"{name} must be {dtype}{reason and f', {reason}'}"
    if array.dtype == object:
        return _of_objects(must, array, dtype)
    if array.dtype.kind not in _NUMBERS:
        raise UsageError(f"{must}, and are {array.dtype}")
    with np.errstate(all="ignore"):
        lost = _lost(array, dtype, rounding=not (on_gpu(given) or _is_array(given)))
        if bool(lost.any()):
            value = array.ravel()[int(lost.ravel().argmax())].item()
            raise UsageError(f"{must}, and are {array.dtype}, of which {value!r} cannot be kept")
        return array.astype(dtype)


def _lost(array: Any, dtype: Any, rounding: bool) -> Any:
    """Which numbers ``dtype`` cannot hold, a bool each."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if array.dtype.kind in "iu":
            own = np.iinfo(array.dtype)
            least, most = max(limits.min, own.min), min(limits.max, own.max)
            return (array < array.dtype.type(least)) | (array > array.dtype.type(most))
        if array.dtype.itemsize < 4:  # a half has no such powers of two
            array = array.astype(np.float32)
        # The largest integer may not be a float, but the power of two above it is.
        inside = (array >= float(limits.min)) & (array < float(limits.max + 1))
        return ~inside | (array != np.trunc(array))
    cast = array.astype(dtype)
    if array.dtype.kind in "iu":
        return _rounded(array, cast, dtype)
    if rounding:
        return np.isinf(cast) & ~np.isinf(array)
    return (cast.astype(array.dtype) != array) & ~np.isnan(array)


def _rounded(integers: Any, floats: Any, dtype: Any) -> Any:
    """Which integers a float type rounds."""
    most = 1 << (np.finfo(dtype).nmant + 1)
    lost = np.zeros_like(integers, bool)
    if np.iinfo(integers.dtype).max <= most:
        return lost
    large = integers > integers.dtype.type(most)
    if integers.dtype.kind == "i":
        large |= integers < integers.dtype.type(-most)
    if bool(large.any()):
        pairs = zip(integers[large].tolist(), floats[large].tolist(), strict=True)
        lost[large] = np.asarray([int(near) != whole for whole, near in pairs], like=lost)
    return lost


def _of_objects(must: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Python's numbers, one by one."""
    made = np.empty(array.shape, dtype)
    for place, value in enumerate(array.flat):
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            number = dtype.type(operator.index(value) if dtype.kind in "iu" else value)
            whole = isinstance(value, (int, np.integer))
            if (whole and int(number) != value) or (np.isinf(number) and not np.isinf(value)):
                raise OverflowError
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{must}, and {value!r} is not") from None
        made.flat[place] = number
    return made
