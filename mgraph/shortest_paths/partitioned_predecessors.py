"""Predecessors on a partitioned graph, from distances: the same as on one device.

``predecessors_cpu`` gives the rule: the smallest vertex of a tight arc from a smaller distance; and
for vertices to which only arcs lead that add nothing, breadth-first search along these.

    refresh  every rank sends the distances of its vertices that are ghosts elsewhere
    find     where each arc has its mirror, a vertex finds its predecessor in its own row
    propose  elsewhere each tight arc proposes its tail; those for ghosts go to their owners
    follow   if there are vertices without a predecessor: level by level, the same with the arcs
             that add nothing, from the vertices that got their predecessor in the level before;
             where arcs have mirrors, the levels of ghosts are sent instead of proposals

Cost: one pass over the arcs, and a second for the arcs that add nothing, if some are needed; where
arcs have mirrors, over the arcs that are lighter than their vertex is far, since rows ascend by
weight. Bytes sent: a distance, and up to 8 or 12 for a proposal, per ghost.
"""

from collections.abc import Sequence
from typing import Any

from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph


def find_predecessors(
    exchange: Exchange, graph: RankGraph, distance: Any, sources: Any, infinity: Any
) -> Any:
    """Return the predecessors of own vertices, global numbers, -1 for none.

    distance: by local number, exact for own vertices; that of ghosts is replaced. sources:
    positions in the rank's range.
    """
    if graph.backend == "gpu":
        from mgraph.shortest_paths.partitioned_predecessors_gpu import Proposals
    else:
        from mgraph.shortest_paths.partitioned_predecessors_cpu import (  # type: ignore[assignment]
            Proposals,
        )
    refresh_ghosts(exchange, graph, distance)
    dtype = number_dtype(graph.n)
    proposals: Any = Proposals(graph, distance, infinity, dtype)
    if graph.directed:
        proposals.propose_nearer()
        _send(exchange, proposals.outgoing(), proposals)
    else:
        proposals.find_in_rows()
    missing = int(exchange.all_reduce(proposals.count_missing(sources))[0])
    if missing:
        proposals.begin_levels(sources)
        if graph.directed:
            refresh_ghosts(exchange, graph, proposals.is_missing)
            proposals.list_zero_arcs()
        else:
            proposals.list_zero_mirrors()
        while missing:
            if graph.directed:
                proposals.propose_level()
                _send(exchange, proposals.outgoing(), proposals)
            else:
                refresh_ghosts(exchange, graph, proposals.is_new)
                proposals.find_level()
            found = int(exchange.all_reduce(proposals.end_level())[0])
            missing = missing - found if found else 0
    return proposals.finish()


def refresh_ghosts(exchange: Exchange, graph: RankGraph, values: Any) -> None:
    """Replace ghosts' values, by local number, with those of their owners."""
    own_values = values[graph.own_range]
    received = exchange.all_to_all([(own_values[exports],) for exports in graph.exports])
    for ghosts, (fresh,) in zip(graph.ghost_ranges, received, strict=True):
        values[ghosts] = fresh


def _send(exchange: Exchange, messages: Sequence[tuple[Any, ...]], proposals: Any) -> None:
    for rank, message in enumerate(exchange.all_to_all(messages)):
        if rank != exchange.rank:
            proposals.receive(*message)
