"""A NetworkX graph as arrays, read as far as functions need it."""

import abc
import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError

EXACT_INTEGERS = 1 << 53  # up to which a double holds all integers


class HandBack(Exception):
    """Something that NetworkX's own function is to do, for the reason given."""


class BackendGraph(abc.ABC):
    """A graph whose nodes are numbered, with its arcs as arrays."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """The number of nodes."""

    @abc.abstractmethod
    def is_directed(self) -> bool:
        """Whether edges have a direction."""

    @abc.abstractmethod
    def is_multigraph(self) -> bool:
        """Whether edges may be parallel."""

    @property
    @abc.abstractmethod
    def networkx(self) -> Any:
        """The graph as one of NetworkX."""

    @property
    @abc.abstractmethod
    def nodes(self) -> Sequence[Hashable] | None:
        """The nodes by number; None if they are these numbers."""

    @property
    @abc.abstractmethod
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each node's arcs begin, and the nodes that they lead to."""

    @property
    @abc.abstractmethod
    def reversed_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of arcs that lead to each node."""

    @abc.abstractmethod
    def search_graph(self, weight: Any) -> Graph:
        """The graph whose paths are searched.

        weight: an attribute, a function of an edge, or None for hops. Raises HandBack for weights
        that mgraph does not search by.
        """

    @functools.cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {node: number for number, node in enumerate(self.nodes or ())}

    def number(self, node: Any) -> int:
        """The number of a node. Raises HandBack if it is none of the graph."""
        try:
            if self.nodes is not None:
                return self._numbers[node]
            if node == int(node) and 0 <= node < len(self):
                return int(node)
        except (KeyError, TypeError, ValueError, OverflowError):
            pass
        raise HandBack(f"{node!r} is no node")

    def names(self, numbers: np.ndarray) -> list[Any]:
        """The nodes with these numbers."""
        listed: list[Any] = numbers.tolist()
        return listed if self.nodes is None else list(map(self.nodes.__getitem__, listed))

    @functools.cached_property
    def tails(self) -> np.ndarray:
        """The node that each arc begins at."""
        indptr, heads = self.rows
        return np.repeat(np.arange(len(self), dtype=heads.dtype), np.diff(indptr))

    @functools.cached_property
    def edge_arcs(self) -> np.ndarray:
        """The arcs that stand for the edges, in the order of ``graph.edges``."""
        heads = self.rows[1]
        # Of an undirected edge's arcs that of the node that comes first.
        kept = np.ones(heads.size, bool) if self.is_directed() else heads >= self.tails
        return np.flatnonzero(kept)


class ConvertedGraph(BackendGraph):
    """A NetworkX graph: its nodes are numbered in their order.

    Its rows keep the order in which NetworkX visits neighbours. Where there are parallel edges an
    arc stands for all of them.
    """

    __networkx_backend__ = "mgraph"

    def __init__(self, graph: Any) -> None:
        """Refer to the graph; nothing is read yet."""
        self._graph = graph
        self._searched: dict[Any, Graph] = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._graph)

    @property
    def networkx(self) -> Any:
        """The graph."""
        return self._graph

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self._graph.is_directed())

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel."""
        return bool(self._graph.is_multigraph())

    @functools.cached_property
    def nodes(self) -> Sequence[Hashable] | None:
        """The nodes by number; None if they are these numbers."""
        nodes = list(self._graph)
        is_numbered = set(map(type, nodes)) <= {int} and nodes == list(range(len(nodes)))
        return None if is_numbered else nodes

    @functools.cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each node's arcs begin, and the nodes that they lead to."""
        return self._read_rows(self._graph._adj)

    @functools.cached_property
    def reversed_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of arcs that lead to each node."""
        return self._read_rows(self._graph._pred) if self.is_directed() else self.rows

    def _read_rows(self, adjacency: Any) -> tuple[np.ndarray, np.ndarray]:
        rows: Any = adjacency.values()
        if type(adjacency) is not dict:  # a view, whose rows may have another length than they say
            rows = list(map(list, rows))
        indptr = np.zeros(len(rows) + 1, np.int64)
        indptr[1:] = np.fromiter(map(len, rows), np.int64, len(rows))
        np.cumsum(indptr, out=indptr)
        heads: Any = itertools.chain.from_iterable(rows)
        if self.nodes is not None:
            heads = map(self._numbers.__getitem__, heads)
        return indptr, np.fromiter(heads, np.int32, int(indptr[-1]))

    def edge_values(self, weight: Any) -> list[Any]:
        """The weight of each edge of an undirected graph without parallel edges, by its arcs."""
        is_edge = np.zeros(self.tails.size, bool)
        is_edge[self.edge_arcs] = True
        return list(itertools.compress(self.arc_values(weight), is_edge.tolist()))

    def arc_values(self, weight: Any) -> list[Any]:
        """The weight of each arc, the least of parallel ones; missing ones are 1.

        A function is asked once for each arc; None hides the arc.
        """
        adjacency = self._graph._adj
        if callable(weight):
            return _asked_for_all(weight, adjacency)
        if self.is_multigraph():
            return _least_of_parallel(weight, adjacency)
        return [data.get(weight, 1) for row in adjacency.values() for data in row.values()]

    def search_graph(self, weight: Any) -> Graph:
        """The graph whose paths are searched; see ``BackendGraph``."""
        if not callable(weight) and weight in self._searched:
            return self._searched[weight]
        (_, heads), tails, weights = self.rows, self.tails, None
        if weight is not None:
            values = self.arc_values(weight)
            if callable(weight) and None in values:
                kept = np.array([value is not None for value in values], bool)
                values = [value for value in values if value is not None]
                heads, tails = heads[kept], tails[kept]
            weights = to_weights(values)
            check_not_negative(weights)
        rows = from_edges(EdgeList(tails, heads, weights), len(self), backend="cpu")
        if self.is_directed() or callable(weight):
            graph = rows
        else:
            arrays = rows.indptr, rows.indices, rows.weights, False
            graph = Graph.unchecked(*arrays, rows_ascend=True, symmetric=True)
        if not callable(weight):
            self._searched[weight] = graph
        return graph


class NativeGraph(BackendGraph):
    """An ``mgraph.Graph``: its nodes are its labels, or its vertices."""

    def __init__(self, graph: Graph) -> None:
        """Refer to the graph, on a CPU or a GPU."""
        self.graph = graph

    def __len__(self) -> int:
        """The number of vertices."""
        return self.graph.n

    @functools.cached_property
    def networkx(self) -> Any:
        """The graph converted."""
        return self.graph.to_networkx()

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.graph.directed

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel: they are merged where graphs are built."""
        return False

    @property
    def nodes(self) -> Sequence[Hashable] | None:
        """The labels, or None."""
        return self.graph.labels

    @functools.cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each vertex's arcs begin, and the vertices that they lead to."""
        graph = self.graph.to_cpu()
        return np.asarray(graph.indptr), np.asarray(graph.indices)

    @functools.cached_property
    def reversed_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of arcs that lead to each vertex."""
        if not self.is_directed():
            return self.rows
        edges = EdgeList(self.rows[1], self.tails)
        graph = from_edges(edges, len(self), merge=False, backend="cpu")
        return np.asarray(graph.indptr), np.asarray(graph.indices)

    def arc_weights(self, weight: Any) -> np.ndarray | None:
        """The weights on the host if the attribute is ``weight``; None if all are 1."""
        weights: Any = self.graph.to_cpu().weights
        return weights if weight == "weight" else None

    def edge_values(self, weight: Any) -> list[Any]:
        """The weight of each edge."""
        weights = self.arc_weights(weight)
        arcs = self.edge_arcs
        return [1] * arcs.size if weights is None else weights[arcs].tolist()

    def search_graph(self, weight: Any) -> Graph:
        """The graph, with its weights if the attribute is ``weight``."""
        if callable(weight):
            raise HandBack("the weight is a function of NetworkX's edges")
        graph = self.graph
        if weight == "weight" or graph.weights is None:
            check_not_negative(graph.weights)
            return graph
        known = {name: value for name, value in graph.known.items() if "weight" not in name}
        return Graph.unchecked(graph.indptr, graph.indices, None, graph.directed, **known)


def _least_of_parallel(weight: Any, adjacency: Any) -> list[Any]:
    """Return the least weight of the edges of each arc. Raises HandBack if it has none."""
    try:
        return [
            min([data.get(weight, 1) for data in parallel.values()])
            for row in adjacency.values()
            for parallel in row.values()
        ]
    except TypeError as error:
        raise HandBack(f"weights are no numbers: {error}") from error


def _asked_for_all(weight: Callable[..., Any], adjacency: Any) -> list[Any]:
    """Return a function's value for each arc. Raises HandBack if it fails for one."""
    try:
        return [weight(u, v, data) for u, row in adjacency.items() for v, data in row.items()]
    except Exception as error:  # NetworkX might never ask for that arc
        raise HandBack(f"the weight function failed: {error}") from error


