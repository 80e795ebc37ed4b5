"""The dynamic program finds the best choice, and every method says whether it is optimal."""

import csv
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import OutOfMemoryError, UsageError
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from tests.knapsacks.test_instances import FOLDER, OPTIMA, needs_data


def best_of_all_choices(profits, weights, capacity):
    """The maximum profit, by trying every choice."""
    choices = itertools.product((0, 1), repeat=len(profits))
    sums = ((np.dot(profits, x), np.dot(weights, x)) for x in choices)
    return max(profit for profit, weight in sums if weight <= capacity)


def bellman_profit(instance):
    """Bellman's recurrence: the maximum profit for each capacity, item after item."""
    profits = np.zeros(instance.capacity + 1, np.int64)
    for p, w in zip(instance.profits, instance.weights, strict=True):
        if w <= instance.capacity:
            profits[w:] = np.maximum(profits[w:], profits[: profits.size - w] + p)
    return int(profits[-1])


def check_consistency(result, instance):
    """Check that the items have the result's profit and weight, and the bound is a bound."""
    chosen = np.zeros(instance.items, bool)
    chosen[result.items] = True
    assert chosen.sum() == result.items.size
    assert instance.check_solution(chosen) == (result.profit, result.weight)
    assert result.weight <= instance.capacity
    assert result.profit <= result.bound
    assert result.optimal == (result.profit == result.bound)


def solve(instance, **options):
    """The result of ``mgraph.knapsack``, checked for consistency."""
    result = mgraph.knapsack(instance.profits, instance.weights, instance.capacity, **options)
    check_consistency(result, instance)
    return result


numbers = st.integers(0, 30)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(numbers, numbers), max_size=9), st.integers(0, 120))
def test_small_instances_have_the_profit_of_the_best_of_all_choices(pairs, capacity):
    profits, weights = ([pair[i] for pair in pairs] for i in (0, 1))
    instance = KnapsackInstance(profits, weights, capacity)
    result = solve(instance)
    assert result.optimal
    assert result.profit == best_of_all_choices(profits, weights, capacity)


@pytest.mark.parametrize("number", [3, 250, 900])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_profit_of_bellman_s_recurrence(kind, number):
    instance = pisinger_instance(kind, 120, 300, number, seed=5)
    result = solve(instance)
    assert result.optimal
    assert result.profit == bellman_profit(instance)


@needs_data
def test_known_optima_are_found():
    with OPTIMA.open() as stream:
        for row in csv.DictReader(stream):
            result = solve(KnapsackInstance.read(FOLDER / row["instance"]))
            assert (result.profit, result.optimal) == (int(row["optimum"]), True), row["instance"]


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
def test_items_that_are_fixed_are_chosen_without_a_search(profits, weights, capacity, items):
    result = mgraph.knapsack(profits, weights, capacity)
    assert result.items.tolist() == items
    assert result.optimal


def test_a_result_is_shown_and_converted_to_tables():
    result = mgraph.knapsack([6, 10, 12], [1, 2, 3], 5)
    assert repr(result) == (
        "Knapsack(profit=22, weight=5, 2 items, optimal, dynamic_program on cpu)"
    )
    assert result.to_pandas().to_dict("list") == result.to_arrow().to_pydict() == {"item": [1, 2]}
    instance = pisinger_instance("strongly_correlated", 700, 18_000, 500)
    unproven = solve(instance, time_limit=0)
    assert f"bound={unproven.bound}, " in repr(unproven)


def test_a_time_limit_returns_the_best_choice_so_far():
    instance = pisinger_instance("strongly_correlated", 700, 10_000, 500)
    result = solve(instance, time_limit=0)
    assert not result.optimal
    complete = solve(instance)
    assert result.profit < complete.profit <= result.bound
    assert complete.optimal


def raise_memory_error(*arguments, **options):
    raise MemoryError("Unable to allocate 8.00 GiB")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dynamic_program.MAX_STATES", 1),
        ("dynamic_program.free_memory", lambda: 0),
        ("dynamic_program.solve", raise_memory_error),
    ],
)
def test_auto_falls_back_to_branch_and_bound_when_memory_is_short(monkeypatch, kind, name, value):
    instance = pisinger_instance(kind, 60, 300, 400, seed=3)
    expected = solve(instance)
    monkeypatch.setattr("mgraph.knapsacks.dynamic_program._UNCHECKED_STATES", 0)
    monkeypatch.setattr(f"mgraph.knapsacks.{name}", value)
    result = solve(instance)
    assert (result.profit, result.optimal) == (expected.profit, True)
    if name != "dynamic_program.MAX_STATES":  # a few instances have one state alone
        assert (result.method, result.backend) == ("branch_and_bound", "cpu")
        with pytest.raises(OutOfMemoryError, match="use"):
            solve(instance, method="dynamic_program")
    monkeypatch.setattr("mgraph.knapsacks.branch_and_bound_cpu.solve", raise_memory_error)
    if result.method == "branch_and_bound":
        with pytest.raises(
            OutOfMemoryError, match="neither the dynamic program nor branch and bound"
        ):
            solve(instance)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "luck"},
            r"method must be one of .*, plain_branch_and_bound \(got 'luck'\)",
        ),
        ({"time_limit": -1}, r"time_limit must be a number of seconds of at least 0, or None"),
        ({"time_limit": "5"}, r"or None \(got '5'\)"),
        ({"time_limit": float("inf")}, r"or None \(got inf\)"),
        ({"backend": "tpu"}, r"backend must be one of auto, cpu, gpu \(got 'tpu'"),
        ({"method": "dynamic_program", "backend": "gpu"}, "dynamic_program runs on a CPU"),
        ({"key": "weight"}, r"key must be one of bound, profit \(got 'weight'\)"),
        ({"time_limit": float("nan")}, "time_limit must be a number of seconds"),
    ],
)
def test_wrong_parameters_are_refused(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        mgraph.knapsack([1], [1], 1, **options)
    with pytest.raises(UsageError, match="an item's profit times its weight must be below 2\\^62"):
        mgraph.knapsack([1 << 40], [1 << 40], 1)
