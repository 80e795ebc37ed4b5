"""Shortest paths on a partitioned graph: delta-stepping in rounds of local work and an exchange.

Sources: U. Meyer, P. Sanders, "Δ-stepping: a parallelizable shortest path algorithm" (2003), with
near-far's two queues (Davidson et al. 2014) in place of its buckets; V. T. Chakaravarthy et al.,
"Scalable single source shortest path algorithms for massively parallel systems" (2014), for the
choice between push and pull. ``mgraph.partitioned`` describes ranks, own vertices, ghosts and local
numbers.

A rank has a tentative distance for each of its local numbers: of its own vertices, and of ghosts,
where it is the best length that the rank knows of. Vertices with a distance below the threshold are
near, the others far. An arc is light if the length that it leads to is below the threshold, else
heavy; rows ascend by weight, so that a vertex's light arcs are the first of its row.

    settle   relax the light arcs of near vertices until none of the rank's own is near, or until
             many have been expanded, so that other ranks need not wait for all of them. A ghost has
             no arcs here: one that is near waits to be sent, and one that is far need not be sent
             yet.
    send     the distances of near ghosts to their owners, of each ghost one; take what other ranks
             send, where it is better than what is known. Again from ``settle``, if a rank has
             near vertices left, or if more was sent than may be late.
    push     relax the heavy arcs of the vertices that this step has settled; or
    pull     if the vertices that are not settled have few arcs: every rank sends the distances of
             its settled vertices that are ghosts elsewhere, and each vertex that is not settled
             takes the best length from settled ones by its own row, where each arc has its mirror.
             It reads the arcs that are lighter than the best length so far.
    advance  move the threshold by a step, or from the nearest far vertex of any rank after a step
             that found no near vertex; far vertices within it become near

A step that is too long makes work: of R-MAT at scale 26, nearly all distances lie within 0.1 of
each other. One that is too short makes rounds. So a step is short at first, and adapts to the arcs
of the vertices that the last one has settled (``Steps``). Few vertices that are improved late, in a
step that should have settled them, are expanded again in the next one: a round costs more.

Distances do not depend on the ranks: each is the least sum over the arcs of a path, added up from
its source. Predecessors come from distances afterwards (``partitioned_predecessors``).

Cost: on R-MAT of scale 21 in two ranks, a vertex is expanded 1.6 times, and a quarter of the arcs
are relaxed: 4 % as light ones, 14 to 18 % by pushing and 4 % by pulling. Without pulling nearly all
would be pushed. There are 27 to 30 rounds, 75 if none may be late and steps grow slowly. Bytes
sent: 4 and a distance for each ghost that is improved, per round; to pull, a distance per ghost on
a GPU, and on cores 4 and a distance for each ghost that was settled since the last pull. Memory per
rank, with distances of 8 bytes: on cores at most 17 bytes per own vertex and ghost; on a GPU 36 per
own vertex and 20 per ghost.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.problem import infinity_of

ARCS_SHARE = {"cpu": 1 / 64, "gpu": 1 / 16}
FEW_ARCS = {"cpu": 1 << 18, "gpu": 1 << 22}  # per rank
# Of a rank's vertices, that it expands before it sends.
BUDGET_SHARE = {"cpu": 1 / 4, "gpu": 1 / 64}
FEW_VERTICES = {"cpu": 1 << 12, "gpu": 1 << 18}
# At most, of a step: while steps settle less than ``LITTLE`` of what they aim at, before half of
# the arcs belong to settled vertices, and after. A step that has grown too long costs a core more
# than some short ones.
EARLY_GROWTH, LATE_GROWTH = 2.0, 64.0
GROWTH = {"cpu": 2.0, "gpu": 8.0}
LITTLE = 1 / 1024
LATE_SHARE = 1 / 1024  # of the vertices, that may be improved late
# Of an unsettled vertex's arc, beside one of a settled vertex that is pushed.
PULL_COST = {"cpu": 1 / 2, "gpu": 1 / 4}
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
    """The length of steps of the threshold, and how many arcs they have settled.

    A multiple of the last one, from an eighth on, so that steps settle vertices of about
    ``ARCS_SHARE`` of all arcs, but not fewer than are worth a step. Until half of all arcs belong
    to settled vertices it is at most ``GROWTH`` times the last one, and at most twice while a step
    settles next to nothing: a source of R-MAT with few arcs needs some steps to reach a hub, from
    which one that has grown too long leads nearly everywhere. It is fixed if it was chosen.

    late: how many vertices may be improved late.
    """

    def __init__(self, graph: RankGraph, delta: float | None) -> None:
        """delta: the length that was chosen, or None."""
        few = FEW_ARCS[graph.backend] * graph.size
        self._num_arcs, self._backend = graph.num_arcs, graph.backend
        self._set_point = max(few, ARCS_SHARE[graph.backend] * graph.num_arcs)
        self._is_fixed = delta is not None
        mean_weight = graph.sum_weight / max(graph.num_arcs, 1) or 1.0
        mean_degree = max(graph.num_arcs / max(graph.n, 1), 1.0)
        self.delta = delta if delta is not None else max(mean_weight / (16 * mean_degree), TINY)
        self.late = int(min(few / mean_degree, LATE_SHARE * graph.n))
        self._settled = 0

    def adapt(self, arcs: int, first_arcs: int) -> bool:
        """Take note of a step; return whether the vertices that are not settled have few arcs.

        arcs: of the vertices that the step settled, at all ranks. first_arcs: without those that
        an earlier step had settled.
        """
        self._settled += first_arcs
        left = self._num_arcs - self._settled
        if not self._is_fixed:
            limit = GROWTH[self._backend] if left > self._settled else LATE_GROWTH
            if arcs < LITTLE * self._set_point and left > self._settled:
                limit = EARLY_GROWTH
            factor = min(limit, max(0.125, self._set_point / max(arcs, 1)))
            self.delta = min(max(self.delta * factor, TINY), HUGE)
        return PULL_COST[self._backend] * left < arcs


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
    budget = max(FEW_VERTICES[graph.backend], int(BUDGET_SHARE[graph.backend] * graph.owned))
    if graph.size == 1:
        budget = int(np.iinfo(np.int64).max)
    steps = Steps(graph, delta)
    threshold = _after(dtype.type(0), steps.delta, infinity)
    state.begin(own_sources, threshold)
    bound, rounds = infinity, 0
    while True:
        is_last = threshold > limits.cutoff or bool(limits.targets.size)
        late = 0 if is_last else steps.late
        sent = late + 1
        while sent > late:
            is_done = state.settle(threshold, budget)
            more = 0 if is_done else late + 1
            received, sent = exchange.swap(state.outgoing(), more)
            rounds += 1
            for rank, (positions, lengths) in enumerate(received):
                if rank != exchange.rank and positions.size:
                    state.receive(positions, lengths)
        arcs, first_arcs, settled = exchange.all_reduce(state.settled_in_step()).tolist()
        if not settled + sent:
            nearest = exchange.all_reduce(np.array([state.nearest()], dtype), np.min)[0]
            if nearest == infinity:
                break
            threshold = _after(nearest, steps.delta, infinity)
            state.advance(threshold)
            continue
        bound = _target_bound(exchange, state, own_targets, limits, threshold, infinity)
        if bound < infinity or threshold > limits.cutoff:
            break
        step = steps.delta
        is_little_left = steps.adapt(arcs, first_arcs)
        if is_little_left and not graph.directed:
            state.refresh_ghosts(exchange)
            state.pull()
        else:
            state.push()
        # Ranks do not wait here: one that has pushed or pulled less than others settles earlier.
        threshold = _after(threshold, step, infinity)
        state.advance(threshold)
    distance = state.finish(bound)
    del state  # its memory
    predecessor = None
    if predecessors:
        predecessor = find_predecessors(exchange, graph, distance, own_sources, infinity)
    return RankPaths(graph.own_part(distance), predecessor, rounds)


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
