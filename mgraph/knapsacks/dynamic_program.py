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

from mgraph.errors import OutOfMemoryError
from mgraph.knapsacks.found import Found
from mgraph.knapsacks.problem import KnapsackProblem

MOST_STATES = 1 << 29


def solve(problem: KnapsackProblem, deadline: float, most_states: int = MOST_STATES) -> Found:
    """Find the best solution, or what is the best at the deadline, of ``time.monotonic``.

    Raises OutOfMemoryError where there are more than ``most_states`` states.
    """
    begin = end = problem.split
    profit = problem.profits_before[[begin]]
    weight = problem.weights_before[[begin]]
    steps: list[tuple[np.ndarray, np.ndarray]] = []  # of each item: parents, and which are flipped
    items: list[int] = []
    completed, reached = problem.complete(profit, weight, begin, end)
    best, bound, nodes = int(completed.profit[0]), int(completed.bound[0]), 1
    at = (0, 0, int(reached[0]), begin, end)  # the best one's step, place, completion and core
    while bound > best and time.monotonic() < deadline and (begin > 0 or end < problem.size):
        before = begin > 0 and (end == problem.size or len(items) % 2 == 1)
        item = begin - 1 if before else end
        begin, end = (item, end) if before else (begin, item + 1)
        sign = -1 if before else 1
        old = profit.size
        profit = np.concatenate([profit, profit + sign * problem.profit[item]])
        weight = np.concatenate([weight, weight + sign * problem.weight[item]])
        nodes += old
        completed, reached = problem.complete(profit, weight, begin, end)
        first = int(completed.profit.argmax())
        items.append(item)
        if completed.profit[first] > best:
            best = int(completed.profit[first])
            at = (len(items), first, int(reached[first]), begin, end)
        kept = np.flatnonzero(completed.bound > best)
        kept = kept[np.lexsort((-profit[kept], weight[kept]))]
        most_before = np.maximum.accumulate(profit[kept])
        kept = kept[np.concatenate([[True], profit[kept][1:] > most_before[:-1]])[: kept.size]]
        steps.append(((kept % old).astype(np.int32), kept >= old))
        if at[0] == len(items):  # it may not be among those that are kept
            at = (at[0], at[1] % old, *at[2:])
            last = first >= old
        profit, weight = profit[kept], weight[kept]
        bound = int(completed.bound[kept].max(initial=best))
        if nodes > most_states:
            raise OutOfMemoryError(
                f"the dynamic program has come to {nodes:,} states, and may have {most_states:,}; "
                "use method heap"
            )
    if begin == 0 and end == problem.size:
        bound = best
    chosen = np.arange(problem.size) < problem.split
    step, place, reach, core_begin, core_end = at
    if step:
        chosen[items[step - 1]] ^= last
    for k in range(step - 2, -1, -1):
        parents, flips = steps[k]
        chosen[items[k]] ^= flips[place]
        place = parents[place]
    chosen[core_end:reach] = True
    chosen[reach:core_begin] = False
    return Found(best, chosen, bound, nodes)
