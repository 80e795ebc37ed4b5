"""One rank's steps of ``partitioned_components`` on a GPU: arcs as edges, chunk by chunk."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mgraph.components.edge_components_gpu import EdgeComponents
from mgraph.core import primitives_gpu
from mgraph.core.rows import row_pieces
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph

_CHUNK_ARCS = 1 << 27


class Steps:
    """The components of a rank while they are found."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate nothing yet."""
        self._graph = graph
        self._dtype = number_dtype(graph.locals)

    def label_own(self) -> Any:
        """Return the positions of own vertices' labels, by the arcs between own vertices."""
        graph = self._graph
        components = EdgeComponents(graph.owned)
        for rows, heads in self._arcs():
            positions = heads - self._dtype.type(graph.below)
            is_own = (positions >= 0) & (positions < graph.owned)
            is_own &= positions < rows  # each arc has its mirror, or its direction does not matter
            if graph.directed:
                is_own = (positions >= 0) & (positions < graph.owned)
            components.add(rows[is_own], positions[is_own])
        self._own = components.labels()
        return self._own

    def unite(self, ghost_labels: list[Any]) -> tuple[Any, Any]:
        """Return pairs of labels that arcs to ghosts unite. ghost_labels: by owner, positions.

        Each label that is not the smallest of its rank's united ones is in one pair.
        """
        import cupy

        graph, below = self._graph, self._dtype.type(self._graph.below)
        label_of = cupy.empty(graph.locals, np.int64)  # global numbers
        label_of[graph.own_range] = self._own + np.int64(graph.first)
        components = EdgeComponents(graph.locals)
        own = cupy.arange(graph.below, graph.below + graph.owned, dtype=self._dtype)
        components.add(own, self._own + below)
        firsts = [cupy.empty(0, np.int64)]
        for owner, ghosts in enumerate(graph.ghost_ranges):
            if ghosts.start == ghosts.stop:
                continue
            labels = ghost_labels[owner]
            label_of[ghosts] = labels + graph.partition.bounds[owner]
            order = cupy.argsort(labels)
            is_same = labels[order[1:]] == labels[order[:-1]]
            numbers = (order + ghosts.start).astype(self._dtype)
            components.add(numbers[1:][is_same], numbers[:-1][is_same])
            firsts.append(order[cupy.concatenate([cupy.ones(1, bool), ~is_same])] + ghosts.start)
        for rows, heads in self._arcs():
            positions = heads - below
            is_ghost = (positions < 0) | (positions >= graph.owned)
            components.add(rows[is_ghost] + below, heads[is_ghost])
        own_labels = cupy.flatnonzero(self._own == cupy.arange(graph.owned, dtype=self._dtype))
        numbers = cupy.concatenate([own_labels + graph.below, *firsts])
        roots = components.labels()[numbers]
        is_other = roots != numbers
        return label_of[roots[is_other]], label_of[numbers[is_other]]

    @staticmethod
    def merge(some: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return pairs that say the same: the smallest of what belongs together, and each other.

        some: pairs of arrays of labels, int64. The others ascend.
        """
        import cupy

        one, other = (cupy.concatenate(arrays) for arrays in zip(*some, strict=True))
        labels, position = cupy.unique(cupy.concatenate([one, other]), return_inverse=True)
        components = EdgeComponents(labels.size)
        components.add(position[: one.size], position[one.size :])
        smallest = components.labels()
        others = cupy.flatnonzero(smallest != cupy.arange(labels.size, dtype=smallest.dtype))
        return labels[smallest[others]], labels[others]

    def find_bounds(self, labels: Any) -> list[int]:
        """Return where each rank's vertices begin among ascending labels."""
        import cupy

        bounds = cupy.asarray(self._graph.partition.bounds)
        stops: list[int] = cupy.searchsorted(labels, bounds).tolist()
        return stops

    def finish(self, labels: Any, smallest: Any) -> Any:
        """Return the own vertices' labels, global numbers, where some labels become others."""
        import cupy

        graph = self._graph
        dtype = number_dtype(graph.n)
        final = cupy.arange(graph.first, graph.first + graph.owned, dtype=dtype)
        final[labels - graph.first] = smallest.astype(dtype)
        return final[self._own]

    def _arcs(self) -> Iterator[tuple[Any, Any]]:
        """Yield rows and heads of the arcs, chunk by chunk."""
        graph = self._graph
        for first, stop, begin, end in row_pieces(graph.indptr, _CHUNK_ARCS):
            rows = primitives_gpu.tails(graph.indptr[first : stop + 1] - begin, end - begin, first)
            yield rows.astype(self._dtype, copy=False), graph.heads[begin:end].astype(self._dtype)
