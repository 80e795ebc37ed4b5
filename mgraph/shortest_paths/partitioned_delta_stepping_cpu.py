"""One rank's steps of ``partitioned_delta_stepping`` on a core."""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled, compiled_without_counts
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.problem import infinity_of

# Where a local number is: in no list, in the near queue or to be sent, or in the far queue.
_NOWHERE, _NEAR, _FAR = 0, 1, 2
# Of the counts: where the near queue begins, the lengths of lists, and the arcs that `settle` sums.
_BEGIN, _NEAR_COUNT, _FAR_COUNT, _TO_SEND, _SETTLED, _ARCS, _FIRST_ARCS = range(7)
# Of an own vertex, bits: settled in this step; at any time; and since ghosts got their distances.
_LISTED, _KNOWN, _UNSENT = 1, 2, 4


class Search:
    """Distances and queues of a search. Lists hold local numbers, each at most once."""

    def __init__(self, graph: RankGraph, dtype: np.dtype, cutoff: Any) -> None:
        """Allocate memory."""
        self._graph, self._cutoff = graph, dtype.type(cutoff)
        self._infinity = infinity_of(dtype)
        self.distance = np.full(graph.locals, self._infinity, dtype)
        self._place = np.zeros(graph.locals, np.uint8)
        self._near = np.empty(max(graph.owned, 1), np.uint32)  # a ring
        self._far = np.empty(graph.locals, np.uint32)
        self._to_send = np.empty(graph.locals - graph.owned, np.uint32)
        self._counts = np.zeros(7, np.int64)
        self._settled = np.empty(graph.owned, np.uint32)
        self._settled_bits = np.zeros(graph.owned, np.uint8)
        weights = graph.weights
        if weights is None:
            weights = np.broadcast_to(np.array(1, dtype), max(graph.heads.size, 2))
        self._rows = graph.indptr, graph.heads, weights
        self._queues = self.distance, self._place, self._near, self._far, self._to_send
        self._range = np.array([graph.below, graph.owned], np.int64)

    def begin(self, sources: np.ndarray, threshold: Any) -> None:
        """Queue sources, positions in the rank's range, at distance 0."""
        self._threshold = threshold
        numbers = sources + self._graph.below
        self.distance[numbers], self._place[numbers] = 0, _NEAR
        self._near[: numbers.size] = numbers
        self._counts[_NEAR_COUNT] = numbers.size

    def settle(self, threshold: Any, budget: int) -> bool:
        """Relax the light arcs of near vertices, of about ``budget``; return if none is left."""
        self._threshold = threshold
        _settle(
            *self._rows, *self._queues, self._counts, self._range, self._settled,
            self._settled_bits, threshold, self._cutoff, budget, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        return bool(self._counts[_NEAR_COUNT] == 0)

    def settled_in_step(self) -> tuple[int, int, int]:
        """Return the arcs of the settled vertices, of those settled first now, and how many."""
        arcs, first_arcs = self._counts[_ARCS:].tolist()
        self._counts[_ARCS:] = 0
        return arcs, first_arcs, int(self._counts[_SETTLED])

    def push(self) -> None:
        """Relax the heavy arcs of the vertices that this step settled."""
        _push(
            *self._rows, *self._queues, self._counts, self._range, self._settled,
            self._settled_bits, self._threshold, self._cutoff, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        self._counts[_SETTLED] = 0

    def refresh_ghosts(self, exchange: Exchange) -> None:
        """Give ghosts the distances of their owners, where these have been settled since."""
        graph = self._graph
        messages = [
            _pack(each, self._settled_bits, self.distance, graph.below) for each in graph.exports
        ]
        self._settled_bits &= _LISTED | _KNOWN
        received = exchange.all_to_all(messages)
        for ghosts, (positions, lengths) in zip(graph.ghost_ranges, received, strict=True):
            _unpack(positions, lengths, self.distance[ghosts])

    def pull(self) -> None:
        """Relax the arcs from all settled vertices, by their mirrors in the others' rows.

        Ghosts that are settled have their distances; none of the others waits any longer.
        """
        self._settled_bits[self._settled[: self._counts[_SETTLED]] - self._graph.below] &= _KNOWN
        self._counts[_SETTLED] = 0
        far = self._far[: self._counts[_FAR_COUNT]]
        self._place[far[self._place[far] == _FAR]] = _NOWHERE
        self._counts[_FAR_COUNT] = 0
        _pull(
            *self._rows, *self._queues, self._counts, self._range, self._threshold, self._cutoff,
            cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()

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
            messages.append((graph.ghosts[mine - np.uint32(shift)], self.distance[mine]))
        return messages

    def receive(self, positions: Any, lengths: Any) -> None:
        """Take lengths of own vertices, where they are better."""
        _receive(positions, lengths, *self._queues, self._counts, self._range, self._threshold)

    def nearest(self) -> Any:
        """Return the least distance of a far number, infinity if there are none."""
        far = self._far[: self._counts[_FAR_COUNT]]
        far = far[self._place[far] == _FAR]
        return self.distance[far].min(initial=self._infinity)

    def advance(self, threshold: Any) -> None:
        """Queue the far numbers that are within the threshold now."""
        self._threshold = threshold
        _advance(*self._queues, self._counts, self._range, threshold)

    def lengths(self, positions: np.ndarray) -> np.ndarray:
        """Return the tentative distances of own vertices."""
        return self.distance[positions + self._graph.below]

    def finish(self, bound: Any) -> np.ndarray:
        """Return the distances by local number, those beyond ``bound`` infinite."""
        self.distance[self.distance > bound] = self._infinity
        return self.distance


@compiled_without_counts
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


@compiled_without_counts
def _settle(
    indptr, heads, weights, distance, place, near, far, to_send, counts, own, settled, bits,
    threshold, cutoff, budget, cancel_flag,
):  # fmt: skip
    """Relax light arcs, the first of each row. settled: receives the vertices, with their bits."""
    while counts[_NEAR_COUNT] > 0 and budget > 0 and not cancel_flag[0]:
        budget -= 1
        number = near[np.uint64(counts[_BEGIN])]
        counts[_BEGIN] = counts[_BEGIN] + 1 if counts[_BEGIN] + 1 < near.size else 0
        counts[_NEAR_COUNT] -= 1
        place[np.uint64(number)] = _NOWHERE
        row = np.uint64(np.int64(number) - own[0])
        begin, stop = indptr[row], indptr[row + np.uint64(1)]
        if not bits[row] & _LISTED:
            settled[counts[_SETTLED]] = number
            counts[_SETTLED] += 1
            counts[_ARCS] += stop - begin
            counts[_FIRST_ARCS] += 0 if bits[row] & _KNOWN else stop - begin
            bits[row] = _LISTED | _KNOWN | _UNSENT
        length = distance[np.uint64(number)]
        for arc in range(np.uint64(begin), np.uint64(stop)):
            candidate = length + weights[arc]
            if candidate >= threshold or candidate > cutoff:
                break
            head = np.uint64(heads[arc])
            if candidate < distance[head]:
                _queue(head, candidate, distance, place, near, far, to_send, counts, own, threshold)


@compiled_without_counts
def _push(
    indptr, heads, weights, distance, place, near, far, to_send, counts, own, settled, bits,
    threshold, cutoff, cancel_flag,
):  # fmt: skip
    for i in range(counts[_SETTLED]):
        if cancel_flag[0]:
            break
        number = np.uint64(settled[i])
        row = np.uint64(np.int64(number) - own[0])
        bits[row] &= _KNOWN | _UNSENT
        length = distance[number]
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
            candidate = length + weights[arc]
            if candidate > cutoff:
                break
            head = np.uint64(heads[arc])
            if candidate >= threshold and candidate < distance[head]:
                _queue(head, candidate, distance, place, near, far, to_send, counts, own, threshold)


@compiled
def _pack(exports, bits, distance, below):
    """Return the distances of own vertices that ghosts do not have yet, and where they belong."""
    positions, lengths = np.empty(exports.size, np.uint32), np.empty(exports.size, distance.dtype)
    count = 0
    for i in range(exports.size):
        row = np.uint64(exports[i])
        if bits[row] & _UNSENT:
            positions[count], lengths[count] = i, distance[below + row]
            count += 1
    return positions[:count], lengths[:count]


@compiled_without_counts
def _unpack(positions, lengths, distance):
    for i in range(positions.size):
        distance[np.uint64(positions[i])] = lengths[i]


@compiled_without_counts
def _pull(
    indptr, heads, weights, distance, place, near, far, to_send, counts, own, threshold, cutoff,
    cancel_flag,
):  # fmt: skip
    for row in range(own[1]):
        if cancel_flag[0]:
            break
        number = np.uint64(own[0] + row)
        best = distance[number]
        if best < threshold:
            continue
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            if weights[arc] >= best:  # as are all that follow
                break
            length = distance[np.uint64(heads[arc])]
            if length < threshold:
                best = min(best, length + weights[arc])
        if best <= cutoff:
            _queue(number, best, distance, place, near, far, to_send, counts, own, threshold)


@compiled_without_counts
def _receive(positions, lengths, distance, place, near, far, to_send, counts, own, threshold):
    for i in range(positions.size):
        number = np.uint64(np.int64(positions[i]) + own[0])
        if lengths[i] < distance[number]:
            _queue(number, lengths[i], distance, place, near, far, to_send, counts, own, threshold)


@compiled_without_counts
def _advance(distance, place, near, far, to_send, counts, own, threshold):
    kept, count = 0, counts[_FAR_COUNT]
    for i in range(count):
        number = np.uint64(far[i])
        if place[number] != _FAR:
            continue
        length = distance[number]
        if length < threshold:
            place[number] = _NOWHERE
            _queue(number, length, distance, place, near, far, to_send, counts, own, threshold)
        else:
            far[kept] = number
            kept += 1
    counts[_FAR_COUNT] = kept
