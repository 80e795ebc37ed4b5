"""What a graph is to this backend's functions, and how they hand back to NetworkX."""

import abc
import contextlib
import functools
import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges, sort_rows
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import tails as row_tails
from mgraph.errors import UsageError
from mgraph.networkx_backend.hand_back import HandBack, networkx_function
from mgraph.networkx_backend.weights import check_not_negative

_OWN_OPTIONS = "improve", "time_limit"  # that NetworkX's functions do not have


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

    @abc.abstractmethod
    def check_readable(self) -> None:
        """Raise HandBack if the graph cannot be read."""

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
    def is_edge(self) -> np.ndarray:
        """Whether an arc stands for an edge: of an undirected edge's, that of its first node."""
        heads = self.rows[1]
        return np.ones(heads.size, bool) if self.is_directed() else heads >= self.tails

    @functools.cached_property
    def edge_arcs(self) -> np.ndarray:
        """The arcs that stand for the edges, in the order of ``graph.edges``."""
        return np.flatnonzero(self.is_edge)

    @property
    def edge_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the edges, in the order of ``graph.edges``; parallel ones count once."""
        return self.tails[self.edge_arcs], self.rows[1][self.edge_arcs]


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

    def check_readable(self) -> None:
        """Do nothing: it is read already."""

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
            graph.check_readable()
            return function(graph, *others, **kwargs)
        except (HandBack, UsageError):
            known = {name: kwargs[name] for name in kwargs if name not in _OWN_OPTIONS}
            return networkx_function(function.__name__)(graph.networkx, *others, **known)

    return call


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
