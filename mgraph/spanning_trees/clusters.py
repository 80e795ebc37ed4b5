"""Clusters from a minimum spanning forest: k of them, or those at a distance (single linkage).

Source: J. C. Gower, G. J. S. Ross, "Minimum spanning trees and single linkage cluster analysis"
(1969): without its k - 1 heaviest edges a minimum spanning tree falls into the k clusters that
single linkage ends with. Cost: O(n log n), on the CPU.
"""

import os

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.folder import writing_file
from mgraph.spanning_trees.minimum_spanning_forest import SpanningForest, minimum_spanning_forest


def write_clusters(cluster: np.ndarray, file: str | os.PathLike[str]) -> None:
    """Write each vertex and its cluster as Parquet, columns ``vertex`` and ``cluster``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"vertex": np.arange(cluster.size), "cluster": cluster}
    with writing_file(file) as stream:
        pq.write_table(pa.table(columns), stream)


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
    Raises UsageError for both or neither, and where there are no k clusters.
    """
    if (k is None) == (distance is None):
        raise UsageError("give k, a number of clusters, or a distance, and not both")
    if distance is not None and np.isnan(distance):
        raise UsageError("distance must be a number, and is NaN")
    if isinstance(graph, SpanningForest):
        forest = graph.to_cpu()
    else:
        forest = minimum_spanning_forest(graph, method=method, backend=backend).to_cpu()
    if distance is not None:
        kept = np.flatnonzero(forest.weight <= distance)
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
