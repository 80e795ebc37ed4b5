"""From which size on a function is faster here than NetworkX's own, reading the graph included.

Measured on two cores, on graphs of 8 edges per node (``docs/networkx.md``). Reading the graph takes
most of the time, so that a graph that an earlier call has read pays from far fewer edges on.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class BreakEven(NamedTuple):
    """The number of edges for a graph that is not read yet, and for one that is; -1: never."""

    unread: int
    read: int


TREES = BreakEven(20_000, 20_000)
DIJKSTRA = BreakEven(50_000, 5_000)
TRAVERSALS = BreakEven(50_000, 5_000)
PATHS = BreakEven(200_000, 10_000)
COMPONENTS = BreakEven(500_000, 30_000)
CYCLES = BreakEven(20_000, 5_000)
ALL_PAIRS = BreakEven(2_000, 500)
STEINER = BreakEven(20_000, 5_000)
# NetworkX searches from both ends, which visits few nodes of most graphs.
BETWEEN_TWO = BreakEven(-1, 50_000)
BY_WEIGHT_BETWEEN_TWO = BreakEven(-1, -1)

_BY_PREFIX = {
    "all_pairs_": ALL_PAIRS,
    "bfs_": TRAVERSALS,
    "bidirectional_dijkstra": BY_WEIGHT_BETWEEN_TWO,
    "bidirectional_shortest_path": BETWEEN_TWO,
    "connected_": COMPONENTS,
    "descendants_": TRAVERSALS,
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


def break_even(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BreakEven:
    """Return a function's break-even."""
    found = next(found for prefix, found in _BY_PREFIX.items() if name.startswith(prefix))
    if name.startswith("shortest_path"):
        values = dict(zip(("G", "source", "target", "weight"), args, strict=False)) | dict(kwargs)
        if values.get("source") is not None and values.get("target") is not None:
            return BETWEEN_TWO if values.get("weight") is None else BY_WEIGHT_BETWEEN_TWO
        return PATHS if values.get("weight") is None else DIJKSTRA
    return found


def pays(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether a call is faster here, or a sentence that says why it is not."""
    if name == "barabasi_albert_graph":
        return True
    graph = args[0] if args else kwargs["G"]
    cache = getattr(graph, "__networkx_cache__", None) or {}
    is_read = bool(cache.get("backends", {}).get("mgraph"))
    edges = break_even(name, args, kwargs)[is_read]
    if edges < 0:
        return f"NetworkX's own {name} visits few nodes of most graphs"
    if 2 * edges > len(graph) ** 2 or graph.number_of_edges() < edges:
        return f"{name} pays from {edges:,} edges on"
    return True
