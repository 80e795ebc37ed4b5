"""Shortest paths by weights. Distances ascend in the dicts that are returned."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mgraph.networkx_backend import unweighted
from mgraph.networkx_backend.graphs import (
    BackendGraph,
    NativeGraph,
    handing_back,
    without_collector,
)
from mgraph.networkx_backend.hand_back import HandBack
from mgraph.shortest_paths.sssp import sssp

BATCH_ARCS = 1 << 24  # arcs searched at a time where all nodes are sources


class Search(NamedTuple):
    """A search's arrays on the host: distance and predecessor of all nodes, those reached."""

    order: np.ndarray
    distance: np.ndarray
    predecessor: np.ndarray | None


def find(
    graph: BackendGraph, sources: list[int], weight: Any, *, paths: bool, cutoff: Any = None,
    targets: list[int] | None = None,
) -> Search:  # fmt: skip
    """Search from these nodes at once."""
    options = {"predecessors": paths, "cutoff": _check_cutoff(cutoff), "targets": targets}
    (search,) = _search(graph.search_graph(weight), sources, joint=len(sources) > 1, **options)
    return search


def _check_cutoff(cutoff: Any) -> Any:
    if cutoff is None or (
        isinstance(cutoff, (int, float)) and not isinstance(cutoff, bool) and cutoff >= 0
    ):
        return cutoff
    raise HandBack("the cutoff is negative or no number")


def _search(graph: Any, sources: list[int], **options: Any) -> Iterator[Search]:
    """Yield what ``sssp`` finds. Raises UsageError where lengths do not fit."""
    result = sssp(graph, sources, **options).to_cpu()
    distances, reached = np.atleast_2d(result.distance), np.atleast_2d(result.reached)
    parents: Any = [None] * len(distances)
    if result.predecessor is not None:
        parents = np.atleast_2d(result.predecessor)
    for distance, is_reached, parent in zip(distances, reached, parents, strict=True):
        order = np.flatnonzero(is_reached)
        order = order[np.argsort(distance[order], kind="stable")]
        yield Search(order, distance, parent)


def to_lengths(graph: BackendGraph, search: Search) -> dict[Any, Any]:
    """Return the distances by node."""
    return dict(zip(graph.names(search.order), search.distance[search.order].tolist(), strict=True))


@without_collector()
def to_paths(graph: BackendGraph, search: Search) -> dict[Any, list[Any]]:
    """Return the paths by node."""
    assert search.predecessor is not None
    order = search.order.tolist()
    names = dict(zip(order, graph.names(search.order), strict=True))
    parents = dict(zip(order, search.predecessor[search.order].tolist(), strict=True))
    known: dict[int, list[Any]] = {}
    for number in order:
        waiting = []
        while number >= 0 and number not in known:  # along arcs of weight 0 a later one comes first
            waiting.append(number)
            number = parents[number]
        path = known[number] if number >= 0 else []
        for each in reversed(waiting):
            known[each] = path = [*path, names[each]]
    return {names[number]: known[number] for number in order}


def _path_to(graph: BackendGraph, search: Search, target: int) -> tuple[Any, list[Any]]:
    """Return the length and the path to a node. Raises HandBack if there is none."""
    assert search.predecessor is not None
    if target not in search.order:
        raise HandBack("there is no path")
    path = [target]
    while search.predecessor[path[-1]] >= 0:
        path.append(int(search.predecessor[path[-1]]))
    return search.distance[target].item(), graph.names(np.array(path[::-1]))


def between(graph: BackendGraph, source: Any, target: Any, weight: Any) -> tuple[Any, list[Any]]:
    """Return the length and the nodes of a shortest path. Raises HandBack if there is none."""
    first, last = graph.number(source), graph.number(target)
    if first == last:
        return 0, [target]
    return _path_to(graph, find(graph, [first], weight, paths=True, targets=[last]), last)


def _numbers(graph: BackendGraph, sources: Any) -> list[int]:
    """Return the numbers of different sources. Raises HandBack if there are none."""
    if isinstance(sources, Iterator) or not isinstance(sources, Iterable):
        raise HandBack("the sources are read once")
    numbers = list(dict.fromkeys(map(graph.number, sources)))
    if not numbers:
        raise HandBack("there are no sources")
    return numbers


@handing_back
def multi_source_dijkstra(
    graph: BackendGraph, sources: Any, target: Any = None, cutoff: Any = None,
    weight: Any = "weight",
) -> Any:  # fmt: skip
    """Distances and paths from the nearest of several nodes."""
    return _from(graph, _numbers(graph, sources), target, cutoff, weight)


def _from(
    graph: BackendGraph, numbers: list[int], target: Any, cutoff: Any, weight: Any
) -> tuple[Any, Any]:
    """Return all distances and paths from these nodes, or those of the target."""
    if target is None:
        search = find(graph, numbers, weight, paths=True, cutoff=cutoff)
        return to_lengths(graph, search), to_paths(graph, search)
    last = graph.number(target)
    if last in numbers:
        return 0, [target]
    search = find(graph, numbers, weight, paths=True, cutoff=cutoff, targets=[last])
    return _path_to(graph, search, last)


