"""A NetworkX graph as arrays, read as far as functions need it."""

import abc
import contextlib
import functools
import gc
import itertools
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges, sort_rows
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import tails as row_tails
from mgraph.errors import UsageError

EXACT_INTEGERS = 1 << 53  # up to which a double holds all integers
_NUMBERS = {int, float, bool, np.int64, np.float64}
_FACTORIES = (
    "adjlist_outer_dict_factory", "adjlist_inner_dict_factory", "edge_key_dict_factory",
    "edge_attr_dict_factory",
)  # fmt: skip
_OWN_OPTIONS = "improve", "time_limit"  # that NetworkX's functions do not have


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
            hash(node)
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

    @property
    def edge_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the edges, in the order of ``graph.edges``; parallel ones count once."""
        return self.tails[self.edge_arcs], self.rows[1][self.edge_arcs]


class ConvertedGraph(BackendGraph):
    """A NetworkX graph: its nodes are numbered in their order.

    Its rows keep the order in which NetworkX visits neighbours. Where there are parallel edges an
    arc stands for all of them. Only a graph of plain dicts is read: a view changes with its graph,
    and NetworkX's cache does not learn of that.
    """

    __networkx_backend__ = "mgraph"

    def __init__(self, graph: Any) -> None:
        """Refer to the graph; nothing is read yet."""
        self._graph = graph
        self._searched: dict[Any, Graph] = {}  # by attribute, as the next
        self._weights: dict[Any, np.ndarray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the reference alone."""
        return ConvertedGraph, (self._graph,)

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
        indptr = np.zeros(len(rows) + 1, np.int64)
        indptr[1:] = np.fromiter(map(len, rows), np.int64, len(rows))
        np.cumsum(indptr, out=indptr)
        heads: Any = itertools.chain.from_iterable(rows)
        if self.nodes is not None:
            heads = map(self._numbers.__getitem__, heads)
        return indptr, np.fromiter(heads, np.int32, int(indptr[-1]))

    @functools.cached_property
    def edge_data(self) -> list[dict[Any, Any]]:
        """The attributes of the edges, in the order of ``graph.edges``; of no multigraph."""
        rows = self._graph._adj.values()
        data = itertools.chain.from_iterable(row.values() for row in rows)
        if self.is_directed():
            return list(data)
        is_edge = np.zeros(self.tails.size, bool)
        is_edge[self.edge_arcs] = True
        return list(itertools.compress(data, is_edge.tolist()))

    def edge_weights(self, weight: Any) -> np.ndarray:
        """The weights of the edges by attribute, of no multigraph; missing ones are 1.

        Raises HandBack for weights that are no numbers of 64 bits.
        """
        if weight not in self._weights:
            try:
                values = list(map(operator.itemgetter(weight), self.edge_data))
            except KeyError:
                values = [data.get(weight, 1) for data in self.edge_data]
            self._weights[weight] = to_numbers(values)
        return self._weights[weight]

    def _minimum_weights(self, weight: Any) -> np.ndarray:
        """The minimum weight of the parallel edges of each arc. Raises HandBack, see ``rows``."""
        try:
            values = [
                min([data.get(weight, 1) for data in parallel.values()])
                for row in self._graph._adj.values()
                for parallel in row.values()
            ]
        except TypeError as error:
            raise HandBack(f"weights are no numbers: {error}") from error
        return to_numbers(values)

    def search_graph(self, weight: Any) -> Graph:
        """The graph whose paths are searched; see ``BackendGraph``."""
        if callable(weight):
            raise HandBack("the weight is a function, which NetworkX evaluates where it searches")
        if weight not in self._searched:
            self._searched[weight] = self._search_graph(weight)
        return self._searched[weight]

    def _search_graph(self, weight: Any) -> Graph:
        (indptr, heads), directed = self.rows, self.is_directed()
        if weight is None:
            return Graph.unchecked(indptr, heads, None, directed, symmetric=not directed)
        if not self.is_multigraph():
            weights = to_weights(self.edge_weights(weight))
            edges = EdgeList(*self.edge_ends, weights)
            return from_edges(edges, len(self), directed=directed, backend="cpu")
        edges = EdgeList(self.tails, heads, to_weights(self._minimum_weights(weight)))
        return from_edges(edges, len(self), backend="cpu")


