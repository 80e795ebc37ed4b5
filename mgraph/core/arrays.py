"""Conversion of users' sequences and arrays: without loss, or refused with a UsageError."""

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
    """Return whether the array lies in a device's memory, as CuPy's arrays do."""
    return hasattr(array, "__cuda_array_interface__")


def to_numpy(array: Any) -> np.ndarray:
    """Return an array of NumPy's, or a copy of one of CuPy's."""
    on_host: np.ndarray = array if isinstance(array, np.ndarray) else array.get()
    return on_host


def is_edge_index(value: Any) -> bool:
    """Return whether a value is an array of shape (2, m), as PyTorch Geometric keeps edges."""
    shape = getattr(value, "shape", None)
    is_pair = shape is not None and len(shape) == 2 and int(shape[0]) == 2
    return is_pair and hasattr(value, "dtype") and not hasattr(value, "tocoo")


def to_python_numbers(*values: Any) -> tuple[Any, ...]:
    """Return the values with NumPy scalars as Python numbers, which JSON can hold."""
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def check_integers(**values: Any) -> None:
    """Raise UsageError for a parameter that is neither None nor a whole number."""
    for name, value in values.items():
        if value is not None and not _is_integer(value):
            raise UsageError(f"{name} must be a whole number (got {value!r})", parameter=name)


def as_list(name: str, values: Any) -> list[Any]:
    """Return the elements of a list or another ordered iterable.

    Raises UsageError for text, sets, dictionaries and a single path, whose elements are hardly
    what the caller means.
    """
    unordered = (str, bytes, Mapping, set, frozenset)
    if isinstance(values, unordered) or not isinstance(values, Iterable):
        raise UsageError(f"{name} must be a list (got {type(values).__name__})", parameter=name)
    return list(values)


def checked_vertices(name: str, vertices: Any, n: int) -> np.ndarray:
    """Return one or several vertices as an int64 array; UsageError unless all are in [0, n)."""
    if isinstance(vertices, str):
        raise _names_error(name)
    array = as_array(name, vertices, ordered=False)
    array = np.atleast_1d(array.get() if on_gpu(array) else array)
    if array.dtype.kind in "UO" and any(isinstance(one, str) for one in array.flat):
        raise _names_error(name)
    are_integers = array.dtype.kind in "iu" or all(map(_is_integer, array.flat))
    if array.ndim != 1 or not are_integers:
        raise UsageError(
            f"{name} must be a vertex or a list of vertices (got {type(vertices).__name__} of "
            f"shape {array.shape} and type {array.dtype})",
            parameter=name,
        )
    outside = array[(array < 0) | (array >= n)]
    if outside.size and not n:
        raise UsageError(f"the graph has no vertices, so {name} cannot be one", parameter=name)
    if outside.size:
        raise UsageError(f"{name} must lie in [0, {n:,}) (got {int(outside[0]):,})", parameter=name)
    return array.astype(np.int64)


def _names_error(name: str) -> UsageError:
    remedy = "graph.vertex(label) gives the number of a label"
    text = f"{name} must be a vertex or a list of vertices, as numbers (got text); {remedy}"
    return UsageError(text, parameter=name, remedy=remedy)


def as_weights(values: Any) -> Any:
    """Convert an array to one of the weight types; UsageError for complex numbers, for example."""
    values = _to_native(values)
    if str(values.dtype) in WEIGHT_DTYPES:
        return values
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise UsageError(
            f"weights must be real numbers of 64 bits at most (got {values.dtype})",
            parameter="weight",
        )
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    if values.dtype == np.uint64 and values.size and int(values.max()) >= 1 << 63:
        raise UsageError(
            f"weights must lie below 2^63 (got {int(values.max()):,})", parameter="weight"
        )
    return values.astype(np.int32 if values.dtype.itemsize < 4 else np.int64)