@handing_back
def multi_source_dijkstra_path(
    graph: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Paths from the nearest of several nodes."""
    numbers = _numbers(graph, sources)
    return to_paths(graph, find(graph, numbers, weight, paths=True, cutoff=cutoff))


@handing_back
def multi_source_dijkstra_path_length(
    graph: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Distances from the nearest of several nodes."""
    numbers = _numbers(graph, sources)
    return to_lengths(graph, find(graph, numbers, weight, paths=False, cutoff=cutoff))


@handing_back
def single_source_dijkstra(
    graph: BackendGraph, source: Any, target: Any = None, cutoff: Any = None,
    weight: Any = "weight",
) -> Any:  # fmt: skip
    """Distances and paths from a node."""
    return _from(graph, [graph.number(source)], target, cutoff, weight)


@handing_back
def single_source_dijkstra_path(
    graph: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Paths from a node."""
    numbers = [graph.number(source)]
    return to_paths(graph, find(graph, numbers, weight, paths=True, cutoff=cutoff))


@handing_back
def single_source_dijkstra_path_length(
    graph: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Distances from a node."""
    numbers = [graph.number(source)]
    return to_lengths(graph, find(graph, numbers, weight, paths=False, cutoff=cutoff))


@handing_back
def dijkstra_path(
    graph: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> list[Any]:
    """A shortest path between two nodes."""
    return between(graph, source, target, weight)[1]


@handing_back
def dijkstra_path_length(
    graph: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """The length of a shortest path between two nodes."""
    return between(graph, source, target, weight)[0]


@handing_back
def bidirectional_dijkstra(
    graph: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    """The length and the nodes of a shortest path between two nodes."""
    return between(graph, source, target, weight)


@handing_back
def astar_path(
    graph: BackendGraph, source: Any, target: Any, heuristic: Any = None, weight: Any = "weight", *,
    cutoff: Any = None,
) -> list[Any]:  # fmt: skip
    """A shortest path between two nodes."""
    if heuristic is not None or cutoff is not None:
        raise HandBack("which path NetworkX finds depends on the heuristic")
    return between(graph, source, target, weight)[1]


@handing_back
def astar_path_length(
    graph: BackendGraph, source: Any, target: Any, heuristic: Any = None, weight: Any = "weight", *,
    cutoff: Any = None,
) -> Any:  # fmt: skip
    """The length of a shortest path between two nodes."""
    if heuristic is not None or cutoff is not None:
        raise HandBack("which path NetworkX finds depends on the heuristic")
    length, path = between(graph, source, target, weight)
    if isinstance(graph, NativeGraph):
        return length
    # By Python's sum, as in NetworkX, which rounds otherwise than a search does.
    edges = [graph.networkx._adj[u][v] for u, v in itertools.pairwise(path)]
    if graph.is_multigraph():
        return sum(min(data.get(weight, 1) for data in parallel.values()) for parallel in edges)
    return sum(data.get(weight, 1) for data in edges)


def _of_all(
    graph: BackendGraph, cutoff: Any, weight: Any, form: Callable[..., Any], paths: bool
) -> Iterator[Any]:
    """Yield each node with what ``form`` makes of the search from it."""
    searched, cutoff = graph.search_graph(weight), _check_cutoff(cutoff)
    batch = max(1, BATCH_ARCS // max(1, searched.num_arcs + searched.n))
    names = graph.names(np.arange(len(graph)))
    options = {"predecessors": paths, "cutoff": cutoff}

    def results(begun: list[Search]) -> Iterator[Any]:
        yield names[0], form(graph, begun[0])
        for first in range(1, len(names), batch):
            sources = list(range(first, min(first + batch, len(names))))
            for source, each in zip(sources, _search(searched, sources, **options), strict=True):
                yield names[source], form(graph, each)

    # The first search tells whether lengths fit, before anything is yielded.
    return results(list(_search(searched, [0], **options)))


def _both(graph: BackendGraph, search: Search) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
    return to_lengths(graph, search), to_paths(graph, search)


@handing_back
def all_pairs_dijkstra(
    graph: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[Any]:
    """Distances and paths from each node."""
    return _of_all(graph, cutoff, weight, _both, True)


@handing_back
def all_pairs_dijkstra_path(
    graph: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[Any]:
    """Paths from each node."""
    return _of_all(graph, cutoff, weight, to_paths, True)


@handing_back
def all_pairs_dijkstra_path_length(
    graph: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[Any]:
    """Distances from each node."""
    return _of_all(graph, cutoff, weight, to_lengths, False)


def _check_generic(method: Any, source: Any, target: Any, graph: BackendGraph) -> None:
    """Raise HandBack for what the general functions leave to NetworkX."""
    if method not in ("dijkstra", "bellman-ford"):
        raise HandBack("the method is unknown")
    if source is None and (target is None or graph.is_directed()):
        raise HandBack("paths between all nodes, or against the direction of edges")


@handing_back
def shortest_path(
    graph: BackendGraph, source: Any = None, target: Any = None, weight: Any = None,
    method: Any = "dijkstra",
) -> Any:  # fmt: skip
    """A path between two nodes, or those from or to one."""
    _check_generic(method, source, target, graph)
    if source is not None and target is not None:
        if weight is None:
            return unweighted.path_between(graph, source, target)
        return between(graph, source, target, weight)[1]
    number, reverse = graph.number(target if source is None else source), source is None
    if weight is None:
        return unweighted.to_paths(graph, unweighted.find(graph, [number], None), reverse)
    paths = to_paths(graph, find(graph, [number], weight, paths=True))
    return {node: path[::-1] for node, path in paths.items()} if reverse else paths


@handing_back
def shortest_path_length(
    graph: BackendGraph, source: Any = None, target: Any = None, weight: Any = None,
    method: Any = "dijkstra",
) -> Any:  # fmt: skip
    """The length of a path between two nodes, or those from or to one."""
    _check_generic(method, source, target, graph)
    if source is not None and target is not None:
        if weight is None:
            return len(unweighted.path_between(graph, source, target)) - 1
        return between(graph, source, target, weight)[0]
    number = graph.number(target if source is None else source)
    if weight is None:
        return unweighted.to_lengths(graph, unweighted.find(graph, [number], None))
    return to_lengths(graph, find(graph, [number], weight, paths=False))
