"""Edges as parallel arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COLUMNS = ("src", "dst", "weight")


@dataclass(frozen=True, eq=False, slots=True)
class EdgeList:
    """Edges ``(src[i], dst[i])``; NumPy or CuPy arrays of shape ``(m,)``, int32 or int64.

    weight: None, or an array of the same shape: int32, int64, float32 or float64.
    Unpacks into the arrays there are: ``src, dst = edges``, or ``src, dst, weight = edges``.
    """

    src: Any
    dst: Any
    weight: Any = None

    def __iter__(self) -> Iterator[Any]:
        """Src, dst and, if there is one, weight."""
        return (array for array in (self.src, self.dst, self.weight) if array is not None)

    def __len__(self) -> int:
        """The number of edges."""
        return int(self.src.shape[0])

    def rows(self, start: int, stop: int) -> "EdgeList":
        """A view of some of the edges."""
        return EdgeList(*(array[start:stop] for array in self))
