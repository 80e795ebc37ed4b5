"""Neighbouring parts of a dataset, divided among tasks."""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mgraph.io.dataset import Part, group_by_size

_PIECES = 16  # of each share that is dealt, at least, as far as row groups allow


class Batches(NamedTuple):
    """Batches of at most ``max_edges`` edges each, and at least ``min_count`` of them."""

    max_edges: int
    min_count: int

    def share(self, edges: int) -> int:
        """Return about how many of that many edges each batch has."""
        return max(1, min(self.max_edges, -(-edges // self.min_count)))


def group_neighbours(sizes: Sequence[int], batches: Batches) -> list[list[int]]:
    """Group neighbouring positions to about equal sizes, within ``batches``.

    A position whose size exceeds the limit is a group of its own.
    """
    count = max(batches.min_count, len(group_by_size(sizes, batches.max_edges)))
    bounds = range(batches.max_edges)
    limit = bisect_left(bounds, True, key=lambda bound: len(group_by_size(sizes, bound)) <= count)
    return group_by_size(sizes, limit)


def deal_parts(parts: Iterable[Part], count: int) -> list[tuple[Part, ...]]:
    """Deal parts into ``count`` shares of about as many edges, each with some of all of them.

    Where work depends on the place of an edge in the dataset, all shares then have as much.
    """
    parts = list(parts)
    most = max(1, -(-sum(map(len, parts)) // (count * _PIECES)))
    shares: list[list[Part]] = [[] for _ in range(count)]
    fullness = [(0, rank) for rank in range(count)]
    for piece in (piece for part in parts for piece in part.pieces(most)):
        edges, rank = heapq.heappop(fullness)
        shares[rank].append(piece)
        heapq.heappush(fullness, (edges + len(piece), rank))
    return list(map(tuple, shares))


def divide_parts(parts: Iterable[Part], count: int) -> list[tuple[Part, ...]]:
    """Divide parts, in order, into at most ``count`` shares of about as many edges."""
    parts = list(parts)
    edges = sum(map(len, parts))
    pieces = [piece for part in parts for piece in part.pieces(max(1, -(-edges // count)))]
    groups = group_neighbours(list(map(len, pieces)), Batches(max(1, edges), count))
    return [tuple(pieces[index] for index in group) for group in groups]