class NativeGraph(BackendGraph):
    """An ``mgraph.Graph``: its nodes are its labels, or its vertices."""

    def __init__(self, graph: Graph) -> None:
        """Refer to the graph, on a CPU or a GPU; of parallel arcs to the one of minimum weight."""
        self.graph = without_parallel_arcs(graph)

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
        """Whether edges may be parallel."""
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

    def edge_weights(self, weight: Any) -> np.ndarray:
        """The weights of the edges if the attribute is ``weight``; else they are 1."""
        weights: Any = self.graph.to_cpu().weights
        if weight != "weight" or weights is None:
            return np.ones(self.edge_arcs.size, np.int32)
        return np.asarray(weights)[self.edge_arcs]

    def search_graph(self, weight: Any) -> Graph:
        """The graph, with its weights if the attribute is ``weight``."""
        if callable(weight):
            raise HandBack("the weight is a function of NetworkX's edges")
        graph = self.graph
        if weight == "weight" or graph.weights is None:
            check_not_negative(graph.weights)
            return graph
        known = graph.known
        kept = {name: known[name] for name in ("labels", "rows_ascend") if name in known}
        return Graph.unchecked(graph.indptr, graph.indices, None, graph.directed, **kept)


def without_parallel_arcs(graph: Graph) -> Graph:
    """Return the graph with the arc of minimum weight of each set of parallel ones."""
    sorted_rows, _ = sort_rows(graph)
    heads = sorted_rows.indices
    tails = row_tails(sorted_rows.indptr, heads)
    if not bool(((heads[1:] == heads[:-1]) & (tails[1:] == tails[:-1])).any()):
        return graph
    options: dict[str, Any] = {"directed": graph.directed, "merge": True, "backend": graph.backend}
    return from_edges(graph.to_edges(), graph.n, **options).with_labels(graph.labels)


def is_plain(graph: Any) -> bool:
    """Return whether a NetworkX graph is no view of another one, and made of dicts."""
    is_view = hasattr(graph, "_graph")
    return (
        type(graph._adj) is dict
        and not is_view
        and all(getattr(type(graph), factory, dict) is dict for factory in _FACTORIES)
    )


def to_numbers(values: list[Any]) -> np.ndarray:
    """Return weights as integers or doubles. Raises HandBack if that would change one."""
    types = set(map(type, values))
    if not types <= _NUMBERS:
        raise HandBack("a weight is of another type than Python's numbers")
    try:
        numbers = np.asarray(values) if values else np.zeros(0, np.int32)
    except OverflowError as error:
        raise HandBack(str(error)) from error
    kind = numbers.dtype.kind
    if kind not in "bif":
        raise HandBack("64 bits do not hold a weight")
    if kind == "f":
        if not types <= {float, np.float64} and not abs(numbers).max() < EXACT_INTEGERS:
            raise HandBack("a double may not hold an integer among the weights")
        return numbers.astype(np.float64)
    largest = np.iinfo(np.int32).max
    is_small = not numbers.size or (numbers.min() >= -largest and numbers.max() <= largest)
    return numbers.astype(np.int32 if is_small else np.int64)


def to_weights(numbers: np.ndarray) -> np.ndarray:
    """Return numbers by which paths are searched. Raises HandBack for others."""
    check_not_negative(numbers)
    if not np.isfinite(numbers).all():
        raise HandBack("a weight is not finite")
    return numbers


def check_not_negative(weights: Any) -> None:
    """Raise HandBack for weights by which no path is searched."""
    if weights is not None and weights.size and not weights.min() >= 0:
        raise HandBack("a weight is negative or not a number")


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
            if isinstance(graph, ConvertedGraph) and not is_plain(graph.networkx):
                raise HandBack("the graph is a view, or made of other mappings than dicts")
            return function(graph, *others, **kwargs)
        except (HandBack, UsageError):
            known = {name: kwargs[name] for name in kwargs if name not in _OWN_OPTIONS}
            return networkx_function(function.__name__)(graph.networkx, *others, **known)

    return call


def networkx_function(name: str) -> Callable[..., Any]:
    """Return NetworkX's own function of this name, which no backend replaces."""
    from networkx.utils import backends

    own: Callable[..., Any] = backends._registered_algorithms[name].orig_func
    return own


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Build many containers without the search for cycles, which would visit the graph's as well.

    It takes two thirds of the time in which a tree of 10^5 edges of a graph of 10^6 is built.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
