"""What a graph file lists, before it becomes a graph."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.edges import EdgeList


class Listing(NamedTuple):
    """Edges of n vertices: arcs where ``directed``, else each edge once for both directions.

    labels: what the file calls the vertices, where it does not number them.
    """

    edges: EdgeList
    n: int
    directed: bool
    labels: tuple[Hashable, ...] | None = None


def narrow(weights: Any) -> Any:
    """Whole numbers as int32 where they fit, else int64; other numbers as they are."""
    if weights.dtype.kind not in "iu" or not weights.size:
        return weights.astype(np.int32) if weights.dtype.kind in "iu" else weights
    bounds = np.iinfo(np.int32)
    fits = bounds.min <= weights.min() and weights.max() <= bounds.max
    return weights.astype(np.int32 if fits else np.int64)
