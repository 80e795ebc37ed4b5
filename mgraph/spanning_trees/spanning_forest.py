"""The result of every spanning forest method."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mgraph.core.array_types import Array
from mgraph.core.choices import Device
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.exact_sum import exact_sum, rounded
from mgraph.core.formatting import digits_of, format_sum, pluralize
from mgraph.core.graph import Graph, on_gpu
from mgraph.core.html import html_table
from mgraph.io.figure import FigureFile
from mgraph.io.graph_drawing import Marks, plot_marks


@dataclass(frozen=True, eq=False, repr=False)
class SpanningForest:
    """A minimum spanning forest, as ``minimum_spanning_forest`` returns it.

    Its k edges are in ascending order of ``edge_id``. The arrays are NumPy arrays, or CuPy arrays
    if the forest was computed on a GPU.

    Attributes
    ----------
    n : int
        Number of vertices of the graph.
    src, dst : array of int32 or int64, shape (k,)
        Endpoints of the edges in the graph's dtype, ``src`` above ``dst``.
    weight : array, shape (k,)
        Weights of the edges in the graph's dtype; int32 ones if the graph has no weights.
    edge_id : array of int64, shape (k,)
        Positions in ``graph.indices`` of the arcs from ``src`` to ``dst``.
    method, backend : str
        The algorithm and the backend that computed the forest.
    step_times : dict of str to float, optional
        Milliseconds of each step of Borůvka's algorithm, if they were requested.
    labels : tuple, optional
        The labels of the graph's vertices, if it has labels.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 2, 4], [0, 1, 0, 3], [7, 3, 5, 2])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> forest = mgraph.minimum_spanning_forest(graph, backend="cpu")
    >>> forest
    SpanningForest(3 edges, 2 components, total weight 10, filter_kruskal on the cpu)
    >>> forest.to_pandas()
       src  dst  weight
    0    2    0       5
    1    2    1       3
    2    4    3       2
    """

    n: int
    src: Array
    dst: Array
    weight: Array | None
    edge_id: Array
    method: str
    backend: Device
    step_times: dict[str, float] | None = None
    labels: Any = None

    def __len__(self) -> int:
        """The number of edges."""
        return int(self.edge_id.shape[0])

    def __repr__(self) -> str:
        """The forest's size and total weight, and which method computed it on which backend."""
        return (
            f"SpanningForest({pluralize(len(self), 'edge')}, "
            f"{pluralize(self.components, 'component')}, total weight {self.format_weight()}, "
            f"{self.method} on the {self.backend})"
        )

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        facts = {
            "vertices": self.n, "edges": len(self), "components": self.components,
            "total weight": self.format_weight(), "method": f"{self.method} on the {self.backend}",
        }  # fmt: skip
        columns = {"src": self.src, "dst": self.dst}
        columns |= {} if self.weight is None else {"weight": self.weight}
        return html_table("SpanningForest", facts, columns)

    @property
    def components(self) -> int:
        """The number of trees, isolated vertices included."""
        return self.n - len(self)

    def format_weight(self) -> str:
        """The total weight as text, with the digits that the weights have."""
        return format_sum(self.total_weight, digits_of(getattr(self.weight, "dtype", None)))

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, the exact sum rounded once for floats."""
        return rounded(exact_sum(self.weight))

    def plot(
        self,
        graph: Any = None,
        file: FigureFile | None = None,
        *,
        ax: Any = None,
        coordinates: Any = None,
        title: str = "",
        seed: int = 1,
    ) -> Any:
        """Draw the forest.

        Parameters
        ----------
        graph : Graph, or what becomes one, optional
            Draw its other edges behind the forest. By default the forest stands alone.
        file, ax, coordinates, title, seed
            As in ``mgraph.experiments.plot_graph``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        UsageError
            If matplotlib is not installed, or igraph without coordinates; or for another graph.
        """
        options = {"ax": ax, "coordinates": coordinates, "seed": seed, "labels": self.labels}
        title = title or repr(self)[len("SpanningForest(") : -1]
        return plot_marks(graph, Marks(self.src, self.dst), file, n=self.n, title=title, **options)

    def to_graph(self, weighted: bool = True) -> Graph:
        """The forest as an undirected graph of the same vertices, on the same backend.

        Parameters
        ----------
        weighted : bool, default True
            Whether the graph has weights.
        """
        weight = self.weight if weighted else None
        graph = from_edges(EdgeList(self.src, self.dst, weight), self.n, directed=False)
        return graph.with_labels(self.labels)

    def to_networkx(self) -> Any:
        """The forest as a NetworkX graph of all vertices; nodes are the labels, if any."""
        return self.to_graph().to_networkx()

    def to_cpu(self) -> "SpanningForest":
        """The forest with NumPy arrays; itself if it has them already."""
        if not on_gpu(self.edge_id):
            return self
        names = ("src", "dst", "weight", "edge_id")
        return replace(self, **{name: getattr(self, name).get() for name in names})

    def to_pandas(self) -> Any:
        """The edges as a ``pandas.DataFrame`` with columns ``src``, ``dst`` and ``weight``.

        If the graph has labels, columns ``src_label`` and ``dst_label`` follow.
        """
        import pandas as pd

        forest = self.to_cpu()
        labels = {
            name: pd.Series(column, dtype=object) for name, column in forest._edge_labels().items()
        }
        columns = {"src": forest.src, "dst": forest.dst, "weight": forest.weight}
        return pd.DataFrame({**columns, **labels})

    def to_arrow(self) -> Any:
        """The edges as a ``pyarrow.Table`` with the columns of ``to_pandas``.

        Labels for which Arrow has no common type, such as numbers and strings, become strings.
        """
        import pyarrow as pa

        forest = self.to_cpu()
        columns = {"src": forest.src, "dst": forest.dst, "weight": forest.weight}
        for name, labels in forest._edge_labels().items():
            try:
                columns[name] = pa.array(labels)
            except (pa.ArrowException, OverflowError):
                columns[name] = pa.array(list(map(str, labels)), pa.string())
        return pa.table(columns)

    def _edge_labels(self) -> dict[str, list[Any]]:
        """The labels of both ends of each edge, as columns; none if the graph has no labels."""
        if self.labels is None:
            return {}
        return {
            "src_label": [self.labels[v] for v in self.src.tolist()],
            "dst_label": [self.labels[v] for v in self.dst.tolist()],
        }
