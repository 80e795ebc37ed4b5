"""0/1 knapsack by branch and bound on a GPU: memory, and launches of ``branch_and_bound.cu``.

Source: section 5.7.2 of "Accelerating concurrent heap on GPUs". The search is that of
``branch_and_bound_cpu``, or, for a plain problem, that of ``plain_branch_and_bound_cpu``; here each
block takes a batch of the best nodes from the concurrent heap, one or two nodes per thread, and
puts their children into it. A node is written to device memory before the heap or the table refers
to it. One counter holds the number of nodes that are in the heap or carried by a block; the search
ends when it is 0. A launch also ends when the heap has grown to a threshold, so that the host
removes useless nodes or provides more memory, and launches again.
Many blocks explore at once, so some nodes are explored that the best first would have made
unnecessary: which, and how many, depends on the order of events. The profit does not.
Device bytes: 32 for each node ever made, and for those in the heap what ``batch_heap_gpu`` says.
"""

import functools
import time
from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError
from mgraph.heap import batch_heap_gpu
from mgraph.heap.batch_heap_gpu import defines
from mgraph.knapsacks.dominance import find_undominated
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution

NODE, BLOCK_THREADS = 1024, 512
HEAPS = 8  # as one queue: the root of a single heap would let one block at a time have nodes
INITIAL_NODES = 1 << 22
COLLECT_THRESHOLD = 1 << 20  # nodes in the heap
MAX_NODES = (1 << 32) - (1 << 20)
TABLE_SIZE = 1 << 24  # a power of two
LAUNCH_SECONDS = 0.25  # then the host checks for cancellation
STOP_REASONS = ("running", "finished", "timed_out", "heap_full", "nodes_full", "refused")


def shared_bytes(word: np.dtype, node: int) -> int:
    """The size of a block's shared memory: a round's state, the heap's scratch, saved nodes."""
    value_word = np.dtype(np.uint32)
    scratch = batch_heap_gpu.scratch_bytes(word, value_word, node)
    saved = node * (word.itemsize + value_word.itemsize)
    return 8 * read_constant("round_words") + scratch + saved


KERNELS = Source(
    __package__,
    "branch_and_bound.cu",
    check=tuple(
        tuple(defines(np.dtype(word), NODE, BLOCK_THREADS).items()) for word in ("u4", "u8")
    ),
)


@functools.cache
def read_constant(name: str) -> int:
    """A constant of the kernels' source that does not depend on the macros."""
    return KERNELS.constant(name)


@functools.cache
def find_struct(name: str) -> StructType:
    """A struct of the kernels' source that does not depend on the macros."""
    return KERNELS.struct(name)


