"""Steiner trees, by mgraph's own methods."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph.components.connected_components import connected_components
from mgraph.core.choices import SteinerMethod
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.errors import MgraphError
from mgraph.networkx_backend.graphs import BackendGraph, NativeGraph, handing_back
from mgraph.networkx_backend.hand_back import HandBack
from mgraph.steiner import steiner_tree as steiner

METHODS = None, "kou", "mehlhorn"
HEURISTICS: tuple[SteinerMethod, ...] = "mehlhorn", "takahashi_matsuyama", "star"  # the best counts


@handing_back
def steiner_tree(
    graph: BackendGraph, terminal_nodes: Any, weight: Any = "weight", method: Any = None, *,
    improve: bool = False, time_limit: float | None = None,
) -> Any:  # fmt: skip
    """A light tree that connects the nodes; ``improve`` searches for the lightest one."""
    if method not in METHODS or graph.is_directed() or weight is None or callable(weight):
        raise HandBack("the method is unknown, or edges have a direction")
    if isinstance(terminal_nodes, Iterator):
        raise HandBack("the terminals are read once")
    terminals = list(dict.fromkeys(map(graph.number, list(terminal_nodes))))
    if len(terminals) < 2:
        raise HandBack("there is nothing to connect")
    searched = graph.search_graph(weight)
    if method == "kou" and connected_components(searched).num_components > 1:
        raise HandBack("NetworkX's method of Kou refuses graphs that are not connected")
    try:
        if improve:
            tree = steiner.steiner_tree(searched, terminals, improve=True, time_limit=time_limit)
        else:
            trees = (steiner.steiner_tree(searched, terminals, method=way) for way in HEURISTICS)
            tree = min(trees, key=lambda found: found.cost)
    except MgraphError as error:
        raise HandBack(str(error)) from error
    src, dst = np.asarray(tree.src), np.asarray(tree.dst)
    if isinstance(graph, NativeGraph):
        made = from_edges(EdgeList(src, dst, tree.weight), len(graph), directed=False)
        return made.with_labels(graph.nodes)
    given = graph.networkx
    edges: Any = zip(graph.names(src), graph.names(dst), strict=True)
    if graph.is_multigraph():
        edges = (
            (u, v, min(given._adj[u][v], key=lambda k: given._adj[u][v][k].get(weight, 1)))
            for u, v in edges
        )
    return given.edge_subgraph(edges)
