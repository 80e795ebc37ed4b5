"""From which size on a function is faster here than NetworkX's own, reading the graph included.

Measured on two cores, on graphs of 8 edges per node (``docs/networkx.md``). Reading the graph takes
most of the time, so that a graph that an earlier call has read pays from far fewer edges on. In a
process that has not imported Numba yet, a call takes half a second to a second more.
"""

import functools
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple


class BreakEven(NamedTuple):
    """Edges from which on a function pays; -1: it never does.

    first: in a process that has not imported Numba. unread, read: of a graph that has yet to be
    read, and of one that an earlier call has read.
    """

    first: int
    unread: int
    read: int


TREES = BreakEven(200_000, 5_000, 5_000)
DIJKSTRA = BreakEven(300_000, 20_000, 3_000)
TRAVERSALS = BreakEven(1_000_000, 20_000, 3_000)
PATHS = BreakEven(2_000_000, 50_000, 5_000)
COMPONENTS = BreakEven(4_000_000, 100_000, 20_000)
CYCLES = BreakEven(600_000, 5_000, 5_000)
ALL_PAIRS = BreakEven(5_000, 1_000, 500)
STEINER = BreakEven(200_000, 5_000, 2_000)
# NetworkX searches from both ends, which visits few nodes of most graphs.
BETWEEN_TWO = BreakEven(-1, -1, 50_000)
BY_WEIGHT_BETWEEN_TWO = BreakEven(-1, -1, -1)

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


SMALLEST = 30  # nodes; below it a graph has too few edges for any function


@functools.cache
def _of_function(name: str) -> BreakEven:
    return next(found for prefix, found in _BY_PREFIX.items() if name.startswith(prefix))


def break_even(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BreakEven:
    """Return the break-even of a call."""
    if name.startswith("shortest_path"):
        values = dict(zip(("G", "source", "target", "weight"), args, strict=False)) | dict(kwargs)
        if values.get("source") is not None and values.get("target") is not None:
            return BETWEEN_TWO if values.get("weight") is None else BY_WEIGHT_BETWEEN_TWO
        return PATHS if values.get("weight") is None else DIJKSTRA
    return _of_function(name)


def pays(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether a call is faster here, or a sentence that says why it is not."""
    if name == "barabasi_albert_graph":
        return True
    graph = args[0] if args else kwargs["G"]
    if len(graph) < SMALLEST:
        return f"{name} does not pay on few nodes"
    cache = getattr(graph, "__networkx_cache__", None) or {}
    found = break_even(name, args, kwargs)
    edges = found.read if cache.get("backends", {}).get("mgraph") else found.unread
    if "numba" not in sys.modules:
        edges = max(edges, found.first)
    if edges < 0:
        return f"NetworkX's own {name} visits few nodes of most graphs"
    arcs = edges if graph.is_directed() else 2 * edges
    if arcs > len(graph) ** 2 and not graph.is_multigraph():
        return f"{name} pays from {edges:,} edges on"
    # As number_of_edges, but for parallel edges, in a tenth of its time.
    if sum(map(len, graph._adj.values())) < arcs:
        return f"{name} pays from {edges:,} edges on"
    return True
