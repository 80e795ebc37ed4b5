"""The content of a graph file, before it becomes a graph."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.edges import EdgeList

TERMINAL = "terminal"  # the attribute that marks the terminals of a Steiner tree


class Attributes(NamedTuple):
    """What edges and vertices have beside ends, weights and ids, as Arrow tables.

    edges: a row per edge, in the order of an edge list or of ``graph.to_edges()``. vertices: a row
    per vertex. None: there are none.
    """

    edges: Any = None
    vertices: Any = None


NO_ATTRIBUTES = Attributes()


class Listing(NamedTuple):
    """The edges of n vertices: arcs if ``directed``, else each edge once for both directions.

    labels: the names of the vertices, if the file does not number them. notes: what a user should
    know of what was read. attributes: what else the file has, of edges in the order of ``edges``.
    """

    edges: EdgeList
    n: int
    directed: bool
    labels: tuple[Hashable, ...] | None = None
    notes: tuple[str, ...] = ()
    attributes: Attributes = NO_ATTRIBUTES


def narrow(weights: Any) -> Any:
    """Convert whole numbers to int32 if they fit, else to int64; return others as they are."""
    if weights.dtype.kind not in "iu" or not weights.size:
        return weights.astype(np.int32) if weights.dtype.kind in "iu" else weights
    bounds = np.iinfo(np.int32)
    fits = bounds.min <= weights.min() and weights.max() <= bounds.max
    return weights.astype(np.int32 if fits else np.int64)
