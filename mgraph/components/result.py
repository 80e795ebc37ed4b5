"""The components of a graph: each vertex with the smallest vertex of its component."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mgraph.components.component_sizes import ComponentSizes, count_sizes
from mgraph.core.array_types import Array
from mgraph.core.choices import Compression, Ids
from mgraph.core.graph import Graph, on_gpu
from mgraph.core.html import html_table


@dataclass(frozen=True, eq=False, repr=False)
class Components:
    """The connected components of a graph, as ``connected_components`` returns them.

    Attributes
    ----------
    labels : numpy.ndarray or cupy.ndarray of int32 or int64, shape (n,)
        ``labels[v]`` is the smallest vertex of the component of vertex v.
    vertex_labels : sequence or None
        The labels of the graph's vertices, if it has labels.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 4], [0, 1, 3])
    >>> graph = mgraph.from_edges(edges, 6, directed=False, backend="cpu")
    >>> components = mgraph.connected_components(graph)
    >>> components
    Components(3 components of 6 vertices, the largest of 3, 2, 1)
    >>> components.labels
    array([0, 0, 0, 3, 3, 5], dtype=int32)
    >>> components.roots, components.sizes
    (array([0, 3, 5], dtype=int32), array([3, 2, 1]))
    >>> components.members()
    array([0, 1, 2])
    """

    labels: Array
    vertex_labels: Any = None

    def __len__(self) -> int:
        """The number of components."""
        return self.num_components

    def __str__(self) -> str:
        """The number of components and the sizes of the largest, as a phrase."""
        return self._sizes.describe(int(self.labels.size))

    def __repr__(self) -> str:
        """The same phrase, with the class's name."""
        return f"Components({self})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        order = np.argsort(-self.sizes, kind="stable")
        columns = {"component": self.roots[order], "vertices": self.sizes[order]}
        facts = {"vertices": int(self.labels.size), "components": self.num_components}
        return html_table("Components", facts, columns)

    @cached_property
    def _host_labels(self) -> np.ndarray:
        labels: Any = self.labels
        host: np.ndarray = labels.get() if on_gpu(labels) else labels
        return host

    @cached_property
    def _sizes(self) -> ComponentSizes:
        return count_sizes(self._host_labels)

    @property
    def num_components(self) -> int:
        """The number of components."""
        return self._sizes.roots.size

    @property
    def roots(self) -> np.ndarray:
        """The smallest vertex of each component, ascending, shape (num_components,)."""
        return self._sizes.roots

    @property
    def sizes(self) -> np.ndarray:
        """The number of vertices of each component, int64, in the order of ``roots``."""
        return self._sizes.sizes

    @property
    def largest(self) -> int:
        """The smallest vertex of the largest component, of equal ones that of the first.

        Raises ValueError for a graph without vertices.
        """
        position = self._sizes.largest
        if position is None:
            raise ValueError("a graph without vertices has no components")
        return int(self.roots[position])

    def members(self, component: int | None = None) -> np.ndarray:
        """Return the vertices of a component, int64, ascending.

        component : the smallest vertex of the component; by default that of the largest one.
        """
        root = self.largest if component is None else component
        return np.flatnonzero(self._host_labels == root)

    def subgraph(self, graph: Graph, component: int | None = None) -> Graph:
        """Return the graph of one component, with NumPy arrays.

        Parameters
        ----------
        graph : Graph
            The graph whose components these are.
        component : int, optional
            The smallest vertex of the component; by default that of the largest one.

        Returns
        -------
        Graph
            Its vertices are numbered again, in the same order; their labels are those in ``graph``,
            or their numbers there if it has none.

        Examples
        --------
        >>> edges = mgraph.EdgeList([1, 3, 4], [0, 2, 3])
        >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
        >>> largest = mgraph.connected_components(graph).subgraph(graph)
        >>> largest.n, largest.num_edges, largest.labels
        (3, 2, (2, 3, 4))
        """
        from mgraph.components.subgraph import component_graph

        labels = self._host_labels
        root = (self.largest if labels.size else -1) if component is None else component
        return component_graph(graph, labels == root)

    def to_cpu(self) -> "Components":
        """The components with NumPy arrays; themselves if they have them."""
        return replace(self, labels=self._host_labels) if on_gpu(self.labels) else self

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with columns ``vertex`` (int64) and ``component``.

        If the graph's vertices have labels, a column ``label`` follows.
        """
        import pyarrow as pa

        from mgraph.io.tables.id_columns import to_column
        from mgraph.io.vertex_names import id_column

        labels = self._host_labels
        columns = {"vertex": np.arange(labels.size), "component": labels}
        ids = id_column(self.vertex_labels)
        return pa.table(columns | ({} if ids is None else {"label": to_column(ids)}))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the columns of ``to_arrow``, one row per vertex."""
        return self.to_arrow().to_pandas()

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        ids: Ids = "number",
        compression: Compression = "lz4",
        overwrite: bool = False,
    ) -> None:
        """Write a folder of Parquet files: each vertex's component, and each component's size.

        Parameters
        ----------
        folder : path or ``s3://`` address
            Gets ``part-00000.parquet`` and on with columns ``vertex`` and ``component``, and
            ``_components.parquet`` with ``component`` and ``vertices``.
        ids : {"number", "original"}
            What vertices are: numbers, or the vertices' labels where the graph has any.
        compression : {"lz4", "zstd", "none"}
            Of the files.
        overwrite : bool, default False
            Replace the components that the folder holds.

        Raises
        ------
        UsageError
            If the folder holds anything else, or components without ``overwrite``.
        StorageError
            If the files cannot be written.
        """
        from mgraph.components.component_folder import ComponentFolder
        from mgraph.io.vertex_names import id_column

        names = id_column(self.vertex_labels) if ids == "original" else None
        target = ComponentFolder(folder, compression)
        target.claim(overwrite)
        target.write(self._host_labels, self._sizes, names)
