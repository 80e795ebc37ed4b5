"""Weights of NetworkX's edges as arrays."""

from typing import Any

import numpy as np

from mgraph.networkx_backend.hand_back import HandBack

EXACT_INTEGERS = 1 << 53  # up to which a double holds all integers
_NUMBERS = {int, float, bool, np.int64, np.float64}


def to_numbers(values: list[Any]) -> np.ndarray:
    """Return weights as integers or doubles. Raises HandBack if that would change one."""
    types = set(map(type, values))
    if not types <= _NUMBERS:
        raise HandBack("a weight is of another type than Python's numbers")
    try:
        numbers = np.asarray(values) if values else np.zeros(0, np.int32)
    except OverflowError as error:
        raise HandBack(str(error)) from error
    kind = numbers.dtype.kind
    if kind not in "bif":
        raise HandBack("64 bits do not hold a weight")
    if kind == "f":
        if not types <= {float, np.float64} and not abs(numbers).max() < EXACT_INTEGERS:
            raise HandBack("a double may not hold an integer among the weights")
        return numbers.astype(np.float64)
    return narrow(numbers)


def narrow(numbers: np.ndarray) -> np.ndarray:
    """Return integers as int32 if these hold them, else as int64; and doubles as they are."""
    if numbers.dtype.kind == "f":
        return numbers
    largest = np.iinfo(np.int32).max
    is_small = not numbers.size or (numbers.min() >= -largest and numbers.max() <= largest)
    return numbers.astype(np.int32 if is_small else np.int64)


def to_weights(numbers: np.ndarray) -> np.ndarray:
    """Return numbers by which paths are searched. Raises HandBack for others."""
    check_not_negative(numbers)
    if not np.isfinite(numbers).all():
        raise HandBack("a weight is not finite")
    return numbers


def check_not_negative(weights: Any) -> None:
    """Raise HandBack for weights by which no path is searched."""
    if weights is not None and weights.size and not weights.min() >= 0:
        raise HandBack("a weight is negative or not a number")
