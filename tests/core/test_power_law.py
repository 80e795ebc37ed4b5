"""The tail fit against samples whose exponent is known."""

import numpy as np
import pytest
from scipy.special import zeta

from mgraph.core import power_law


def zeta_sample(exponent, k_min, size, seed):
    """Samples of P(k) = k^-exponent / zeta(exponent, k_min) by inversion, up to k = 10^6."""
    k = np.arange(k_min, 1_000_000)
    above = zeta(exponent, k + 1) / zeta(exponent, k_min)
    drawn = np.searchsorted(-above, -np.random.default_rng(seed).random(size))
    return k[np.minimum(drawn, len(k) - 1)]


@pytest.mark.parametrize("exponent", [2.1, 2.5, 3.0])
def test_exponent_is_within_four_standard_errors(exponent):
    values, counts = np.unique(zeta_sample(exponent, 5, 100_000, 1), return_counts=True)
    found = power_law.fit_tail(values, counts, 5)
    assert abs(found.exponent - exponent) < 4 * found.standard_error
    assert found.standard_error == pytest.approx((exponent - 1) / np.sqrt(100_000), rel=0.3)
    assert found.tail == 100_000


def test_k_min_is_found_where_the_tail_begins():
    noise = np.random.default_rng(2).integers(1, 20, 200_000)
    sample = np.concatenate([noise, zeta_sample(2.5, 20, 50_000, 3)])
    found = power_law.fit(*np.unique(sample, return_counts=True))
    assert 15 <= found.k_min <= 40
    assert abs(found.exponent - 2.5) < 0.1


@pytest.mark.parametrize("values", [[], [4], [0, 7]])
def test_no_tail_gives_none(values):
    assert power_law.fit(np.array(values, np.int64), np.full(len(values), 1000, np.int64)) is None
