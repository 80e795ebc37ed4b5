"""Branch and bound finds the best choice with either key, and a bound if it stops early."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import OutOfMemoryError
from mgraph.knapsacks import branch_and_bound_cpu, problem
from mgraph.knapsacks import plain_branch_and_bound_cpu as plain
from mgraph.knapsacks.dominance import find_undominated
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from tests.knapsacks.test_instances import FOLDER, OPTIMA, needs_data
from tests.knapsacks.test_knapsack import bellman_profit, best_of_all_choices, numbers, solve

CPU = {"method": "branch_and_bound", "backend": "cpu"}


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(numbers, numbers), max_size=9),
    st.integers(0, 120),
    st.sampled_from(["bound", "profit"]),
)
def test_small_instances_have_the_profit_of_the_best_of_all_choices(pairs, capacity, key):
    profits, weights = ([pair[i] for pair in pairs] for i in (0, 1))
    result = solve(KnapsackInstance(profits, weights, capacity), key=key, **CPU)
    assert result.optimal
    assert result.profit == best_of_all_choices(profits, weights, capacity)


@pytest.mark.parametrize("collect", [False, True])
@pytest.mark.parametrize("key", ["bound", "profit"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_profit_of_bellman_s_recurrence(kind, key, collect, monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "INITIAL_NODES", 4)
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_THRESHOLD", 50)
    monkeypatch.setattr(branch_and_bound_cpu, "NODES_PER_CHECK", 100)
    monkeypatch.setattr(branch_and_bound_cpu, "TABLE_SIZE", 1 << 12)
    for number in (3, 250, 900):
        instance = pisinger_instance(kind, 54, 100, number, seed=5)
        result = solve(instance, key=key, collect=collect, **CPU)
        assert result.optimal
        assert result.profit == bellman_profit(instance)


PLAIN = {"method": "plain_branch_and_bound", "backend": "cpu"}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(numbers, numbers), max_size=9), st.integers(0, 120), st.booleans())
def test_the_papers_tree_finds_the_best_of_all_choices(pairs, capacity, collect):
    profits, weights = ([pair[i] for pair in pairs] for i in (0, 1))
    result = solve(KnapsackInstance(profits, weights, capacity), collect=collect, **PLAIN)
    assert result.optimal
    assert result.profit == best_of_all_choices(profits, weights, capacity)


@pytest.mark.parametrize("collect", [False, True])
def test_the_papers_tree_grows_is_collected_and_ends_with_the_time(collect, monkeypatch):
    monkeypatch.setattr(plain, "INITIAL_NODES", 4)
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_THRESHOLD", 50)
    monkeypatch.setattr(plain, "NODES_PER_CHECK", 100)
    for kind in ("uncorrelated", "weakly_correlated", "subset_sum"):
        instance = pisinger_instance(kind, 30, 100, 250, seed=5)
        result = solve(instance, collect=collect, **PLAIN)
        assert result.optimal
        assert result.profit == bellman_profit(instance)
    hard = pisinger_instance("strongly_correlated", 300, 1000, 250, seed=5)
    stopped = solve(hard, collect=collect, time_limit=0.2, **PLAIN)
    assert stopped.profit <= bellman_profit(hard) <= stopped.bound
    assert stopped.nodes > 0


@needs_data
def test_known_optima_are_found():
    """Without the instances that take seconds."""
    with OPTIMA.open() as stream:
        rows = [row for row in csv.DictReader(stream) if "_v500" not in row["instance"]]
    assert len(rows) > 10
    for row in rows:
        result = solve(KnapsackInstance.read(FOLDER / row["instance"]), **CPU)
        assert (result.profit, result.optimal) == (int(row["optimum"]), True), row["instance"]


@pytest.mark.parametrize("seed", [295, 9984, 10232, 22252, 22479, 36862])
def test_collecting_keeps_of_equal_nodes_the_one_in_the_table(seed, monkeypatch):
    """Instances with many equal nodes, and tables too small for all of them."""
    rng = np.random.default_rng(seed)
    for name, value in (
        ("NODES_PER_CHECK", 1), ("TABLE_SIZE", int(rng.choice([8, 32, 128, 1024]))),
        ("COLLECT_THRESHOLD", int(rng.choice([3, 5, 10, 20]))),
    ):  # fmt: skip
        monkeypatch.setattr(branch_and_bound_cpu, name, value)
    items = int(rng.integers(20, 60))
    weights = rng.integers(1, int(rng.choice([12, 30, 100])), items)
    profits = weights + int(rng.choice([3, 10, 30])) + rng.integers(0, rng.choice([1, 2, 4]), items)
    instance = KnapsackInstance(profits, weights, int(weights.sum() * rng.uniform(0.1, 0.6)))
    result = solve(instance, key=["profit", "bound"][seed % 2 == 0], **CPU)
    assert result.profit == solve(instance).profit


@pytest.mark.parametrize("shift", [20, 40])
def test_large_profits_are_collected(shift, monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "COLLECT_THRESHOLD", 20)
    monkeypatch.setattr(branch_and_bound_cpu, "NODES_PER_CHECK", 10)
    for seed in range(20):
        small = pisinger_instance("strongly_correlated", 40, 100, 500, seed=seed)
        large = KnapsackInstance(small.profits << shift, small.weights, small.capacity)
        assert solve(large, **CPU).profit == solve(small).profit << shift


def test_find_undominated_agrees_with_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(300):
        level, weight, profit = rng.integers(0, 4, (3, int(rng.integers(0, 30))))
        profit = profit * (1 << 60)
        age = rng.permutation(level.size)
        expected = {
            i
            for i in range(level.size)
            if not any(
                level[j] == level[i] and weight[j] <= weight[i] and profit[j] >= profit[i]
                and ((weight[j], profit[j]) != (weight[i], profit[i]) or age[j] > age[i])
                for j in range(level.size)
            )
        }  # fmt: skip
        assert set(find_undominated(np, level, weight, profit, age).tolist()) == expected


def hard_instance(items=700, largest=18_000):
    return pisinger_instance("strongly_correlated", items, largest, 500)


def test_a_time_limit_returns_the_best_choice_so_far():
    instance = hard_instance(largest=10_000)
    result = solve(instance, time_limit=0.05, **CPU)
    assert not result.optimal
    assert result.nodes > 0
    assert result.profit <= solve(instance).profit <= result.bound


@pytest.mark.parametrize(("items", "largest"), [(500, 18_000), (300, 10_000)])
def test_collecting_keeps_a_node_that_leads_to_the_best_choice(items, largest, monkeypatch):
    """Until the heap is empty, the optimum is the best so far or within the bound of a node."""
    instance = hard_instance(items, largest)
    best = solve(instance).profit
    removed_before, removed_after = [], []  # before and after the best choice was found
    keep = branch_and_bound_cpu._keep

    def watched(memory, state, find_useful):
        before = int(state["pending"])
        keep(memory, state, find_useful)
        keys, pending = (array[: state["pending"]] for array in memory.heap)
        assert state["best"] == best or memory.nodes["bound"][pending].max() >= best
        assert (keys[1:] >= keys[np.arange(keys.size - 1) // 4]).all()
        removed = before - int(state["pending"])
        (removed_before if state["best"] < best else removed_after).append(removed)

    monkeypatch.setattr(branch_and_bound_cpu, "_keep", watched)
    for name, value in (
        ("COLLECT_THRESHOLD", 100), ("NODES_PER_CHECK", 256), ("TABLE_SIZE", 4096),
    ):  # fmt: skip
        monkeypatch.setattr(branch_and_bound_cpu, name, value)
    branch_and_bound_cpu.solve(problem.KnapsackProblem(instance), np.inf)
    assert sum(removed_before) > 10
    assert sum(removed_after) > 10


def test_more_nodes_than_the_maximum_are_refused():
    hard_problem = problem.KnapsackProblem(hard_instance())
    with pytest.raises(
        OutOfMemoryError, match="may keep at most 100,000 nodes, and needs more; use method dynamic"
    ):
        branch_and_bound_cpu.solve(hard_problem, np.inf, max_nodes=100_000)


def test_nodes_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr(branch_and_bound_cpu, "free_memory", lambda: 1 << 20)
    with pytest.raises(OutOfMemoryError, match="this machine has less; use method dyn"):
        branch_and_bound_cpu.solve(problem.KnapsackProblem(hard_instance()), np.inf)


@pytest.mark.gpu
@pytest.mark.parametrize("key", ["bound", "profit"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same_profit(kind, key):
    for items, number in ((1, 500), (30, 250), (60, 900), (400, 500)):
        instance = pisinger_instance(kind, items, 100, number, seed=5)
        result = solve(instance, method="branch_and_bound", backend="gpu", key=key)
        assert result.optimal
        assert result.profit == solve(instance).profit


@pytest.mark.gpu
@pytest.mark.parametrize("collect", [False, True])
def test_the_papers_tree_finds_the_same_profit_on_a_gpu(collect, monkeypatch):
    from mgraph.knapsacks import branch_and_bound_gpu

    monkeypatch.setattr(branch_and_bound_gpu, "COLLECT_THRESHOLD", 1 << 12)
    options = {"method": "plain_branch_and_bound", "backend": "gpu", "collect": collect}
    for kind in ("uncorrelated", "weakly_correlated", "subset_sum", "strongly_correlated"):
        instance = pisinger_instance(kind, 30, 100, 250, seed=5)
        result = solve(instance, **options)
        assert (result.optimal, result.profit) == (True, solve(instance).profit)
    stopped = solve(hard_instance(), time_limit=0.3, **options)
    assert stopped.profit <= solve(hard_instance()).profit <= stopped.bound


@pytest.mark.gpu
def test_profits_of_more_than_32_bits():
    instance = pisinger_instance("strongly_correlated", 100, 100, 500)
    large = KnapsackInstance(instance.profits << 32, instance.weights, instance.capacity)
    result = solve(large, method="branch_and_bound", backend="gpu")
    assert result.optimal
    assert result.profit == solve(instance).profit << 32


@pytest.mark.gpu
@pytest.mark.parametrize("collect", [False, True])
def test_a_gpu_grows_its_memory_and_collects(collect, monkeypatch):
    from mgraph.knapsacks import branch_and_bound_gpu

    monkeypatch.setattr(branch_and_bound_gpu, "INITIAL_NODES", 1 << 10)
    monkeypatch.setattr(branch_and_bound_gpu, "COLLECT_THRESHOLD", 1 << 12)
    monkeypatch.setattr(branch_and_bound_gpu, "resident_blocks", lambda *_: 4)
    collects, before = [], branch_and_bound_gpu.Search.collect

    def watched(search):
        collects.append(before(search))
        return collects[-1]

    monkeypatch.setattr(branch_and_bound_gpu.Search, "collect", watched)
    result = solve(hard_instance(), method="branch_and_bound", backend="gpu", collect=collect)
    assert result.optimal
    assert result.profit == solve(hard_instance()).profit
    assert bool(collects) == collect


@pytest.mark.gpu
def test_a_gpu_stops_at_the_time_limit():
    options = {"method": "branch_and_bound", "backend": "gpu", "key": "profit"}
    result = solve(hard_instance(), time_limit=0.01, **options)
    assert result.profit <= solve(hard_instance()).profit <= result.bound
    assert not result.optimal


@pytest.mark.gpu
def test_nodes_that_do_not_fit_a_gpu_are_refused(monkeypatch):
    from mgraph.knapsacks import branch_and_bound_gpu

    monkeypatch.setattr(branch_and_bound_gpu, "INITIAL_NODES", 1 << 10)
    monkeypatch.setattr(branch_and_bound_gpu, "free_bytes", lambda: 1 << 20)
    with pytest.raises(OutOfMemoryError, match="this GPU has less; use method"):
        mgraph.knapsack(*_arrays(hard_instance()), method="branch_and_bound", backend="gpu")


def _arrays(instance):
    return instance.profits, instance.weights, instance.capacity
