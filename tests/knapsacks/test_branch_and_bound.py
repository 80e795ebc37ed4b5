"""Branch and bound: the best choice, by whatever key, and the truth where it has to stop."""

import contextlib
import csv
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import OutOfMemoryError
from mgraph.knapsacks import branch_and_bound_cpu, problem
from mgraph.knapsacks.dominance import undominated
from mgraph.knapsacks.instance import KnapsackInstance, read_knapsack
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from tests.knapsacks.test_instances import FOLDER, OPTIMA, needs_data
from tests.knapsacks.test_knapsack import best_of_all, by_capacity, numbers, solved

CPU = {"method": "branch_and_bound", "backend": "cpu"}


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(numbers, numbers), max_size=9),
    st.integers(0, 120),
    st.sampled_from(["bound", "profit"]),
)
def test_small_ones_against_every_choice(pairs, capacity, key):
    profits, weights = ([pair[i] for pair in pairs] for i in (0, 1))
    found = solved(KnapsackInstance(profits, weights, capacity), key=key, **CPU)
    assert found.optimal
    assert found.profit == best_of_all(profits, weights, capacity)


@pytest.mark.parametrize("collect", [False, True])
@pytest.mark.parametrize("key", ["bound", "profit"])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_against_bellman(kind, key, collect, monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "FIRST_ROOM", 4)
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_AT", 50)
    monkeypatch.setattr(branch_and_bound_cpu, "STEPS", 100)
    monkeypatch.setattr(branch_and_bound_cpu, "TABLE", 1 << 12)
    for number in (3, 250, 900):
        instance = pisinger_instance(kind, 60, 100, number, seed=5)
        found = solved(instance, key=key, collect=collect, **CPU)
        assert found.optimal
        assert found.profit == by_capacity(instance)


@needs_data
def test_instances_whose_optima_are_known():
    """But for those that take seconds."""
    with OPTIMA.open() as stream:
        rows = [row for row in csv.DictReader(stream) if "_v500" not in row["instance"]]
    assert len(rows) > 10
    for row in rows:
        found = solved(read_knapsack(FOLDER / row["instance"]), **CPU)
        assert (found.profit, found.optimal) == (int(row["optimum"]), True), row["instance"]


@pytest.mark.parametrize("seed", [295, 9984, 10232, 22252, 22479, 36862])
def test_of_equal_nodes_the_one_is_left_that_the_table_has(seed, monkeypatch):
    """Instances of many equal nodes, in tables so small that they do not know all of them."""
    rng = np.random.default_rng(seed)
    for name, value in (
        ("STEPS", 1), ("TABLE", int(rng.choice([8, 32, 128, 1024]))),
        ("COLLECT_AT", int(rng.choice([3, 5, 10, 20]))),
    ):  # fmt: skip
        monkeypatch.setattr(branch_and_bound_cpu, name, value)
    items = int(rng.integers(20, 60))
    weights = rng.integers(1, int(rng.choice([12, 30, 100])), items)
    profits = weights + int(rng.choice([3, 10, 30])) + rng.integers(0, rng.choice([1, 2, 4]), items)
    instance = KnapsackInstance(profits, weights, int(weights.sum() * rng.uniform(0.1, 0.6)))
    found = solved(instance, key=["profit", "bound"][seed % 2 == 0], **CPU)
    assert found.profit == solved(instance).profit


