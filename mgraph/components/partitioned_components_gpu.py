"""One rank's steps of ``partitioned_components`` on a GPU."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mgraph.components.edge_components_gpu import EdgeComponents
from mgraph.components.partitioned_roots import Roots, labels_of, uses_ghosts
from mgraph.core import primitives_gpu
from mgraph.core.rows import row_pieces
from mgraph.cuda.source import C_TYPES, Source
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph

_LABELS = "int32", "int64"
KERNELS = Source(
    __package__,
    "partitioned_components.cu",
    check=tuple((("MGRAPH_LABEL_T", C_TYPES[label]),) for label in _LABELS),
)
_CHUNK = 1 << 27  # arcs, or elements of an array, that temporary arrays are made for


class Steps:
    """The components of a rank while they are found."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate nothing yet."""
        self._graph = graph
        self._dtype = number_dtype(graph.n)
        self._below, self._owned = np.uint32(graph.below), np.uint32(graph.owned)

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(f"components_{name}", arguments, MGRAPH_LABEL_T=C_TYPES[str(self._dtype)])

    def label_own(self) -> Any:
        """Return the positions of own vertices' labels, uint32, by the arcs between them."""
        import cupy

        self._own = cupy.arange(self._graph.owned, dtype=np.uint32)
        self._join("join_own", self._own)
        return self._own

    def _join(self, kernel: str, parent: Any) -> None:
        """Join the ends of arcs, and find all roots."""
        shape = self._below, self._owned, np.int32(self._graph.directed)
        for rows, heads in self._arcs():
            self._launch(kernel, rows, heads, np.int64(heads.size), *shape, parent)
        self._launch("flatten", np.int64(parent.size), parent)

    def unite(self, ghost_labels: list[Any]) -> Roots:
        """Unite own components with those of ghosts. ghost_labels: by owner, positions."""
        import cupy

        graph = self._graph
        parent = cupy.arange(graph.locals, dtype=np.uint32)
        own_parent = parent[graph.own_range]
        cupy.add(self._own, self._below, out=own_parent)
        is_known = primitives_gpu.full(graph.locals, 0, np.uint8)  # roots that other ranks know
        for owner, ghosts in enumerate(graph.ghost_ranges):
            exports = graph.exports[owner]
            if uses_ghosts(graph, owner, of=graph.rank) and exports.size:
                is_known[own_parent[exports]] = 1
            if uses_ghosts(graph, graph.rank, of=owner) and ghosts.start < ghosts.stop:
                self._group(owner, ghosts, ghost_labels[owner], parent)
                numbers = cupy.arange(ghosts.start, ghosts.stop, dtype=np.uint32)
                cupy.equal(parent[ghosts], numbers, out=is_known[ghosts])
                del numbers
        if graph.directed:  # a component's smallest label may be one that no other rank knows
            is_known[own_parent] = 1
        del own_parent
        self._join("join_ghosts", parent)
        counts = primitives_gpu.full(graph.locals, 0, np.uint32)
        self._launch("follow", np.int64(graph.owned), self._below, parent, self._own, counts)
        roots = _nonzero(counts)
        labels, bounds = labels_of(graph, roots, ghost_labels)
        own_counts = counts[roots].astype(np.int64)
        self._index = counts
        self._index[roots] = cupy.arange(roots.size, dtype=np.uint32)
        known = _nonzero(is_known)
        known_roots = parent[known]
        is_other = known_roots != known
        del parent, is_known
        others = labels_of(graph, known[is_other], ghost_labels)[0]
        return Roots(
            labels, bounds, own_counts, (labels[self._index[known_roots[is_other]]], others)
        )

    def _group(self, owner: int, ghosts: slice, labels: Any, parent: Any) -> None:
        """Let ghosts with the same label hang below the first of them."""
        first = primitives_gpu.full(
            len(self._graph.partition.owned(owner)), (1 << 32) - 1, np.uint32
        )
        of_ghosts = labels, np.int64(labels.size), np.uint32(ghosts.start), first
        self._launch("find_first", *of_ghosts)
        self._launch("group", *of_ghosts, parent)

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

    def finish(self, labels: Any) -> Any:
        """Return the own vertices' labels. labels: what those of the roots have become."""
        import cupy

        own_labels = cupy.empty(self._graph.owned, self._dtype)
        self._launch(
            "label", self._own, np.int64(self._graph.owned), self._index, labels, own_labels
        )
        return own_labels

    def _arcs(self) -> Iterator[tuple[Any, Any]]:
        """Yield rows and heads of the arcs, chunk by chunk."""
        graph = self._graph
        for first, stop, begin, end in row_pieces(graph.indptr, _CHUNK):
            rows = primitives_gpu.tails(graph.indptr[first : stop + 1], end - begin, first)
            yield rows, graph.heads[begin:end]


def _nonzero(array: Any) -> Any:
    """Return the positions of elements that are not 0: int64, found chunk by chunk."""
    import cupy

    starts = range(0, array.size, _CHUNK)
    pieces = [cupy.flatnonzero(array[start : start + _CHUNK]) + start for start in starts]
    return cupy.concatenate([cupy.empty(0, np.int64), *pieces])
