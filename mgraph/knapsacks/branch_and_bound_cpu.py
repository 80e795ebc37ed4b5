"""0/1 knapsack by branch and bound on one core, with a sequential heap: best nodes first.

Source: the sequential version of section 5.7.2 of "Accelerating concurrent heap on GPUs". A node is
a partial solution; ``problem`` says how it is completed, and which items it has decided: level by
level those beside the split solution, alternately one after it and one before. Its two children
leave the next item as it is or flip it. A child whose bound is above the best solution is pushed to
the heap, by its bound or by the profit of its completion; a completion may be the best solution.

Beyond the paper: of two nodes that decided the same items and weigh the same, the one of less
profit leads to nothing better, nor does the second of two equal ones. A table remembers nodes by
level and weight, as a chess program's transposition table does positions: one node per place, the
latest. A child is dropped if the table's node is as good, and so is a node that is popped from the
heap. Without the table nearly all of Pisinger's correlated instances take practically for ever.

The paper's garbage collection: when the heap has grown to a threshold, nodes are removed whose
bound is no longer above the best solution, and those that another node of their level in the heap
dominates: no heavier, and of no less profit.
Cost per child: a bisection, a table look-up, and a push; 32 bytes for each node ever made, and 12
in the heap, which is that of ``core.heap_cpu``, keyed by what a key lacks to the maximum.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.knapsacks.dominance import find_undominated
from mgraph.knapsacks.instance import MAX_SUM
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution

NODES_PER_CHECK = 1 << 16  # of the clock, and of cancellation
INITIAL_NODES = 1 << 16
COLLECT_THRESHOLD = 1 << 18  # nodes in the heap
MAX_NODES = 1 << 28
TABLE_SIZE = 1 << 24  # a power of two
FINISHED, INTERRUPTED, FULL = 0, 1, 2

# step: twice the level, plus 1 if the last item was flipped
NODE = np.dtype([("profit", "i8"), ("weight", "i8"), ("bound", "i8"), ("parent", "u4"),
                 ("step", "u4")])  # fmt: skip
STATE = np.dtype([("made", "i8"), ("pending", "i8"), ("explored", "i8"), ("best", "i8"),
                  ("best_parent", "i8"), ("best_step", "i8")])  # fmt: skip


class Items(NamedTuple):
    """The problem for compiled code."""

    profits: np.ndarray
    weights: np.ndarray
    profits_before: np.ndarray
    weights_before: np.ndarray
    capacity: int
    begins: np.ndarray
    ends: np.ndarray
    decided: np.ndarray


class Memory(NamedTuple):
    """Every node that was made, the heap of the pending ones, and the table."""

    nodes: np.ndarray
    heap: tuple[np.ndarray, np.ndarray]
    table: np.ndarray


@compiled
def complete(items, profit, weight, level):
    """The scalar ``KnapsackProblem.complete``: bound and profit; -1 if there is no completion."""
    begin, end = items.begins[level], items.ends[level]
    fits = weight <= items.capacity
    edge = end if fits else begin
    target = items.weights_before[edge] + items.capacity - weight
    if target < 0:
        return int64(-1), int64(-1)
    low, high = (end, items.profits.size) if fits else (0, begin)
    limit = high
    while low < high:
        middle = (low + high + 1) // 2
        if items.weights_before[middle] <= target:
            low = middle
        else:
            high = middle - 1
    value = profit + items.profits_before[low] - items.profits_before[edge]
    if low == limit:
        return value, value
    rest = target - items.weights_before[low]
    return value + rest * items.profits[low] // items.weights[low], value


@compiled
def place_of(level, weight, places):
    """The place in the table of a node of that level and weight."""
    mixed = (uint64(weight) + (uint64(level) << uint64(40))) * uint64(0x9E3779B97F4A7C15)
    return int64(mixed >> uint64(32)) & (places - 1)


@compiled
def as_good(node, level, weight, profit):
    """Whether a node decided the same items, weighs the same and has no less profit."""
    return node.step >> 1 == level and node.weight == weight and node.profit >= profit


@compiled
def explore(items, memory, by_bound, max_nodes, state):
    """Explore at most ``max_nodes`` nodes; returns why it ended."""
    nodes, heap, table, depth = memory.nodes, memory.heap, memory.table, items.decided.size
    for _ in range(max_nodes):
        if state.pending == 0:
            return FINISHED
        if state.made + 2 > nodes.size or state.pending + 2 > capacity(heap):
            return FULL
        index = int64(pop(heap, state.pending)[1])
        state.pending -= 1
        node = nodes[index]
        level = node.step >> 1
        other = table[place_of(level, node.weight, table.size)]
        superseded = other != index and as_good(nodes[other], level, node.weight, node.profit)
        if superseded or node.bound <= state.best:
            continue
        state.explored += 1
        item = items.decided[level]
        sign = -1 if item < items.begins[level] else 1
        for flipped in range(2):
            profit = node.profit + flipped * sign * items.profits[item]
            weight = node.weight + flipped * sign * items.weights[item]
            bound, completed = complete(items, profit, weight, level + 1)
            step = 2 * (level + 1) + flipped
            if completed > state.best:
                state.best, state.best_parent, state.best_step = completed, index, step
            if bound <= state.best or level + 1 == depth:
                continue
            place = place_of(level + 1, weight, table.size)
            if as_good(nodes[table[place]], level + 1, weight, profit):
                continue
            new = state.made
            nodes[new].profit, nodes[new].weight, nodes[new].bound = profit, weight, bound
            nodes[new].parent, nodes[new].step = index, step
            table[place] = new
            push(heap, state.pending, MAX_SUM - (bound if by_bound else completed), new)
            state.made += 1
            state.pending += 1
    return INTERRUPTED


def solve(
    problem: KnapsackProblem,
    deadline: float,
    *,
    by_bound: bool = True,
    collect: bool = True,
    max_nodes: int = MAX_NODES,
) -> Solution:
    """Find the best solution, or the best one until the deadline, a time of ``time.monotonic``.

    by_bound: whether nodes are explored by descending bound, or by descending profit. collect:
    whether useless nodes are removed from the heap when it has grown. Raises OutOfMemoryError if
    more than ``max_nodes`` nodes would be kept, and before they take more memory than there is.
    """
    levels = problem.levels
    items = Items(problem.profits, problem.weights, problem.profits_before, problem.weights_before,
                  problem.capacity, levels.begins, levels.ends, levels.decided)  # fmt: skip
    heap = heap_cpu.new(max_nodes, small=False)
    push_root(heap)
    memory = Memory(np.zeros(INITIAL_NODES, NODE), heap, np.zeros(TABLE_SIZE, np.int32))
    root = memory.nodes[0]
    root["profit"] = problem.profits_before[problem.split]
    root["weight"] = problem.weights_before[problem.split]
    root["bound"], profit = complete(items, int(root["profit"]), int(root["weight"]), 0)
    states = np.zeros(1, STATE)
    state = states[0]
    state["made"] = state["pending"] = 1
    state["best"] = profit

    def explore_some(memory: Memory) -> int:
        return int(explore(items, memory, by_bound, NODES_PER_CHECK, state))

    memory, bound = search(
        explore_some, memory, state, deadline, _find_undominated if collect else None, max_nodes
    )
    chosen = problem.choose_items(trace_flips(memory, state))
    return Solution(int(state["best"]), chosen, bound, int(state["explored"]))


def search(
    explore_some: Callable[[Memory], int], memory: Memory, state: np.void, deadline: float,
    find_useful: Callable[[Memory, Any, Any], Any] | None, max_nodes: int,
) -> tuple[Memory, int]:  # fmt: skip
    """Explore until nothing is pending, or the deadline; return the memory and a bound.

    explore_some: explores some nodes, and returns why it ended. find_useful: of the pending nodes'
    numbers and the best profit, which to keep when the heap has grown; None: all.
    """
    threshold = COLLECT_THRESHOLD
    while (ended := explore_some(memory)) != FINISHED:
        cancellation.raise_if_cancelled()
        if find_useful and state["pending"] > threshold:
            _keep(memory, state, find_useful)
            threshold = max(COLLECT_THRESHOLD, 2 * int(state["pending"]))
        if time.monotonic() >= deadline:
            break
        if ended == FULL:
            memory = _grow(memory, state, max_nodes)
    best = int(state["best"])
    pending_bounds = memory.nodes["bound"][memory.heap[1][: state["pending"]]]
    return memory, max(best, int(pending_bounds.max(initial=best)))


@compiled
def push_root(heap):
    """Push node 0 to an empty heap."""
    push(heap, 0, int64(0), int64(0))


@compiled
def enlarge(heap):
    """The heap with twice the capacity."""
    return grow(heap)


def _grow(memory: Memory, state: np.void, max_nodes: int) -> Memory:
    """Double the array of nodes, the heap, or both, whichever is full."""
    made, nodes, heap = int(state["made"]), memory.nodes, memory.heap
    grow_nodes, grow_heap = made + 2 > nodes.size, state["pending"] + 2 > capacity(heap)
    new_size = min(2 * nodes.size, max_nodes)
    needed = grow_nodes * new_size * NODE.itemsize + grow_heap * 2 * sum(x.nbytes for x in heap)
    if made + 2 > max_nodes:
        raise OutOfMemoryError(
            f"branch and bound may keep at most {max_nodes:,} nodes, and needs more; "
            "use method dynamic_program"
        )
    if needed > free_memory():
        raise OutOfMemoryError(
            f"branch and bound needs {needed / 2**30:.1f} GiB more after {made:,} nodes, and this "
            "machine has less; use method dynamic_program"
        )
    if grow_nodes:
        nodes = np.resize(nodes, new_size)
    if grow_heap:
        heap = enlarge(heap)
    return Memory(nodes, heap, memory.table)


def _find_undominated(memory: Memory, indices: Any, best: Any) -> Any:
    """Find the pending nodes that may lead to something better than the others there."""
    nodes = memory.nodes[indices]
    kept = find_promising(memory, indices, best)
    level, age = ((nodes["step"] >> 1).astype(np.int64), indices.astype(np.int64))
    # Of equal nodes the newest is kept, as in the table, which would have the other one dropped.
    columns = (column[kept] for column in (level, nodes["weight"], nodes["profit"], age))
    return kept[find_undominated(np, *columns)]


def find_promising(memory: Memory, indices: Any, best: Any) -> Any:
    """Find the pending nodes whose bounds are above the best profit."""
    return np.flatnonzero(memory.nodes["bound"][indices] > best)


def _keep(memory: Memory, state: np.void, find_useful: Callable[[Memory, Any, Any], Any]) -> None:
    """Keep the useful nodes in the heap alone."""
    pending = int(state["pending"])
    keys, indices = (array[:pending].copy() for array in memory.heap)
    kept = find_useful(memory, indices, state["best"])
    kept = kept[np.argsort(keys[kept], kind="stable")]
    memory.heap[0][:pending] = memory.heap[0][-1]  # as its slots beyond are
    memory.heap[0][: kept.size], memory.heap[1][: kept.size] = keys[kept], indices[kept]
    state["pending"] = kept.size


def trace_flips(memory: Memory, state: np.void) -> np.ndarray:
    """For each level of the best solution's node, whether it flipped its item."""
    step, parent = int(state["best_step"]), int(state["best_parent"])
    flips = np.zeros(step // 2, bool)
    while step > 1:
        flips[step // 2 - 1] = step % 2
        step, parent = int(memory.nodes["step"][parent]), int(memory.nodes["parent"][parent])
    return flips
