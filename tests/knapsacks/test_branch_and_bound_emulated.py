"""The search's kernels without a GPU, in many orders of events."""

import numpy as np
import pytest

from mgraph.knapsacks import branch_and_bound_gpu as gpu
from mgraph.knapsacks.pisinger import KINDS, pisinger_instance
from mgraph.knapsacks.problem import KnapsackProblem
from tests import emulator
from tests.heap.test_batch_heap_emulated import Memory, aligned
from tests.knapsacks.test_knapsack import by_capacity

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")

TABLE = 4096


class Search:
    """What branch_and_bound_gpu.Search keeps on a device."""

    def __init__(self, problem, node, room=60_000):
        self.problem, self.node = problem, node
        self.heap = Memory(node, room // node)
        self.items, self.levels = gpu.tables(problem)
        root, self.state = gpu.first_node(problem)
        self.nodes = aligned((room, 4), np.int64)
        self.nodes[0] = root
        self.table = np.zeros(TABLE, np.uint32)
        self.heap.keys[0], self.heap.counts[8] = ~np.uint32(root[2]), 1

    def run(self, threads, blocks, by_bound, most_pending, most_made, nanoseconds, seed):
        word = self.heap.keys.dtype
        self.state["ended"] = gpu.GOING
        heap = self.heap
        emulator.launch(
            gpu.KERNELS, "branch_and_bound_explore", gpu.defines(word, self.node, threads), blocks,
            threads,
            (*heap.memory, self.items, self.levels, np.int64(self.problem.capacity),
             np.uint32(self.problem.size), self.nodes, self.table, np.uint32(TABLE - 1), self.state,
             np.uint64(most_pending), np.uint64(most_made), np.uint64(nanoseconds),
             np.int32(by_bound)),
            shared=gpu.shared_bytes(word, self.node), seed=seed,
        )  # fmt: skip
        return int(self.state["ended"][0])

    def choice(self):
        state = self.state[0]
        flips = np.zeros(int(state["best_step"]) // 2, np.uint8)
        emulator.launch(
            gpu.KERNELS, "branch_and_bound_path", gpu.defines(self.heap.keys.dtype, self.node, 2),
            1, 1, (self.nodes, state["best_parent"], state["best_step"], flips),
        )  # fmt: skip
        return self.problem.choice(flips.astype(bool))


@pytest.mark.parametrize("seed", range(200))
def test_it_finds_the_best(seed):
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS)))
    items, number = int(rng.integers(5, 30)), int(rng.integers(1, 999))
    instance = pisinger_instance(kind, items, 50, number, seed=seed)
    problem = KnapsackProblem(instance)
    if not problem.size:
        pytest.skip("nothing is in doubt")
    node = int(rng.choice([2, 4]))
    threads, blocks = int(rng.choice([2, node])), int(rng.integers(1, 6))
    search = Search(problem, node)
    most_pending, runs = int(rng.choice([10, 10_000])), 0
    while True:
        made = int(search.state["made"][0])
        assert made < 50_000
        runs += 1
        ended = search.run(
            threads, blocks, seed % 2, most_pending, made + 500, 1 << 62, seed + runs
        )
        if ended == gpu.DONE:
            break
        assert ended in (gpu.HEAP_FULL, gpu.NODES_FULL)
        most_pending += 50
    assert search.state["pending"][0] == 0
    chosen = problem.certain.copy()
    chosen[problem.item[search.choice()]] = True
    profit, weight = instance.check_solution(chosen)
    assert weight <= instance.capacity
    assert profit == problem.certain_profit + search.state["best"][0] == by_capacity(instance)


def test_it_stops_in_time():
    problem = KnapsackProblem(pisinger_instance("strongly_correlated", 60, 1000, 500))
    search = Search(problem, 4)
    assert search.run(4, 3, True, 10_000, 10_000, 20_000, 1) == gpu.STOPPED
    assert search.state["pending"][0] > 0
    assert search.state["looked"][0] > 0
