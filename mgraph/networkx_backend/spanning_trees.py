"""Spanning trees and forests: the edges of NetworkX's Kruskal, in its order.

Edges are ranked by weight, and equal ones by their order in ``graph.edges``. No two ranks are
equal, so that there is one forest of least ranks, whatever finds it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.networkx_backend.graphs import (
    EXACT_INTEGERS,
    BackendGraph,
    HandBack,
    NativeGraph,
    handing_back,
)
from mgraph.spanning_trees.edge_forest import forest_of_edges

ALGORITHMS = "kruskal", "prim", "boruvka"


def _to_keys(values: list[Any], ignore_nan: Any) -> np.ndarray:
    """Return weights as numbers that are sorted as they are. Raises HandBack for others."""
    keys = np.asarray(values) if values else np.zeros(0)
    if keys.ndim != 1 or keys.dtype.kind not in "bif" or keys.dtype.itemsize > 8:
        raise HandBack("a weight is no number of 64 bits")
    if keys.dtype.kind == "f":
        if not ignore_nan and np.isnan(keys).any():
            raise HandBack("a weight is not a number")
        if abs(keys).max(initial=0) >= EXACT_INTEGERS and {int} & set(map(type, values)):
            raise HandBack("an integer is larger than a double holds")
    return keys


def _rank(keys: np.ndarray, minimum: bool) -> np.ndarray:
    """Return the edges in the order in which Kruskal takes them, without those of no number."""
    if keys.dtype.kind == "f":
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


def _parallel_edges(graph: BackendGraph, weight: Any) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return the ends and weights of all edges of a multigraph, in the order of ``graph.edges``."""
    adjacency, arcs = graph.networkx._adj, graph.edge_arcs
    tails, heads = graph.tails[arcs], graph.rows[1][arcs]
    parallel = [
        adjacency[u][v] for u, v in zip(graph.names(tails), graph.names(heads), strict=True)
    ]
    counts = np.fromiter(map(len, parallel), np.int64, len(parallel))
    values = [data.get(weight, 1) for edges in parallel for data in edges.values()]
    return np.repeat(tails, counts), np.repeat(heads, counts), values


def _simple_edges(graph: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return the ends and weights of all edges, in the order of ``graph.edges``."""
    arcs = graph.edge_arcs
    values = graph.edge_values(weight)
    return graph.tails[arcs], graph.rows[1][arcs], values


def _spanning_edges(
    graph: BackendGraph, minimum: bool, algorithm: Any, weight: Any, keys: Any, data: Any,
    ignore_nan: Any,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """Yield the edges as NetworkX does."""
    _check(graph, algorithm)
    is_multigraph = graph.is_multigraph()
    src, dst, values = (_parallel_edges if is_multigraph else _simple_edges)(graph, weight)
    order = _rank(_to_keys(values, ignore_nan), minimum)
    chosen = _forest(src, dst, order, len(graph))
    ends = list(zip(graph.names(src[chosen]), graph.names(dst[chosen]), strict=True))
    if not is_multigraph and not data:
        return iter(ends)
    adjacency = graph.networkx._adj
    if not is_multigraph:
        return ((u, v, adjacency[u][v]) for u, v in ends)
    return _keyed_edges(adjacency, ends, _places(src, dst)[chosen].tolist(), keys, data)


def _places(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return each edge's number among the parallel ones, which follow each other."""
    begins = np.ones(src.size, bool)
    begins[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    numbers = np.arange(src.size)
    return numbers - np.maximum.accumulate(np.where(begins, numbers, 0))


def _keyed_edges(
    adjacency: Any, ends: list[tuple[Any, Any]], places: list[int], keys: Any, data: Any
) -> Iterator[tuple[Any, ...]]:
    for (u, v), place in zip(ends, places, strict=True):
        key, attributes = list(adjacency[u][v].items())[place]
        yield (u, v, *([key] if keys else []), *([attributes] if data else []))


def _spanning_tree(
    graph: BackendGraph, minimum: bool, weight: Any, algorithm: Any, ignore_nan: Any
) -> Any:
    """Return the tree as a graph of the given one's class, with its attributes."""
    if isinstance(graph, NativeGraph):
        return _native_tree(graph, minimum, weight, algorithm)
    edges = _spanning_edges(graph, minimum, algorithm, weight, True, True, ignore_nan)
    given = graph.networkx
    tree = given.__class__()
    tree.graph.update(given.graph)
    tree.add_nodes_from(given.nodes.items())
    tree.add_edges_from(edges)
    return tree


def _native_tree(graph: NativeGraph, minimum: bool, weight: Any, algorithm: Any) -> Any:
    """Return the tree as an ``mgraph.Graph``."""
    _check(graph, algorithm)
    arcs, (_, heads), tails = graph.edge_arcs, graph.rows, graph.tails
    src, dst, weights = tails[arcs], heads[arcs], graph.arc_weights("weight")
    keys = graph.arc_weights(weight)
    keys = np.ones(src.size, np.int32) if keys is None else keys[arcs]
    chosen = _forest(src, dst, _rank(keys, minimum), len(graph))
    weights = None if weights is None else weights[arcs][chosen]
    edges = EdgeList(src[chosen], dst[chosen], weights)
    tree = from_edges(edges, len(graph), directed=False, backend=graph.graph.backend)
    return tree.with_labels(graph.nodes)


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
