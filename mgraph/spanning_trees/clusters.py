"""Clusters from a minimum spanning forest: k of them, or those at a distance (single linkage).

Source: J. C. Gower, G. J. S. Ross, "Minimum spanning trees and single linkage cluster analysis"
(1969): without its k - 1 heaviest edges a minimum spanning tree falls into the k clusters that
single linkage ends with. Cost: O(n log n), on the CPU.
"""

import math
import os
from numbers import Integral, Real

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.folder import writing_file
from mgraph.spanning_trees.minimum_spanning_forest import minimum_spanning_forest
from mgraph.spanning_trees.spanning_forest import SpanningForest


def write_clusters(cluster: np.ndarray, file: str | os.PathLike[str]) -> None:
    """Write each vertex and its cluster as Parquet, columns ``vertex`` and ``cluster``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"vertex": np.arange(cluster.size), "cluster": cluster}
    with writing_file(file) as stream:
        pq.write_table(pa.table(columns), stream)


def check_question(k: int | None, distance: float | None) -> None:
    """Raise UsageError unless one of k and distance is given, and is a number."""
    if (k is None) == (distance is None):
        raise UsageError("give k, a number of clusters, or a distance, and not both")
    if k is not None and not isinstance(k, Integral):
        raise UsageError(f"k must be a whole number, and is {k!r}")
    if distance is not None and not (isinstance(distance, Real) and distance == distance):
        raise UsageError(f"distance must be a number, and is {distance!r}")
    if distance is not None and 2**1023 < abs(distance) < math.inf:
        raise UsageError("distance must be below 2^1023, or infinite, and is more")


def clusters(
    graph: Graph | SpanningForest,
    k: int | None = None,
    *,
    distance: float | None = None,
    method: str = "auto",
    backend: str = "auto",
) -> np.ndarray:
    """Each vertex's cluster, int32 ``(n,)``, numbered from 0 in order of their least vertices.

    graph: undirected, its weights being distances; or its forest. k: how many clusters: a component
    is at least one, so in a graph of c components the k - c heaviest forest edges are dropped, of
    equal ones those of larger ids. distance: instead, drop all edges heavier than this.
    method, backend: of ``minimum_spanning_forest``. Raises UsageError for both k and distance, or
    neither, and where there are no k clusters.
    """
    check_question(k, distance)
    if isinstance(graph, SpanningForest):
        if (method, backend) != ("auto", "auto"):
            raise UsageError("method and backend are for a graph, and this is its forest already")
        forest = graph.to_cpu()
    else:
        forest = minimum_spanning_forest(graph, method=method, backend=backend).to_cpu()
    if distance is not None:
        weight = forest.weight
        if weight.dtype.kind == "f":
            weight = weight.astype(np.float64)  # else the distance is rounded to the weights' type
        elif math.isfinite(distance):
            distance = math.floor(distance)  # an exact number, whatever its size
        kept = np.flatnonzero(weight <= distance)
    else:
        assert k is not None
        if not forest.components <= k <= forest.n:
            raise UsageError(
                f"k must lie in [{forest.components:,}, {forest.n:,}], from the graph's components "
                f"to its vertices, and is {k:,}"
            )
        kept = np.argsort(forest.weight, kind="stable")[: forest.n - k]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = forest.src[kept], forest.dst[kept]
    edges = coo_array((np.ones(kept.size, np.int8), ends), (forest.n, forest.n))
    if not forest.n:
        return np.empty(0, np.int32)
    label = connected_components(edges, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    number = np.empty(first.size, np.int32)
    number[np.argsort(first)] = np.arange(first.size)
    return number[label]
