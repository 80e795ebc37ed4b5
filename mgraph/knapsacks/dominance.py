"""Which partial solutions lead to nothing that another one does not lead to as well."""

from typing import Any

import numpy as np


def undominated(xp: Any, level: Any, weight: Any, profit: Any, age: Any) -> Any:
    """Places of those that no other one of their level dominates, no heavier and of no less profit.

    Of equal ones that of the largest age is left. xp: numpy or cupy; the arrays: int64.
    """
    if not level.size:
        return xp.arange(0)
    rank = xp.unique(profit, return_inverse=True)[1].astype(np.int64)  # sums of these are small
    order = xp.lexsort(xp.stack([-age, -rank, weight, level]))
    lifted = (rank + level * (rank.size + 1))[order]  # a level's are above those of the one before
    above = xp.ones(lifted.size, bool)
    above[1:] = lifted[1:] > _largest_so_far(lifted)[:-1]
    return order[above]


def _largest_so_far(values: Any) -> Any:
    """The running maximum, which CuPy has not."""
    values, reach = values.copy(), 1
    while reach < values.size:
        values[reach:] = np.maximum(values[reach:], values[:-reach])
        reach *= 2
    return values
