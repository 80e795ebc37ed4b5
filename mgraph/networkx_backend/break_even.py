"""From which size on a function is faster here than NetworkX's own, reading the graph included.

Measured on two cores, on graphs of 8 edges per node (``docs/networkx.md``). Reading the graph takes
most of the time, so that a graph that an earlier call has read pays from far fewer edges on. In a
process that has not imported Numba yet, a call takes half a second to a second more.
"""

import functools
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from mgraph.networkx_backend.info import MODULES


class BreakEven(NamedTuple):
    """Edges from which on a function pays; -1: it never does.

    first: in a process that has not imported Numba. unread, read: of a graph that has yet to be
    read, and of one that an earlier call has read.
    """

    first: int
    unread: int
    read: int


TREES = BreakEven(200_000, 5_000, 5_000)
DIJKSTRA = BreakEven(300_000, 10_000, 3_000)
TRAVERSALS = BreakEven(1_000_000, 20_000, 3_000)
PATHS = BreakEven(1_500_000, 30_000, 5_000)
COMPONENTS = BreakEven(2_000_000, 50_000, 20_000)
CYCLES = BreakEven(600_000, 5_000, 5_000)
ALL_PAIRS = BreakEven(5_000, 1_000, 500)
STEINER = BreakEven(200_000, 5_000, 2_000)
# NetworkX searches from both ends, which visits few nodes of most graphs.
BETWEEN_TWO = BreakEven(-1, -1, 50_000)
BY_WEIGHT_BETWEEN_TWO = BreakEven(-1, -1, -1)
LAYERS = BreakEven(-1, -1, 3_000)  # who asks for layers often stops after a few
# Searches up to a cutoff or depth, or with a heuristic, visit few nodes as well.
NEARBY = BreakEven(-1, -1, -1)

_BY_PREFIX = {
    "all_pairs_": ALL_PAIRS,
    "astar_": DIJKSTRA,
    "bfs_layers": LAYERS,
    "bfs_": TRAVERSALS,
    "bidirectional_dijkstra": BY_WEIGHT_BETWEEN_TWO,
    "bidirectional_shortest_path": BETWEEN_TWO,
    "connected_": COMPONENTS,
    "descendants_": NEARBY,
    "dijkstra_": DIJKSTRA,
    "generic_bfs_": TRAVERSALS,
    "has_path": BETWEEN_TWO,
    "is_connected": COMPONENTS,
    "is_forest": CYCLES,
    "is_tree": CYCLES,
    "is_weakly_": COMPONENTS,
    "maximum_": TREES,
    "minimum_": TREES,
    "multi_source_": DIJKSTRA,
    "node_connected_": COMPONENTS,
    "number_": COMPONENTS,
    "shortest_path": PATHS,
    "single_source_dijkstra": DIJKSTRA,
    "single_source_shortest": PATHS,
    "single_target_": PATHS,
    "steiner_": STEINER,
    "weakly_": COMPONENTS,
}


# The position of the limit, or of a heuristic, among the arguments; ``_LIMITS`` are its names.
_LIMIT_AT = {
    "all_pairs_dijkstra": 1, "all_pairs_dijkstra_path": 1, "all_pairs_dijkstra_path_length": 1,
    "all_pairs_shortest_path": 1, "all_pairs_shortest_path_length": 1, "bfs_edges": 3,
    "bfs_predecessors": 2, "bfs_successors": 2, "bfs_tree": 3, "generic_bfs_edges": 3,
    "multi_source_dijkstra": 3, "multi_source_dijkstra_path": 2,
    "multi_source_dijkstra_path_length": 2, "single_source_dijkstra": 3,
    "single_source_dijkstra_path": 2, "single_source_dijkstra_path_length": 2,
    "single_source_shortest_path": 2, "single_source_shortest_path_length": 2,
    "single_target_shortest_path": 2, "single_target_shortest_path_length": 2,
    "astar_path": 3, "astar_path_length": 3,
}  # fmt: skip
_LIMITS = "cutoff", "depth_limit", "heuristic"
_ARCS = "mgraph_arcs"  # the key in NetworkX's cache
SMALLEST = 30  # nodes; below it a graph has too few edges for any function


@functools.cache
def _of_function(name: str) -> BreakEven:
    return next(edges for prefix, edges in _BY_PREFIX.items() if name.startswith(prefix))


def break_even(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BreakEven:
    """Return the break-even of a call."""
    at = _LIMIT_AT.get(name, len(args))
    limits = [*args[at : at + 1], *(kwargs.get(limit) for limit in _LIMITS)]
    if any(limit is not None for limit in limits):
        return NEARBY
    if name.startswith("shortest_path"):
        values = dict(zip(("G", "source", "target", "weight"), args, strict=False)) | dict(kwargs)
        if values.get("source") is not None and values.get("target") is not None:
            return BETWEEN_TWO if values.get("weight") is None else BY_WEIGHT_BETWEEN_TWO
        return PATHS if values.get("weight") is None else DIJKSTRA
    return _of_function(name)


def pays(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether a call is faster here, or a sentence that says why it is not."""
    if name in MODULES["generators"]:
        return True
    graph = args[0] if args else kwargs["G"]
    if len(graph) < SMALLEST:
        return f"{name} does not pay on few nodes"
    cache = getattr(graph, "__networkx_cache__", None)
    if type(graph._adj) is not dict or hasattr(graph, "_graph") or cache is None:
        return "views and graphs without a cache are left to NetworkX"
    edges = break_even(name, args, kwargs)
    needed = edges.read if cache.get("backends", {}).get("mgraph") else edges.unread
    if "numba" not in sys.modules:
        needed = max(needed, edges.first)
    if needed < 0:
        return f"NetworkX's own {name} visits few nodes of most graphs here"
    if _count_arcs(graph, cache) < (needed if graph.is_directed() else 2 * needed):
        return f"{name} pays from {needed:,} edges on"
    return True


def _count_arcs(graph: Any, cache: dict[str, Any]) -> int:
    """Return the entries of all rows, which NetworkX's cache keeps until the graph changes."""
    if _ARCS not in cache:
        cache[_ARCS] = sum(map(len, graph._adj.values()))
    count: int = cache[_ARCS]
    return count
