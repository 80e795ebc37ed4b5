"""Costs as text: whole numbers in full, fractions without what rounding has added."""

import numpy as np
import pytest

import mgraph
from mgraph.core.formatting import digits_of, format_sum


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234567, 15, "1,234,567"),
        (10**30, 7, f"{10**30:,}"),
        (169.14000000000001, 15, "169.14"),
        (0.1 + 0.2, 15, "0.3"),
        (1234567.25, 15, "1,234,567.25"),
        (float(np.float32(169.14)), 7, "169.14"),
        (123456789.0, 7, "123,456,789"),
        (2.5e-7, 15, "2.5e-07"),
        (1e300, 15, "1e+300"),
        (0.0, 15, "0"),
    ],
)
def test_sums(value, digits, text):
    assert format_sum(value, digits) == text


def test_digits_are_those_of_the_type():
    assert [digits_of(np.dtype(t)) for t in ("float32", "float64", "int64")] == [7, 15, 15]
    assert digits_of(None) == 15


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_show_no_digits_of_rounding(dtype):
    weights = np.array([56.38, 56.38, 56.38], dtype)  # their exact sum is not that of 169.14
    edges = mgraph.EdgeList([0, 1, 2], [1, 2, 3], weights)
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    assert "cost 169.14, optimal" in str(mgraph.steiner_tree(graph, [0, 3], backend="cpu"))
    assert "total weight 169.14," in repr(mgraph.minimum_spanning_forest(graph, backend="cpu"))
