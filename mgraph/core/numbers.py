"""Numbers as people write them, and integers within a range."""

from typing import Any

import numpy as np

from mgraph.errors import UsageError

MAX_WEIGHT = (1 << 31) - 1  # of drawn ones, which are int32


def parse_number(text: str) -> int:
    """Parse a whole number as people write it: ``1_000_000``, ``1e9``, ``2.5e6``, ``2^30``.

    Raises ValueError for anything else, including fractions.
    """
    cleaned = text.strip().replace("_", "").replace(",", "")
    base, power, exponent = cleaned.partition("^")
    if power:
        if not (base.isdigit() and exponent.isdigit() and int(exponent) <= 128):
            raise ValueError(text)
        return int(int(base) ** int(exponent))
    mantissa, e, exponent = cleaned.lower().partition("e")
    if not e:
        return int(cleaned)
    whole, _, fraction = mantissa.partition(".")
    places = int(exponent) - len(fraction.rstrip("0"))
    if not 0 <= places <= 128:
        raise ValueError(text)
    return int(int(whole + fraction.rstrip("0")) * 10**places)


def check_weight_bounds(weights: Any) -> tuple[int, int]:
    """Return the bounds (low, high) of drawn weights. Raises UsageError."""
    if not isinstance(weights, (tuple, list)) or len(weights) != 2:
        raise UsageError(f"weights must be a pair (low, high) (got {weights!r})")
    low, high = (check_integer("weights", x, 0, MAX_WEIGHT) for x in weights)
    if low > high:
        raise UsageError(f"weights must be (low, high), and low {low} is above {high}")
    return low, high


def check_integer(name: str, value: Any, low: int, high: int) -> int:
    """Return a parameter as an int. Raises UsageError unless it is an integer in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise UsageError(f"{name} must be a whole number (got {value!r})")
    if not low <= value <= high:
        raise UsageError(f"{name} must lie in [{low}, {high}] (got {value})")
    return int(value)
