"""Direction-optimising breadth-first search on a partitioned graph, level by level.

Source: S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing breadth-first search", SC 2012.
``mgraph.partitioned`` describes ranks, own vertices, ghosts and local numbers.

    top-down   relax the arcs of the last level's vertices. Ghosts that the rank has not known as
               visited are sent to their owners, each once in the whole search.
    bottom-up  where each arc has its mirror: every rank sends the bits of its visited vertices that
               are ghosts elsewhere; then each vertex that is not visited looks for a visited one in
               its own row, and stops at the first

All ranks take the same direction, by the sums of the level: the one that reads fewer arcs.
Predecessors come from distances afterwards (``partitioned_predecessors``).

Cost: one exchange per level, and a sum. Bytes sent: 4 per ghost in the whole search top-down, a bit
per ghost and level bottom-up. Memory per rank: 4 bytes and a bit per own vertex and ghost, and 4
per own vertex for the queue.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.partitioned_delta_stepping import Limits, RankPaths, own
from mgraph.shortest_paths.partitioned_predecessors import find_predecessors
from mgraph.shortest_paths.problem import infinity_of

LENGTH = np.dtype(np.int32)
TOP_DOWN_COST = 8  # an arc takes so many times as long top-down, where it may be sent
TOP_DOWN_SHARE = 24  # from bottom-up back, when a level has less than this share of all vertices


def search(
    exchange: Exchange,
    graph: RankGraph,
    sources: Sequence[int],
    limits: Limits,
    *,
    predecessors: bool,
) -> RankPaths:
    """Search from all sources at once; the same call at every rank. Distances are int32.

    sources: global numbers, each once.
    """
    if graph.backend == "gpu":
        from mgraph.shortest_paths.partitioned_bfs_gpu import Search
    else:
        from mgraph.shortest_paths.partitioned_bfs_cpu import Search  # type: ignore[assignment]
    own_sources, targets = (own(graph, vertices) for vertices in (sources, limits.targets))
    state: Any = Search(graph)
    vertices, arcs = exchange.all_reduce(state.begin(own_sources)).tolist()
    visited, visited_arcs, level, is_bottom_up = vertices, arcs, 0, False
    while vertices and level < limits.cutoff and not _is_over(exchange, state, targets, limits):
        if graph.directed:
            is_bottom_up = False
        elif is_bottom_up:
            is_bottom_up = vertices * TOP_DOWN_SHARE >= graph.n
        else:
            # An arc leads to a visited vertex with the probability of visited arcs, so that a row
            # is read up to the inverse of that, or whole.
            row = min(graph.num_arcs / graph.n, graph.num_arcs / max(visited_arcs, 1))
            is_bottom_up = arcs * TOP_DOWN_COST > (graph.n - visited) * row
        if is_bottom_up:
            state.mark_ghosts([bits for (bits,) in exchange.all_to_all(state.visited_bits())])
            state.search_rows(level)
        else:
            state.expand(level)
            for rank, (positions,) in enumerate(exchange.all_to_all(state.outgoing())):
                if rank != exchange.rank:
                    state.receive(positions, level)
        level += 1
        vertices, arcs = exchange.all_reduce(state.advance(level)).tolist()
        visited, visited_arcs = visited + vertices, visited_arcs + arcs
    infinity = infinity_of(LENGTH)
    distance = state.finish()
    del state  # its memory
    predecessor = None
    if predecessors:
        predecessor = find_predecessors(exchange, graph, distance, own_sources, infinity)
    return RankPaths(graph.own_part(distance), predecessor, level)


def _is_over(exchange: Exchange, state: Any, targets: np.ndarray, limits: Limits) -> bool:
    """Return whether all targets, or the first of them, are reached."""
    if not limits.targets.size:
        return False
    reached = int(exchange.all_reduce(state.count_reached(targets))[0])
    return reached >= (1 if limits.stop_at_first else limits.targets.size)