class Search:
    """A search on the current device, which may continue after it has stopped."""

    def __init__(self, problem: KnapsackProblem, by_bound: bool) -> None:
        """Begin with the split solution."""
        import cupy

        self._problem, self._by_bound = problem, by_bound and not problem.is_plain
        self._word = np.dtype("u4" if int(problem.profits.sum()) < 1 << 32 else "u8")
        types = self._word, np.dtype(np.uint32)
        self._heap = batch_heap_gpu.Heap(*types, NODE, "bottom_up", BLOCK_THREADS, heaps=HEAPS)
        self._items, self._levels = (cupy.asarray(array) for array in make_tables(problem))
        self._problem_tables = self._pack_tables()
        self._table = None if problem.is_plain else cupy.zeros(TABLE_SIZE, np.uint32)
        self._set_nodes(self._allocate_nodes(INITIAL_NODES))
        root, self.state = make_root(problem)
        self._nodes[0] = cupy.asarray(root)
        key = np.array([root[2]]).astype(self._word)
        self._heap.refill(cupy.asarray(~key), cupy.zeros(1, np.uint32))

    def run(self, seconds: float, max_pending: int) -> str:
        """Explore until there is a reason to stop, which is returned: one of ``STOP_REASONS``."""
        import cupy

        blocks = self._blocks()
        beside = 2 * NODE * blocks
        max_pending = max(max_pending, int(self.state["pending"][0]) + beside)
        self._heap.reserve(max_pending + beside + NODE * HEAPS)
        self._reserve(int(self.state["made"][0]) + 2 * beside)
        self.state["ended"] = read_constant("running")
        state = cupy.asarray(self.state.view(np.uint8))
        nanoseconds = min(int(max(seconds, 0) * 1e9), (1 << 63) - 1) if seconds < 1e9 else 1 << 63
        options = find_struct("launch_options").pack(
            {"max_pending": max_pending, "max_made": len(self._nodes) - beside,
             "nanoseconds": nanoseconds, "by_bound": self._by_bound}
        )  # fmt: skip
        arguments = self._heap.memory, self._problem_tables, self._node_arrays, state, options
        shared = shared_bytes(self._word, NODE)
        self._launch("branch_and_bound_explore", blocks, BLOCK_THREADS, shared, arguments)
        self.state = cupy.asnumpy(state).view(self.state.dtype)
        reasons = {read_constant(name): name for name in STOP_REASONS}
        reason = reasons[int(self.state["ended"][0])]
        if reason == "refused":
            raise RuntimeError("the heap refused nodes although it has room for them")
        return reason

    def _kernel(self, name: str) -> Any:
        return cancellation_gpu.kernel(KERNELS, name, **defines(self._word, NODE, BLOCK_THREADS))

    def _blocks(self) -> int:
        kernel, shared = self._kernel("branch_and_bound_explore"), shared_bytes(self._word, NODE)
        return resident_blocks(kernel, BLOCK_THREADS, shared, "branch and bound", "use backend cpu")

    def _launch(
        self, name: str, blocks: int, threads: int, shared: int, arguments: tuple[Any, ...]
    ) -> None:
        """Launch a kernel whose blocks wait for each other."""
        launch_resident(self._kernel(name), blocks, threads, arguments, shared)

    def _pack_tables(self) -> np.ndarray:
        """The kernel's argument ``problem_tables``."""
        profits, weights, profits_before, weights_before = self._items
        begins, ends, decided = self._levels
        return find_struct("problem_tables").pack(
            {"profits": profits, "weights": weights, "profits_before": profits_before,
             "weights_before": weights_before, "begins": begins, "ends": ends, "decided": decided,
             "capacity": self._problem.capacity, "size": self._problem.size}
        )  # fmt: skip

    @staticmethod
    def _allocate_nodes(count: int) -> Any:
        """An array of nodes; columns: profit, weight, bound, and parent with step."""
        import cupy

        return cupy.empty((count, read_constant("node_bytes") // 8), np.int64)

    def _set_nodes(self, nodes: Any) -> None:
        """Use this array of nodes, and pack the kernel's argument ``node_arrays``."""
        self._nodes = nodes
        self._node_arrays = find_struct("node_arrays").pack(
            {"nodes": nodes, "table": self._table, "mask": TABLE_SIZE - 1}
        )

    def _reserve(self, nodes: int) -> None:
        """Provide memory for that many nodes, and for as many again if it is free."""
        if nodes <= len(self._nodes):
            return
        made = int(self.state["made"][0])
        size = min(2 * nodes, MAX_NODES, free_bytes() // read_constant("node_bytes"))
        if size < nodes:
            raise OutOfMemoryError(
                f"branch and bound needs memory for {nodes:,} nodes, of which {made:,} are made, "
                "and this GPU has less; use method dynamic_program"
            )
        grown = self._allocate_nodes(size)
        grown[:made] = self._nodes[:made]
        self._set_nodes(grown)

    def collect(self) -> int:
        """Remove nodes from the heap that lead to nothing better; return how many are left."""
        import cupy

        keys, indices = self._heap.items()
        indices = indices.astype(np.int64)
        cancellation.raise_if_cancelled()  # millions of nodes take a second
        profit, weight, bound, parent_and_step = self._nodes[indices].T
        level = parent_and_step >> 33
        kept = cupy.flatnonzero(bound > int(self.state["best"][0]))
        if self._table is not None:
            columns = (column[kept] for column in (level, weight, profit, indices))
            kept = kept[find_undominated(cupy, *columns)]
            self._table[:] = 0  # of equal nodes it may hold a removed one instead of the kept one
        kept = kept[cupy.argsort(keys[kept])]
        cancellation.raise_if_cancelled()
        self._heap.refill(keys[kept], indices[kept].astype(np.uint32))
        self.state["pending"] = kept.size
        return int(kept.size)

    def solution(self) -> Solution:
        """The best solution so far."""
        import cupy

        state = self.state[0]
        _, indices = self._heap.items()
        best = int(state["best"])
        bound = int(self._nodes[indices.astype(np.int64), 2].max()) if indices.size else best
        flips = cupy.zeros(int(state["best_step"]) // 2, np.uint8)
        path = (self._nodes, state["best_parent"], state["best_step"], flips)
        self._launch("branch_and_bound_path", 1, 1, 0, path)
        chosen = self._problem.choose_items(cupy.asnumpy(flips).astype(bool))
        return Solution(best, chosen, max(best, bound), int(state["explored"]))


def make_tables(problem: KnapsackProblem) -> tuple[np.ndarray, np.ndarray]:
    """The arrays of ``problem_tables``, one per row: items (4, int64) and levels (3, int32)."""
    items = np.zeros((4, problem.size + 1), np.int64)
    items[0, :-1], items[1, :-1] = problem.profits, problem.weights
    items[2], items[3] = problem.profits_before, problem.weights_before
    levels = np.zeros((3, problem.size + 1), np.int32)
    levels[0], levels[1], levels[2, :-1] = problem.levels
    return items, levels


def make_root(problem: KnapsackProblem) -> tuple[np.ndarray, np.ndarray]:
    """The split solution as a node, and the state of a search that has it alone."""
    split = problem.split
    profit, weight = problem.profits_before[split], problem.weights_before[split]
    completed = problem.complete(profit[None], weight[None], split, split)
    state = np.zeros(1, find_struct("search_state").dtype)
    state["made"] = state["pending"] = 1
    state["best"] = profit if problem.is_plain else completed.profit
    return np.array([profit, weight, completed.bound[0], 0]), state


def solve(
    problem: KnapsackProblem, deadline: float, *, by_bound: bool = True, collect: bool = True
) -> Solution:
    """As ``branch_and_bound_cpu.solve``; OutOfMemoryError if the device has too little memory."""
    search = Search(problem, by_bound)
    max_pending, reason = COLLECT_THRESHOLD, "running"
    while reason != "finished" and not (reason == "timed_out" and time.monotonic() >= deadline):
        cancellation.raise_if_cancelled()
        seconds = min(deadline - time.monotonic(), LAUNCH_SECONDS)
        reason = search.run(seconds, max_pending)
        if reason == "heap_full":
            pending = search.collect() if collect else int(search.state["pending"][0])
            max_pending = max(COLLECT_THRESHOLD, 2 * pending)
    return search.solution()
