"""Single-linkage clustering: a minimum spanning forest without its heaviest edges.

Source: J. C. Gower, G. J. S. Ross, "Minimum spanning trees and single linkage cluster analysis"
(1969). Removing the k - 1 heaviest edges of a minimum spanning tree leaves the k clusters that
agglomerative single linkage ends with; removing all edges above a distance leaves its clusters at
that height of the dendrogram. Cost: O(n log n), on the CPU.
"""

import math
import os
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from mgraph.core.choices import Backend, ForestMethod, Ids
from mgraph.core.formatting import pluralize
from mgraph.core.graph import Graph
from mgraph.core.html import html_table
from mgraph.errors import UsageError
from mgraph.io.folder import writing_file
from mgraph.spanning_trees.minimum_spanning_forest import minimum_spanning_forest
from mgraph.spanning_trees.spanning_forest import SpanningForest

_SHOWN_SIZES = 5


@dataclass(frozen=True, eq=False, repr=False)
class Clustering:
    """A partition of a graph's vertices into clusters, as ``single_linkage`` returns it.

    Attributes
    ----------
    labels : numpy.ndarray of int32, shape (n,)
        ``labels[v]`` is the cluster of vertex v. Clusters are numbered from 0, in ascending order
        of their smallest vertices.
    vertex_labels : sequence or None
        The labels of the graph's vertices, if it has labels.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 4], [0, 1, 3], [1, 5, 2])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> clustering = mgraph.single_linkage(graph, 3)
    >>> clustering
    Clustering(3 clusters of 5 vertices, the largest of 2, 2, 1)
    >>> clustering.sizes
    array([2, 1, 2])
    >>> clustering.to_pandas()
       vertex  cluster
    0       0        0
    1       1        0
    2       2        1
    3       3        2
    4       4        2
    """

    labels: np.ndarray
    vertex_labels: Any = None

    def __len__(self) -> int:
        """The number of clusters."""
        return self.num_clusters

    def __str__(self) -> str:
        """The number of clusters and the sizes of the largest, as a phrase."""
        sizes = np.sort(self.sizes)[::-1]
        shown = ", ".join(f"{size:,}" for size in sizes[:_SHOWN_SIZES])
        more = ", …" if sizes.size > _SHOWN_SIZES else ""
        largest = f", the largest of {shown}{more}" if sizes.size else ""
        return f"{pluralize(sizes.size, 'cluster')} of {self.labels.size:,} vertices{largest}"

    def __repr__(self) -> str:
        """The same phrase, with the class's name."""
        return f"Clustering({self})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        order = np.argsort(-self.sizes, kind="stable")
        columns = {"cluster": order, "vertices": self.sizes[order]}
        facts = {"vertices": self.labels.size, "clusters": self.num_clusters}
        return html_table("Clustering", facts, columns)

    @property
    def num_clusters(self) -> int:
        """The number of clusters."""
        return self.sizes.size

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of vertices of each cluster, int64, shape (num_clusters,)."""
        return np.bincount(self.labels)

    def to_cpu(self) -> "Clustering":
        """The clustering with NumPy arrays: itself, since labels are computed on the CPU."""
        return self

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with columns ``vertex`` (int64) and ``cluster`` (int32).

        If the graph's vertices have labels, a column ``label`` follows.
        """
        import pyarrow as pa

        from mgraph.io.tables.id_columns import to_column
        from mgraph.io.vertex_names import id_column

        columns = {"vertex": np.arange(self.labels.size), "cluster": self.labels}
        ids = id_column(self.vertex_labels)
        return pa.table(columns | ({} if ids is None else {"label": to_column(ids)}))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the columns of ``to_arrow``, one row per vertex."""
        return self.to_arrow().to_pandas()

    def write(self, file: str | os.PathLike[str], *, ids: Ids = "number") -> None:
        """Write columns ``vertex`` and ``cluster`` as a Parquet file, atomically.

        Parameters
        ----------
        file : str or path
            A local path; missing folders are created and an existing file is replaced.
        ids : {"number", "original"}
            What ``vertex`` holds: numbers, or the vertices' labels where the graph has any.

        Raises
        ------
        StorageError
            If the file cannot be written.
        """
        import pyarrow.parquet as pq

        table = self.to_arrow()
        if "label" in table.column_names:
            name = "label" if ids == "original" else "vertex"
            table = table.select([name, "cluster"]).rename_columns(["vertex", "cluster"])
        with writing_file(file) as stream:
            pq.write_table(table, stream)


def check_criterion(k: int | None, distance: float | None) -> None:
    """Raise UsageError unless exactly one of k and distance is given, and is a number."""
    if (k is None) == (distance is None):
        count = "neither" if k is None else "both"
        raise UsageError(
            f"single linkage takes either k, a number of clusters, or distance (got {count})"
        )
    if k is not None and not isinstance(k, Integral):
        raise UsageError(f"k must be an integer (got {k!r})")
    if distance is not None and not (isinstance(distance, Real) and distance == distance):
        raise UsageError(f"distance must be a number (got {distance!r})")
    if distance is not None and 2**1023 < abs(distance) < math.inf:
        raise UsageError("distance must be infinite or at most 2^1023 in magnitude")


def single_linkage(
    graph: Graph | SpanningForest | Any,
    k: int | None = None,
    *,
    distance: float | None = None,
    method: ForestMethod = "auto",
    backend: Backend = "auto",
) -> Clustering:
    """Single-linkage clusters of an undirected graph whose weights are distances.

    Two vertices are in one cluster if a path of edges no longer than a threshold connects them. The
    threshold is either ``distance``, or the one that leaves ``k`` clusters.

    Parameters
    ----------
    graph : Graph, SpanningForest, or what becomes a graph
        An undirected graph, or what ``minimum_spanning_forest`` makes one of; or the graph's
        minimum spanning forest where that is at hand.
    k : int, optional
        The number of clusters, between the number of components of the graph and n. Of a graph with
        c components, the k - c heaviest edges of the forest are removed; among edges of equal
        weight those with larger ids.
    distance : float, optional
        Instead of ``k``: remove all edges heavier than this. Compared exactly, without rounding to
        the weights' type.
    method, backend : str, default "auto"
        As for ``minimum_spanning_forest``; only where ``graph`` is a Graph.

    Returns
    -------
    Clustering
        ``labels`` (n,) int32 with each vertex's cluster, and ``num_clusters``, ``sizes``,
        ``to_pandas()``, ``write(file)``.

    Raises
    ------
    UsageError
        If neither or both of ``k`` and ``distance`` are given, if ``k`` lies outside its range, and
        for the graphs that ``minimum_spanning_forest`` refuses.

    Notes
    -----
    Work: that of ``minimum_spanning_forest``, then O(n log n) on the CPU. Deterministic. Source:
    Gower and Ross 1969. On a graph without weights, or with random ones, single linkage splits off
    single vertices: it is meant for points and their distances.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 4], [0, 1, 3], [1, 5, 2])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> mgraph.single_linkage(graph, 3).labels
    array([0, 0, 1, 2, 2], dtype=int32)
    >>> mgraph.single_linkage(graph, distance=1.5).labels
    array([0, 0, 1, 2, 3], dtype=int32)
    """
    check_criterion(k, distance)
    if isinstance(graph, SpanningForest):
        if (method, backend) != ("auto", "auto"):
            raise UsageError(
                "method and backend apply to a Graph; leave them out for a SpanningForest, which "
                "has been computed already"
            )
        forest = graph.to_cpu()
    else:
        forest = minimum_spanning_forest(graph, method=method, backend=backend).to_cpu()
    kept = _select_lightest(forest, k) if distance is None else _select_within(forest, distance)
    return Clustering(_label_components(forest, kept), forest.labels)


def _select_lightest(forest: SpanningForest, k: int | None) -> np.ndarray:
    """The positions of the forest edges that remain when there are to be k clusters."""
    assert k is not None
    if not forest.components <= k <= forest.n:
        raise UsageError(
            f"k must lie in [{forest.components:,}, {forest.n:,}], between the graph's numbers of "
            f"components and vertices (got {k:,})"
        )
    return np.argsort(np.asarray(forest.weight), kind="stable")[: forest.n - k]


def _select_within(forest: SpanningForest, distance: float) -> np.ndarray:
    """The positions of the forest edges that are no heavier than a distance, compared exactly."""
    weight = np.asarray(forest.weight)
    if weight.dtype.kind == "f":
        weight = weight.astype(np.float64)  # else NumPy rounds the distance to the weights' type
    elif math.isfinite(distance):
        distance = math.floor(distance)  # a Python integer, exact whatever its size
    return np.flatnonzero(weight <= distance)


def _label_components(forest: SpanningForest, kept: np.ndarray) -> np.ndarray:
    """Each vertex's component among the kept edges, numbered by the smallest vertices."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not forest.n:
        return np.empty(0, np.int32)
    ends = forest.src[kept], forest.dst[kept]
    edges = coo_array((np.ones(kept.size, np.int8), ends), (forest.n, forest.n))
    label = connected_components(edges, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    number = np.empty(first.size, np.int32)
    number[np.argsort(first)] = np.arange(first.size)
    component: np.ndarray = number[label]
    return component
