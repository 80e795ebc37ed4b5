"""One rank's steps of ``partitioned_predecessors`` on a GPU."""

from typing import Any

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.cuda.source import Source
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines

_TAILS = {4: "unsigned", 8: "unsigned long long"}  # by size in bytes

KERNELS = Source(
    __package__,
    "partitioned_predecessors.cu",
    check=tuple(
        tuple(sorted((length_defines(*types) | {"MGRAPH_TAIL_T": tail_t}).items()))
        for types in LENGTH_TYPES
        for tail_t in _TAILS.values()
    ),
)


def ghost_numbering(graph: RankGraph) -> dict[str, Any]:
    """Return what makes a local number the position of a ghost, by owner, and the owner's first.

    starts: where the ghosts of each owner begin; those of an owner without ghosts where the next
    one's do. shifts: how much less the index of a ghost is than its number.
    """
    import cupy

    starts = [ghosts.start for ghosts in graph.ghost_ranges]
    starts[graph.rank] = graph.below
    shifts = np.where(np.arange(graph.size) > graph.rank, graph.owned, 0)
    return {
        "starts": cupy.asarray(np.array(starts, np.uint32)),
        "shifts": cupy.asarray(shifts.astype(np.uint32)),
        "bounds": cupy.asarray(graph.partition.bounds),
    }


class Proposals:
    """The smallest tail that is proposed as each local number's predecessor.

    By local number, uint8: is_missing, whether a reached vertex has no predecessor; is_new, whether
    it got one in the last level.
    """

    def __init__(self, graph: RankGraph, distance: Any, infinity: Any, dtype: np.dtype) -> None:
        """Allocate memory. distance: by local number, exact. dtype: of predecessors."""
        self._graph, self._dtype = graph, dtype
        weight = str(distance.dtype) if graph.weights is None else str(graph.weights.dtype)
        self._defines = length_defines(weight, str(distance.dtype))
        self._defines["MGRAPH_TAIL_T"] = _TAILS[dtype.itemsize]
        key = key_dtype(distance.dtype)
        self._infinity = np.array(infinity).view(key)[()]
        self._distance = distance.view(key)
        self._tail = np.dtype(f"uint{8 * dtype.itemsize}")
        self._predecessor = primitives_gpu.full(graph.locals, -1, dtype)
        self._numbering = ghost_numbering(graph)  # kept as long as the struct points to it
        self._rows = KERNELS.struct("rank_rows", {}, **self._defines).pack(
            {
                "indptr": graph.indptr, "heads": graph.heads, "weights": graph.weights,
                "below": graph.below, "owned": graph.owned, "first": graph.first,
                **self._numbering, "ghosts": graph.ghosts, "size": graph.size,
            }
        )  # fmt: skip
        self.is_missing: Any = None  # until levels begin

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, **self._defines)

    def _count(self, name: str, *arguments: Any, more: tuple[Any, ...] = ()) -> int:
        """Launch a kernel that adds to a sum, and return the sum."""
        total = primitives_gpu.full(1, 0, np.int64)
        self._launch(name, *arguments, total, *more)
        return int(total[0])

    def find_in_rows(self) -> None:
        """Take the smallest tail in each own row from which a tight arc comes, by its mirror."""
        import cupy

        chunk = KERNELS.constant("chunk_arcs", **self._defines)
        pieces = cupy.empty(2 * self._graph.heads.size // chunk + 1, np.uint64)
        known = self._rows, self._distance
        count = self._count("find_in_rows", *known, self._infinity, self._predecessor, pieces)
        if count:
            self._launch("find_in_pieces", *known, self._predecessor, pieces, np.int64(count))

    def propose_nearer(self) -> None:
        """Propose the tails of tight arcs from smaller distances."""
        arguments = self._rows, self._distance, self._infinity, self._predecessor
        self._launch("propose_nearer", *arguments)

    def outgoing(self) -> list[tuple[Any, Any]]:
        """Return the proposals for ghosts, by owner: positions and tails; they are forgotten."""
        import cupy

        graph, messages = self._graph, []
        missing = 0 if self.is_missing is None else self.is_missing
        for owner, ghosts in enumerate(graph.ghost_ranges):
            span = np.int64(ghosts.start), np.int64(ghosts.stop - ghosts.start)
            count = self._count("count_proposed", self._predecessor, *span) if span[1] else 0
            positions, tails = cupy.empty(count, np.uint32), cupy.empty(count, self._dtype)
            if count:
                first = graph.ghost_bounds[owner]
                cursor = primitives_gpu.full(1, 0, np.int64)
                arrays = graph.ghosts[first:], cursor, positions, tails, missing
                self._launch("pack_proposed", self._predecessor, *span, *arrays)
            messages.append((positions, tails))
        return messages

    def receive(self, positions: Any, tails: Any) -> None:
        """Take other ranks' proposals for own vertices."""
        if positions.size:
            below, missing = np.uint32(self._graph.below), self.is_missing
            counted = positions, tails, np.int64(positions.size), below, self._predecessor
            self._launch("receive_proposals", *counted, 0 if missing is None else missing)

    def count_missing(self, sources: Any) -> int:
        """Return how many own vertices but sources are reached and have no predecessor."""
        import cupy

        # As an unsigned number it is greater than every vertex, and is not -1, for none.
        self._source = -2
        numbers = cupy.asarray(sources + self._graph.below)
        primitives_gpu.put(self._predecessor, numbers, self._source)
        return self._mark(0, 0)

    def _mark(self, is_missing: Any, is_new: Any) -> int:
        arguments = self._rows, self._distance, self._infinity, self._predecessor
        return self._count("mark_missing", *arguments, more=(is_missing, is_new))

    def begin_levels(self, sources: Any) -> None:
        """Let those vertices be level 0 that are sources or have a predecessor."""
        self.is_missing = primitives_gpu.full(self._graph.locals, 0, np.uint8)
        self.is_new = primitives_gpu.full(self._graph.locals, 0, np.uint8)
        self._mark(self.is_missing, self.is_new)

    def list_zero_arcs(self) -> None:
        """Find the arcs that add nothing and lead to vertices without a predecessor."""
        known = self._rows, self._distance, self._infinity, self.is_missing
        self._list("list_zero_arcs", *known)

    def list_zero_mirrors(self) -> None:
        """Find the same where arcs have mirrors, in the rows of vertices without a predecessor."""
        self._list("list_zero_mirrors", self._rows, self._distance, self.is_missing)

    def _list(self, name: str, *known: Any) -> None:
        import cupy

        count = self._count(name, *known, more=(0, 0))
        self._tails, self._heads = cupy.empty(count, np.uint32), cupy.empty(count, np.uint32)
        if count:
            cursor = primitives_gpu.full(1, 0, np.int64)
            self._launch(name, *known, cursor, self._tails, self._heads)

    def propose_level(self) -> None:
        """Propose the tails that got their predecessor in the level before."""
        self._follow("propose_level")

    def find_level(self) -> None:
        """Take tails that got their predecessor in the level before, along mirrors."""
        self._follow("find_level")

    def _follow(self, name: str) -> None:
        if self._tails.size:
            listed = self._rows, self._tails, self._heads, np.int64(self._tails.size)
            self._launch(name, *listed, self.is_new, self.is_missing, self._predecessor)

    def end_level(self) -> int:
        """Return how many own vertices have got their predecessor in this level."""
        flags = self._predecessor, self.is_missing, self.is_new
        return self._count("end_level", self._rows, *flags)

    def finish(self) -> Any:
        """Return the predecessors of own vertices."""
        own = self._graph.own_part(self._predecessor)
        own[own == self._source] = -1
        return own
