"""0/1 knapsack by branch and bound on one core, with a sequential heap: best nodes first.

Source: the sequential version of section 5.7.2 of "Accelerating concurrent heap on GPUs". A node is
a partial solution; ``problem`` tells how it is completed, and which items it has decided: level by
level those beside the split solution, by turns one after it and one before. Its two children leave
the next item as it is or flip it. A child whose bound is above the best solution is put into the
heap, by its bound or by the profit of its completion; a completion may be the best solution.

What the paper has not: of two nodes that decided the same items and weigh the same, the one of less
profit leads to nothing better, nor does the second of two that are equal. A table remembers nodes
by level and weight, as chess programs do with positions: one node a place, the latest. A child that
the table's node is as good as is dropped, and so is a node that is taken from the heap. Without it
nearly all of Pisinger's correlated instances go on for ever.

What the paper calls garbage collection: when the heap has grown to a size, nodes go whose bound is
not above the best solution any more, and those that another one of their level in the heap
dominates, which is no heavier and has no less profit.
Cost of a child: a bisection, a look into the table, and a push; 32 bytes for each node that there
ever was, and 12 in the heap, which is that of ``core.heap_cpu``, by what the keys lack to the most.
"""

import time
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.knapsacks.dominance import undominated
from mgraph.knapsacks.found import Found
from mgraph.knapsacks.instance import MOST_SUM
from mgraph.knapsacks.problem import KnapsackProblem

STEPS = 1 << 16  # nodes between two looks at the clock
FIRST_ROOM = 1 << 16
COLLECT_AT = 1 << 18  # nodes in the heap
MOST_NODES = 1 << 28
TABLE = 1 << 24  # places, a power of two
DONE, STOPPED, FULL = 0, 1, 2

# step: twice the level, and 1 where the last item was flipped
NODE = np.dtype([("profit", "i8"), ("weight", "i8"), ("bound", "i8"), ("parent", "u4"),
                 ("step", "u4")])  # fmt: skip
STATE = np.dtype([("made", "i8"), ("waiting", "i8"), ("looked", "i8"), ("best", "i8"),
                  ("best_parent", "i8"), ("best_step", "i8")])  # fmt: skip


class Items(NamedTuple):
    """The problem for compiled code."""

    profit: np.ndarray
    weight: np.ndarray
    profits_before: np.ndarray
    weights_before: np.ndarray
    capacity: int
    begins: np.ndarray
    ends: np.ndarray
    turns: np.ndarray


class Memory(NamedTuple):
    """Every node that there was, the heap of those that wait, the table."""

    nodes: np.ndarray
    heap: tuple[np.ndarray, np.ndarray]
    table: np.ndarray


@compiled
def complete(items, profit, weight, level):
    """The scalar ``KnapsackProblem.complete``: bound and profit; -1 where there is none."""
    begin, end = items.begins[level], items.ends[level]
    fits = weight <= items.capacity
    edge = end if fits else begin
    target = items.weights_before[edge] + items.capacity - weight
    if target < 0:
        return int64(-1), int64(-1)
    low, high = (end, items.profit.size) if fits else (0, begin)
    most = high
    while low < high:
        middle = (low + high + 1) // 2
        if items.weights_before[middle] <= target:
            low = middle
        else:
            high = middle - 1
    found = profit + items.profits_before[low] - items.profits_before[edge]
    if low == most:
        return found, found
    left = target - items.weights_before[low]
    return found + left * items.profit[low] // items.weight[low], found


@compiled
def place_of(level, weight, places):
    """Where in the table a node of that level and weight is."""
    mixed = (uint64(weight) + (uint64(level) << uint64(40))) * uint64(0x9E3779B97F4A7C15)
    return int64(mixed >> uint64(32)) & (places - 1)


@compiled
def as_good(node, level, weight, profit):
    """Whether a node decided the same items, weighs the same and has no less profit."""
    return node.step >> 1 == level and node.weight == weight and node.profit >= profit


@compiled
def explore(items, memory, by_bound, steps, state):
    """Look at ``steps`` nodes at most, and say why no more."""
    nodes, heap, table, depth = memory.nodes, memory.heap, memory.table, items.turns.size
    for _ in range(steps):
        if state.waiting == 0:
            return DONE
        if state.made + 2 > nodes.size or state.waiting + 2 > capacity(heap):
            return FULL
        at = int64(pop(heap, state.waiting)[1])
        state.waiting -= 1
        node = nodes[at]
        level = node.step >> 1
        there = table[place_of(level, node.weight, table.size)]
        superseded = there != at and as_good(nodes[there], level, node.weight, node.profit)
        if superseded or node.bound <= state.best:
            continue
        state.looked += 1
        item = items.turns[level]
        sign = -1 if item < items.begins[level] else 1
        for flipped in range(2):
            profit = node.profit + flipped * sign * items.profit[item]
            weight = node.weight + flipped * sign * items.weight[item]
            bound, found = complete(items, profit, weight, level + 1)
            step = 2 * (level + 1) + flipped
            if found > state.best:
                state.best, state.best_parent, state.best_step = found, at, step
            if bound <= state.best or level + 1 == depth:
                continue
            place = place_of(level + 1, weight, table.size)
            if as_good(nodes[table[place]], level + 1, weight, profit):
                continue
            new = state.made
            nodes[new].profit, nodes[new].weight, nodes[new].bound = profit, weight, bound
            nodes[new].parent, nodes[new].step = at, step
            table[place] = new
            push(heap, state.waiting, MOST_SUM - (bound if by_bound else found), new)
            state.made += 1
            state.waiting += 1
    return STOPPED


