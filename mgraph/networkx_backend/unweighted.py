"""Paths of fewest edges, and breadth-first traversals, in NetworkX's own order."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mgraph.networkx_backend import breadth_first_cpu
from mgraph.networkx_backend.graphs import (
    BackendGraph,
    handing_back,
    without_collector,
)
from mgraph.networkx_backend.hand_back import HandBack


class Search(NamedTuple):
    """A search. order: numbers of the nodes reached, in order. depth, parent: of all nodes."""

    order: np.ndarray
    depth: np.ndarray
    parent: np.ndarray


def to_limit(limit: Any, n: int) -> int:
    """Return the greatest depth up to which NetworkX goes with this cutoff or depth limit."""
    if limit is None:
        return n
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != limit:
        raise HandBack("the limit is no number")
    return n if limit >= n else math.ceil(limit) if limit > 0 else 0


def find(graph: BackendGraph, sources: list[int], limit: Any, reverse: bool = False) -> Search:
    """Search from these nodes."""
    rows = graph.reversed_rows if reverse else graph.rows
    n = rows[0].size - 1  # as it was when the rows were read
    return Search(*breadth_first_cpu.search(rows, sources, to_limit(limit, n)))


@without_collector()
def to_paths(graph: BackendGraph, search: Search, reverse: bool = False) -> dict[Any, list[Any]]:
    """Return a path per node, from the source on, or to it if the search was a reverse one."""
    names = graph.names(search.order)
    parents = graph.names(np.maximum(search.parent[search.order], 0))
    is_source = (search.parent[search.order] < 0).tolist()
    paths: dict[Any, list[Any]] = {}
    for node, parent, first in zip(names, parents, is_source, strict=True):
        if first:
            paths[node] = [node]
        else:
            paths[node] = [node, *paths[parent]] if reverse else [*paths[parent], node]
    return paths


def to_lengths(graph: BackendGraph, search: Search) -> dict[Any, int]:
    """Return the number of edges to each node."""
    depths = search.depth[search.order].tolist()
    return dict(zip(graph.names(search.order), depths, strict=True))


@handing_back
def single_source_shortest_path(
    graph: BackendGraph, source: Any, cutoff: Any = None
) -> dict[Any, list[Any]]:
    """Paths from a node."""
    return to_paths(graph, find(graph, [graph.number(source)], cutoff))


@handing_back
def single_source_shortest_path_length(
    graph: BackendGraph, source: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Lengths from a node."""
    return to_lengths(graph, find(graph, [graph.number(source)], cutoff))


@handing_back
def single_target_shortest_path(
    graph: BackendGraph, target: Any, cutoff: Any = None
) -> dict[Any, list[Any]]:
    """Paths to a node."""
    return to_paths(graph, find(graph, [graph.number(target)], cutoff, True), True)


