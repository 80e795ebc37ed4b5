"""A knapsack problem as the methods see it: what is certain put aside, the rest by its density.

Items are in descending order of profit a weight. The first ``split`` of them fit together: the
split solution (Pisinger's break solution). A partial solution has decided the items from ``begin``
to ``end - 1``, around the split; those before count as taken, those after as left out. So it is a
profit and a weight, which may be above the capacity, and it is completed as Dantzig did: fitting
items after ``end`` are added, or, where it is too heavy, items before ``begin`` are taken out.
"""

import functools
from typing import NamedTuple

import numpy as np

from mgraph.knapsacks.instance import KnapsackInstance


class Completion(NamedTuple):
    """Of partial solutions: no completion is above the bound, and one has the profit.

    reached: up to which item items are taken, ``end`` and on, or, where that is below ``begin``,
    from which on they are taken out. Too heavy ones that cannot be completed have bound and profit
    -1.
    """

    bound: np.ndarray
    profit: np.ndarray
    reached: np.ndarray


class Levels(NamedTuple):
    """The items that a partial solution has decided at each level: ``begin`` to ``end - 1``.

    begins, ends: shape (size + 1,). turns: which item each level decides, shape (size,).
    """

    begins: np.ndarray
    ends: np.ndarray
    turns: np.ndarray


class KnapsackProblem:
    """An instance's items that can be in doubt, in the order of their density.

    ``item[i]``: which item of the instance the i-th is. ``certain``: a bool for each of those that
    are taken for certain: without weight, but of some profit, or all where all fit. int64.
    """

    def __init__(self, instance: KnapsackInstance) -> None:
        """Put aside what is certain, and sort the rest."""
        profits, weights, capacity = instance.profits, instance.weights, instance.capacity
        useful = (profits > 0) & (weights <= capacity)
        free = useful & (weights == 0)
        fits_all = int(weights[useful].sum()) <= capacity
        self.certain = useful if fits_all else free
        self.capacity = capacity
        doubtful = np.flatnonzero(useful & ~self.certain)
        self.item = doubtful[_by_density(profits[doubtful], weights[doubtful])]
        self.profit, self.weight = profits[self.item], weights[self.item]
        self.profits_before = _sums(self.profit)
        self.weights_before = _sums(self.weight)
        self.split = int(np.searchsorted(self.weights_before, capacity, side="right")) - 1
        self.certain_profit = int(profits[self.certain].sum())

    @property
    def size(self) -> int:
        """How many items are in doubt."""
        return int(self.item.size)

    @functools.cached_property
    def levels(self) -> Levels:
        """By turns an item after the split solution, and one before it."""
        before = np.arange(self.split - 1, -1, -1)
        after = np.arange(self.split, self.size)
        both = min(before.size, after.size)
        paired = np.stack([after[:both], before[:both]], axis=1).ravel()
        turns = np.concatenate([paired, after[both:], before[both:]])
        is_after = np.concatenate([np.zeros(1, np.int64), np.cumsum(turns >= self.split)])
        ends = self.split + is_after
        return Levels(ends - np.arange(self.size + 1), ends, turns)

    def choice(self, flips: np.ndarray) -> np.ndarray:
        """The items of a completed partial solution, a bool each. flips: a bool for each level."""
        levels, level = self.levels, flips.size
        chosen = np.arange(self.size) < self.split
        chosen[levels.turns[:level][flips]] ^= True
        begin, end = int(levels.begins[level]), int(levels.ends[level])
        profit, weight = (x[chosen].sum(keepdims=True) for x in (self.profit, self.weight))
        reached = int(self.complete(profit, weight, begin, end).reached[0])
        chosen[end:reached] = True
        chosen[reached:begin] = False
        return chosen

    def complete(self, profit: np.ndarray, weight: np.ndarray, begin: int, end: int) -> Completion:
        """Complete partial solutions that have decided items ``begin`` to ``end - 1``."""
        fits = weight <= self.capacity
        target = np.where(fits, self.weights_before[end], self.weights_before[begin])
        target = target + self.capacity - weight
        reached = np.searchsorted(self.weights_before, target, side="right") - 1
        reached = np.where(fits, np.maximum(reached, end), np.minimum(reached, begin))
        base = np.where(fits, self.profits_before[end], self.profits_before[begin])
        possible = reached >= 0
        reached = np.maximum(reached, 0)
        found = profit + self.profits_before[reached] - base
        nothing_left = np.where(fits, reached == self.size, reached == begin)
        at = np.minimum(reached, max(self.size - 1, 0))
        part = (target - self.weights_before[reached]) * self.profit[at] // self.weight[at]
        bound = found + np.where(nothing_left, 0, part)
        return Completion(np.where(possible, bound, -1), np.where(possible, found, -1), reached)


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])


def _by_density(profits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Descending profit a weight, exactly; heavier ones first among equals."""
    order = np.lexsort((-weights, -(profits / np.maximum(weights, 1))))
    p, w = profits[order].astype(object), weights[order].astype(object)
    if not (p[:-1] * w[1:] < p[1:] * w[:-1]).any():
        return order

    def compare(i: int, j: int) -> int:  # rounded quotients were not exact enough
        a, b = int(profits[i]) * int(weights[j]), int(profits[j]) * int(weights[i])
        return (a < b) - (a > b) or int(weights[j]) - int(weights[i])

    return np.array(sorted(order.tolist(), key=functools.cmp_to_key(compare)), np.int64)
