"""Weights as unsigned integers in the same order, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.spanning_trees.weight_keys import order_keys, weights_of


def weights(dtype):
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return st.integers(limits.min, limits.max)
    return st.floats(width=8 * dtype.itemsize, allow_nan=False)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@given(data=st.data())
def test_keys_have_the_order_of_weights(dtype, data):
    values = np.array(data.draw(st.lists(weights(np.dtype(dtype)))), dtype)
    keys = order_keys(values)
    np.testing.assert_array_equal(keys[:, None] < keys, values[:, None] < values)
    np.testing.assert_array_equal(keys[:, None] == keys, values[:, None] == values)
    back = weights_of(keys.astype(np.uint64), values.dtype)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, values)
    assert not np.signbit(back[back == 0]).any()
