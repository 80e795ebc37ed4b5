"""Pisinger's knapsack instances: kinds in which profits and weights are related.

Source: S. Martello, D. Pisinger, P. Toth, "Dynamic programming and strong bounds for the 0-1
knapsack problem", Management Science 45(3), 1999, and its test generator, whose numbers these are:
the same parameters give the same items. That generator's random numbers are those of ``lrand48``,
computed in machine words. On machines of 64 bits, where nothing truncates them to 32, the numbers
differ, and without a seed the generator starts at 0: ``word_bits`` and ``seed`` say which.
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
    """Generate one instance of a series of Pisinger's knapsack instances.

    Parameters
    ----------
    kind : str
        How an item's profit p depends on its weight w, uniform in [1, R]: ``uncorrelated``, p
        uniform in [1, R]; ``weakly_correlated``, within R/10 of w; ``strongly_correlated``,
        w + R/10; ``inverse_strongly_correlated``, w with a weight of w + R/10;
        ``almost_strongly_correlated``, w + R/10 within R/1000; ``subset_sum``, w; and, for even
        weights, ``even_odd_subset_sum``, w, and ``even_odd``, w + R/10.
    items : int
        The number of items.
    coefficients : int
        The range of the weights, R.
    number : int
        The instance's number in the series, from 1 to ``series``: the capacity is
        number / (series + 1) of the total weight, at least the maximum weight, and odd for the
        even-odd kinds.
    series : int, default 1000
        The length of the series, S.
    seed : int, optional
        The seed of the random numbers; without one the generator starts at 0.
    word_bits : {64, 32}, default 64
        The word size of the machine whose numbers are generated.

    Returns
    -------
    KnapsackInstance

    Raises
    ------
    UsageError
        If a parameter is not as above.

    Examples
    --------
    >>> from mgraph.experiments import pisinger_instance
    >>> pisinger_instance("even_odd", 500, 10_000, 300)
    KnapsackInstance(items=500, capacity=701745)
    """
    for name, value in (
        ("items", items), ("coefficients", coefficients), ("series", series), ("number", number)
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise UsageError(f"{name} must be a whole number of at least 1 (got {value!r})")
    check_choice("kind", kind, KINDS)
    if number > series:
        raise UsageError(f"number must be at most series, which is {series} (got {number})")
    if word_bits not in (32, 64):
        raise UsageError(f"word_bits must be 32 or 64 (got {word_bits!r})")
    draws = _draw_numbers(seed, word_bits)
    pairs = [_draw_item(kind, coefficients, draws) for _ in range(items)]
    profits, weights = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    capacity = int(number * float(weights.sum()) / (series + 1))
    capacity = max(capacity, int(weights.max()))
    if kind.startswith("even_odd"):
        capacity = capacity // 2 * 2 + 1
    return KnapsackInstance(profits, weights, capacity)


def _draw_numbers(seed: int | None, word_bits: int) -> Iterator[int]:
    """Yield ``lrand48``'s numbers in machine words; its 48 bits are split into 32 and 16."""
    mask = (1 << word_bits) - 1
    high, low = (0, 0) if seed is None else (seed & mask, 0x330E)
    while True:
        high = (high * 0xDEECE66D + low * 0x5DEEC) & mask
        low = (low * 0xE66D + 0xB) & mask
        high = (high + (low >> 16)) & mask
        low &= 0xFFFF
        yield high >> 1


def _draw_item(kind: str, coefficients: int, draws: Iterator[int]) -> tuple[int, int]:
    """Draw an item's profit and weight."""
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
