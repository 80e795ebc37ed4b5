"""The table over all capacities: the same profits as the dynamic program over a core."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import knapsack
from mgraph.core import cancellation
from mgraph.knapsacks import dynamic_program, table_cpu
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.problem import KnapsackProblem


def best_profit(profits, weights, capacity):
    choices = itertools.product([0, 1], repeat=len(profits))
    fitting = (c for c in choices if sum(map(int.__mul__, c, weights)) <= capacity)
    return max(sum(map(int.__mul__, c, profits)) for c in fitting)


@given(
    items=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 5000)), min_size=2, max_size=9),
    capacity=st.integers(1, 12_000),
    heavy=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_table_finds_the_best_choice(items, capacity, heavy):
    profits, weights = (list(column) for column in zip(*items, strict=True))
    if heavy:  # profits that need 64 bits
        profits = [profit << 29 for profit in profits]
    problem = KnapsackProblem(KnapsackInstance(profits, weights, capacity))
    if not problem.size:
        return
    chosen = table_cpu.solve(problem, math.inf)
    assert problem.weights[chosen].sum() <= capacity
    expected = best_profit(profits, weights, capacity) - problem.fixed_profit
    assert problem.profits[chosen].sum() == expected


def test_many_states_are_left_to_a_table(monkeypatch):
    random = np.random.default_rng(4)
    weights = random.integers(1, 400, 60) + 30_000 // 2 ** random.integers(1, 5, 60)
    profits, capacity = weights + random.integers(1, 400, 60), 30_000
    without = knapsack(profits, weights, capacity)
    monkeypatch.setattr(dynamic_program, "CELLS_PER_STATE", 1 << 40)
    calls, solve = [], table_cpu.solve
    monkeypatch.setattr(table_cpu, "solve", lambda *args: calls.append(1) or solve(*args))
    result = knapsack(profits, weights, capacity)
    assert calls == [1]
    assert (result.profit, result.optimal) == (without.profit, True)
    assert profits[result.items].sum() == result.profit == result.bound


@pytest.mark.parametrize("limit", [0, 1e-9])
def test_a_table_ends_with_the_time(limit):
    problem = KnapsackProblem(KnapsackInstance([3, 4, 5], [3, 4, 5], 7))
    assert table_cpu.solve(problem, limit) is None


def test_a_cancelled_table_returns_no_result():
    problem = KnapsackProblem(KnapsackInstance([3, 4, 5], [3, 4, 5], 7))
    with cancellation.cancelled_when(lambda: True), pytest.raises(cancellation.Cancelled):
        table_cpu.solve(problem, math.inf)


def test_a_table_that_is_too_large_is_not_made():
    small = KnapsackProblem(KnapsackInstance([3, 4, 5], [3, 4, 5], 7))
    assert table_cpu.fits(small)
    large = KnapsackProblem(KnapsackInstance([3, 4, 5], [1 << 40, 1 << 40, 1], 1 << 40))
    assert not table_cpu.fits(large)
