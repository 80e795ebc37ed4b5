"""Connected components, in the order of their first nodes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph.components import connected_components as components
from mgraph.components.result import Components
from mgraph.networkx_backend.graphs import BackendGraph, handing_back
from mgraph.networkx_backend.hand_back import HandBack


def _of(graph: BackendGraph, directed: bool) -> Components:
    """Return the components. Raises HandBack for graphs that NetworkX refuses."""
    if graph.is_directed() != directed:
        raise HandBack("the graph's edges have a direction, or have none")
    return components.connected_components(graph.search_graph(None)).to_cpu()


def _sets(graph: BackendGraph, result: Components) -> Iterator[set[Any]]:
    labels = np.asarray(result.labels)
    members = np.argsort(labels, kind="stable")  # a label is the component's first node
    names = graph.names(members)
    ends = np.flatnonzero(np.diff(labels[members], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        yield set(names[begin:end])
        begin = end


def _is_one(graph: BackendGraph, directed: bool) -> bool:
    return _of(graph, directed).num_components == 1


@handing_back
def connected_components(graph: BackendGraph) -> Iterator[set[Any]]:
    """The node sets of an undirected graph's components."""
    return _sets(graph, _of(graph, False))


@handing_back
def weakly_connected_components(graph: BackendGraph) -> Iterator[set[Any]]:
    """The node sets of a directed graph's weak components."""
    return _sets(graph, _of(graph, True))


@handing_back
def number_connected_components(graph: BackendGraph) -> int:
    """How many components an undirected graph has."""
    return int(_of(graph, False).num_components)


@handing_back
def number_weakly_connected_components(graph: BackendGraph) -> int:
    """How many weak components a directed graph has."""
    return int(_of(graph, True).num_components)


@handing_back
def is_connected(graph: BackendGraph) -> bool:
    """Whether an undirected graph is connected."""
    return _is_one(graph, False)


@handing_back
def is_weakly_connected(graph: BackendGraph) -> bool:
    """Whether a directed graph is weakly connected."""
    return _is_one(graph, True)


@handing_back
def node_connected_component(graph: BackendGraph, node: Any) -> set[Any]:
    """The nodes of the component of a node."""
    number = graph.number(node)
    labels = np.asarray(_of(graph, False).labels)
    return set(graph.names(np.flatnonzero(labels == labels[number])))


def _count_edges(graph: BackendGraph) -> int:
    if graph.is_multigraph():
        return int(graph.networkx.number_of_edges())
    return int(graph.edge_arcs.size)


@handing_back
def is_forest(graph: BackendGraph) -> bool:
    """Whether the graph has no cycle, whatever the direction of its edges."""
    result = _of(graph, graph.is_directed())
    return len(graph) - result.num_components == _count_edges(graph)


@handing_back
def is_tree(graph: BackendGraph) -> bool:
    """Whether the graph is connected and has no cycle, whatever the direction of its edges."""
    return len(graph) - 1 == _count_edges(graph) and _is_one(graph, graph.is_directed())
