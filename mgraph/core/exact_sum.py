"""Sums without rounding, which do not depend on the order or the division of the terms."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from mgraph.core.arrays import to_numpy

_LOW = (1 << 32) - 1
_CHUNK_TERMS = 1 << 30  # the sum of that many 32-bit words fits into int64


def exact_sum(values: Any) -> int | Fraction:
    """Return the sum of finite numbers: an int for integers, a Fraction for floats.

    values: NumPy or CuPy array, ``(k,)``, int32, int64, float32 or float64. Cost: two passes for
    integers, two per binary exponent that occurs among floats.
    """
    if values.dtype.kind == "i":
        return _integer_sum(values)
    mantissa, exponent = np.frexp(to_numpy(values))
    integers = np.ldexp(mantissa.astype(np.float64), 53).astype(np.int64)
    total = Fraction(0)
    for power in np.unique(exponent).tolist():
        total += _integer_sum(integers[exponent == power]) * Fraction(2) ** (power - 53)
    return total


def rounded(total: int | Fraction) -> int | float:
    """Return an int as it is, and a Fraction as the nearest float, which may be infinite."""
    if isinstance(total, int):
        return total
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _integer_sum(values: Any) -> int:
    if not isinstance(values, np.ndarray):
        from mgraph.core import primitives_gpu

        return primitives_gpu.sum_integers(values)
    if values.dtype == np.int32:
        return int(values.sum(dtype=np.int64))
    total = 0
    for start in range(0, values.size, _CHUNK_TERMS):
        chunk = values[start : start + _CHUNK_TERMS]
        total += (int((chunk >> 32).sum()) << 32) + int((chunk & _LOW).sum())
    return total
