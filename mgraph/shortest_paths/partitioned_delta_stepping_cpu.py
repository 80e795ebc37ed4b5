"""One rank's steps of ``partitioned_delta_stepping`` on a core."""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.problem import infinity_of

# Where a local number is: in no list, in the near queue or to be sent, or in the far queue.
_NOWHERE, _NEAR, _FAR = 0, 1, 2
# Of the counts: where the near queue begins, and the lengths of lists.
_BEGIN, _NEAR_COUNT, _FAR_COUNT, _TO_SEND, _SETTLED = range(5)


class Search:
    """Distances and queues of a search. Lists hold local numbers, each at most once."""

    def __init__(self, graph: RankGraph, dtype: np.dtype, cutoff: Any) -> None:
        """Allocate memory."""
        self._graph, self._cutoff = graph, dtype.type(cutoff)
        self._infinity = infinity_of(dtype)
        self._distance = np.full(graph.locals, self._infinity, dtype)
        self._place = np.zeros(graph.locals, np.uint8)
        self._near = np.empty(max(graph.owned, 1), np.uint32)  # a ring
        self._far = np.empty(graph.locals, np.uint32)
        self._to_send = np.empty(graph.locals - graph.owned, np.uint32)
        self._counts = np.zeros(5, np.int64)
        self._settled = np.empty(graph.owned, np.uint32)
        self._is_settled = np.zeros(graph.owned, np.bool_)
        weights = graph.weights
        if weights is None:
            weights = np.broadcast_to(np.array(1, dtype), max(graph.heads.size, 2))
        self._rows = graph.indptr, graph.heads, weights
        self._queues = self._distance, self._place, self._near, self._far, self._to_send
        self._range = np.array([graph.below, graph.owned], np.int64)

    def begin(self, sources: np.ndarray, threshold: Any) -> None:
        """Queue sources, positions in the rank's range, at distance 0."""
        self._threshold = threshold
        numbers = sources + self._graph.below
        self._distance[numbers], self._place[numbers] = 0, _NEAR
        self._near[: numbers.size] = numbers
        self._counts[_NEAR_COUNT] = numbers.size

    def settle(self, threshold: Any) -> None:
        """Relax the light arcs of near vertices until none is left."""
        self._threshold = threshold
        _settle(
            *self._rows, *self._queues, self._counts, self._range, self._settled, self._is_settled,
            threshold, self._cutoff, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()

    def relax_heavy(self) -> int:
        """Relax the heavy arcs of the vertices that have been settled; return how many arcs."""
        arcs = int(
            _relax_heavy(
                *self._rows, *self._queues, self._counts, self._range, self._settled,
                self._threshold, self._cutoff, cancellation.cancel_flag(),
            )
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        self._counts[_SETTLED] = 0
        return arcs

    def outgoing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the near ghosts, positions and distances by owner; they are near no longer."""
        graph = self._graph
        numbers = np.sort(self._to_send[: self._counts[_TO_SEND]])
        self._counts[_TO_SEND] = 0
        self._place[numbers] = _NOWHERE
        messages = []
        for ghosts in graph.ghost_ranges:
            first, stop = np.searchsorted(numbers, [ghosts.start, ghosts.stop])
            mine = numbers[first:stop]
            shift = graph.owned if ghosts.start >= graph.below + graph.owned else 0
            messages.append((graph.ghosts[mine - np.uint32(shift)], self._distance[mine]))
        return messages

    def receive(self, positions: Any, lengths: Any) -> None:
        """Take lengths of own vertices, where they are better."""
        _receive(positions, lengths, *self._queues, self._counts, self._range, self._threshold)

    def nearest(self) -> Any:
        """Return the least distance of a far number, infinity if there are none."""
        far = self._far[: self._counts[_FAR_COUNT]]
        far = far[self._place[far] == _FAR]
        return self._distance[far].min(initial=self._infinity)

    def advance(self, threshold: Any) -> int:
        """Queue the far numbers that are within the threshold now; return how many are near."""
        self._threshold = threshold
        _advance(*self._queues, self._counts, self._range, threshold)
        return int(self._counts[_NEAR_COUNT] + self._counts[_TO_SEND])

    def lengths(self, positions: np.ndarray) -> np.ndarray:
        """Return the tentative distances of own vertices."""
        return self._distance[positions + self._graph.below]

    def finish(self, bound: Any) -> np.ndarray:
        """Return the distances by local number, those beyond ``bound`` infinite."""
        self._distance[self._distance > bound] = self._infinity
        return self._distance


@compiled
def _queue(number, length, distance, place, near, far, to_send, counts, own, threshold):
    """Queue a number whose distance has become ``length``."""
    distance[number] = length
    if place[number] == _NEAR:
        return
    if length < threshold:
        place[number] = _NEAR
        if own[0] <= np.int64(number) < own[0] + own[1]:
            end = counts[_BEGIN] + counts[_NEAR_COUNT]
            near[end - near.size if end >= near.size else end] = number
            counts[_NEAR_COUNT] += 1
        else:
            to_send[counts[_TO_SEND]] = number
            counts[_TO_SEND] += 1
    elif place[number] == _NOWHERE:
        place[number] = _FAR
        far[counts[_FAR_COUNT]] = number
        counts[_FAR_COUNT] += 1


@compiled
def _settle(
    indptr, heads, weights, distance, place, near, far, to_send, counts, own, settled, is_settled,
    threshold, cutoff, cancel_flag,
):  # fmt: skip
    """Relax light arcs. settled: receives the vertices that are near for the first time."""
    while counts[_NEAR_COUNT] > 0 and not cancel_flag[0]:
        number = near[np.uint64(counts[_BEGIN])]
        counts[_BEGIN] = counts[_BEGIN] + 1 if counts[_BEGIN] + 1 < near.size else 0
        counts[_NEAR_COUNT] -= 1
        place[np.uint64(number)] = _NOWHERE
        row = np.uint64(np.int64(number) - own[0])
        if not is_settled[row]:
            is_settled[row] = True
            settled[counts[_SETTLED]] = number
            counts[_SETTLED] += 1
        length = distance[np.uint64(number)]
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
            candidate = length + weights[arc]
            if candidate < threshold and candidate <= cutoff:
                head = np.uint64(heads[arc])
                if candidate < distance[head]:
                    _queue(
                        head, candidate, distance, place, near, far, to_send, counts, own, threshold
                    )


@compiled
def _relax_heavy(
    indptr, heads, weights, distance, place, near, far, to_send, counts, own, settled, threshold,
    cutoff, cancel_flag,
):  # fmt: skip
    arcs = np.int64(0)
    for i in range(counts[_SETTLED]):
        if cancel_flag[0]:
            break
        number = np.uint64(settled[i])
        row = np.uint64(np.int64(number) - own[0])
        arcs += indptr[row + np.uint64(1)] - indptr[row]
        length = distance[number]
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
            candidate = length + weights[arc]
            if candidate >= threshold and candidate <= cutoff:
                head = np.uint64(heads[arc])
                if candidate < distance[head]:
                    _queue(
                        head, candidate, distance, place, near, far, to_send, counts, own, threshold
                    )
    return arcs


@compiled
def _receive(positions, lengths, distance, place, near, far, to_send, counts, own, threshold):
    for i in range(positions.size):
        number = np.uint64(np.int64(positions[i]) + own[0])
        if lengths[i] < distance[number]:
            _queue(number, lengths[i], distance, place, near, far, to_send, counts, own, threshold)


@compiled
def _advance(distance, place, near, far, to_send, counts, own, threshold):
    kept, count = 0, counts[_FAR_COUNT]
    for i in range(count):
        number = np.uint64(far[i])
        if place[number] != _FAR:
            continue
        if distance[number] < threshold:
            place[number] = _NOWHERE
            _queue(
                number,
                distance[number],
                distance,
                place,
                near,
                far,
                to_send,
                counts,
                own,
                threshold,
            )
        else:
            far[kept] = number
            kept += 1
    counts[_FAR_COUNT] = kept
