"""What a Steiner query returns."""

import math
from dataclasses import dataclass
from typing import Any

from mgraph.core.array_types import Array
from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.core.formatting import format_sum, pluralize
from mgraph.core.html import html_table
from mgraph.io.figure import FigureFile
from mgraph.io.graph_drawing import Marks, plot_marks
from mgraph.steiner.star import MIN_RELATIVE_GAIN


@dataclass(frozen=True, eq=False, repr=False)
class SteinerTree:
    """A tree that holds the terminals of a query, as ``steiner_tree`` returns it.

    All arrays are NumPy's, whatever the backend.

    Attributes
    ----------
    terminals : numpy.ndarray of int64, shape (k,)
        The query's terminals, ascending, without repeats; for groups a vertex of each, in their
        order, and with prizes the vertices that have one and are in the tree.
    src, dst : numpy.ndarray of int64
        The ends of each edge, ``src`` above ``dst``, or of an arborescence's arc, from ``src`` to
        ``dst``; ascending by ``src``, then ``dst``.
    weight : numpy.ndarray of int64 or float64
        The weight of each edge.
    cost : int or float
        The sum of the weights, and of ``vertex_cost``: exact for integers, rounded once for
        fractions.
    initial_cost : int or float
        The cost of the initial tree, before any exchange.
    searches : int
        The number of shortest-path searches, counted as if one loose path was tried at a time.
    accepted : int
        The number of searches whose path replaced a loose path.
    seconds : dict of str to float
        The time by part: ``initial_tree``, and where they apply ``searches``,
        ``splits_and_merges`` and ``improvement``.
    method, search, backend : str
        What found the tree, or the tree that was improved: see ``steiner_tree``.
    complete : bool
        False if the time limit ended the query.
    lower_bound : int, float or None
        No tree costs less. None without ``bound=True`` or ``improve=True``, unless
        ``dreyfus_wagner`` has found the tree.
    labels : tuple or None
        The labels of the graph's vertices.
    root : int or None
        Of an arborescence: the vertex that its arcs lead away from.
    vertex_cost : int or float
        What vertices add to the cost: the weights of those in the tree, or the prizes of those that
        it leaves out; 0 where vertices have neither.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 0], [1, 2, 3, 3], [1, 1, 1, 5])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> tree = mgraph.steiner_tree(graph, [0, 3], backend="cpu", bound=True)
    >>> tree
    SteinerTree(2 terminals, 3 edges, cost 3, optimal)
    >>> tree.gap, tree.optimal
    (0.0, True)
    >>> tree.to_pandas()
       src  dst  weight
    0    1    0       1
    1    2    1       1
    2    3    2       1
    """

    terminals: Array
    src: Array
    dst: Array
    weight: Array | None
    cost: Any
    initial_cost: Any
    searches: int
    accepted: int
    seconds: dict[str, float]
    method: str
    search: str
    backend: Device
    complete: bool
    lower_bound: Any = None
    labels: Any = None
    root: int | None = None
    vertex_cost: Any = 0

    def __str__(self) -> str:
        """The sizes and the cost, as a phrase."""
        sizes = f"{pluralize(self.terminals.size, 'terminal')}, {pluralize(self.src.size, 'edge')}"
        bound = (
            ""
            if self.lower_bound is None
            else f", lower bound {self.format_cost(self.lower_bound)}"
        )
        bound = ", optimal" if self.optimal else bound
        incomplete = "" if self.complete else ", ended by the time limit"
        return f"{sizes}, cost {self.format_cost(self.cost)}{bound}{incomplete}"

    def __repr__(self) -> str:
        """The same phrase, with the class's name."""
        return f"SteinerTree({self})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        facts = {
            "terminals": self.terminals.size, "edges": self.src.size,
            "cost": self.format_cost(self.cost),
            "lower bound": None if self.lower_bound is None else self.format_cost(self.lower_bound),
            "proved optimal": self.optimal, "complete": None if self.complete else False,
            "method": f"{self.method} on the {self.backend}",
        }  # fmt: skip
        columns = {"src": self.src, "dst": self.dst}
        columns |= {} if self.weight is None else {"weight": self.weight}
        return html_table("SteinerTree", facts, columns)

    def format_cost(self, cost: Any) -> str:
        """A cost of this graph as text, with the digits that its weights have."""
        weight = self.weight
        is_single = weight is not None and bool((weight == weight.astype("float32")).all())
        return format_sum(cost, 7 if is_single else 15)

    @property
    def gap(self) -> float | None:
        """The relative gap, ``cost / lower_bound - 1``; None without a lower bound."""
        return gap_of(self.cost, self.lower_bound)

    @property
    def optimal(self) -> bool:
        """Whether the lower bound proves that no tree is cheaper, up to rounding of fractions."""
        return self.gap == 0

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
        """Draw the tree, its terminals with their names.

        Parameters
        ----------
        graph : Graph, or what becomes one, optional
            Draw it behind the tree. By default the tree stands alone.
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
        marks = Marks(self.src, self.dst, self.terminals)
        return plot_marks(graph, marks, file, title=title or str(self), **options)

    def to_networkx(self) -> Any:
        """The tree's own vertices and edges as a NetworkX graph; nodes are the labels, if any."""
        from mgraph.core.networkx_graph import tree_to_networkx

        edges = EdgeList(self.src, self.dst, self.weight)
        return tree_to_networkx(edges, self.terminals, self.labels)

    def to_arrow(self) -> Any:
        """Convert the edges to an Arrow table.

        Returns
        -------
        pyarrow.Table
            One row per edge, with columns ``src``, ``dst`` and ``weight``; if the graph has labels
            also ``src_label`` and ``dst_label``, as text where Arrow has no type for them.
        """
        import pyarrow as pa

        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        labels = self._edge_labels()
        try:
            label_type = pa.array([label for column in labels.values() for label in column]).type
        except (pa.ArrowException, OverflowError):  # of several types, or too large
            label_type = pa.string()
            labels = {name: [str(label) for label in column] for name, column in labels.items()}
        columns |= {name: pa.array(column, label_type) for name, column in labels.items()}
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Convert the edges to a DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per edge, with columns ``src``, ``dst`` and ``weight``; if the graph has labels
            also ``src_label`` and ``dst_label``.
        """
        import pandas as pd

        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        labels = {name: pd.Series(column) for name, column in self._edge_labels().items()}
        return pd.DataFrame({**columns, **labels})

    def _edge_labels(self) -> dict[str, list[Any]]:
        """The labels of both ends of each edge, as columns; none if the graph has no labels."""
        if self.labels is None:
            return {}
        return {
            "src_label": [self.labels[v] for v in self.src.tolist()],
            "dst_label": [self.labels[v] for v in self.dst.tolist()],
        }


def gap_of(cost: Any, lower_bound: Any) -> float | None:
    """Return ``cost / lower_bound - 1``; 0 if only rounding remains; None without a bound."""
    if lower_bound is None:
        return None
    minimum = cost if isinstance(cost, int) else cost * (1 - MIN_RELATIVE_GAIN)
    if minimum <= lower_bound:
        return 0.0
    return math.inf if lower_bound <= 0 else float(cost / lower_bound - 1)
