"""Ranks of numbers and strings, and the order of pairs: by radix as by Python's sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.core import ranking_cpu


@pytest.fixture(autouse=True, scope="module")
def by_radix():
    """Few rows are ranked by NumPy and Python otherwise."""
    patch = pytest.MonkeyPatch()
    patch.setattr(ranking_cpu, "_FEW", -1)
    yield
    patch.undo()


def check_numbers(values):
    distinct, ranks = ranking_cpu.rank_numbers(values)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(ranks, inverse)
    assert distinct.dtype == values.dtype


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1))
def test_signed_numbers(values):
    check_numbers(np.array(values, np.int64))


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_unsigned_numbers(values):
    check_numbers(np.array(values, np.uint64))


@pytest.mark.parametrize("size", [33, 2049, 100_000])
@pytest.mark.parametrize("spread", [1, 200, 1 << 20, 1 << 62])
def test_many_numbers(size, spread):
    random = np.random.default_rng(size)
    values = random.integers(-spread, spread, size)
    values[:3] = [-(1 << 63), (1 << 63) - 1, 0]  # a bucket of all others
    check_numbers(values)


def check_strings(strings):
    offsets = np.cumsum([0, *map(len, strings)]).astype(np.int64)
    data = np.frombuffer(b"".join(strings) or b"\0", np.uint8)
    rows, ranks = ranking_cpu.rank_strings(offsets, data)
    expected = sorted(set(strings))
    assert [strings[row] for row in rows] == expected
    assert [expected[rank] for rank in ranks] == strings


@given(st.lists(st.binary(max_size=20)), st.binary(max_size=20))
def test_strings(strings, prefix):
    check_strings([prefix + string for string in strings])


@pytest.mark.parametrize("alphabet", [b"ab", b"\0a", bytes(range(256))])
@pytest.mark.parametrize("length", [3, 9, 17, 40])
def test_many_strings(alphabet, length):
    random = np.random.default_rng(length)
    lengths = random.integers(0, length, 3000).tolist()
    choices = np.frombuffer(alphabet, np.uint8)
    check_strings([random.choice(choices, size).tobytes() for size in lengths])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1), st.booleans())
def test_pairs(pairs, wide):
    first, second = np.array(pairs, np.int64).T
    first, second = (column + (1 << 40 if wide else 0) for column in (first, second))
    order = ranking_cpu.sort_pairs(first, second)
    np.testing.assert_array_equal(order, np.lexsort((second, first)))


def test_few_rows_without_compiling(monkeypatch):
    monkeypatch.setattr(ranking_cpu, "_FEW", 1000)
    check_numbers(np.array([5, -1, 5], np.int64))
    check_strings([b"b", b"a", b"", b"b"])
    assert ranking_cpu.sort_pairs(np.array([1, 0]), np.array([0, 7])).tolist() == [1, 0]
