"""Instances are checked, read and written; Pisinger's equal those of his generator."""

import csv
import os
import pathlib
import re

import numpy as np
import pytest

from mgraph import StorageError, UsageError
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance

SHARED = pathlib.Path(os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
FOLDER = SHARED / "data" / "knapsack"
OPTIMA = FOLDER / "optima.csv"
needs_data = pytest.mark.skipif(not OPTIMA.exists(), reason=f"{OPTIMA} is not there")


def instances():
    if not OPTIMA.exists():
        return []
    with OPTIMA.open() as stream:
        return [pytest.param(row, id=row["instance"]) for row in csv.DictReader(stream)]


@needs_data
@pytest.mark.parametrize("row", instances())
def test_items_are_those_of_pisinger_s_generator(row):
    """For files whose parameters are known; for some, the number is one of several."""
    parameters = re.match(r"gen2\(n=(\d+),R=(\d+),type=(\d+),v=(.*),S=1000\)", row["generator"])
    items, coefficients, kind = map(int, parameters.groups()[:3])
    numbers = parameters[4]
    if numbers.startswith("<="):
        candidates = range(1, int(numbers[2:]) + 1)
    else:
        first, _, last = numbers.partition("-")
        candidates = range(int(first), int(last or first) + 1)
    expected = KnapsackInstance.read(FOLDER / row["instance"])
    assert expected.capacity == int(row["capacity"])
    for number in candidates:
        made = pisinger_instance(KINDS[kind - 1], items, coefficients, number)
        np.testing.assert_array_equal(made.profits, expected.profits)
        np.testing.assert_array_equal(made.weights, expected.weights)
        assert made.capacity == expected.capacity


@pytest.mark.parametrize("kind", KINDS)
def test_profits_and_weights_of_each_kind_are_related(kind):
    made = pisinger_instance(kind, 5000, 1000, 500, seed=7)
    profits, weights = made.profits, made.weights
    difference = profits - weights
    is_related = {
        "weakly_correlated": abs(difference) <= 100,
        "strongly_correlated": difference == 100,
        "inverse_strongly_correlated": difference == -100,
        "almost_strongly_correlated": abs(difference - 100) <= 1,
        "subset_sum": difference == 0,
        "even_odd_subset_sum": (difference == 0) & (weights % 2 == 0),
        "even_odd": (difference == 100) & (weights % 2 == 0),
    }.get(kind, profits <= 1000)
    assert is_related.all()
    assert profits.min() >= 1
    base = weights - (100 if kind.startswith("inverse") else 0)
    assert (base.min(), base.max()) == (2 if kind.startswith("even") else 1, 1000)
    assert abs(base.mean() - 500) < 15
    capacity = int(500 * weights.sum() / 1001)
    assert made.capacity - capacity in ((0, 1) if kind.startswith("even") else (0,))
    other = pisinger_instance(kind, 5000, 1000, 500, seed=8)
    assert (made.weights != other.weights).any()


def test_numbers_of_32_bits_are_lrand48():
    """The first numbers after srand48(1), as POSIX defines them."""
    state = (1 << 16) + 0x330E
    expected = []
    for _ in range(20):
        state = (state * 0x5DEECE66D + 0xB) % (1 << 48)
        expected.append((state >> 17) % 1000 + 1)
    made = pisinger_instance("subset_sum", 20, 1000, 1, seed=1, word_bits=32)
    assert made.weights.tolist() == expected


def test_an_instance_survives_a_file(tmp_path):
    made = KnapsackInstance([3, 0, 5], [1, 0, 1 << 40], 7)
    made.write(tmp_path / "a.data")
    again = KnapsackInstance.read(tmp_path / "a.data")
    assert again.profits.tolist() == [3, 0, 5]
    assert again.weights.tolist() == [1, 0, 1 << 40]
    assert (again.capacity, again.items) == (7, 3)
    assert made.check_solution(np.array([True, True, False])) == (3, 1)
    assert repr(again) == "KnapsackInstance(items=3, capacity=7)"
    KnapsackInstance([], [], 0).write(tmp_path / "b.data")
    assert KnapsackInstance.read(tmp_path / "b.data").items == 0


@pytest.mark.parametrize(
    "text",
    [
        "3\n1 60 10\n2 100 20\n3 120 30\n50\n",
        "3\n0 60 10\n1 100 20\n2 120 30\n50",
        "\ufeff3 50\r\n60 10\r\n100 20\r\n120 30\r\n",
        "3 50 60 10 100 20 120 30",
        "3 50\n60.0 1e1\n+100 20\n120 30\n",
    ],
)
def test_files_of_other_programs(tmp_path, text):
    (tmp_path / "a").write_text(text)
    instance = KnapsackInstance.read(tmp_path / "a")
    assert instance.profits.tolist() == [60, 100, 120]
    assert instance.weights.tolist() == [10, 20, 30]
    assert instance.capacity == 50


def test_items_with_numbers_of_their_own(tmp_path):
    (tmp_path / "a").write_text("2\n104 60 10\n7 100 20\n50\n")
    instance = KnapsackInstance.read(tmp_path / "a")
    assert instance.ids.tolist() == [104, 7]
    instance.write(tmp_path / "b")
    again = KnapsackInstance.read(tmp_path / "b")
    assert again.ids.tolist() == [104, 7]
    assert (again.profits.tolist(), again.weights.tolist(), again.capacity) == (
        [60, 100], [10, 20], 50
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a: the file is empty"),
        (" \n", "a: the file is empty"),
        ("2 10\n1 2\n", r"for 2 items 6 numbers \(got 4\)"),
        ("1 10\n1 2\n3 4", r"for 1 items 4 numbers \(got 6\)"),
        ("1 10\n1 2\n3", r"for 1 items 4 numbers \(got 5; line 3 is not of two numbers\)"),
        ("2\n1 60 10\n1 100 20\n50\n", "ids must be 2 different numbers"),
        ("2\n1 60 10\n-3 100 20\n50\n", r"ids must be at least 0 \(got -3\)"),
        (f"1\n{1 << 62} 60 10\n50\n", "ids must be below 2"),
        (f"{10**18}\n1 60 10\n50\n", r"got 5; line 1 is not"),
        ("1 10\n1 x\n", "line 2 must hold whole numbers, and 'x' is none"),
        ("1 10\n1 1_0\n", "line 2 must hold whole numbers, and '1_0' is none"),
        ("1 10\n1 1,5\n", "line 2 must hold whole numbers, and '1,5' is none"),
        ("1 10\n1 -2\n", r"weights must be at least 0 \(got -2\)"),
        ("1 -1\n1 2\n", "capacity must be a whole number from 0"),
        (f"1 5\n{1 << 70} 2\n", "the sum of profits must be below 2"),
        ("1 5\n1 \xff\n", "line 2 must hold whole numbers"),
        ("\xff\xfe1\0 ", "it is UTF-16 text; save it as UTF-8"),
        ("1 5\0", "it is binary, and no text"),
    ],
)
def test_files_that_are_not_instances_are_refused(tmp_path, text, sentence):
    (tmp_path / "a").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=sentence):
        KnapsackInstance.read(tmp_path / "a")
    with pytest.raises(StorageError, match="cannot be read"):
        KnapsackInstance.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1, 2], [1], 5), r"profits and weights must have the same length \(got 2 and 1\)"),
        (([[1]], [1], 5), "profits must have one dimension"),
        (([1.5], [1], 5), r"profits must be whole numbers \(got float64\)"),
        (([1, None], [1, 1], 5), "profits must be whole numbers: 'NoneType'"),
        (([1 << 70, 1.5], [1, 1], 5), "profits must be whole numbers"),
        ((np.array([2, 1.5], object), [1, 1], 5), "profits must be whole numbers: 'float'"),
        (([1], [1], 5.5), "capacity must be a whole number"),
        (([1], [1], True), "capacity must be a whole number"),
    ],
)
def test_values_that_make_no_instance_are_refused(arguments, sentence):
    with pytest.raises(UsageError, match=sentence):
        KnapsackInstance(*arguments)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"kind": "hard"}, "kind must be one of"),
        ({"items": 0}, r"items must be a whole number of at least 1 \(got 0\)"),
        ({"coefficients": 2.5}, "coefficients must be a whole number"),
        ({"number": 1001}, r"number must be at most series, which is 1000 \(got 1001\)"),
        ({"word_bits": 16}, "word_bits must be 32 or 64"),
    ],
)
def test_wrong_parameters_of_the_generator_are_refused(changed, sentence):
    parameters = {"kind": "subset_sum", "items": 5, "coefficients": 100, "number": 1} | changed
    with pytest.raises(UsageError, match=sentence):
        pisinger_instance(**parameters)