@handing_back
def single_target_shortest_path_length(
    graph: BackendGraph, target: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Lengths to a node."""
    return to_lengths(graph, find(graph, [graph.number(target)], cutoff, True))


@handing_back
def all_pairs_shortest_path(graph: BackendGraph, cutoff: Any = None) -> Iterator[Any]:
    """Paths from each node."""
    return _of_all(graph, cutoff, to_paths)


@handing_back
def all_pairs_shortest_path_length(graph: BackendGraph, cutoff: Any = None) -> Iterator[Any]:
    """Lengths from each node."""
    return _of_all(graph, cutoff, to_lengths)


def _of_all(graph: BackendGraph, cutoff: Any, form: Any) -> Iterator[Any]:
    to_limit(cutoff, len(graph))
    names, _ = graph.names(np.arange(len(graph))), graph.rows  # as they are now

    def results() -> Iterator[Any]:
        for number, node in enumerate(names):
            yield node, form(graph, find(graph, [number], cutoff))

    return results()


def path_between(graph: BackendGraph, source: Any, target: Any) -> list[Any]:
    """Return a path of fewest edges. Raises HandBack if there is none."""
    path = _numbers_between(graph, source, target)
    if path is None:
        raise HandBack("there is no path")
    return graph.names(np.array(path))


def _numbers_between(graph: BackendGraph, source: Any, target: Any) -> list[int] | None:
    first, last = graph.number(source), graph.number(target)
    return breadth_first_cpu.path_between(graph.rows, graph.reversed_rows, first, last)


@handing_back
def bidirectional_shortest_path(graph: BackendGraph, source: Any, target: Any) -> list[Any]:
    """A path of fewest edges between two nodes."""
    return path_between(graph, source, target)


@handing_back
def has_path(graph: BackendGraph, source: Any, target: Any) -> bool:
    """Whether a path leads from one node to another."""
    return _numbers_between(graph, source, target) is not None


@without_collector()
def _tree_edges(
    graph: BackendGraph, source: Any, reverse: Any, limit: Any, other_order: Any
) -> list[tuple[Any, Any]]:
    """Return (parent, child) in the order in which children are reached."""
    if other_order is not None:
        raise HandBack("neighbours are visited in an order of the caller's")
    search = find(graph, [graph.number(source)], limit, bool(reverse))
    children = search.order[1:]
    parents = graph.names(search.parent[children])
    return list(zip(parents, graph.names(children), strict=True))


@handing_back
def generic_bfs_edges(
    graph: BackendGraph, source: Any, neighbors: Any = None, depth_limit: Any = None
) -> Iterator[Any]:
    """Edges of a breadth-first search."""
    return iter(_tree_edges(graph, source, False, depth_limit, neighbors))


@handing_back
def bfs_edges(
    graph: BackendGraph,
    source: Any,
    reverse: Any = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[Any]:
    """Edges of a breadth-first search."""
    return iter(_tree_edges(graph, source, reverse, depth_limit, sort_neighbors))


@handing_back
def bfs_tree(
    graph: BackendGraph,
    source: Any,
    reverse: Any = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Any:
    """The tree of a breadth-first search, as NetworkX's DiGraph."""
    import networkx

    edges = _tree_edges(graph, source, reverse, depth_limit, sort_neighbors)
    with without_collector():
        tree = networkx.DiGraph()
        tree.add_node(source)
        tree.add_edges_from(edges)
    return tree


@handing_back
def bfs_predecessors(
    graph: BackendGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[Any]:
    """Each node with the node before it."""
    edges = _tree_edges(graph, source, False, depth_limit, sort_neighbors)
    return ((child, parent) for parent, child in edges)


@handing_back
def bfs_successors(
    graph: BackendGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[Any]:
    """Each node with those that are reached from it."""
    edges = _tree_edges(graph, source, False, depth_limit, sort_neighbors)
    children: dict[Any, list[Any]] = {} if edges else {source: []}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    return iter(children.items())


@handing_back
def bfs_layers(graph: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    """The nodes at each distance."""
    return iter(_layers(graph, sources))


@handing_back
def descendants_at_distance(graph: BackendGraph, source: Any, distance: Any) -> set[Any]:
    """The nodes at a distance."""
    if isinstance(distance, bool) or not isinstance(distance, int) or distance < 0:
        raise HandBack("the distance is no number of edges")
    number = graph.number(source)
    if distance >= len(graph):
        return set()
    search = find(graph, [number], distance)
    return set(graph.names(search.order[search.depth[search.order] == distance]))


def _layers(graph: BackendGraph, sources: Any) -> list[list[Any]]:
    try:
        numbers = [graph.number(sources)]
    except HandBack:
        if isinstance(sources, Iterator) or not isinstance(sources, Iterable):
            raise
        numbers = list(map(graph.number, set(sources)))
    search = find(graph, numbers, None)
    names, depths = graph.names(search.order), search.depth[search.order]
    ends = np.cumsum(np.bincount(depths)).tolist() if numbers else []
    return [names[begin:end] for begin, end in itertools.pairwise([0, *ends])]
