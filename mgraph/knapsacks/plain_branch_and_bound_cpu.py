"""0/1 knapsack by the branch and bound of the heap's paper, to the letter, for comparison.

Source: section 5.7.2 of Y. Chen et al., "Accelerating concurrent heap on GPUs", the sequential
version. A level of the tree takes or leaves one item, here in descending
order of profit per weight, since the paper does not name an order. A node is what was chosen so
far; the one of the largest profit is explored first. A child is pushed if Dantzig's bound of it is
above the largest profit so far. Garbage collection: when the heap has grown to a threshold, the
nodes whose bounds are no longer above that profit are removed.

What ``branch_and_bound_cpu`` adds: it decides items from the split solution on, completes each
node, takes the largest bound first by default, and drops nodes that another one dominates. Without
that most of Pisinger's instances of some hundred items end with the time limit.
Cost per child: a bisection and a push; 32 bytes for each node ever made, and 12 in the heap.
"""

import numpy as np

from mgraph.core import heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, pop, push
from mgraph.knapsacks.branch_and_bound_cpu import (
    FINISHED,
    FULL,
    INITIAL_NODES,
    INTERRUPTED,
    MAX_NODES,
    NODE,
    NODES_PER_CHECK,
    STATE,
    Items,
    Memory,
    complete,
    find_promising,
    push_root,
    search,
    trace_flips,
)
from mgraph.knapsacks.instance import MAX_SUM
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution


@compiled
def _explore(items, memory, max_nodes, state):
    """Explore at most ``max_nodes`` nodes; return why it ended."""
    nodes, heap, size = memory.nodes, memory.heap, items.profits.size
    for _ in range(max_nodes):
        if state.pending == 0:
            return FINISHED
        if state.made + 2 > nodes.size or state.pending + 2 > capacity(heap):
            return FULL
        index = np.int64(pop(heap, state.pending)[1])
        state.pending -= 1
        node = nodes[index]
        if node.bound <= state.best:
            continue
        state.explored += 1
        level = node.step >> 1
        for taken in range(2):
            profit = node.profit + taken * items.profits[level]
            weight = node.weight + taken * items.weights[level]
            if weight > items.capacity:
                continue
            step = 2 * (level + 1) + taken
            if profit > state.best:
                state.best, state.best_parent, state.best_step = profit, index, step
            bound, _completed = complete(items, profit, weight, level + 1)
            if bound <= state.best or level + 1 == size:
                continue
            new = state.made
            nodes[new].profit, nodes[new].weight, nodes[new].bound = profit, weight, bound
            nodes[new].parent, nodes[new].step = index, step
            push(heap, state.pending, MAX_SUM - profit, new)
            state.made += 1
            state.pending += 1
    return INTERRUPTED


def solve(
    problem: KnapsackProblem, deadline: float, *, collect: bool = True, max_nodes: int = MAX_NODES
) -> Solution:
    """Find the best choice, or the best one until the deadline, a time of ``time.monotonic``.

    problem: one that is plain. collect: whether useless nodes are removed from the heap when it has
    grown. Raises OutOfMemoryError as ``branch_and_bound_cpu.solve`` does.
    """
    levels = problem.levels
    items = Items(problem.profits, problem.weights, problem.profits_before, problem.weights_before,
                  problem.capacity, levels.begins, levels.ends, levels.decided)  # fmt: skip
    heap = heap_cpu.new(max_nodes, small=False)
    push_root(heap)
    memory = Memory(np.zeros(INITIAL_NODES, NODE), heap, np.zeros(1, np.int32))
    memory.nodes[0]["bound"], _ = complete(items, 0, 0, 0)
    state = np.zeros(1, STATE)[0]
    state["made"] = state["pending"] = 1

    def explore_some(memory: Memory) -> int:
        return int(_explore(items, memory, NODES_PER_CHECK, state))

    memory, bound = search(
        explore_some, memory, state, deadline, find_promising if collect else None, max_nodes
    )
    chosen = problem.choose_items(trace_flips(memory, state))
    return Solution(int(state["best"]), chosen, bound, int(state["explored"]))
