"""One rank's steps of ``partitioned_components`` on a core."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.components.edge_components_cpu import EdgeComponents
from mgraph.components.partitioned_roots import Roots, labels_of, uses_ghosts
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import flatten, join
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph

_NONE = np.uint32((1 << 32) - 1)


class Steps:
    """The components of a rank while they are found."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate nothing yet."""
        self._graph = graph

    def label_own(self) -> np.ndarray:
        """Return the positions of own vertices' labels, uint32, by the arcs between them."""
        graph = self._graph
        self._own = np.arange(graph.owned, dtype=np.uint32)
        _join_own(graph.indptr, graph.heads, graph.below, graph.owned, self._own)
        flatten(self._own, 0, graph.owned)
        return self._own

    def unite(self, ghost_labels: list[np.ndarray]) -> Roots:
        """Unite own components with those of ghosts. ghost_labels: by owner, positions."""
        graph = self._graph
        parent = np.arange(graph.locals, dtype=np.uint32)
        parent[graph.own_range] = self._own + np.uint32(graph.below)
        is_known = np.zeros(graph.locals, bool)  # roots whose labels other ranks know
        for owner, ghosts in enumerate(graph.ghost_ranges):
            if uses_ghosts(graph, owner, of=graph.rank):
                is_known[parent[graph.own_range][graph.exports[owner]]] = True
            if uses_ghosts(graph, graph.rank, of=owner) and ghosts.start < ghosts.stop:
                first = np.full(len(graph.partition.owned(owner)), _NONE)
                _group(ghost_labels[owner], ghosts.start, first, parent)
                numbers = np.arange(ghosts.start, ghosts.stop, dtype=np.uint32)
                is_known[ghosts] = parent[ghosts] == numbers
        if graph.directed:  # a component's smallest label may be one that no other rank knows
            is_known[parent[graph.own_range]] = True
        _join_ghosts(graph.indptr, graph.heads, graph.below, graph.directed, parent)
        flatten(parent, 0, graph.locals)
        self._own = parent[graph.own_range]
        counts = np.zeros(graph.locals, np.uint32)
        _count(self._own, counts)
        roots = np.flatnonzero(counts)
        labels, bounds = labels_of(graph, roots, ghost_labels)
        own_counts = counts[roots].astype(np.int64)
        self._index = counts
        self._index[roots] = np.arange(roots.size, dtype=np.uint32)
        known = np.flatnonzero(is_known)
        known = known[parent[known] != known]
        pairs = labels[self._index[parent[known]]], labels_of(graph, known, ghost_labels)[0]
        return Roots(labels, bounds, own_counts, pairs)

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

    def finish(self, labels: np.ndarray) -> np.ndarray:
        """Return the own vertices' labels. labels: what those of the roots have become."""
        return labels.astype(number_dtype(self._graph.n))[self._index[self._own]]


@compiled_when_hot
def _join_own(indptr, heads, below, owned, parent):
    """Join the ends of arcs between own vertices. parent: of these, by position."""
    for row in range(owned):
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(heads[arc]) - below
            if 0 <= head < owned and parent[head] != parent[row]:
                join(parent, parent[head], parent[row])


@compiled_when_hot
def _group(labels, first_number, first, parent):
    """Let ghosts of one owner with the same label hang below the first of them.

    first: by label, none yet.
    """
    for i in range(labels.size):
        label = labels[i]
        if first[label] == _NONE:
            first[label] = first_number + i
        parent[first_number + i] = first[label]


@compiled_when_hot
def _join_ghosts(indptr, heads, below, is_directed, parent):
    """Join the ends of arcs to ghosts, of arcs with mirrors those to lower ones."""
    owned = indptr.size - 1
    for row in range(owned):
        tail = below + row
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(heads[arc])
            is_used = head < below or (is_directed and head >= below + owned)
            if is_used and parent[head] != parent[tail]:
                join(parent, parent[head], parent[tail])


@compiled_when_hot
def _count(own, counts):
    """Count the own vertices of each root."""
    for i in range(own.size):
        counts[own[i]] += 1
