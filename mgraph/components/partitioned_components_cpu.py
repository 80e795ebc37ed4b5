"""One rank's steps of ``partitioned_components`` on a core."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.components.edge_components_cpu import EdgeComponents
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import flatten, join
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph


class Steps:
    """The components of a rank while they are found."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate nothing yet."""
        self._graph = graph
        self._dtype = number_dtype(graph.locals)

    def label_own(self) -> np.ndarray:
        """Return the positions of own vertices' labels, by the arcs between own vertices."""
        graph = self._graph
        self._own = np.arange(graph.owned, dtype=self._dtype)
        _join_rows(graph.indptr, graph.heads, graph.below, graph.below, graph.owned, self._own)
        flatten(self._own, 0, graph.owned)
        return self._own

    def unite(self, ghost_labels: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of labels that arcs to ghosts unite. ghost_labels: by owner, positions.

        Each label that is not the smallest of its rank's united ones is in one pair.
        """
        graph = self._graph
        label_of = np.empty(graph.locals, np.int64)  # global numbers
        label_of[graph.own_range] = self._own + np.int64(graph.first)
        parent = np.arange(graph.locals, dtype=self._dtype)
        parent[graph.own_range] = self._own + self._dtype.type(graph.below)
        firsts = [np.empty(0, np.int64)]
        for owner, ghosts in enumerate(graph.ghost_ranges):
            if ghosts.start == ghosts.stop:
                continue
            labels = np.asarray(ghost_labels[owner], np.int64)
            label_of[ghosts] = labels + graph.partition.bounds[owner]
            _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
            parent[ghosts] = first[inverse] + ghosts.start
            firsts.append(first + ghosts.start)
        _join_rows(graph.indptr, graph.heads, graph.below, 0, graph.locals, parent)
        flatten(parent, 0, graph.locals)
        own_labels = np.flatnonzero(self._own == np.arange(graph.owned, dtype=self._dtype))
        numbers = np.concatenate([own_labels + graph.below, *firsts])
        numbers = numbers[parent[numbers] != numbers]
        return label_of[parent[numbers]], label_of[numbers]

    @staticmethod
    def merge(some: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs that say the same: the smallest of what belongs together, and each other.

        some: pairs of arrays of labels, int64. The others ascend.
        """
        one, other = (np.concatenate(arrays) for arrays in zip(*some, strict=True))
        labels, position = np.unique(np.concatenate([one, other]), return_inverse=True)
        components = EdgeComponents(labels.size)
        components.add(position[: one.size], position[one.size :])
        smallest = components.labels(1)
        others = np.flatnonzero(smallest != np.arange(labels.size))
        return labels[smallest[others]], labels[others]

    def find_bounds(self, labels: np.ndarray) -> list[int]:
        """Return where each rank's vertices begin among ascending labels."""
        stops: list[int] = np.searchsorted(labels, self._graph.partition.bounds).tolist()
        return stops

    def finish(self, labels: np.ndarray, smallest: np.ndarray) -> np.ndarray:
        """Return the own vertices' labels, global numbers, where some labels become others."""
        graph = self._graph
        dtype = number_dtype(graph.n)
        final = np.arange(graph.first, graph.first + graph.owned, dtype=dtype)
        final[labels - graph.first] = smallest
        return final[self._own]


@compiled_when_hot
def _join_rows(indptr, heads, below, first, count, parent):
    """Join the ends of arcs to the ``count`` local numbers from ``first`` on.

    parent: of these numbers.
    """
    for row in range(indptr.size - 1):
        tail = below + row - first
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(heads[arc]) - first
            if 0 <= head < count and parent[head] != parent[tail]:
                join(parent, parent[head], parent[tail])