def solve(
    problem: KnapsackProblem,
    deadline: float,
    *,
    by_bound: bool = True,
    collect: bool = True,
    most_nodes: int = MOST_NODES,
) -> Found:
    """Find the best solution, or what is the best at the deadline, of ``time.monotonic``.

    by_bound: whether the node of the largest bound comes first, or that of the most profit.
    collect: whether dead nodes are taken out of the heap when it has grown. Raises OutOfMemoryError
    where more than ``most_nodes`` nodes would be kept, or the machine has no more room.
    """
    levels = problem.levels
    items = Items(problem.profit, problem.weight, problem.profits_before, problem.weights_before,
                  problem.capacity, levels.begins, levels.ends, levels.turns)  # fmt: skip
    heap = heap_cpu.new(most_nodes, small=False)
    push_first(heap)
    memory = Memory(np.zeros(FIRST_ROOM, NODE), heap, np.zeros(TABLE, np.int32))
    root = memory.nodes[0]
    root["profit"] = problem.profits_before[problem.split]
    root["weight"] = problem.weights_before[problem.split]
    root["bound"], profit = complete(items, int(root["profit"]), int(root["weight"]), 0)
    states = np.zeros(1, STATE)
    state = states[0]
    state["made"] = state["waiting"] = 1
    state["best"] = profit
    collect_at = COLLECT_AT
    while (ended := explore(items, memory, by_bound, STEPS, state)) != DONE:
        cancellation.raise_if_cancelled()
        if collect and state["waiting"] > collect_at:
            _collect(memory, state)
            collect_at = max(COLLECT_AT, 2 * int(state["waiting"]))
        if time.monotonic() >= deadline:
            break
        if ended == FULL:
            memory = _larger(memory, state, most_nodes)
    best = int(state["best"])
    left = memory.nodes["bound"][memory.heap[1][: state["waiting"]]]
    bound = max(best, int(left.max(initial=best)))
    return Found(best, problem.choice(_flips(memory, state)), bound, int(state["looked"]))


@compiled
def push_first(heap):
    """The first node, into an empty heap."""
    push(heap, 0, int64(0), int64(0))


@compiled
def larger(heap):
    """The heap, with twice the room."""
    return grow(heap)


def _larger(memory: Memory, state: np.void, most_nodes: int) -> Memory:
    """Twice the room of what is full."""
    made, nodes, heap = int(state["made"]), memory.nodes, memory.heap
    more_nodes, more_heap = made + 2 > nodes.size, state["waiting"] + 2 > capacity(heap)
    largest = min(2 * nodes.size, most_nodes)
    wanted = more_nodes * largest * NODE.itemsize + more_heap * 2 * sum(x.nbytes for x in heap)
    why = ""
    if made + 2 > most_nodes:
        why = f"may keep {most_nodes:,}"
    elif wanted > free_memory():
        why = "this machine has no more room"
    if why:
        raise OutOfMemoryError(
            f"branch and bound has come to {made:,} nodes, and {why}; use method dynamic_program"
        )
    if more_nodes:
        nodes = np.resize(nodes, largest)
    if more_heap:
        heap = larger(heap)
    return Memory(nodes, heap, memory.table)


def _collect(memory: Memory, state: np.void) -> None:
    """Take nodes out of the heap that lead to nothing better than what is there."""
    waiting = int(state["waiting"])
    keys, at = (array[:waiting].copy() for array in memory.heap)
    nodes = memory.nodes[at]
    alive = np.flatnonzero(nodes["bound"] > state["best"])
    level, age = ((nodes["step"] >> 1).astype(np.int64), at.astype(np.int64))
    # Of equal ones the newest, as the table has it: it would have the other one dropped.
    columns = (column[alive] for column in (level, nodes["weight"], nodes["profit"], age))
    alive = alive[undominated(np, *columns)]
    alive = alive[np.argsort(keys[alive], kind="stable")]
    memory.heap[0][:waiting] = memory.heap[0][-1]  # as its slots beyond are
    memory.heap[0][: alive.size], memory.heap[1][: alive.size] = keys[alive], at[alive]
    state["waiting"] = alive.size


def _flips(memory: Memory, state: np.void) -> np.ndarray:
    """For each level of the best solution's node, whether it flipped its item."""
    step, parent = int(state["best_step"]), int(state["best_parent"])
    flips = np.zeros(step // 2, bool)
    while step > 1:
        flips[step // 2 - 1] = step % 2
        step, parent = int(memory.nodes["step"][parent]), int(memory.nodes["parent"][parent])
    return flips
