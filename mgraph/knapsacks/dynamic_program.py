"""0/1 knapsack by a dynamic program over a growing core, with bounds: exact, and mostly fast.

Source: D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations Research 45(5),
1997. The core begins at the split solution and grows by the items beside it, alternately one after
its end and one before its beginning; each state is kept, and kept with that item flipped. States
whose bound is not above the best solution are dropped, and so are those that another one dominates:
no heavier, and of no less profit. The search ends when no state is left, or no item.

Departure: where so many states appear that a table over all capacities takes less time, that is
made instead, if it is small enough (``table_cpu``).

Cost: a sort and a bisection of all states per item. On most instances a core of some dozens of
items is enough, and no instance has more states at a time than the capacity has values. Memory: 5
bytes for each state that was ever kept.
"""

import time

import numpy as np

from mgraph.core import cancellation
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.knapsacks import table_cpu
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution

MAX_STATES = 1 << 29
_BYTES_PER_STATE = 128  # while states are completed and sorted
_UNCHECKED_STATES = 1 << 16  # so few that their memory is not checked
CELLS_PER_STATE = 1000  # of a table, take as long as a state


def solve(problem: KnapsackProblem, deadline: float, max_states: int | None = None) -> Solution:
    """Find the best solution, or the best one until the deadline, a time of ``time.monotonic``.

    Raises OutOfMemoryError if there are more than ``max_states`` states (None: MAX_STATES), and
    before they take more memory than there is.
    """
    max_states = MAX_STATES if max_states is None else max_states
    levels = problem.levels
    profit = problem.profits_before[[problem.split]]
    weight = problem.weights_before[[problem.split]]
    steps: list[tuple[np.ndarray, np.ndarray]] = []  # per level: parents, and whether they flip
    completed = problem.complete(profit, weight, problem.split, problem.split)
    best, bound, nodes = int(completed.profit[0]), int(completed.bound[0]), 1
    best_level = best_state = 0
    best_flips = False
    for level, item in enumerate(levels.decided.tolist(), 1):
        if bound <= best or time.monotonic() >= deadline:
            break
        cancellation.raise_if_cancelled()
        sign = -1 if item < problem.split else 1
        old = profit.size
        needed = 2 * old * _BYTES_PER_STATE
        if old > _UNCHECKED_STATES and needed > free_memory():
            raise OutOfMemoryError(
                f"the dynamic program needs {needed / 2**30:.1f} GiB more for {2 * old:,} states, "
                "and there is less; use method branch_and_bound"
            )
        profit = np.concatenate([profit, profit + sign * problem.profits[item]])
        weight = np.concatenate([weight, weight + sign * problem.weights[item]])
        nodes += old
        completed = problem.complete(profit, weight, levels.begins[level], levels.ends[level])
        first = int(completed.profit.argmax())
        if completed.profit[first] > best:
            best, best_level = int(completed.profit[first]), level
            best_state, best_flips = first % old, first >= old
        kept = np.flatnonzero(completed.bound > best)
        cancellation.raise_if_cancelled()
        kept = kept[np.lexsort((-profit[kept], weight[kept]))]
        max_before = np.maximum.accumulate(profit[kept])
        kept = kept[np.concatenate([[True], profit[kept][1:] > max_before[:-1]])[: kept.size]]
        steps.append(((kept % old).astype(np.int32), kept >= old))
        profit, weight = profit[kept], weight[kept]
        bound = int(completed.bound[kept].max(initial=best))
        cells = problem.size * (problem.capacity + 1)
        if bound > best and nodes * CELLS_PER_STATE > cells and table_cpu.fits(problem):
            chosen = table_cpu.solve(problem, deadline)
            if chosen is not None:
                optimum = int(problem.profits[chosen].sum())
                return Solution(optimum, chosen, optimum, nodes)
        if nodes > max_states:
            raise OutOfMemoryError(
                f"the dynamic program may have at most {max_states:,} states (got {nodes:,}); "
                "use method branch_and_bound"
            )
    else:
        bound = best
    flips = np.zeros(best_level, bool)
    flips[best_level - 1 :] = best_flips
    state = best_state
    for level in range(best_level - 2, -1, -1):
        parents, parent_flips = steps[level]
        flips[level], state = parent_flips[state], parents[state]
    return Solution(best, problem.choose_items(flips), bound, nodes)
