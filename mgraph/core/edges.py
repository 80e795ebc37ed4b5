"""Edges as parallel arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.arrays import as_array

COLUMNS = ("src", "dst", "weight")


@dataclass(frozen=True, eq=False, slots=True)
class EdgeList:
    """Edges ``(src[i], dst[i])``; NumPy or CuPy arrays of shape ``(m,)``, int32 or int64.

    Lists, ranges and the like become NumPy arrays.

    weight: None, or an array of the same shape: int32, int64, float32 or float64.
    Unpacks into the arrays there are: ``src, dst = edges``, or ``src, dst, weight = edges``.
    """

    src: Any
    dst: Any
    weight: Any = None

    def __post_init__(self) -> None:
        """Make arrays of what is none."""
        for name in COLUMNS:
            given = getattr(self, name)
            if not isinstance(given, np.ndarray) and not (name == "weight" and given is None):
                object.__setattr__(self, name, as_array(name, given))

    def __iter__(self) -> Iterator[Any]:
        """Src, dst and, if there is one, weight."""
        return (array for array in (self.src, self.dst, self.weight) if array is not None)

    def __len__(self) -> int:
        """The number of edges."""
        return int(self.src.shape[0])

    def rows(self, start: int, stop: int) -> "EdgeList":
        """A view of some of the edges."""
        return EdgeList(*(array[start:stop] for array in self))

    def degree_histogram(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Count how many of n vertices have each degree; an edge counts at both of its ends.

        Parameters
        ----------
        n : int
            The number of vertices; ids lie in [0, n).

        Returns
        -------
        degree, count : numpy.ndarray of int64
            The degrees that occur, ascending, and the number of vertices with each of them.

        Notes
        -----
        Memory: 8 bytes per vertex on a CPU; on a GPU about 24, and what CuPy's ``bincount`` and
        ``unique`` allocate.

        Examples
        --------
        >>> mgraph.EdgeList([0, 0, 0], [1, 2, 3]).degree_histogram(5)
        (array([0, 1, 3]), array([1, 3, 1]))
        """
        from mgraph.core.degrees import degree_histogram

        return degree_histogram(self, n)