@pytest.mark.parametrize("shift", [20, 40])
def test_large_profits_are_collected(shift, monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_AT", 20)
    monkeypatch.setattr(branch_and_bound_cpu, "STEPS", 10)
    for seed in range(20):
        one = pisinger_instance("strongly_correlated", 40, 100, 500, seed=seed)
        large = KnapsackInstance(one.profits << shift, one.weights, one.capacity)
        assert solved(large, **CPU).profit == solved(one).profit << shift


def test_undominated():
    rng = np.random.default_rng(1)
    for _ in range(300):
        level, weight, profit = rng.integers(0, 4, (3, int(rng.integers(0, 30))))
        profit = profit * (1 << 60)
        age = rng.permutation(level.size)
        left = {
            i
            for i in range(level.size)
            if not any(
                level[j] == level[i] and weight[j] <= weight[i] and profit[j] >= profit[i]
                and ((weight[j], profit[j]) != (weight[i], profit[i]) or age[j] > age[i])
                for j in range(level.size)
            )
        }  # fmt: skip
        assert set(undominated(np, level, weight, profit, age).tolist()) == left


def hard():
    return pisinger_instance("strongly_correlated", 700, 18_000, 500)


def test_a_time_limit_gives_the_best_so_far():
    found = solved(hard(), time_limit=0.05, **CPU)
    assert not found.optimal
    assert found.nodes > 0
    assert found.profit <= solved(hard()).profit <= found.bound


class Enough(Exception):
    """A test has seen what it looks at."""


def test_collecting_keeps_what_leads_to_the_best(monkeypatch):
    """Until the heap is empty, some nodes of it can be completed to the best there is."""
    best = solved(hard()).profit
    problem_of = problem.KnapsackProblem(hard())
    sizes = []
    collect = branch_and_bound_cpu._collect

    def watched(memory, state):
        before = int(state["waiting"])
        collect(memory, state)
        keys, waiting = (array[: state["waiting"]] for array in memory.heap)
        assert state["best"] == best or memory.nodes["bound"][waiting].max() >= best
        assert (keys[1:] >= keys[np.arange(keys.size - 1) // 4]).all()
        sizes.append((before, int(state["waiting"])))
        if len(sizes) == 20:
            raise Enough

    monkeypatch.setattr(branch_and_bound_cpu, "_collect", watched)
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_AT", 1000)
    with contextlib.suppress(Enough):
        branch_and_bound_cpu.solve(problem_of, time.monotonic() + 200)
    assert any(after < before for before, after in sizes)


def test_more_nodes_than_it_may_keep_are_refused():
    problem_of = problem.KnapsackProblem(hard())
    with pytest.raises(OutOfMemoryError, match="nodes, and may keep 100,000; use method dynamic"):
        branch_and_bound_cpu.solve(problem_of, np.inf, most_nodes=100_000)


def test_more_than_the_machine_has_room_for_is_refused(monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "free_memory", lambda: 1 << 20)
    with pytest.raises(OutOfMemoryError, match="this machine has no more room; use method dyn"):
        branch_and_bound_cpu.solve(problem.KnapsackProblem(hard()), np.inf)


@pytest.mark.gpu
@pytest.mark.parametrize("key", ["bound", "profit"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same_profit(kind, key):
    for items, number in ((1, 500), (30, 250), (60, 900), (400, 500)):
        instance = pisinger_instance(kind, items, 100, number, seed=5)
        found = solved(instance, method="branch_and_bound", backend="gpu", key=key)
        assert found.optimal
        assert found.profit == solved(instance).profit


@pytest.mark.gpu
def test_profits_of_more_than_32_bits():
    instance = pisinger_instance("strongly_correlated", 100, 100, 500)
    large = KnapsackInstance(instance.profits << 32, instance.weights, instance.capacity)
    found = solved(large, method="branch_and_bound", backend="gpu")
    assert found.optimal
    assert found.profit == solved(instance).profit << 32


@pytest.mark.gpu
@pytest.mark.parametrize("collect", [False, True])
def test_a_gpu_makes_room_and_collects(collect, monkeypatch):
    from mgraph.knapsacks import branch_and_bound_gpu

    monkeypatch.setattr(branch_and_bound_gpu, "FIRST_ROOM", 1 << 10)
    monkeypatch.setattr(branch_and_bound_gpu, "COLLECT_AT", 1 << 12)
    monkeypatch.setattr(branch_and_bound_gpu, "resident_blocks", lambda *_: 4)
    collects, before = [], branch_and_bound_gpu.Search.collect

    def watched(search):
        collects.append(before(search))
        return collects[-1]

    monkeypatch.setattr(branch_and_bound_gpu.Search, "collect", watched)
    found = solved(hard(), method="branch_and_bound", backend="gpu", collect=collect)
    assert found.optimal
    assert found.profit == solved(hard()).profit
    assert bool(collects) == collect


@pytest.mark.gpu
def test_a_gpu_stops_at_the_time_limit():
    found = solved(hard(), method="branch_and_bound", backend="gpu", key="profit", time_limit=0.3)
    assert found.profit <= solved(hard()).profit <= found.bound
    assert not found.optimal


@pytest.mark.gpu
def test_a_gpu_without_room_says_so(monkeypatch):
    from mgraph.knapsacks import branch_and_bound_gpu

    monkeypatch.setattr(branch_and_bound_gpu, "FIRST_ROOM", 1 << 10)
    monkeypatch.setattr(branch_and_bound_gpu, "free_bytes", lambda: 1 << 20)
    with pytest.raises(OutOfMemoryError, match="this GPU has no room for more; use method"):
        mgraph.knapsack(*_arrays(hard()), method="branch_and_bound", backend="gpu")


def _arrays(instance):
    return instance.profits, instance.weights, instance.capacity
