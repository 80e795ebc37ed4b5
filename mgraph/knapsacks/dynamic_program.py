"""0/1 knapsack by a dynamic program over a growing core, with bounds: exact, and mostly fast.

Source: D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations Research 45(5),
1997. The core begins at the split solution and takes in the items beside it, by turns one after
its end and one before its beginning; each state is kept, and kept with that item flipped. States
that cannot be completed to more than the best solution go, and so do those that another one
dominates: no heavier, and of no less profit. It is over when none is left, or no item.
Cost: a sort and a bisection of all states an item; on most instances a core of some dozens of items
is enough, and no instance has more states at a time than the capacity has values. Memory: 5 bytes
for each state that there ever was.
"""

import time

import numpy as np

from mgraph.core import cancellation
from mgraph.core.memory import free_memory
from mgraph.errors import OutOfMemoryError
from mgraph.knapsacks.found import Found
from mgraph.knapsacks.problem import KnapsackProblem

MOST_STATES = 1 << 29
_BYTES_A_STATE = 128  # while states are completed and sorted
_FEW_STATES = 1 << 16  # take no memory to speak of


def solve(problem: KnapsackProblem, deadline: float, most_states: int | None = None) -> Found:
    """Find the best solution, or what is the best at the deadline, of ``time.monotonic``.

    Raises OutOfMemoryError where there are more than ``most_states`` states (None: MOST_STATES),
    and before they take more memory than there is.
    """
    most_states = MOST_STATES if most_states is None else most_states
    levels = problem.levels
    profit = problem.profits_before[[problem.split]]
    weight = problem.weights_before[[problem.split]]
    steps: list[tuple[np.ndarray, np.ndarray]] = []  # of each level: parents, and which flipped
    completed = problem.complete(profit, weight, problem.split, problem.split)
    best, bound, nodes = int(completed.profit[0]), int(completed.bound[0]), 1
    best_level = place = 0
    flipped = False
    for level, item in enumerate(levels.turns.tolist(), 1):
        if bound <= best or time.monotonic() >= deadline:
            break
        cancellation.raise_if_cancelled()
        sign = -1 if item < problem.split else 1
        old = profit.size
        needed = 2 * old * _BYTES_A_STATE
        if old > _FEW_STATES and needed > free_memory():
            raise OutOfMemoryError(
                f"the dynamic program needs {needed / 2**30:.1f} GiB more for {2 * old:,} states, "
                "and there is less; use method branch_and_bound"
            )
        profit = np.concatenate([profit, profit + sign * problem.profit[item]])
        weight = np.concatenate([weight, weight + sign * problem.weight[item]])
        nodes += old
        completed = problem.complete(profit, weight, levels.begins[level], levels.ends[level])
        first = int(completed.profit.argmax())
        if completed.profit[first] > best:
            best, best_level = int(completed.profit[first]), level
            place, flipped = first % old, first >= old
        kept = np.flatnonzero(completed.bound > best)
        cancellation.raise_if_cancelled()
        kept = kept[np.lexsort((-profit[kept], weight[kept]))]
        most_before = np.maximum.accumulate(profit[kept])
        kept = kept[np.concatenate([[True], profit[kept][1:] > most_before[:-1]])[: kept.size]]
        steps.append(((kept % old).astype(np.int32), kept >= old))
        profit, weight = profit[kept], weight[kept]
        bound = int(completed.bound[kept].max(initial=best))
        if nodes > most_states:
            raise OutOfMemoryError(
                f"the dynamic program has come to {nodes:,} states, and may have {most_states:,}; "
                "use method branch_and_bound"
            )
    else:
        bound = best
    flips = np.zeros(best_level, bool)
    flips[best_level - 1 :] = flipped
    for level in range(best_level - 2, -1, -1):
        parents, flips_there = steps[level]
        flips[level], place = flips_there[place], parents[place]
    return Found(best, problem.choice(flips), bound, nodes)
