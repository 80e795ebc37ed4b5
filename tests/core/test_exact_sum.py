"""Sums without rounding, compared with Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.core.exact_sum import exact_sum, rounded


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@given(data=st.data())
def test_integers(dtype, data):
    bounds = np.iinfo(dtype)
    values = data.draw(st.lists(st.integers(bounds.min, bounds.max)))
    assert exact_sum(np.array(values, dtype)) == sum(values)


@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float64", 64)])
@given(data=st.data())
def test_floats(dtype, width, data):
    numbers = st.floats(width=width, allow_nan=False, allow_infinity=False)
    values = np.array(data.draw(st.lists(numbers)), dtype)
    assert exact_sum(values) == sum(map(Fraction, values.tolist()))


def test_the_order_of_terms_does_not_matter_and_overflow_is_infinite():
    values = np.array([1e308, 1.0, -1e308, 1e-300])
    assert exact_sum(values) == exact_sum(values[::-1].copy()) == 1 + Fraction(1e-300)
    assert rounded(exact_sum(np.full(3, -1e308))) == -np.inf
    assert rounded(exact_sum(np.array([3, 4]))) == 7
