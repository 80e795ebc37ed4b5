"""A 0/1 knapsack problem, checked, and the file that one stands in."""

import operator
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.arrays import as_array, on_gpu
from mgraph.errors import StorageError, UsageError
from mgraph.io.address import local_path
from mgraph.io.folder import writing_file

MOST_ITEMS = 1 << 20
MOST_SUM = (1 << 62) - 1


@dataclass(frozen=True, eq=False)
class KnapsackInstance:
    """Items to choose from so that their weights are within the capacity and their profits most.

    profits, weights: int64, shape (items,), none below 0; capacity: 0 or more. Raises UsageError
    for anything else, and where 62 bits do not hold sums, or an item's profit times its weight.
    """

    profits: np.ndarray
    weights: np.ndarray
    capacity: int

    def __post_init__(self) -> None:
        """Refuse what is not a problem."""
        for name in ("profits", "weights"):
            object.__setattr__(self, name, _whole_numbers(name, getattr(self, name)))
        if self.profits.size != self.weights.size:
            raise UsageError(
                f"there are {self.profits.size:,} profits and {self.weights.size:,} weights: an "
                "item has one of each"
            )
        if self.profits.size > MOST_ITEMS:
            raise UsageError(f"{self.profits.size:,} items are more than {MOST_ITEMS:,}")
        whole = isinstance(self.capacity, (int, np.integer)) and not isinstance(self.capacity, bool)
        if not whole or not 0 <= self.capacity <= MOST_SUM:
            raise UsageError(
                f"capacity must be a whole number from 0 to 2^62 - 1, and is {self.capacity!r}"
            )
        object.__setattr__(self, "capacity", int(self.capacity))
        pairs = zip(self.profits.tolist(), self.weights.tolist(), strict=True)
        largest = max((profit * weight for profit, weight in pairs), default=0)
        if largest > MOST_SUM:
            raise UsageError(
                f"an item's profit times its weight must be below 2^62, and one is {largest:,}"
            )

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.profits.size)

    def check_solution(self, chosen: np.ndarray) -> tuple[int, int]:
        """The profit and weight of a choice, a bool for each item."""
        return int(self.profits[chosen].sum()), int(self.weights[chosen].sum())


def read_knapsack(file: str | os.PathLike[str]) -> KnapsackInstance:
    """Read ``items capacity``, then ``profit weight`` a line; blank space of any kind between.

    Raises UsageError for anything else in the file, StorageError where it cannot be read.
    """
    path = local_path(file)
    try:
        with open(path, encoding="ascii") as stream:
            words = stream.read().split()
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not a knapsack instance: it is no text") from error
    try:
        numbers = [int(word) for word in words]
    except ValueError as error:
        raise UsageError(
            f"{file} is not a knapsack instance, which is items and capacity, then a profit and a "
            f"weight a line, all whole numbers: {error}"
        ) from error
    if len(numbers) < 2 or len(numbers) != 2 + 2 * numbers[0]:
        items = numbers[0] if numbers else 0
        raise UsageError(
            f"{file} should have {items:,} items, as its first line says, and has "
            f"{max(0, len(numbers) - 2) / 2:,g}"
        )
    try:
        return KnapsackInstance(np.array(numbers[2::2], object), np.array(numbers[3::2], object),
                                numbers[1])  # fmt: skip
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def write_knapsack(instance: KnapsackInstance, file: str | os.PathLike[str]) -> None:
    """Write what ``read_knapsack`` reads. Raises StorageError where it cannot be written."""
    lines = [f"{instance.items} {instance.capacity}"]
    lines += [f"{p} {w}" for p, w in zip(instance.profits, instance.weights, strict=True)]
    with writing_file(file) as stream:
        stream.write(("\n".join(lines) + "\n").encode())


def _whole_numbers(name: str, given: Any) -> np.ndarray:
    array = as_array(name, given)
    array = array.get() if on_gpu(array) else array
    if array.ndim != 1:
        raise UsageError(f"{name} must have one dimension, and have {array.ndim}")
    if array.size and array.dtype.kind not in "iuO":
        raise UsageError(f"{name} must be whole numbers, and are {array.dtype}")
    try:
        values = [operator.index(value) for value in array.tolist()]
    except TypeError as error:
        raise UsageError(f"{name} must be whole numbers: {error}") from error
    if min(values, default=0) < 0:
        raise UsageError(f"{name} must be 0 or more, and one is {min(values)}")
    if sum(values) > MOST_SUM:
        raise UsageError(f"the sum of all {name} must be below 2^62, and is {sum(values):,}")
    return np.array(values, np.int64)
