"""A knapsack problem as the methods see it: without the items that are fixed, sorted by density.

Items are in descending order of profit per weight. The first ``split`` of them fit together: the
split solution (Pisinger's break solution). A partial solution has decided the items from ``begin``
to ``end - 1``, around the split; those before count as chosen, those after as left out. So it is a
profit and a weight, which may exceed the capacity, and it is completed as Dantzig did: items from
``end`` on are added while they fit, or, if it is too heavy, items before ``begin`` are taken out.
"""

import functools
from typing import NamedTuple

import numpy as np

from mgraph.knapsacks.instance import KnapsackInstance


class Completion(NamedTuple):
    """The completions of partial solutions, and bounds on all their completions.

    bound: no completion of the partial solution has a larger profit. profit: that of Dantzig's
    completion. boundary: that completion adds the items from ``end`` to ``boundary - 1`` or, if
    ``boundary`` is below ``begin``, takes out those from ``boundary`` to ``begin - 1``. Partial
    solutions that are too heavy for any completion have bound and profit -1.
    """

    bound: np.ndarray
    profit: np.ndarray
    boundary: np.ndarray


class Levels(NamedTuple):
    """The items that a partial solution has decided at each level: ``begin`` to ``end - 1``.

    begins, ends: shape (size + 1,). decided: the item that each level decides, shape (size,).
    """

    begins: np.ndarray
    ends: np.ndarray
    decided: np.ndarray


class KnapsackProblem:
    """An instance's items that are in doubt, in descending order of density.

    item_ids: the instance's number of each, int64. profits, weights: theirs, int64; profits_before,
    weights_before: their sums over all items before each, shape (size + 1,). fixed: for each item
    of the instance, a bool whether it is chosen in any case: an item with a profit and without
    weight, or every item if all fit. fixed_profit: their total profit. split: the items before it
    are the split solution. is_plain: the split solution is empty instead, so that each level takes
    or leaves an item, and partial solutions are not completed.
    """

    def __init__(self, instance: KnapsackInstance, *, is_plain: bool = False) -> None:
        """Separate the fixed items, and sort the others."""
        profits, weights, capacity = instance.profits, instance.weights, instance.capacity
        useful = (profits > 0) & (weights <= capacity)
        all_fit = int(weights[useful].sum()) <= capacity
        self.fixed = useful if all_fit else useful & (weights == 0)
        self.fixed_profit = int(profits[self.fixed].sum())
        self.capacity = capacity
        in_doubt = np.flatnonzero(useful & ~self.fixed)
        self.item_ids = in_doubt[_argsort_by_density(profits[in_doubt], weights[in_doubt])]
        self.profits, self.weights = profits[self.item_ids], weights[self.item_ids]
        self.profits_before = _prefix_sums(self.profits)
        self.weights_before = _prefix_sums(self.weights)
        self.is_plain, self.split = is_plain, 0
        if not is_plain:
            self.split = int(np.searchsorted(self.weights_before, capacity, side="right")) - 1

    @property
    def size(self) -> int:
        """The number of items in doubt."""
        return int(self.item_ids.size)

    @functools.cached_property
    def levels(self) -> Levels:
        """The order of decisions: alternately an item after the split and one before it."""
        before = np.arange(self.split - 1, -1, -1)
        after = np.arange(self.split, self.size)
        pairs = min(before.size, after.size)
        alternating = np.stack([after[:pairs], before[:pairs]], axis=1).ravel()
        decided = np.concatenate([alternating, after[pairs:], before[pairs:]])
        after_count = np.concatenate([np.zeros(1, np.int64), np.cumsum(decided >= self.split)])
        ends = self.split + after_count
        return Levels(ends - np.arange(self.size + 1), ends, decided)

    def choose_items(self, flips: np.ndarray) -> np.ndarray:
        """The items of a completed partial solution, as a bool each.

        flips: for each level of the partial solution, whether it flips that level's item.
        """
        levels, level = self.levels, flips.size
        chosen = np.arange(self.size) < self.split
        chosen[levels.decided[:level][flips]] ^= True
        if self.is_plain:
            return chosen
        begin, end = int(levels.begins[level]), int(levels.ends[level])
        profit, weight = (x[chosen].sum(keepdims=True) for x in (self.profits, self.weights))
        boundary = int(self.complete(profit, weight, begin, end).boundary[0])
        chosen[end:boundary] = True
        chosen[boundary:begin] = False
        return chosen

    def complete(self, profit: np.ndarray, weight: np.ndarray, begin: int, end: int) -> Completion:
        """Complete partial solutions that have decided items ``begin`` to ``end - 1``."""
        fits = weight <= self.capacity
        target = np.where(fits, self.weights_before[end], self.weights_before[begin])
        target = target + self.capacity - weight
        boundary = np.searchsorted(self.weights_before, target, side="right") - 1
        boundary = np.where(fits, np.maximum(boundary, end), np.minimum(boundary, begin))
        base = np.where(fits, self.profits_before[end], self.profits_before[begin])
        is_possible = boundary >= 0
        boundary = np.maximum(boundary, 0)
        completed = profit + self.profits_before[boundary] - base
        is_exact = np.where(fits, boundary == self.size, boundary == begin)
        item = np.minimum(boundary, max(self.size - 1, 0))
        rest = target - self.weights_before[boundary]
        fraction = rest * self.profits[item] // self.weights[item]
        bound = completed + np.where(is_exact, 0, fraction)
        return Completion(
            np.where(is_possible, bound, -1), np.where(is_possible, completed, -1), boundary
        )


def _prefix_sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])


def _argsort_by_density(profits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The order of descending profit per weight, exactly; among equals the heavier item first."""
    order = np.lexsort((-weights, -(profits / np.maximum(weights, 1))))
    p, w = profits[order].astype(object), weights[order].astype(object)
    if not (p[:-1] * w[1:] < p[1:] * w[:-1]).any():
        return order

    def compare(i: int, j: int) -> int:  # the rounded quotients were not exact enough
        a, b = int(profits[i]) * int(weights[j]), int(profits[j]) * int(weights[i])
        return (a < b) - (a > b) or int(weights[j]) - int(weights[i])

    return np.array(sorted(order.tolist(), key=functools.cmp_to_key(compare)), np.int64)
