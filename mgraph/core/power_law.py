"""Fitting a discrete power law to the tail of a histogram, by maximum likelihood.

Source: Clauset, Shalizi, Newman, "Power-law distributions in empirical data", SIAM Review 51
(2009), sections 3 and 4: P(k) = k^-γ / ζ(γ, k_min) for k >= k_min; γ maximises the likelihood, its
standard error follows from the likelihood's curvature, and k_min is where the fitted and the
empirical distribution lie closest (Kolmogorov–Smirnov).
"""

from typing import NamedTuple

import numpy as np

MIN_TAIL = 50  # values; a fit to fewer is meaningless
MIN_DISTINCT = 10  # distinct values, likewise
CANDIDATES = 60  # values of k_min that are tried


def import_libraries() -> None:
    """Import what ``fit`` needs, which takes 0.3 s."""
    import scipy.optimize
    import scipy.special  # noqa: F401


class PowerLaw(NamedTuple):
    """A fit: exponent, standard error, ``k_min``, the number of values in the tail, KS distance."""

    exponent: float
    standard_error: float
    k_min: int
    tail: int
    distance: float


def fit_tail(values: np.ndarray, counts: np.ndarray, k_min: int) -> PowerLaw | None:
    """Fit the values at or above ``k_min``; return None if they are too few.

    values: ascending, distinct, positive int64. counts: how often each occurs, int64.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    first = int(np.searchsorted(values, k_min))
    values, counts = values[first:].astype(np.float64), counts[first:].astype(np.float64)
    tail = counts.sum()
    if tail < MIN_TAIL or len(values) < MIN_DISTINCT:
        return None
    mean_log = (counts * np.log(values)).sum() / tail
    exponent = minimize_scalar(
        lambda gamma: np.log(zeta(gamma, k_min)) + gamma * mean_log,
        bounds=(1.000001, 30),
        method="bounded",
        options={"xatol": 1e-9},
    ).x
    step = 1e-4 * exponent
    log_zeta = [np.log(zeta(exponent + offset, k_min)) for offset in (-step, 0, step)]
    curvature = (log_zeta[0] - 2 * log_zeta[1] + log_zeta[2]) / step**2
    empirical = np.cumsum(counts) / tail
    fitted = 1 - zeta(exponent, values + 1) / zeta(exponent, k_min)
    distance = np.abs(empirical - fitted).max()
    return PowerLaw(
        float(exponent),
        float(1 / np.sqrt(tail * max(curvature, 1e-300))),
        int(k_min),
        int(tail),
        float(distance),
    )


def fit(values: np.ndarray, counts: np.ndarray) -> PowerLaw | None:
    """Return the fit of minimum KS distance among up to 60 values of ``k_min`` over the range.

    A ``k_min`` is tried only if at least 50 values, and a thousandth of all, lie at or above it, so
    that a handful of hubs does not count as a tail. None if nothing can be fitted.
    """
    positive = values > 0
    values, counts = values[positive], counts[positive]
    if not len(values):
        return None
    at_least = np.cumsum(counts[::-1])[::-1]
    eligible = values[at_least >= max(MIN_TAIL, counts.sum() // 1000)]
    spread = np.unique(np.geomspace(1, max(len(eligible), 1), CANDIDATES).astype(np.int64)) - 1
    fits = [fit_tail(values, counts, int(k)) for k in eligible[spread]] if len(eligible) else []
    return min((each for each in fits if each), key=lambda each: each.distance, default=None)
