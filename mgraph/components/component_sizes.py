"""How many vertices each component of a graph has."""

from typing import Any, NamedTuple

import numpy as np

from mgraph.components.edge_components_cpu import count_labels, list_counted
from mgraph.core.formatting import pluralize

_SHOWN_SIZES = 5


class ComponentSizes(NamedTuple):
    """The components of a graph, in ascending order of their smallest vertices.

    roots: the smallest vertex of each, in the labels' type. sizes: its number of vertices, int64.
    by_size: whether larger components are first, and the order is that of equally large ones.
    """

    roots: np.ndarray
    sizes: np.ndarray
    by_size: bool = False

    @property
    def largest(self) -> int | None:
        """The position of the largest component, of equal ones the first; None without any."""
        return int(self.sizes.argmax()) if self.sizes.size else None

    def summary(self) -> dict[str, Any]:
        """Return the number of components, and the smallest vertex and the size of the largest."""
        position = self.largest
        return {
            "components": self.roots.size,
            "largest": None if position is None else int(self.roots[position]),
            "largest_size": 0 if position is None else int(self.sizes[position]),
        }

    def describe(self, n: int) -> str:
        """Return the number of components and the sizes of the largest, as a phrase."""
        shown_sizes = np.sort(self.sizes)[: -_SHOWN_SIZES - 1 : -1]
        shown = ", ".join(f"{size:,}" for size in shown_sizes)
        more = ", …" if self.sizes.size > _SHOWN_SIZES else ""
        largest = f", the largest of {shown}{more}" if self.sizes.size else ""
        return f"{pluralize(self.sizes.size, 'component')} of {n:,} vertices{largest}"


def count_sizes(labels: np.ndarray) -> ComponentSizes:
    """Count the vertices of each component. labels: as ``Components.labels``, on the host."""
    return ComponentSizes(*list_counted(count_labels(labels)))
