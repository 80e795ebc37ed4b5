"""Dominance among partial solutions: those that lead only to what another one leads to as well."""

from typing import Any

import numpy as np


def find_undominated(xp: Any, level: Any, weight: Any, profit: Any, age: Any) -> Any:
    """Indices of the partial solutions that no other one of their level dominates.

    One dominates another if it is no heavier and has no less profit; of equal ones the one with the
    largest age is kept. xp: numpy or cupy; the arrays: int64.
    """
    if not level.size:
        return xp.arange(0)
    rank = xp.unique(profit, return_inverse=True)[1].astype(np.int64)  # sums of ranks are small
    order = xp.lexsort(xp.stack([-age, -rank, weight, level]))
    lifted = (rank + level * (rank.size + 1))[order]  # above every rank of the level before
    is_undominated = xp.ones(lifted.size, bool)
    is_undominated[1:] = lifted[1:] > _running_maximum(lifted)[:-1]
    return order[is_undominated]


def _running_maximum(values: Any) -> Any:
    """The maximum of all values up to each; CuPy has no ``maximum.accumulate``."""
    values, reach = values.copy(), 1
    while reach < values.size:
        values[reach:] = np.maximum(values[reach:], values[:-reach])
        reach *= 2
    return values
