"""A NetworkX graph as arrays, which are read when a function first needs them."""

import functools
import itertools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.networkx_backend import dicts_cpu
from mgraph.networkx_backend.graphs import BackendGraph
from mgraph.networkx_backend.hand_back import HandBack
from mgraph.networkx_backend.weights import narrow, to_numbers, to_weights

COMPILED_FROM_ARCS = 50_000  # compiled code is loaded in a quarter of a second
_INT64 = np.iinfo(np.int64)
_TABLE_SHARE = 8  # of a table by node at most so many times as many entries as nodes
_FACTORIES = (
    "adjlist_outer_dict_factory", "adjlist_inner_dict_factory", "edge_key_dict_factory",
    "edge_attr_dict_factory",
)  # fmt: skip

# What these say of a graph must be what its dicts hold.
_METHODS = (
    "__contains__", "__getitem__", "__iter__", "__len__", "adj", "adjacency", "edges", "neighbors",
    "nodes", "predecessors", "successors",
)  # fmt: skip


@functools.cache
def _is_own(kind: type) -> bool:
    """Return whether a class of graphs has NetworkX's own methods of reading."""
    owners = (
        next((each for each in kind.__mro__ if name in vars(each)), kind) for name in _METHODS
        if hasattr(kind, name)
    )  # fmt: skip
    return all(each.__module__.startswith("networkx.") for each in owners)


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
        self._n: int | None = None
        self._searched: dict[Any, Graph] = {}  # by attribute, as the next
        self._weights: dict[Any, np.ndarray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the reference alone."""
        return ConvertedGraph, (self._graph,)

    def __len__(self) -> int:
        """The number of nodes when it was first asked for: before anything is read."""
        if self._n is None:
            self._n = len(self._graph)
        return self._n

    @property
    def networkx(self) -> Any:
        """The graph."""
        return self._graph

    def check_readable(self) -> None:
        """Raise HandBack unless the graph is no view of another one, and made of dicts."""
        graph = self._graph
        is_plain = (
            type(graph._adj) is dict
            and not hasattr(graph, "_graph")
            and all(getattr(type(graph), factory, dict) is dict for factory in _FACTORIES)
        )
        kind: Any = type(graph)
        if not is_plain or not _is_own(kind):
            raise HandBack("the graph is a view, or made of other mappings than dicts")

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self._graph.is_directed())

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel."""
        return bool(self._graph.is_multigraph())

    @functools.cached_property
    def nodes(self) -> Sequence[Hashable] | None:
        """The nodes by number; None if they are these numbers."""
        nodes = list(self._graph._node)
        if len(nodes) != len(self) or nodes != list(self._graph._adj):
            raise HandBack("the graph was changed in other ways than by its methods")
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
        nodes = self.nodes
        if list(adjacency) != (list(range(len(self))) if nodes is None else nodes):
            raise HandBack("the graph was changed in other ways than by its methods")
        rows: Any = adjacency.values()
        indptr = np.zeros(len(self) + 1, np.int64)
        indptr[1:] = np.fromiter(map(len, rows), np.int64, len(self))
        np.cumsum(indptr, out=indptr)
        heads = self._read_heads(adjacency, int(indptr[-1]))
        if heads.size and not 0 <= heads.min() <= heads.max() < len(self):
            raise HandBack("an edge leads to what is no node")
        return indptr, heads

    def _read_heads(self, adjacency: Any, arcs: int) -> np.ndarray:
        heads = None
        if arcs >= COMPILED_FROM_ARCS and dicts_cpu.knows_objects():
            heads = self._read_heads_compiled(adjacency, arcs)
        if heads is None:
            listed: Any = itertools.chain.from_iterable(adjacency.values())
            if self.nodes is not None:
                listed = map(self._numbers.__getitem__, listed)
            try:
                heads = np.fromiter(listed, np.int32, arcs)
            except (KeyError, OverflowError):
                raise HandBack("an edge leads to what is no node") from None
        return heads

    def _read_heads_compiled(self, adjacency: Any, arcs: int) -> np.ndarray | None:
        """Return the heads; None if nodes are of other types than int and str."""
        nodes: Any = self.nodes or range(len(self))
        types = set(map(type, nodes))
        first, last = (min(nodes), max(nodes)) if types == {int} else (0, 1 << 63)
        if _INT64.min <= first <= last <= _INT64.max and last - first < _TABLE_SHARE * len(self):
            integers = dicts_cpu.read_integers(adjacency, arcs)
            if integers is None or (arcs and not first <= integers.min() <= integers.max() <= last):
                return None
            table = np.full(last - first + 1, -1, np.int32)
            table[np.array(nodes, np.int64) - first] = np.arange(len(self))
            return table[integers - first]
        if types <= {int, str}:
            return dicts_cpu.read_numbers(adjacency, arcs, self._numbers)
        return None

    def edge_weights(self, weight: Any) -> np.ndarray:
        """The weights of the edges by attribute, of no multigraph; missing ones are 1.

        Raises HandBack for weights that are no numbers of 64 bits.
        """
        if weight not in self._weights:
            self._weights[weight] = self._read_weights(weight)
        return self._weights[weight]

    def _read_weights(self, weight: Any) -> np.ndarray:
        adjacency, is_edge = self._graph._adj, self.is_edge
        if is_edge.size >= COMPILED_FROM_ARCS and dicts_cpu.knows_objects() and type(weight) is str:
            numbers = dicts_cpu.read_values(adjacency, is_edge, weight)
            if numbers is not None:
                return narrow(numbers)
        data = itertools.chain.from_iterable(row.values() for row in adjacency.values())
        edges = itertools.compress(data, is_edge.tolist())
        numbers = to_numbers([each.get(weight, 1) for each in edges])
        if numbers.size != self.edge_arcs.size:
            raise HandBack("the graph was changed in other ways than by its methods")
        return numbers

    def _minimum_weights(self, weight: Any) -> np.ndarray:
        """The minimum weight of the parallel edges of each arc. Raises HandBack."""
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
