"""0/1 knapsack by branch and bound on a GPU: memory, and launches of ``branch_and_bound.cu``.

Source: section 5.7.2 of "Accelerating concurrent heap on GPUs". The search is that of
``branch_and_bound_cpu``; here each block takes a batch of the best nodes from the concurrent heap,
a thread a node or two, and puts their children into it. A node lies in device memory before the
heap or the table tells of it. One counter says how many nodes are in the heap or under way; where
it is 0, the search is over. A launch ends, too, where the heap has grown to a size, so that the
host takes dead nodes out, or makes room, and launches again.
Many blocks explore at once, so some nodes are looked at that the best first would have made
unnecessary: which, and how many, depends on the order of events. The profit does not.
Device bytes: 32 a node that there ever was, and for those in the heap what ``batch_heap_gpu`` says.
"""

import time
from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError
from mgraph.heap import batch_heap_gpu
from mgraph.knapsacks.dominance import find_undominated
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution

NODE, BLOCK_THREADS = 1024, 512
INITIAL_NODES = 1 << 22  # nodes
COLLECT_THRESHOLD = 1 << 20  # nodes in the heap
MAX_NODES = (1 << 32) - (1 << 20)
TABLE_SIZE = 1 << 24  # places, a power of two
LAUNCH_SECONDS = 0.25  # then it is asked whether the solution is still wanted
STATE = np.dtype([("best", "i8"), ("pending", "u8"), ("made", "u8"), ("looked", "u8"),
                  ("best_parent", "u4"), ("best_step", "u4"), ("ended", "u4"),
                  ("lock", "u4"), ("takers", "u4"), ("unused", "u4")])  # fmt: skip
GOING, DONE, STOPPED, HEAP_FULL, NODES_FULL, FAILED = range(6)
_NODE_BYTES = 32


def defines(word: Any, node: int, block_threads: int) -> dict[str, str]:
    """The kernels' macros."""
    macros = batch_heap_gpu.defines(word, np.dtype(np.uint32), node, block_threads)
    del macros["MGRAPH_VALUE_T"]
    return macros


def shared_bytes(word: Any, node: int) -> int:
    """What a block needs: the heap's, a node's keys and values more, and a few words."""
    heap = batch_heap_gpu.shared_bytes(word, np.dtype(np.uint32), node)
    return heap + node * (word.itemsize + 4) + 48


KERNELS = Source(
    __package__,
    "branch_and_bound.cu",
    check=tuple(
        tuple(defines(np.dtype(word), NODE, BLOCK_THREADS).items()) for word in ("u4", "u8")
    ),
)


