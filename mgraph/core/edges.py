"""Edge lists: edges as parallel arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.array_types import Array
from mgraph.core.arrays import as_array, on_gpu
from mgraph.core.html import html_table

COLUMNS = ("src", "dst", "weight")


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class EdgeList:
    """Edges as parallel arrays: edge i leads from ``src[i]`` to ``dst[i]``.

    Whether an edge is an arc or stands for both directions is decided where the list is used, by
    ``directed`` of ``from_edges`` for example.

    Parameters
    ----------
    src, dst : array_like of int, shape (m,)
        NumPy or CuPy arrays; lists, ranges and other iterables become NumPy arrays.
    weight : array_like, shape (m,), optional
        int32, int64, float32 or float64; None: the edges have no weights.

    Raises
    ------
    UsageError
        If a column is not an array and cannot become one. Lengths, types and ids are checked where
        the list is used.

    Notes
    -----
    ``len(edges)`` is the number of edges. An edge list unpacks into the columns that it has:
    ``src, dst = edges``, or ``src, dst, weight = edges``. Arrays are not copied.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2], [1, 2, 0], np.array([5, 7, 9], np.int32))
    >>> edges
    EdgeList(num_edges=3, int64 ids, int32 weights, cpu)
    >>> src, dst, weight = edges
    >>> weight
    array([5, 7, 9], dtype=int32)
    """

    src: Array
    dst: Array
    weight: Array | None = None

    def __post_init__(self) -> None:
        """Convert the columns that are not arrays."""
        for name in COLUMNS:
            column = getattr(self, name)
            if not isinstance(column, np.ndarray) and not (name == "weight" and column is None):
                object.__setattr__(self, name, as_array(name, column))

    def __iter__(self) -> Iterator[Any]:
        """Yield src, dst and, if there is one, weight."""
        return (array for array in (self.src, self.dst, self.weight) if array is not None)

    def __len__(self) -> int:
        """Return the number of edges."""
        return int(self.src.shape[0])

    def __repr__(self) -> str:
        """Return the number of edges, the columns' types, and where the arrays lie."""
        types = [str(ids.dtype) for ids in (self.src, self.dst)]
        ids = " and ".join(dict.fromkeys(types))
        weights = "unweighted" if self.weight is None else f"{self.weight.dtype} weights"
        backend = "gpu" if on_gpu(self.src) else "cpu"
        return f"EdgeList(num_edges={self.src.size}, {ids} ids, {weights}, {backend})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        columns = dict(zip(COLUMNS, self, strict=False))
        backend = "gpu" if on_gpu(self.src) else "cpu"
        return html_table("EdgeList", {"edges": len(self), "memory": backend}, columns)

    def rows(self, start: int, stop: int) -> "EdgeList":
        """Return a view of the edges from ``start`` to ``stop - 1``."""
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
        Memory: 8 bytes per vertex on a CPU, 4 on a GPU.

        Examples
        --------
        >>> mgraph.EdgeList([0, 0, 0], [1, 2, 3]).degree_histogram(5)
        (array([0, 1, 3]), array([1, 3, 1]))
        """
        from mgraph.core.degrees import degree_histogram

        return degree_histogram(self, n)
