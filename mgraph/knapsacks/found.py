"""What a method finds for the items in doubt."""

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """Their profit, which of them, a bound that no choice is above, and how many nodes it took."""

    profit: int
    chosen: np.ndarray
    bound: int
    nodes: int
