"""Knapsacks: the best choice, by whatever method, and the truth about it."""

import csv
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import OutOfMemoryError, UsageError
from mgraph.knapsacks.instance import read_knapsack
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from tests.knapsacks.test_instances import FOLDER, OPTIMA, needs_data


def best_of_all(profits, weights, capacity):
    """Every choice."""
    choices = itertools.product((0, 1), repeat=len(profits))
    sums = ((np.dot(profits, x), np.dot(weights, x)) for x in choices)
    return max(profit for profit, weight in sums if weight <= capacity)


def by_capacity(instance):
    """Bellman's: the most profit for each capacity, item after item."""
    most = np.zeros(instance.capacity + 1, np.int64)
    for p, w in zip(instance.profits, instance.weights, strict=True):
        if w <= instance.capacity:
            most[w:] = np.maximum(most[w:], most[: most.size - w] + p)
    return int(most[-1])


def check(found, instance):
    """That it is what it says."""
    chosen = np.zeros(instance.items, bool)
    chosen[found.items] = True
    assert chosen.sum() == found.items.size
    assert instance.check_solution(chosen) == (found.profit, found.weight)
    assert found.weight <= instance.capacity
    assert found.profit <= found.bound
    assert found.optimal == (found.profit == found.bound)


def solved(instance, **options):
    found = mgraph.knapsack(instance.profits, instance.weights, instance.capacity, **options)
    check(found, instance)
    return found


numbers = st.integers(0, 30)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(numbers, numbers), max_size=9), st.integers(0, 120))
def test_small_ones_against_every_choice(pairs, capacity):
    profits, weights = ([pair[i] for pair in pairs] for i in (0, 1))
    instance = mgraph.knapsacks.instance.KnapsackInstance(profits, weights, capacity)
    found = solved(instance)
    assert found.optimal
    assert found.profit == best_of_all(profits, weights, capacity)


@pytest.mark.parametrize("number", [3, 250, 900])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_against_bellman(kind, number):
    instance = pisinger_instance(kind, 120, 300, number, seed=5)
    found = solved(instance)
    assert found.optimal
    assert found.profit == by_capacity(instance)


@needs_data
def test_instances_whose_optima_are_known():
    with OPTIMA.open() as stream:
        for row in csv.DictReader(stream):
            found = solved(read_knapsack(FOLDER / row["instance"]))
            assert (found.profit, found.optimal) == (int(row["optimum"]), True), row["instance"]


@pytest.mark.parametrize(
    ("profits", "weights", "capacity", "items"),
    [
        ([], [], 5, []),
        ([5], [1], 0, []),
        ([5, 7], [0, 1], 0, [0]),
        ([5, 7], [9, 9], 8, []),
        ([0, 0], [1, 0], 8, []),
        ([3, 4, 5], [1, 2, 3], 6, [0, 1, 2]),
        ([1 << 40, 1], [1 << 20, 1], 1 << 20, [0]),
    ],
)
def test_what_is_certain(profits, weights, capacity, items):
    found = mgraph.knapsack(profits, weights, capacity)
    assert found.items.tolist() == items
    assert found.optimal


def test_a_time_limit_gives_the_best_so_far():
    instance = pisinger_instance("strongly_correlated", 700, 18_000, 500)
    found = solved(instance, time_limit=0)
    assert not found.optimal
    whole = solved(instance)
    assert found.profit < whole.profit <= found.bound
    assert whole.optimal


def no_memory(*arguments, **options):
    raise MemoryError("Unable to allocate 8.00 GiB")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("dynamic_program.MOST_STATES", 1),
        ("dynamic_program.free_memory", lambda: 0),
        ("dynamic_program.solve", no_memory),
    ],
)
def test_auto_goes_on_by_branch_and_bound_where_memory_is_short(monkeypatch, kind, place, value):
    instance = pisinger_instance(kind, 60, 300, 400, seed=3)
    expected = solved(instance)
    monkeypatch.setattr("mgraph.knapsacks.dynamic_program._FEW_STATES", 0)
    monkeypatch.setattr(f"mgraph.knapsacks.{place}", value)
    found = solved(instance)
    assert (found.profit, found.optimal) == (expected.profit, True)
    if place != "dynamic_program.MOST_STATES":  # a few instances have one state alone
        assert (found.method, found.backend) == ("branch_and_bound", "cpu")
        with pytest.raises(OutOfMemoryError, match="use"):
            solved(instance, method="dynamic_program")
    monkeypatch.setattr("mgraph.knapsacks.branch_and_bound_cpu.solve", no_memory)
    if found.method == "branch_and_bound":
        with pytest.raises(OutOfMemoryError, match="neither the dynamic program nor branch and"):
            solved(instance)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "luck"},
            "method must be one of auto, dynamic_program, branch_and_bound .got 'luck'",
        ),
        ({"time_limit": -1}, "time_limit must be a number of seconds, 0 or more, or left out"),
        ({"time_limit": "5"}, "or left out, and is '5'"),
        ({"time_limit": float("inf")}, "or left out, and is inf"),
        ({"backend": "tpu"}, "backend must be auto, cpu or gpu, and is 'tpu'"),
        ({"method": "dynamic_program", "backend": "gpu"}, "dynamic_program runs on a CPU"),
        ({"key": "weight"}, "key must be one of bound, profit .got 'weight'"),
        ({"time_limit": float("nan")}, "time_limit must be a number of seconds"),
    ],
)
def test_wrong_use(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        mgraph.knapsack([1], [1], 1, **options)
    with pytest.raises(UsageError, match="an item's profit times its weight must be below 2\\^62"):
        mgraph.knapsack([1 << 40], [1 << 40], 1)