def as_array(name: str, values: Any, *, ordered: bool = True) -> Any:
    """Return the values as a NumPy array; a CuPy array is returned as it is.

    Takes arrays, numbers and iterables: lists, tuples, ranges, generators, and, unless ``ordered``,
    sets, whose elements are sorted. Python integers stay exact, whatever their size. Raises
    UsageError for text, dictionaries, masked elements, and rows of different lengths.
    """
    if on_gpu(values):
        from mgraph.cuda.transfer import as_cupy

        return as_cupy(values)
    if isinstance(values, (str, bytes, bytearray, Mapping)):
        raise UsageError(
            f"{name} must be an array or a list (got {type(values).__name__})", parameter=name
        )
    if np.ma.is_masked(values):
        raise UsageError(f"{name} must not have masked elements", parameter=name)
    if isinstance(values, (set, frozenset)):
        if ordered:
            raise UsageError(
                f"{name} must be an array or a list: a set has no order", parameter=name
            )
        try:
            values = sorted(values)
        except TypeError:
            values = list(values)
    is_array = _is_array(values)
    if not is_array and isinstance(values, Iterable):
        values = list(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{name} must be an array or a list of numbers: {error}", parameter=name
        ) from error
    if array.dtype.kind == "f" and array.size and not is_array:
        exact = np.asarray(values, object)  # integers of mixed types become floats in NumPy
        sizes = [abs(int(value)) for value in exact.flat if _is_integer(value)]
        if len(sizes) == exact.size or max(sizes, default=0) > 1 << 53:
            array = exact
    if array.dtype == object and array.size and all(map(_is_integer, array.flat)):
        with contextlib.suppress(OverflowError):
            return array.astype(np.int64)
    return _to_native(array)


def _to_native(array: Any) -> Any:
    """Return the same numbers in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_array(values: Any) -> bool:
    if hasattr(values, "__array__") or hasattr(values, "__array_interface__"):
        return True
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


def as_dtype(name: str, values: Any, dtype: Any, reason: str = "") -> Any:
    """Return ``as_array`` in a numeric type; raise UsageError for a value that it cannot hold.

    Integers must lie in the type's range, fractions are refused for integer types, and an array's
    floats must be representable. Python's own floats are rounded to the nearest, as they have no
    shorter type, but must not become infinite. reason: why it must be this type, for the message.
    """
    array, dtype = as_array(name, values), np.dtype(dtype)
    if array.dtype == dtype or not array.size:
        return array.astype(dtype, copy=False)
    rule = f"{name} must be {dtype}{reason and f', {reason}'}"
    if array.dtype == object:
        return _convert_objects(name, rule, array, dtype)
    if array.dtype.kind not in _NUMBERS:
        raise UsageError(f"{rule} (got {array.dtype})", parameter=name)
    with np.errstate(all="ignore"):
        lost = _find_lost(array, dtype, rounding=not (on_gpu(values) or _is_array(values)))
        if bool(lost.any()):
            value = array.ravel()[int(lost.ravel().argmax())].item()
            raise UsageError(
                f"{rule} (got {array.dtype}, and {dtype} cannot hold {value!r})", parameter=name
            )
        return array.astype(dtype)


def _find_lost(array: Any, dtype: Any, rounding: bool) -> Any:
    """Return a bool per number: whether ``dtype`` cannot hold it."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if array.dtype.kind in "iu":
            own = np.iinfo(array.dtype)
            minimum, maximum = max(limits.min, own.min), min(limits.max, own.max)
            return (array < array.dtype.type(minimum)) | (array > array.dtype.type(maximum))
        if array.dtype.itemsize < 4:  # a half has no such powers of two
            array = array.astype(np.float32)
        # The maximum integer may not be a float, but the power of two above it is.
        inside = (array >= float(limits.min)) & (array < float(limits.max + 1))
        return ~inside | (array != np.trunc(array))
    cast = array.astype(dtype)
    if array.dtype.kind in "iu":
        return _find_rounded(array, cast, dtype)
    if rounding:
        return np.isinf(cast) & ~np.isinf(array)
    return (cast.astype(array.dtype) != array) & ~np.isnan(array)


def _find_rounded(integers: Any, floats: Any, dtype: Any) -> Any:
    """Return a bool per integer: whether the float type ``dtype`` rounds it."""
    max_exact = 1 << (np.finfo(dtype).nmant + 1)
    lost = np.zeros_like(integers, bool)
    if np.iinfo(integers.dtype).max <= max_exact:
        return lost
    beyond = integers > integers.dtype.type(max_exact)
    if integers.dtype.kind == "i":
        beyond |= integers < integers.dtype.type(-max_exact)
    if bool(beyond.any()):
        pairs = zip(integers[beyond].tolist(), floats[beyond].tolist(), strict=True)
        lost[beyond] = np.asarray([int(near) != exact for exact, near in pairs], like=lost)
    return lost


def _convert_objects(name: str, rule: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert an array of Python numbers one by one; see ``as_dtype``."""
    converted = np.empty(array.shape, dtype)
    for place, value in enumerate(array.flat):
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            number = dtype.type(operator.index(value) if dtype.kind in "iu" else value)
            is_integer = isinstance(value, (int, np.integer))
            if (is_integer and int(number) != value) or (np.isinf(number) and not np.isinf(value)):
                raise OverflowError
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{rule} (got {value!r})", parameter=name) from None
        converted.flat[place] = number
    return converted
