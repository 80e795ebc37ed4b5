"""An instance of the 0/1 knapsack problem, checked, and its file format."""

import operator
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core.arrays import as_array, on_gpu
from mgraph.errors import StorageError, UsageError
from mgraph.io.address import local_path
from mgraph.io.folder import writing_file
from mgraph.io.text import lines_of, parse_whole, quote, read_text

MAX_ITEMS = 1 << 20
MAX_SUM = (1 << 62) - 1


@dataclass(frozen=True, eq=False, repr=False)
class KnapsackInstance:
    """A 0/1 knapsack problem: items to choose from, and a capacity for their total weight.

    Parameters
    ----------
    profits, weights : array_like of int, shape (items,)
        Whole numbers of at least 0, at most 2^20 of them. They become NumPy arrays of int64.
    capacity : int
        The total weight that a choice may have, from 0 to 2^62 - 1.
    ids : array_like of int, shape (items,), optional
        The items' own numbers, all different; by default items are 0, 1, 2 ….

    Raises
    ------
    UsageError
        If a number is negative or not whole, if the lengths differ, if two ids are the same, and if
        a sum of profits, a sum of weights, or an item's profit times its weight needs more than 62
        bits.

    Examples
    --------
    >>> instance = mgraph.KnapsackInstance([6, 10, 12], [1, 2, 3], 5)
    >>> instance
    KnapsackInstance(items=3, capacity=5)
    >>> instance.weights
    array([1, 2, 3])
    """

    profits: np.ndarray
    weights: np.ndarray
    capacity: int
    ids: np.ndarray | None = None

    if TYPE_CHECKING:  # sequences are converted

        def __init__(  # noqa: D107
            self,
            profits: ArrayLike,
            weights: ArrayLike,
            capacity: int,
            ids: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Convert and check the arrays and the capacity."""
        for name in ("profits", "weights"):
            object.__setattr__(self, name, _as_whole_numbers(name, getattr(self, name)))
        if self.profits.size != self.weights.size:
            raise UsageError(
                "profits and weights must have the same length "
                f"(got {self.profits.size:,} and {self.weights.size:,})"
            )
        if self.profits.size > MAX_ITEMS:
            raise UsageError(
                f"a knapsack may have at most {MAX_ITEMS:,} items (got {self.profits.size:,})"
            )
        capacity = self.capacity
        is_integer = isinstance(capacity, (int, np.integer)) and not isinstance(capacity, bool)
        if not is_integer or not 0 <= capacity <= MAX_SUM:
            raise UsageError(
                f"capacity must be a whole number from 0 to 2^62 - 1 (got {capacity!r})"
            )
        object.__setattr__(self, "capacity", int(capacity))
        if self.ids is not None:
            ids = _as_whole_numbers("ids", self.ids, largest=MAX_SUM)
            if ids.size != self.items or np.unique(ids).size < ids.size:
                raise UsageError(f"ids must be {self.items:,} different numbers")
            object.__setattr__(self, "ids", ids)
        pairs = zip(self.profits.tolist(), self.weights.tolist(), strict=True)
        max_product = max((profit * weight for profit, weight in pairs), default=0)
        if max_product > MAX_SUM:
            raise UsageError(
                f"an item's profit times its weight must be below 2^62 (got {max_product:,})"
            )

    def __repr__(self) -> str:
        """The number of items and the capacity."""
        return f"KnapsackInstance(items={self.items}, capacity={self.capacity})"

    @property
    def items(self) -> int:
        """The number of items."""
        return int(self.profits.size)

    def check_solution(self, chosen: np.ndarray) -> tuple[int, int]:
        """Sum the profits and the weights of a choice.

        Parameters
        ----------
        chosen : numpy.ndarray of bool, shape (items,)
            Whether each item is chosen.

        Returns
        -------
        tuple of int
            The total profit and the total weight, which may exceed the capacity.

        Examples
        --------
        >>> instance = mgraph.KnapsackInstance([6, 10, 12], [1, 2, 3], 5)
        >>> instance.check_solution(np.array([False, True, True]))
        (22, 5)
        """
        return int(self.profits[chosen].sum()), int(self.weights[chosen].sum())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "KnapsackInstance":
        """Read an instance from a text file, as ``write`` writes it.

        Parameters
        ----------
        path : str or path
            A local file: the number of items and the capacity, then a profit and a weight per
            item, separated by white space of any kind. Or the number of items, then per line an
            item's own number, profit and weight, and at last the capacity.

        Returns
        -------
        KnapsackInstance

        Raises
        ------
        UsageError
            If the file holds anything else.
        StorageError
            If the file cannot be read.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".data") as file:
        ...     _ = file.write("3 5  6 1  10 2  12 3")
        ...     file.flush()
        ...     mgraph.KnapsackInstance.read(file.name)
        KnapsackInstance(items=3, capacity=5)
        """
        try:
            return cls(*_parse(_read_bytes(path)))
        except (ValueError, UsageError) as error:
            raise UsageError(f"{path}: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a text file, which appears once it is complete.

        Items with numbers of their own are written with these, and the capacity at the end.

        Parameters
        ----------
        path : str or path
            A local path; missing folders are created and an existing file is replaced.

        Raises
        ------
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> instance = mgraph.KnapsackInstance([6, 10, 12], [1, 2, 3], 5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     instance.write(f"{folder}/a.data")
        ...     mgraph.KnapsackInstance.read(f"{folder}/a.data")
        KnapsackInstance(items=3, capacity=5)
        """
        pairs = zip(self.profits.tolist(), self.weights.tolist(), strict=True)
        if self.ids is None:
            lines = [f"{self.items} {self.capacity}", *(f"{p} {w}" for p, w in pairs)]
        else:
            rows = (f"{i} {p} {w}" for i, (p, w) in zip(self.ids.tolist(), pairs, strict=True))
            lines = [str(self.items), *rows, str(self.capacity)]
        with writing_file(path) as stream:
            stream.write(("\n".join(lines) + "\n").encode())


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a text file. Raises StorageError, and ValueError for other files."""
    try:
        with open(local_path(path), "rb") as stream:
            return read_text(stream)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def _parse(content: bytes) -> tuple[Any, Any, int, Any]:
    """Return the profits, the weights, the capacity and the items' own numbers or None.

    Raises ValueError.
    """
    lines = [(number, words) for number, line, _ in lines_of(content) if (words := line.split())]
    numbers = []
    for line, words in lines:
        for word in words:
            number = parse_whole(word)
            if number is None:
                raise ValueError(f"line {line} must hold whole numbers, and {quote(word)} is none")
            numbers.append(number)
    if not numbers:
        raise ValueError("the file is empty; a knapsack instance begins with ITEMS CAPACITY")
    items = numbers[0]
    lengths = [len(words) for _, words in lines]
    if len(lengths) == items + 2 and lengths == [1] + [3] * items + [1]:
        rows = np.array(numbers[1:-1], object).reshape(-1, 3)
        is_numbered = rows[:, 0].tolist() == list(range(items))
        return rows[:, 1], rows[:, 2], numbers[-1], None if is_numbered else rows[:, 0]
    if len(numbers) < 2 or len(numbers) != 2 + 2 * items:
        wrong = next((line for line, words in lines if len(words) != 2), None)
        where = "" if wrong is None else f"; line {wrong} is not of two numbers"
        raise ValueError(
            "a knapsack instance is ITEMS CAPACITY, then PROFIT WEIGHT for each item: for "
            f"{items:,} items {max(0, 2 + 2 * items):,} numbers (got {len(numbers):,}{where})"
        )
    profits, weights = np.array(numbers[2:], object).reshape(-1, 2).T
    return profits, weights, numbers[1], None


def _as_whole_numbers(name: str, values: Any, largest: int | None = None) -> np.ndarray:
    """Convert to int64; raise UsageError for other numbers and for a sum above 62 bits.

    largest: bounds each number instead of the sum.
    """
    array = as_array(name, values)
    array = array.get() if on_gpu(array) else array
    if array.ndim != 1:
        raise UsageError(f"{name} must have one dimension (got {array.ndim})")
    if array.size and array.dtype.kind not in "iuO":
        raise UsageError(f"{name} must be whole numbers (got {array.dtype})")
    try:
        numbers = [operator.index(value) for value in array.tolist()]
    except TypeError as error:
        raise UsageError(f"{name} must be whole numbers: {error}") from error
    if min(numbers, default=0) < 0:
        raise UsageError(f"{name} must be at least 0 (got {min(numbers)})")
    if largest is not None:
        if max(numbers, default=0) > largest:
            raise UsageError(f"{name} must be below 2^62 (got {max(numbers):,})")
    elif sum(numbers) > MAX_SUM:
        raise UsageError(f"the sum of {name} must be below 2^62 (got {sum(numbers):,})")
    return np.array(numbers, np.int64)
