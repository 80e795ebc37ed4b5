"""Different values have different digests, even if printed alike; equal values have equal ones."""

import dataclasses
import datetime
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel
from mgraph.core.canonical import digest


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


@dataclasses.dataclass
class Place:
    x: object
    y: object = 0


def large(change, dtype=np.int64):
    """An array of which NumPy prints six elements, and none of those that are changed."""
    array = np.arange(2000).astype(dtype)
    array[1000] += change
    return array


def test_arrays_with_the_same_repr_have_different_digests():
    assert str(large(0)) == str(large(1))
    for wrap in (lambda a: a, lambda a: {"sources": a}, lambda a: [a], lambda a: Point(a),
                 lambda a: {"nested": [{"deep": (a, 1)}]}, lambda a: a.reshape(2, -1),
                 lambda a: a.astype(object), lambda a: a[::-1]):  # fmt: skip
        assert digest(wrap(large(0))) != digest(wrap(large(1)))
        assert digest(wrap(large(1))) == digest(wrap(large(1)))


DIFFERENT = [
    None, True, False, 0, 1, -1, 10, 2**70, 0.0, -0.0, 1.0, float("nan"), float("inf"), 1j,
    "", "0", "1", "None", "a", "ab", b"", b"a", Path("a"), range(0), range(2), range(0, 4, 2),
    [], [[]], [0], [1], [1, 2], [[1], 2], [[1, 2]], ["a", "b"], ["ab", ""], ["", "ab"], set(),
    {1}, {1, 2}, {}, {"a": 1}, {"a": "1"}, {1: "a"}, {"a": 1, "b": 2}, {"a": 2, "b": 1},
    {"a": {"b": 1}}, Point(1), Point(1, 1), Place(1), Point([1]), CopyModel(100, 2),
    CopyModel(100, 3), CopyModel(100, 2, seed=2), large(0), large(1), large(0, np.int32),
    large(0, float), large(0, np.float32), large(0).reshape(2, 1000), large(0).reshape(1000, 2),
    np.zeros(3), np.zeros((3, 1)), np.zeros(0), np.zeros((0, 3)), np.zeros(3, bool),
    np.array([1, None]), np.array(["a", "b"]), np.array(["a", "c"]),
    np.datetime64("2025-11-25"), np.datetime64("2025-11-25", "s"),
]  # fmt: skip


def test_different_values_have_different_digests():
    digests = [digest(value) for value in DIFFERENT]
    for (i, one), (j, other) in itertools.combinations(enumerate(digests), 2):
        assert one != other, (DIFFERENT[i], DIFFERENT[j])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 2, 3}, {3, 2, 1}),
        ((1, 2), [1, 2]),
        (np.int64(5), 5),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.arange(9), np.arange(9).astype(">i8")),
        (np.arange(9)[::2], np.arange(9)[::2].copy()),
        (np.ones((3, 2)), np.ones((3, 2), order="F")),
        (Point([1, {"a": 2}]), Point([1, {"a": 2}])),
        (CopyModel(100, 2), CopyModel(100, 2)),
    ],
)
def test_equal_values_have_equal_digests(one, other):
    assert digest(one) == digest(other)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(values, values)
def test_digests_are_equal_exactly_if_values_are(one, other):
    same = repr(one) == repr(other) or _sorted(one) == _sorted(other)
    assert (digest(one) == digest(other)) == same


def _sorted(value):
    if isinstance(value, dict):
        return "dict" + repr(sorted((key, _sorted(its)) for key, its in value.items()))
    return repr([_sorted(its) for its in value]) if isinstance(value, list) else repr(value)


@pytest.mark.parametrize(
    "value",
    [object(), len, Point, datetime.date(2025, 11, 25), (i for i in range(3)), iter([1]),
     np.ma.array([1, 2], mask=[0, 1]), np.array([object()]), {"a": [object()]},
     np.zeros(2, [("a", int)])],
)  # fmt: skip
def test_values_of_unknown_types_are_refused(value):
    with pytest.raises(TypeError, match=r"(has|have) no digest"):
        digest(value)
