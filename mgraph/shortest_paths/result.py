"""The result of a shortest-path search: arrays, and the same as tables."""

import operator
import os
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.array_types import Array
from mgraph.core.choices import Device
from mgraph.core.formatting import pluralize
from mgraph.core.graph import on_gpu
from mgraph.core.html import first_rows, html_table
from mgraph.errors import UsageError
from mgraph.io.figure import FigureFile
from mgraph.io.graph_drawing import Marks, plot_marks
from mgraph.shortest_paths import trace as traces
from mgraph.shortest_paths.problem import infinity_of


class Reached(NamedTuple):
    """How many vertices a search reached, and the greatest distance."""

    vertices: int
    max_distance: int | float


def summarize(distance: Any) -> Reached:
    """Return what a search reached, and wait for it; 0 and 0 for nothing.

    distance: of some vertices, where it is.
    """
    if on_gpu(distance):
        from mgraph.shortest_paths import reached_rows_gpu

        return Reached(*reached_rows_gpu.summarize(distance))
    reached = distance[distance != infinity_of(distance.dtype)]
    return Reached(reached.size, reached.max(initial=0).item())


class Path(NamedTuple):
    """A shortest path, as ``ShortestPaths.path`` returns it.

    Attributes
    ----------
    vertices : numpy.ndarray of int64, shape (k,)
        From a source to the target.
    distance : numpy.ndarray, shape (k,)
        The distance of each, in the type of the search's distances. The weight of an arc is the
        difference of two, exactly if weights are whole.
    labels : tuple or None
        The labels of the vertices, if the graph has labels.
    """

    vertices: np.ndarray
    distance: np.ndarray
    labels: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ShortestPaths:
    """Distances from one or several sources, as ``mgraph.sssp`` returns them.

    Arrays are CuPy arrays after a search on a GPU and of a graph on a GPU (``to_cpu`` copies them),
    else NumPy arrays.

    Attributes
    ----------
    source : numpy.ndarray of int64, shape (k,)
        The source of each search; -1 for a joint search from several vertices.
    distance : array, shape (n,) or (k, n)
        The distance of every vertex: of shape (n,) after one search, (k, n) after several. int32,
        int64 or float64; infinity, or the integer type's maximum, for unreached vertices.
    predecessor : array of int32 or int64, shaped like ``distance``, or None
        The vertex before each vertex on a shortest path to it, in the type of the graph's indices;
        -1 for sources and unreached vertices. None unless ``predecessors=True``.
    trace : numpy.recarray or None
        One row per iteration, with the fields x1 to x4, delta, d, alpha, far_partitions, far_size
        and nanoseconds. None unless ``trace=True``.
    method : str
        The method that ran.
    backend : str
        ``cpu`` or ``gpu``: where it ran.
    labels : tuple or None
        The graph's labels.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 0], [1, 2, 2], [0.5, 1.5, 2.5])
    >>> graph = mgraph.from_edges(edges, 4, backend="cpu")
    >>> paths = mgraph.sssp(graph, 0, predecessors=True)
    >>> paths
    ShortestPaths(source=0, n=4, float64 distances, predecessors, dijkstra on cpu)
    >>> paths.distance
    array([0. , 0.5, 2. , inf])
    >>> paths.reached
    array([ True,  True,  True, False])
    >>> paths.to_pandas()
       vertex  distance  predecessor
    0       0       0.0           -1
    1       1       0.5            0
    2       2       2.0            1
    """

    source: Array
    distance: Array
    predecessor: Array | None
    trace: Any
    method: str
    backend: Device
    labels: Any = None

    def __repr__(self) -> str:
        """Name the sources, the number of vertices, the arrays, the method and the backend."""
        several = self.distance.ndim > 1
        source = f"{self.source.size:,} sources" if several else f"source={int(self.source[0])}"
        if not several and self.source[0] < 0:
            source = "joint sources"
        parts = [source, f"n={self.distance.shape[-1]}", f"{self.distance.dtype} distances"]
        parts += ["predecessors"] * (self.predecessor is not None)
        parts += ["trace"] * (self.trace is not None) + ["labels"] * (self.labels is not None)
        return f"ShortestPaths({', '.join(parts)}, {self.method} on {self.backend})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        facts = {
            "searches": self.source.size, "vertices": self.distance.shape[-1],
            "method": f"{self.method} on the {self.backend}",
        }  # fmt: skip
        if self.distance.ndim > 1:
            return html_table("ShortestPaths", facts)
        facts = {"source": int(self.source[0]) if self.source[0] >= 0 else "several"} | facts
        facts |= {"reached": int(self.reached.sum())}
        shown = first_rows(self.distance)
        shown = ["unreached" if each == self.infinity else each for each in shown]
        columns: dict[str, Any] = {"vertex": range(self.distance.size), "distance": shown}
        if self.predecessor is not None:
            columns["predecessor"] = self.predecessor
        return html_table("ShortestPaths", facts, columns)

    @property
    def infinity(self) -> Any:
        """The distance of an unreached vertex: infinity, or the type's maximum."""
        return infinity_of(np.dtype(self.distance.dtype))

    @property
    def reached(self) -> Any:
        """Whether each vertex is reached: an array of bool, shaped like ``distance``."""
        return self.distance < self.infinity

    def by_label(self) -> dict[Any, Any]:
        """Map the label of each reached vertex to its distance, as NetworkX does.

        Returns
        -------
        dict
            Keys are labels if the graph has labels, else vertices; values are Python numbers.

        Raises
        ------
        UsageError
            If there are several searches.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1], [1, 2], [7, 2])
        >>> graph = mgraph.from_edges(edges, backend="cpu").with_labels(["a", "b", "c"])
        >>> mgraph.sssp(graph, 0).by_label()
        {'a': 0, 'b': 7, 'c': 9}
        """
        if self.distance.ndim != 1:
            raise UsageError(
                f"by_label takes the result of one search (got {self.source.size:,} searches); "
                "call sssp once per source"
            )
        paths = self.to_cpu()
        vertices = np.flatnonzero(paths.reached)
        distances = paths.distance[vertices].tolist()
        return dict(zip(self._label_of(vertices), distances, strict=True))

    def path(self, target: Any, *, search: int = 0) -> Path:
        """Return a shortest path to a vertex.

        Parameters
        ----------
        target : int or hashable
            The vertex or, if the graph has labels, its label.
        search : int, default 0
            Which of several searches: its place in ``source``.

        Returns
        -------
        Path
            ``vertices`` from the source to the target, and the ``distance`` of each.

        Raises
        ------
        UsageError
            If predecessors were not recorded, or the search did not reach the target.

        Notes
        -----
        Cost: one step per vertex of the path. Arrays on a GPU are copied first; for many targets
        call ``to_cpu`` once.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1, 0], [1, 2, 2], [7, 2, 10])
        >>> graph = mgraph.from_edges(edges, backend="cpu")
        >>> path = mgraph.sssp(graph, 0, predecessors=True).path(2)
        >>> path.vertices, path.distance
        (array([0, 1, 2]), array([0, 7, 9]))
        """
        n, distance, predecessor = self._search(search)
        vertex = self._vertex(target, n)
        if not distance[vertex] < self.infinity:
            raise UsageError(
                f"target {target!r:.60} is not reached by the search", parameter="target"
            )
        vertices = [vertex]
        while (before := int(predecessor[vertices[-1]])) >= 0:
            vertices.append(before)
        along = np.array(vertices[::-1], np.int64)
        labels = None if self.labels is None else tuple(self._label_of(along))
        return Path(along, distance[along], labels)

    def plot(
        self,
        graph: Any = None,
        file: FigureFile | None = None,
        *,
        ax: Any = None,
        coordinates: Any = None,
        title: str = "",
        seed: int = 1,
        search: int = 0,
    ) -> Any:
        """Draw the tree of shortest paths, vertices in the colour of their distance.

        Parameters
        ----------
        graph : Graph, or what becomes one, optional
            Draw its other edges behind the tree. By default the tree stands alone.
        file, ax, coordinates, title, seed
            As in ``mgraph.experiments.plot_graph``.
        search : int, default 0
            Which of several searches: its place in ``source``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        UsageError
            Without predecessors, matplotlib, or both igraph and coordinates; for another graph.
        """
        _, distance, predecessor = self._search(search)
        vertices = np.flatnonzero(predecessor >= 0)
        values = np.where(distance < self.infinity, distance, np.nan)
        sources = np.flatnonzero((distance == 0) & (predecessor < 0))
        marks = Marks(predecessor[vertices], vertices, sources, values, "distance")
        few = ", ".join(map(str, self._label_of(sources[:3])))
        names = few if sources.size <= 3 else pluralize(sources.size, "source")
        reached = f"{np.count_nonzero(distance < self.infinity):,} of {distance.size:,} vertices"
        title = title or f"shortest paths from {names}: {reached} reached"
        options = {"ax": ax, "coordinates": coordinates, "seed": seed, "labels": self.labels}
        return plot_marks(graph, marks, file, n=distance.size, title=title, **options)

    def _search(self, search: int) -> tuple[int, Any, Any]:
        """Return how many vertices there are, and a search's distances and predecessors."""
        if self.predecessor is None:
            remedy = "pass `predecessors=True` to sssp"
            raise UsageError(f"path needs recorded predecessors; {remedy}", remedy=remedy)
        n, searches = self.distance.shape[-1], self.source.size
        if not -searches <= operator.index(search) < searches:
            raise UsageError(
                f"search must lie in [0, {searches:,}) (got {search:,})", parameter="search"
            )
        paths = self.to_cpu()
        assert paths.predecessor is not None
        arrays = paths.distance, paths.predecessor
        distance, predecessor = (array.reshape(searches, n)[search] for array in arrays)
        return n, distance, predecessor

    def _vertex(self, target: Any, n: int) -> int:
        """Return the vertex that a target is; raise UsageError if there is none."""
        if self.labels is not None and target in self.labels:
            return int(self.labels.index(target))
        if isinstance(target, Integral) and self.labels is None and 0 <= int(target) < n:
            return int(target)
        raise UsageError(f"the graph has no vertex {target!r:.60}", parameter="target")

    def to_cpu(self) -> "ShortestPaths":
        """Return the result with NumPy arrays: itself if it has them already."""
        if not on_gpu(self.distance):
            return self
        from mgraph.cuda.transfer import copy_to_host

        predecessor = None if self.predecessor is None else copy_to_host(self.predecessor)
        return replace(self, distance=copy_to_host(self.distance), predecessor=predecessor)

    def to_pandas(self) -> Any:
        """Convert to a ``pandas.DataFrame`` with one row per reached vertex.

        Returns
        -------
        pandas.DataFrame
            Columns ``source`` (only after several searches), ``vertex``, ``label`` (only if the
            graph has labels), ``distance`` and ``predecessor`` (only if there are predecessors).
            Rows ascend by vertex within each search.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1], [1, 2], [7, 2])
        >>> graph = mgraph.from_edges(edges, backend="cpu")
        >>> mgraph.sssp(graph, [0, 1]).to_pandas()
           source  vertex  distance
        0       0       0         0
        1       0       1         7
        2       0       2         9
        3       1       1         0
        4       1       2         2
        """
        import pandas as pd

        columns = self._table_columns()
        if self.labels is not None:
            columns["label"] = pd.Series(columns["label"], dtype=object)
        return pd.DataFrame(columns)

    def to_arrow(self) -> Any:
        """Convert to a ``pyarrow.Table`` with one row per reached vertex.

        Returns
        -------
        pyarrow.Table
            The columns of ``to_pandas``. Labels for which Arrow has no common type, such as
            numbers mixed with strings, become strings.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1], [1, 2], [7, 2])
        >>> graph = mgraph.from_edges(edges, backend="cpu")
        >>> mgraph.sssp(graph, 1, predecessors=True).to_arrow().to_pydict()
        {'vertex': [1, 2], 'distance': [0, 2], 'predecessor': [-1, 1]}
        """
        import pyarrow as pa

        columns = self._table_columns()
        if self.labels is not None:
            try:
                columns["label"] = pa.array(columns["label"])
            except (pa.ArrowException, OverflowError):
                columns["label"] = pa.array(list(map(str, columns["label"])), pa.string())
        return pa.table(columns)

    def write_trace(self, file: str | os.PathLike[str]) -> None:
        """Write the trace as Parquet: one float64 column per field, one row per iteration.

        Parameters
        ----------
        file : str or path
            A local path; missing folders are created and an existing file is replaced. The file
            appears once it is complete.

        Raises
        ------
        UsageError
            If the search was not traced.
        StorageError
            If the file cannot be written.
        """
        if self.trace is None:
            raise UsageError("write_trace needs a traced search; pass `trace=True` to sssp")
        traces.write_trace(self.trace, file)

    def _label_of(self, vertices: np.ndarray) -> list[Any]:
        """Return the labels of vertices, or the vertices themselves if the graph has no labels."""
        numbers = vertices.tolist()
        return numbers if self.labels is None else [self.labels[vertex] for vertex in numbers]

    def _table_columns(self) -> dict[str, Any]:
        """Return the table's columns by name; labels as a list, all others as NumPy arrays."""
        paths = self.to_cpu()
        rows = np.nonzero(np.atleast_2d(paths.reached))
        search, vertex = rows
        columns: dict[str, Any] = {}
        if paths.distance.ndim > 1:
            columns["source"] = paths.source[search]
        columns["vertex"] = vertex
        if paths.labels is not None:
            columns["label"] = paths._label_of(vertex)
        columns["distance"] = np.atleast_2d(paths.distance)[rows]
        if paths.predecessor is not None:
            columns["predecessor"] = np.atleast_2d(paths.predecessor)[rows]
        return columns
