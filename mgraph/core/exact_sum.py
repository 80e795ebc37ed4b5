"""Sums without rounding, so that they do not depend on the order or the partition of the terms."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

_LOW = (1 << 32) - 1
_TERMS = 1 << 30  # whose words' sums fit into int64


def exact_sum(values: Any) -> int | Fraction:
    """The sum of finite numbers: an int of integers, a Fraction of floats.

    values: NumPy or CuPy, ``(k,)``, int32, int64, float32 or float64. Cost: two passes for
    integers, two for each power of two among floats.
    """
    if values.dtype.kind == "i":
        return _whole_sum(values)
    mantissa, exponent = np.frexp(values if isinstance(values, np.ndarray) else values.get())
    whole = np.ldexp(mantissa.astype(np.float64), 53).astype(np.int64)
    total = Fraction(0)
    for power in np.unique(exponent).tolist():
        total += _whole_sum(whole[exponent == power]) * Fraction(2) ** (power - 53)
    return total


def rounded(total: int | Fraction) -> int | float:
    """An int as it is, a Fraction as the nearest float, which may be infinite."""
    if isinstance(total, int):
        return total
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _whole_sum(values: Any) -> int:
    if values.dtype == np.int32:
        return int(values.sum(dtype=np.int64))
    total = 0
    for start in range(0, values.size, _TERMS):
        some = values[start : start + _TERMS]
        total += (int((some >> 32).sum()) << 32) + int((some & _LOW).sum())
    return total
