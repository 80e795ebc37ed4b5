"""One rank's steps of ``partitioned_bfs`` on a core."""

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_without_counts
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.problem import infinity_of

_INFINITY = infinity_of(np.dtype(np.int32))


class Search:
    """Distances of a search, and the rows of the vertices of its last level."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate memory."""
        self._graph = graph
        # Of a ghost: at most the level at which it was found to be visited.
        self._distance = np.full(graph.locals, _INFINITY, np.int32)
        self._queue = np.empty(graph.owned, np.uint32)  # rows of all visited vertices, by level
        self._to_send = np.empty(graph.locals - graph.owned, np.uint32)
        self._begin = self._end = self._sent = 0
        self._range = np.array([graph.below, graph.owned], np.int64)

    def begin(self, sources: np.ndarray) -> list[int]:
        """Let sources, positions in the rank's range, be level 0; return what ``advance`` does."""
        self._distance[sources + self._graph.below] = 0
        self._queue[: sources.size] = sources
        self._end = sources.size
        return self._level_sums()

    def expand(self, level: int) -> None:
        """Visit the heads of the last level's arcs."""
        rows = self._queue[self._begin : self._end]
        self._begin = self._end
        ends = _expand(
            self._graph.indptr, self._graph.heads, rows, self._distance, np.int32(level + 1),
            self._queue, self._end, self._to_send, self._range, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        self._end, self._sent = map(int, ends)

    def outgoing(self) -> list[tuple[np.ndarray]]:
        """Return the positions of ghosts that were visited first in this level, by owner."""
        graph = self._graph
        numbers = np.sort(self._to_send[: self._sent])
        messages = []
        for owner, ghosts in enumerate(graph.ghost_ranges):
            first, stop = np.searchsorted(numbers, [ghosts.start, ghosts.stop])
            index = numbers[first:stop].astype(np.int64) - ghosts.start
            messages.append((graph.ghosts[index + graph.ghost_bounds[owner]],))
        return messages

    def receive(self, positions: np.ndarray, level: int) -> None:
        """Visit own vertices to which arcs of other ranks lead."""
        numbers = positions.astype(np.int64) + self._graph.below
        is_new = self._distance[numbers] == _INFINITY
        self._distance[numbers[is_new]] = level + 1
        end = self._end + int(np.count_nonzero(is_new))
        self._queue[self._end : end] = positions[is_new]
        self._end = end

    def visited_bits(self) -> list[tuple[np.ndarray]]:
        """Return by rank the bits of the visited vertices among those that are ghosts there."""
        is_visited = self._distance[self._graph.own_range] != _INFINITY
        return [(np.packbits(is_visited[exports]),) for exports in self._graph.exports]

    def mark_ghosts(self, bits: list[np.ndarray]) -> None:
        """Note which ghosts are visited. bits: by owner."""
        for ghosts, packed in zip(self._graph.ghost_ranges, bits, strict=True):
            count = ghosts.stop - ghosts.start
            is_visited = np.unpackbits(packed, count=count).view(np.bool_)
            distance = self._distance[ghosts]
            distance[is_visited & (distance == _INFINITY)] = 0

    def search_rows(self, level: int) -> None:
        """Visit the vertices in whose rows a visited one is."""
        self._begin = self._end
        self._end = int(
            _search_rows(
                self._graph.indptr, self._graph.heads, self._distance, np.int32(level),
                self._queue, self._end, self._range, cancellation.cancel_flag(),
            )
        )  # fmt: skip
        cancellation.raise_if_cancelled()

    def advance(self, level: int) -> list[int]:
        """Return the vertices of the new level, and their arcs."""
        return self._level_sums()

    def _level_sums(self) -> list[int]:
        rows, indptr = self._queue[self._begin : self._end].astype(np.int64), self._graph.indptr
        return [rows.size, int((indptr[rows + 1] - indptr[rows]).sum())]

    def count_reached(self, positions: np.ndarray) -> int:
        """Return how many of some own vertices are reached."""
        return int(np.count_nonzero(self._distance[positions + self._graph.below] != _INFINITY))

    def finish(self) -> np.ndarray:
        """Return the distances by local number; those of ghosts are not distances."""
        return self._distance


@compiled_without_counts
def _expand(
    indptr, heads, rows, distance, length, queue, end, to_send, own, cancel_flag
):  # fmt: skip
    sent = 0
    for row in rows:
        if cancel_flag[0]:
            break
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            head = np.uint64(heads[arc])
            if distance[head] != _INFINITY:
                continue
            distance[head] = length
            position = np.int64(head) - own[0]
            if 0 <= position < own[1]:
                queue[end] = position
                end += 1
            else:
                to_send[sent] = head
                sent += 1
    return end, sent


@compiled_without_counts
def _search_rows(indptr, heads, distance, level, queue, end, own, cancel_flag):
    for row in range(own[1]):
        if cancel_flag[0]:
            break
        if distance[own[0] + row] != _INFINITY:
            continue
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            # Own vertices of the new level have a greater distance.
            if distance[np.uint64(heads[arc])] <= level:
                distance[own[0] + row] = level + 1
                queue[end] = row
                end += 1
                break
    return end
