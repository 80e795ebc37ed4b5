"""One rank's steps of ``partitioned_predecessors`` on a core."""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled, compiled_without_counts
from mgraph.partitioned.rank_graph import RankGraph


class Proposals:
    """The smallest tail that is proposed as each local number's predecessor.

    By local number, uint8: is_missing, whether a reached vertex has no predecessor; is_new, whether
    it got one in the last level.
    """

    def __init__(self, graph: RankGraph, distance: Any, infinity: Any, dtype: np.dtype) -> None:
        """Allocate memory. distance: by local number, exact. dtype: of predecessors."""
        self._graph, self._distance, self._infinity = graph, distance, infinity
        self._none = np.iinfo(dtype).max  # no vertex has this number
        self._predecessor = np.full(graph.locals, self._none, dtype)
        self.is_missing: Any = None  # until levels begin
        weights = graph.weights
        if weights is None:
            weights = np.broadcast_to(np.array(1, distance.dtype), max(graph.heads.size, 2))
        self._rows = graph.indptr, graph.heads, weights
        starts = [ghosts.start for ghosts in graph.ghost_ranges]
        starts[graph.rank] = graph.below
        # By owner: where its ghosts begin among local numbers, and its first vertex.
        self._numbering = np.array([[*starts, graph.locals], graph.partition.bounds])

    def find_in_rows(self) -> None:
        """Take the smallest tail in each own row from which a tight arc comes, by its mirror."""
        graph = self._graph
        first = np.array([graph.below, graph.owned, graph.first], np.int64)
        _find_in_rows(
            *self._rows, self._distance, self._infinity, self._predecessor, self._none, first,
            graph.ghosts, self._numbering, graph.weights is None, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()

    def propose_nearer(self) -> None:
        """Propose the tails of tight arcs from smaller distances."""
        first = np.array([self._graph.below, self._graph.first], np.int64)
        _propose_nearer(
            *self._rows, self._distance, self._infinity, self._predecessor, first,
            cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()

    def outgoing(self) -> list[tuple[Any, Any]]:
        """Return the proposals for ghosts, by owner: positions and tails; they are forgotten."""
        graph, messages = self._graph, []
        for owner, ghosts in enumerate(graph.ghost_ranges):
            tails = self._predecessor[ghosts]
            chosen = np.flatnonzero(tails != self._none)
            first = graph.ghost_bounds[owner]
            messages.append((graph.ghosts[first + chosen], tails[chosen]))
            if self.is_missing is not None:
                self.is_missing[ghosts][chosen] = 0  # the owner gives it a predecessor now
            tails[:] = self._none
        return messages

    def receive(self, positions: Any, tails: Any) -> None:
        """Take other ranks' proposals for own vertices."""
        own = self._graph.own_range
        if self.is_missing is not None:  # some ranks do not know which are not missing any more
            is_open = self.is_missing[own][positions] != 0
            positions, tails = positions[is_open], tails[is_open]
        np.minimum.at(self._predecessor[own], positions, tails)

    def count_missing(self, sources: Any) -> int:
        """Return how many own vertices but sources are reached and have no predecessor."""
        own = self._graph.own_range
        self._predecessor[own][sources] = -1
        is_reached = self._distance[own] != self._infinity
        return int(np.count_nonzero(is_reached & (self._predecessor[own] == self._none)))

    def begin_levels(self, sources: Any) -> None:
        """Let those vertices be level 0 that are sources or have a predecessor."""
        own = self._graph.own_range
        self.is_missing = np.zeros(self._graph.locals, np.uint8)
        is_reached = self._distance[own] != self._infinity
        self.is_missing[own] = is_reached & (self._predecessor[own] == self._none)
        self.is_new = np.zeros(self._graph.locals, np.uint8)
        self.is_new[own] = is_reached & (self.is_missing[own] == 0)

    def list_zero_arcs(self) -> None:
        """Find the arcs that add nothing and lead to vertices without a predecessor."""
        self._tails, self._heads = _list_zero_arcs(
            *self._rows, self._distance, self._infinity, self.is_missing, self._graph.below
        )

    def list_zero_mirrors(self) -> None:
        """Find the same where arcs have mirrors, in the rows of vertices without a predecessor."""
        self._tails, self._heads = _list_zero_mirrors(
            *self._rows, self._distance, self.is_missing, self._graph.below
        )

    def propose_level(self) -> None:
        """Propose the tails that got their predecessor in the level before."""
        graph = self._graph
        chosen = self.is_new[graph.below + self._tails] & self.is_missing[self._heads] != 0
        numbers = (self._tails[chosen] + graph.first).astype(self._predecessor.dtype)
        np.minimum.at(self._predecessor, self._heads[chosen], numbers)

    def find_level(self) -> None:
        """Take tails that got their predecessor in the level before, along mirrors."""
        graph = self._graph
        own = graph.below + self._tails
        chosen = self.is_missing[own] & self.is_new[self._heads] != 0
        first = np.array([graph.below, graph.owned, graph.first], np.int64)
        numbers = _global_numbers(self._heads[chosen], first, graph.ghosts, self._numbering)
        np.minimum.at(self._predecessor, own[chosen], numbers.astype(self._predecessor.dtype))

    def end_level(self) -> int:
        """Return how many own vertices have got their predecessor in this level."""
        own = self._graph.own_range
        is_new = (self.is_missing[own] != 0) & (self._predecessor[own] != self._none)
        self.is_new[own] = is_new
        self.is_missing[own][is_new] = 0
        return int(np.count_nonzero(is_new))

    def finish(self) -> Any:
        """Return the predecessors of own vertices."""
        own = self._graph.own_part(self._predecessor)
        own[own == self._none] = -1
        return own


@compiled_without_counts
def _global_number(number, first, ghosts, numbering):
    below, owned, first_vertex = first
    if below <= number < below + owned:
        return first_vertex + number - below
    owner = 0
    while number >= numbering[0, owner + 1]:
        owner += 1
    index = number - owned if number >= below + owned else number
    return numbering[1, owner] + np.int64(ghosts[index])


@compiled_without_counts
def _find_in_rows(
    indptr, heads, weights, distance, infinity, predecessor, none, first, ghosts, numbering,
    heads_ascend, cancel_flag,
):  # fmt: skip
    below, owned = first[0], first[1]
    for row in range(owned):
        if cancel_flag[0]:
            break
        length = distance[below + row]
        if length == infinity or length == 0:
            continue
        smallest = np.uint64(heads.size + owned)  # above every local number
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            weight = weights[arc]
            if weight > length:
                break
            head = np.uint64(heads[arc])
            near = distance[head]
            if head < smallest and near < length and near + weight == length:
                smallest = head
                if heads_ascend:
                    break
        if smallest < np.uint64(heads.size + owned):
            predecessor[below + row] = smallest
    # In a loop of its own, whose reads do not wait for each other.
    for number in range(below, below + owned):
        if predecessor[number] != none:
            found = np.int64(predecessor[number])
            predecessor[number] = _global_number(found, first, ghosts, numbering)


@compiled
def _global_numbers(numbers, first, ghosts, numbering):
    result = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        result[i] = _global_number(numbers[i], first, ghosts, numbering)
    return result


@compiled
def _list_zero_mirrors(indptr, heads, weights, distance, is_missing, below):
    tails, ends = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for row in range(indptr.size - 1):
        if not is_missing[below + row]:
            continue
        length = distance[below + row]
        for arc in range(indptr[row], indptr[row + 1]):
            if length + weights[arc] > length:
                break
            head = np.uint64(heads[arc])
            near = distance[head]
            if near <= length and near + weights[arc] == length:
                tails.append(np.int64(row))
                ends.append(np.int64(head))
    return np.array(tails), np.array(ends)


@compiled_without_counts
def _propose_nearer(indptr, heads, weights, distance, infinity, predecessor, first, cancel_flag):
    below, first_vertex = first
    for row in range(indptr.size - 1):
        if cancel_flag[0]:
            break
        length = distance[below + row]
        if length == infinity:
            continue
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.uint64(heads[arc])
            known = distance[head]
            if length < known and length + weights[arc] == known:
                predecessor[head] = min(np.int64(predecessor[head]), first_vertex + row)


@compiled
def _list_zero_arcs(indptr, heads, weights, distance, infinity, is_missing, below):
    tails, ends = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for row in range(indptr.size - 1):
        length = distance[below + row]
        if length == infinity:
            continue
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.uint64(heads[arc])
            if is_missing[head] and length + weights[arc] == distance[head]:
                tails.append(np.int64(row))
                ends.append(np.int64(head))
    return np.array(tails), np.array(ends)
