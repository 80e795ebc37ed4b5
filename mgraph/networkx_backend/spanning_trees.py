"""Spanning trees and forests: the edges of NetworkX's Kruskal, in its order.

Edges are ranked by weight, and equal ones by their order in ``graph.edges``. No two ranks are
equal, so that there is one forest of least ranks, whatever finds it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.networkx_backend.converted import ConvertedGraph
from mgraph.networkx_backend.graphs import (
    BackendGraph,
    NativeGraph,
    handing_back,
    without_collector,
)
from mgraph.networkx_backend.hand_back import HandBack
from mgraph.networkx_backend.weights import to_numbers
from mgraph.spanning_trees.edge_forest import forest_of_edges

ALGORITHMS = "kruskal", "prim", "boruvka"


def _rank(keys: np.ndarray, minimum: bool, ignore_nan: Any = False) -> np.ndarray:
    """Return the edges in the order in which Kruskal takes them, without those of no number.

    Raises HandBack where NetworkX refuses the latter.
    """
    if keys.dtype.kind == "f":
        if not ignore_nan and np.isnan(keys).any():
            raise HandBack("a weight is not a number")
        order = np.argsort(keys if minimum else -keys, kind="stable")
        return order[: keys.size - int(np.isnan(keys).sum())]
    return np.argsort(keys if minimum else ~keys, kind="stable")


def _forest(src: np.ndarray, dst: np.ndarray, order: np.ndarray, n: int) -> np.ndarray:
    """Return the edges of the forest of least ranks, in the order of ranks."""
    ranks = np.arange(order.size, dtype=np.int32 if order.size < 1 << 31 else np.int64)
    forest = forest_of_edges(EdgeList(src[order], dst[order], ranks), n)
    return order[np.sort(np.asarray(forest.weight))]


def _check(graph: BackendGraph, algorithm: Any) -> None:
    if algorithm not in ALGORITHMS or graph.is_directed():
        raise HandBack("the algorithm is unknown, or edges have a direction")
    if algorithm == "boruvka" and graph.is_multigraph():
        raise HandBack("NetworkX's Borůvka refuses parallel edges")


def _choose(graph: ConvertedGraph, minimum: bool, weight: Any, ignore_nan: Any) -> list[list[Any]]:
    """Return the forest's edges in order: both ends, and keys of a multigraph."""
    src, dst = graph.edge_ends
    if not graph.is_multigraph():
        order = _rank(graph.edge_weights(weight), minimum, ignore_nan)
        chosen = _forest(src, dst, order, len(graph))
        return [graph.names(src[chosen]), graph.names(dst[chosen]), []]
    adjacency, ends = graph.networkx._adj, zip(graph.names(src), graph.names(dst), strict=True)
    parallel = [adjacency[u][v] for u, v in ends]
    counts = np.fromiter(map(len, parallel), np.int64, len(parallel))
    src, dst = np.repeat(src, counts), np.repeat(dst, counts)
    numbers = to_numbers([each.get(weight, 1) for edges in parallel for each in edges.values()])
    chosen = _forest(src, dst, _rank(numbers, minimum, ignore_nan), len(graph))
    keys = [key for edges in parallel for key in edges]
    return [graph.names(src[chosen]), graph.names(dst[chosen]), [keys[i] for i in chosen.tolist()]]


def _attributes(graph: Any, src: list[Any], dst: list[Any], keys: list[Any]) -> list[Any]:
    """Return the attributes of edges of a NetworkX graph; keys: of a multigraph."""
    edges = [graph._adj[u][v] for u, v in zip(src, dst, strict=True)]
    return [e[key] for e, key in zip(edges, keys, strict=True)] if keys else edges


def _spanning_edges(
    graph: BackendGraph, minimum: bool, algorithm: Any, weight: Any, keys: Any, data: Any,
    ignore_nan: Any,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """Yield the edges as NetworkX does."""
    _check(graph, algorithm)
    columns: list[list[Any]]
    if isinstance(graph, NativeGraph):
        if data:
            raise HandBack("edges have their attributes in NetworkX's graph")
        columns = list(map(graph.names, _choose_native(graph, minimum, weight)[:2]))
    else:
        assert isinstance(graph, ConvertedGraph)
        src, dst, edge_keys = _choose(graph, minimum, weight, ignore_nan)
        columns = [src, dst, edge_keys] if keys and edge_keys else [src, dst]
        columns += [_attributes(graph.networkx, src, dst, edge_keys)] if data else []
    return zip(*columns, strict=True)


def _spanning_tree(
    graph: BackendGraph, minimum: bool, weight: Any, algorithm: Any, ignore_nan: Any
) -> Any:
    """Return the tree as a graph of the given one's class, with its attributes."""
    _check(graph, algorithm)
    if isinstance(graph, NativeGraph):
        return _native_tree(graph, minimum, weight)
    with without_collector():
        edges = _spanning_edges(graph, minimum, algorithm, weight, True, True, ignore_nan)
        return _build_tree(graph.networkx, edges)


def _build_tree(given: Any, edges: Iterator[tuple[Any, ...]]) -> Any:
    """Return a graph of these edges with the nodes and attributes of the given one."""
    import networkx

    tree = given.__class__()
    tree.graph.update(given.graph)
    if type(given) is not networkx.Graph:
        tree.add_nodes_from(given.nodes.items())
        tree.add_edges_from(edges)
        return tree
    # What these two methods do, in a third of their time.
    nodes, adjacency = tree._node, tree._adj
    for node, data in given._node.items():
        nodes[node], adjacency[node] = data.copy(), {}
    for u, v, data in edges:
        adjacency[u][v] = adjacency[v][u] = data.copy()
    return tree


def _choose_native(
    graph: NativeGraph, minimum: bool, weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the forest's ends, and its edges by number."""
    src, dst = graph.edge_ends
    chosen = _forest(src, dst, _rank(graph.edge_weights(weight), minimum), len(graph))
    return src[chosen], dst[chosen], chosen


def _native_tree(graph: NativeGraph, minimum: bool, weight: Any) -> Graph:
    """Return the tree as an ``mgraph.Graph``, with the graph's weights."""
    src, dst, chosen = _choose_native(graph, minimum, weight)
    weights = None if graph.graph.weights is None else graph.edge_weights("weight")[chosen]
    edges, given = EdgeList(src, dst, weights), graph.graph
    tree = from_edges(edges, len(graph), directed=False, backend="cpu").with_labels(given.labels)
    return tree.to_gpu() if given.backend == "gpu" else tree


@handing_back
def minimum_spanning_edges(
    graph: BackendGraph, algorithm: Any = "kruskal", weight: Any = "weight", keys: Any = True,
    data: Any = True, ignore_nan: Any = False,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """Edges of a spanning forest of least weight."""
    return _spanning_edges(graph, True, algorithm, weight, keys, data, ignore_nan)


@handing_back
def maximum_spanning_edges(
    graph: BackendGraph, algorithm: Any = "kruskal", weight: Any = "weight", keys: Any = True,
    data: Any = True, ignore_nan: Any = False,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """Edges of a spanning forest of greatest weight."""
    return _spanning_edges(graph, False, algorithm, weight, keys, data, ignore_nan)


@handing_back
def minimum_spanning_tree(
    graph: BackendGraph, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    """A spanning forest of least weight."""
    return _spanning_tree(graph, True, weight, algorithm, ignore_nan)


@handing_back
def maximum_spanning_tree(
    graph: BackendGraph, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    """A spanning forest of greatest weight."""
    return _spanning_tree(graph, False, weight, algorithm, ignore_nan)
