"""The result of a method, for the items in doubt."""

from typing import NamedTuple

import numpy as np


class Solution(NamedTuple):
    """A choice among a ``KnapsackProblem``'s items.

    profit: the choice's profit. chosen: (size,) bool, in the problem's order. bound: an upper bound
    on the profit of every choice. nodes: the partial solutions that were explored.
    """

    profit: int
    chosen: np.ndarray
    bound: int
    nodes: int