def check_not_negative(weights: Any) -> None:
    """Raise HandBack for weights by which no path is searched."""
    if weights is not None and weights.size and not weights.min() >= 0:
        raise HandBack("a weight is negative or not a number")


def to_weights(values: list[Any]) -> np.ndarray:
    """Return weights in one of mgraph's types. Raises HandBack if that would change one."""
    try:
        weights = np.asarray(values) if values else np.zeros(0, np.int32)
    except (ValueError, OverflowError, TypeError) as error:
        raise HandBack(str(error)) from error
    if weights.ndim != 1:
        raise HandBack("a weight is no number")
    if weights.dtype.kind in "bi":
        largest = np.iinfo(np.int32).max
        is_small = not weights.size or (weights.min() >= -largest and weights.max() <= largest)
        return weights.astype(np.int32 if is_small else np.int64)
    if weights.dtype.kind != "f" or weights.dtype.itemsize > 8:
        raise HandBack("a weight is no number of 64 bits")
    weights = weights.astype(np.float64)
    if not np.isfinite(weights).all():
        raise HandBack("a weight is not finite")
    if abs(weights).max(initial=0) >= EXACT_INTEGERS and {int} & set(map(type, values)):
        raise HandBack("an integer is larger than a double holds")
    return weights


def handing_back(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let NetworkX's own function of this name do what raises HandBack.

    function: takes a ``BackendGraph`` in place of the graph.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given, *others = args or (kwargs.pop("G"),)
        graph = NativeGraph(given) if isinstance(given, Graph) else given
        try:
            if not len(graph):
                raise HandBack("the graph has no nodes")
            return function(graph, *others, **kwargs)
        except (HandBack, UsageError):
            return networkx_function(function.__name__)(graph.networkx, *others, **kwargs)

    return call


def networkx_function(name: str) -> Callable[..., Any]:
    """Return NetworkX's own function of this name, which no backend replaces."""
    from networkx.utils import backends

    own: Callable[..., Any] = backends._registered_algorithms[name].orig_func
    return own
