"""Shortest paths on a partitioned graph: delta-stepping in rounds of local work and an exchange.

Source: U. Meyer, P. Sanders, "Δ-stepping: a parallelizable shortest path algorithm" (2003), with
near-far's two queues (Davidson et al. 2014) in place of its buckets. ``mgraph.partitioned``
describes ranks, own vertices, ghosts and local numbers.

A rank has a tentative distance for each of its local numbers: of its own vertices, and of ghosts,
where it is the best length that the rank knows of. Vertices with a distance below the threshold are
near, the others far.

    settle   relax the light arcs of near vertices, those that lead to within the threshold, until
             none of the rank's own is near. A ghost has no arcs here: one that is near waits to be
             sent, and one that is far need not be sent yet.
    send     the distances of near ghosts to their owners, of each ghost one; take what other ranks
             send, where it is better than what is known
    heavy    when no rank had anything to send, all within the threshold are settled: relax their
             other arcs, once
    advance  move the threshold by a step, or from the nearest far vertex of any rank if it is
             farther; far vertices within it become near

A step that is too long makes work: of R-MAT at scale 26, nearly all distances lie within 0.1 of
each other, and a step of that length relaxes each light arc five times. One that is too short makes
rounds. So a step is short at first, and adapts to the arcs of the vertices that the last one has
settled (``Steps``).

Distances do not depend on the ranks: each is the least sum over the arcs of a path, added up from
its source. Predecessors come from distances afterwards (``partitioned_predecessors``).

Cost: each arc is relaxed little more than once. Per step a few rounds, which grow with how often a
shortest path changes its owner within it. Bytes sent: 4 and a distance for each ghost that is
improved, per round. Memory per rank: a distance, 1 byte and 8 bytes for queues per own vertex and
ghost.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.problem import infinity_of

ARCS_SHARE = 1 / 64
FEW_ARCS = {"cpu": 1 << 18, "gpu": 1 << 22}  # per rank
TINY, HUGE = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


class RankPaths(NamedTuple):
    """What a search found, for the vertices that a rank owns.

    distance: infinity where unreached. predecessor: global numbers, -1 for none, or None. rounds:
    of exchanges, without those for predecessors.
    """

    distance: Any
    predecessor: Any
    rounds: int


class Steps:
    """The length of steps of the threshold.

    A multiple of the last one, between an eighth and two, so that steps settle vertices of about
    ``ARCS_SHARE`` of all arcs, but not fewer than are worth a step. It is fixed if it was chosen.
    """

    def __init__(self, graph: RankGraph, delta: float | None) -> None:
        """delta: the length that was chosen, or None."""
        few = FEW_ARCS[graph.backend] * graph.size
        self._set_point = max(few, ARCS_SHARE * graph.num_arcs)
        self._is_fixed = delta is not None
        mean_weight = graph.sum_weight / max(graph.num_arcs, 1) or 1.0
        mean_degree = max(graph.num_arcs / max(graph.n, 1), 1.0)
        self.delta = delta if delta is not None else max(mean_weight / (2 * mean_degree), TINY)

    def adapt(self, arcs: float) -> None:
        """Take note of the arcs of the vertices that a step has settled, at all ranks."""
        if not self._is_fixed:
            factor = min(2.0, max(0.125, self._set_point / max(arcs, 1.0)))
            self.delta = min(max(self.delta * factor, TINY), HUGE)


class Limits(NamedTuple):
    """Where a search may end. targets: global numbers, each once. cutoff: a finite length."""

    targets: np.ndarray
    stop_at_first: bool
    cutoff: Any


def search(
    exchange: Exchange,
    graph: RankGraph,
    sources: Sequence[int],
    limits: Limits,
    *,
    dtype: np.dtype,
    delta: float | None = None,
    predecessors: bool,
) -> RankPaths:
    """Search from all sources at once; the same call at every rank.

    sources: global numbers, each once. dtype: of distances. delta: the length of steps, above 0; by
    default it adapts.
    """
    from mgraph.shortest_paths.partitioned_predecessors import find_predecessors

    if graph.backend == "gpu":
        from mgraph.shortest_paths.partitioned_delta_stepping_gpu import Search
    else:
        from mgraph.shortest_paths.partitioned_delta_stepping_cpu import (  # type: ignore[assignment]
            Search,
        )
    infinity = infinity_of(dtype)
    own_sources, own_targets = (own(graph, vertices) for vertices in (sources, limits.targets))
    state: Any = Search(graph, dtype, limits.cutoff)
    steps = Steps(graph, delta)
    threshold = _after(dtype.type(0), steps.delta, infinity)
    state.begin(own_sources, threshold)
    bound, rounds = infinity, 0
    while True:
        state.settle(threshold)
        received, sent = exchange.swap(state.outgoing())
        rounds += 1
        for rank, (positions, lengths) in enumerate(received):
            if rank != exchange.rank and positions.size:
                state.receive(positions, lengths)
        if sent:
            continue
        arcs = state.relax_heavy()
        bound = _target_bound(exchange, state, own_targets, limits, threshold, infinity)
        if bound < infinity or threshold > limits.cutoff:
            break
        threshold = _after(threshold, steps.delta, infinity)
        near, arcs = exchange.all_reduce([state.advance(threshold), arcs]).tolist()
        steps.adapt(arcs)
        if not near:
            nearest = exchange.all_reduce(np.array([state.nearest()], dtype), np.min)[0]
            if nearest == infinity:
                break
            threshold = _after(nearest, steps.delta, infinity)
            state.advance(threshold)
    distance = state.finish(bound)
    predecessor = None
    if predecessors:
        predecessor = find_predecessors(exchange, graph, distance, own_sources, infinity)
    return RankPaths(distance[graph.own_range], predecessor, rounds)


def own(graph: RankGraph, vertices: Any) -> np.ndarray:
    """Return the positions of those vertices that the rank owns."""
    values = np.asarray(vertices, np.int64)
    values = values[(values >= graph.first) & (values < graph.first + graph.owned)]
    return values - graph.first


def _after(length: Any, delta: float, infinity: Any) -> Any:
    """Return the threshold ``delta`` beyond a length: above it, at most infinity."""
    dtype = np.dtype(type(infinity))
    if dtype.kind == "f":
        return max(length + dtype.type(delta), np.nextafter(length, infinity))
    return dtype.type(min(int(length) + max(1, int(min(delta, 2**62))), int(infinity)))


def _target_bound(
    exchange: Exchange,
    state: Any,
    targets: np.ndarray,
    limits: Limits,
    threshold: Any,
    infinity: Any,
) -> Any:
    """Return the distance beyond which nothing is asked for, infinity while it is unknown."""
    if not limits.targets.size:
        return infinity
    lengths = state.lengths(targets)
    settled = lengths[lengths < threshold]
    extreme = np.min if limits.stop_at_first else np.max
    # A rank without settled targets adds nothing to either extreme.
    nothing = infinity if limits.stop_at_first else infinity.dtype.type(0)
    value = extreme(settled) if settled.size else nothing
    (count,) = exchange.all_reduce(settled.size)
    (bound,) = exchange.all_reduce(np.array([value], type(infinity)), extreme)
    needed = 1 if limits.stop_at_first else limits.targets.size
    return bound if count >= needed else infinity