class Search:
    """A search on the current device, which may go on where it has stopped."""

    def __init__(self, problem: KnapsackProblem, by_bound: bool) -> None:
        """Begin with the split solution."""
        import cupy

        self._problem, self._by_bound = problem, by_bound
        self._word = np.dtype("u4" if int(problem.profits.sum()) < 1 << 32 else "u8")
        self._heap = batch_heap_gpu.Heap(self._word, np.dtype(np.uint32), NODE, True, BLOCK_THREADS)
        self._nodes = cupy.empty((INITIAL_NODES, 4), np.int64)
        self._table = cupy.zeros(TABLE_SIZE, np.uint32)
        self._items, self._levels = (cupy.asarray(array) for array in tables(problem))
        root, state = first_node(problem)
        self._nodes[0] = cupy.asarray(root)
        self.state = state
        key = np.array([root[2]]).astype(self._word)
        self._heap.refill(cupy.asarray(~key), cupy.zeros(1, np.uint32))

    def run(self, seconds: float, most_pending: int) -> int:
        """Explore until there is a reason to stop, which is returned."""
        import cupy

        blocks = self._blocks()
        beside = 2 * NODE * blocks
        most_pending = max(most_pending, int(self.state["pending"][0]) + beside)
        self._heap.reserve(most_pending + beside + NODE)
        self._make_room(int(self.state["made"][0]) + 2 * beside)
        self.state["ended"] = GOING
        state = cupy.asarray(self.state.view(np.uint8))
        nanoseconds = min(int(max(seconds, 0) * 1e9), (1 << 63) - 1) if seconds < 1e9 else 1 << 63
        arguments = (
            *self._heap.memory, self._items, self._levels, np.int64(self._problem.capacity),
            np.uint32(self._problem.size), self._nodes, self._table, np.uint32(TABLE_SIZE - 1),
            state,
            np.uint64(most_pending), np.uint64(len(self._nodes) - beside), np.uint64(nanoseconds),
            np.int32(self._by_bound),
        )  # fmt: skip
        shared = shared_bytes(self._word, NODE)
        self._launch("branch_and_bound_explore", blocks, BLOCK_THREADS, shared, arguments)
        self.state = cupy.asnumpy(state).view(STATE)
        ended = int(self.state["ended"][0])
        if ended == FAILED:
            raise RuntimeError("the heap refused nodes that there should have been room for")
        return ended

    def _kernel(self, name: str) -> Any:
        return cancellation_gpu.kernel(KERNELS, name, **defines(self._word, NODE, BLOCK_THREADS))

    def _blocks(self) -> int:
        kernel, shared = self._kernel("branch_and_bound_explore"), shared_bytes(self._word, NODE)
        what, instead = "branch and bound", "use backend cpu"
        return resident_blocks(kernel, BLOCK_THREADS, shared, what, instead)

    def _launch(
        self, name: str, blocks: int, threads: int, shared: int, arguments: tuple[Any, ...]
    ) -> None:
        """All blocks at a time, since they wait for each other."""
        launch_resident(self._kernel(name), blocks, threads, arguments, shared)

    def _make_room(self, nodes: int) -> None:
        """Let there be room for nodes, and as many again if they fit."""
        import cupy

        if nodes <= len(self._nodes):
            return
        made = int(self.state["made"][0])
        room = min(2 * nodes, MAX_NODES, free_bytes() // _NODE_BYTES)
        if room < nodes:
            raise OutOfMemoryError(
                f"branch and bound has come to {made:,} nodes, and this GPU has no room for "
                "more; use method dynamic_program"
            )
        more = cupy.empty((room, 4), np.int64)
        more[:made] = self._nodes[:made]
        self._nodes = more

    def collect(self) -> int:
        """Take nodes out of the heap that lead to nothing better; how many are left."""
        import cupy

        keys, at = self._heap.items()
        at = at.astype(np.int64)
        cancellation.raise_if_cancelled()  # millions of nodes take a second
        profit, weight, bound, last = self._nodes[at].T
        alive = cupy.flatnonzero(bound > int(self.state["best"][0]))
        columns = (column[alive] for column in (last >> 33, weight, profit, at))
        alive = alive[find_undominated(cupy, *columns)]
        alive = alive[cupy.argsort(keys[alive])]
        cancellation.raise_if_cancelled()
        self._heap.refill(keys[alive], at[alive].astype(np.uint32))
        self._table[:] = 0  # it may remember one of equal nodes that is gone, not the one left
        self.state["pending"] = alive.size
        return int(alive.size)

    def found(self) -> Solution:
        """The best so far."""
        import cupy

        state = self.state[0]
        _, at = self._heap.items()
        best = int(state["best"])
        bound = int(self._nodes[at.astype(np.int64), 2].max()) if at.size else best
        flips = cupy.zeros(int(state["best_step"]) // 2, np.uint8)
        path = (self._nodes, state["best_parent"], state["best_step"], flips)
        self._launch("branch_and_bound_path", 1, 1, 0, path)
        chosen = self._problem.choose_items(cupy.asnumpy(flips).astype(bool))
        return Solution(best, chosen, max(best, bound), int(state["looked"]))


def tables(problem: KnapsackProblem) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's tables of items, int64, and of levels, int32, a row after another."""
    items = np.zeros((4, problem.size + 1), np.int64)
    items[0, :-1], items[1, :-1] = problem.profits, problem.weights
    items[2], items[3] = problem.profits_before, problem.weights_before
    levels = np.zeros((3, problem.size + 1), np.int32)
    levels[0], levels[1], levels[2, :-1] = problem.levels
    return items, levels


def first_node(problem: KnapsackProblem) -> tuple[np.ndarray, np.ndarray]:
    """The split solution as a node, and the state of a search that has it alone."""
    split = problem.split
    profit, weight = problem.profits_before[split], problem.weights_before[split]
    ends = problem.complete(profit[None], weight[None], split, split)
    state = np.zeros(1, STATE)
    state["made"] = state["pending"] = 1
    state["best"] = ends.profit
    return np.array([profit, weight, ends.bound[0], 0]), state


def solve(
    problem: KnapsackProblem, deadline: float, *, by_bound: bool = True, collect: bool = True
) -> Solution:
    """As ``branch_and_bound_cpu.solve``; OutOfMemoryError where the device has no room."""
    search = Search(problem, by_bound)
    most_pending, ended = COLLECT_THRESHOLD, GOING
    while ended != DONE and not (ended == STOPPED and time.monotonic() >= deadline):
        cancellation.raise_if_cancelled()
        seconds = min(deadline - time.monotonic(), LAUNCH_SECONDS)
        ended = search.run(seconds, most_pending)
        if ended == HEAP_FULL:
            left = search.collect() if collect else int(search.state["pending"][0])
            most_pending = max(COLLECT_THRESHOLD, 2 * left)
    return search.found()
