"""The search's kernels in the emulator, in many orders of events."""

import sys
import time

import numpy as np
import pytest

from mgraph.knapsacks import branch_and_bound_gpu as gpu
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from mgraph.knapsacks.problem import KnapsackProblem
from tests import emulator
from tests.knapsacks.test_knapsack import bellman_profit

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


class Search(gpu.Search):
    """The search with its memory on the host and its kernels in the emulator."""

    blocks, seed, collected = 1, 1, 0

    def _blocks(self):
        return self.blocks

    def _launch(self, name, blocks, threads, shared, arguments):
        Search.seed += 1
        emulator.launch(
            gpu.KERNELS, name, gpu.defines(self._word, gpu.NODE, gpu.BLOCK_THREADS), blocks,
            threads, arguments, shared=shared, seed=Search.seed,
        )  # fmt: skip

    def collect(self):
        Search.collected += 1
        return super().collect()


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", emulator.numpy_as_cupy())
    monkeypatch.setattr(gpu, "Search", Search)
    monkeypatch.setattr(gpu, "free_bytes", lambda: 1 << 30)
    monkeypatch.setattr(gpu, "TABLE_SIZE", 4096)
    monkeypatch.setattr(gpu, "INITIAL_NODES", 1)


def set_launch_shape(monkeypatch, node, threads, blocks, seed):
    monkeypatch.setattr(gpu, "NODE", node)
    monkeypatch.setattr(gpu, "BLOCK_THREADS", threads)
    monkeypatch.setattr(Search, "blocks", blocks)
    monkeypatch.setattr(Search, "seed", 1000 * seed)


def draw_kind(rng, seed):
    kind, items, number = rng.choice(list(KINDS)), rng.integers(5, 40), rng.integers(1, 999)
    return pisinger_instance(str(kind), int(items), 50, int(number), seed=seed)


def draw_ties(rng):
    items = int(rng.integers(15, 50))
    weights = rng.integers(1, rng.choice([12, 30, 100]), items)
    profits = weights + rng.choice([3, 10, 30]) + rng.integers(0, rng.choice([1, 2, 4]), items)
    return KnapsackInstance(profits, weights, int(weights.sum() * rng.uniform(0.1, 0.6)))


@pytest.mark.parametrize(
    ("collect", "is_plain", "count"),  # some mistakes lose one optimum in a thousand
    [(False, False, 300), (True, False, 5000), (False, True, 300), (True, True, 300)],
)
def test_a_search_finds_the_best_choice(collect, is_plain, count, monkeypatch):
    monkeypatch.setattr(Search, "collected", 0)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        instance = draw_kind(rng, seed) if seed < 150 else draw_ties(rng)
        if is_plain:
            profits, weights = instance.profits[:18], instance.weights[:18]
            instance = KnapsackInstance(profits, weights, int(weights.sum() * rng.random()))
        problem = KnapsackProblem(instance, is_plain=is_plain)
        if not problem.size:
            continue
        node = int(rng.choice([2, 4]))
        set_launch_shape(
            monkeypatch, node, int(rng.choice([2, node])), int(rng.choice([1, 2, 5])), seed
        )
        monkeypatch.setattr(gpu, "COLLECT_THRESHOLD", int(rng.choice([1, 5, 10])))
        monkeypatch.setattr(gpu, "HEAPS", int(rng.choice([1, 1, 2, 3])))
        solution = gpu.solve(problem, time.monotonic() + 600, by_bound=seed % 2, collect=collect)
        chosen = problem.fixed.copy()
        chosen[problem.item_ids[solution.chosen]] = True
        profit, weight = instance.check_solution(chosen)
        assert weight <= instance.capacity
        assert profit == problem.fixed_profit + solution.bound == bellman_profit(instance)
    assert Search.collected > 20 if collect else Search.collected == 0


def test_a_search_stops_at_the_time_limit(monkeypatch):
    problem = KnapsackProblem(pisinger_instance("strongly_correlated", 60, 1000, 500))
    set_launch_shape(monkeypatch, 4, 4, 3, 1)
    monkeypatch.setattr(gpu, "INITIAL_NODES", 100_000)
    search = Search(problem, True)
    assert search.run(20e-6, 10_000) == "timed_out"
    assert search.state["pending"][0] > 0
    assert search.state["explored"][0] > 0
