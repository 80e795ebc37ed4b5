"""Pisinger's knapsack instances: seven kinds in which profits and weights are related.

Source: S. Martello, D. Pisinger, P. Toth, "Dynamic programming and strong bounds for the 0-1
knapsack problem", Management Science 45(3), 1999, and its test generator, whose numbers these are:
the same parameters give the same items. That generator's random numbers are those of ``lrand48``,
computed in machine words; on machines of 64 bits, where nothing cuts them off at 32, they are
others, and without a seed they begin at 0. ``word_bits`` and ``seed`` say which.
"""

from collections.abc import Iterator

import numpy as np

from mgraph.core.choices import check_choice
from mgraph.errors import UsageError
from mgraph.knapsacks.instance import KnapsackInstance

KINDS = (
    "uncorrelated",
    "weakly_correlated",
    "strongly_correlated",
    "inverse_strongly_correlated",
    "almost_strongly_correlated",
    "subset_sum",
    "even_odd_subset_sum",
    "even_odd",
)


def pisinger_instance(
    kind: str,
    items: int,
    coefficients: int,
    number: int,
    *,
    series: int = 1000,
    seed: int | None = None,
    word_bits: int = 64,
) -> KnapsackInstance:
    """Make one instance of a series.

    kind: one of ``KINDS``. With w uniform in [1, R], R = coefficients, profits are uniform in
    [1, R]; within R/10 of w; w + R/10; w, of a weight w + R/10; w + R/10 within R/1000; w; and, of
    even weights, w or w + R/10. number: 1 to ``series``, S; capacity: number·Σw / (S + 1), odd for
    the even-odd kinds, and at least the largest weight. seed: of the random numbers; None: they
    begin at 0. word_bits: 32 or 64, of the machine that the generator runs on.
    Raises UsageError for other parameters.
    """
    for name, value, low in (("items", items, 1), ("coefficients", coefficients, 1),
                             ("series", series, 1), ("number", number, 1)):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise UsageError(f"{name} must be a whole number, {low} or more, and is {value!r}")
    check_choice("kind", kind, KINDS)
    if number > series:
        raise UsageError(f"number must be within the series of {series}, and is {number}")
    if word_bits not in (32, 64):
        raise UsageError(f"word_bits must be 32 or 64, and is {word_bits!r}")
    draws = _draws(seed, word_bits)
    pairs = [_item(kind, coefficients, draws) for _ in range(items)]
    profits, weights = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    capacity = int(number * float(weights.sum()) / (series + 1))
    capacity = max(capacity, int(weights.max()))
    if kind.startswith("even_odd"):
        capacity = capacity // 2 * 2 + 1
    return KnapsackInstance(profits, weights, capacity)


def _draws(seed: int | None, word_bits: int) -> Iterator[int]:
    """``lrand48`` in words of so many bits: of its 48 bits, the upper 32 and the lower 16 apart."""
    mask = (1 << word_bits) - 1
    high, low = (0, 0) if seed is None else (seed & mask, 0x330E)
    while True:
        high = (high * 0xDEECE66D + low * 0x5DEEC) & mask
        low = (low * 0xE66D + 0xB) & mask
        high = (high + (low >> 16)) & mask
        low &= 0xFFFF
        yield high >> 1


def _item(kind: str, coefficients: int, draws: Iterator[int]) -> tuple[int, int]:
    """An item's profit and weight."""
    tenth, thousandth = coefficients // 10, coefficients // 1000
    weight = next(draws) % coefficients + 1
    if kind == "uncorrelated":
        return next(draws) % coefficients + 1, weight
    if kind == "weakly_correlated":
        return max(1, next(draws) % (2 * tenth + 1) + weight - tenth), weight
    if kind == "strongly_correlated":
        return weight + tenth, weight
    if kind == "inverse_strongly_correlated":
        return weight, weight + tenth
    if kind == "almost_strongly_correlated":
        spread = 2 * coefficients // 1000
        return weight + tenth + next(draws) % (spread + 1) - thousandth, weight
    if kind == "subset_sum":
        return weight, weight
    weight = (weight + 1) // 2 * 2
    return weight + (tenth if kind == "even_odd" else 0), weight
