"""One rank's steps of ``partitioned_bfs`` on a GPU."""

from typing import Any

import numpy as np

from mgraph.core import cancellation, primitives_gpu
from mgraph.cuda.source import Source, multiprocessors
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.length_types_gpu import length_defines
from mgraph.shortest_paths.partitioned_predecessors_gpu import ghost_numbering
from mgraph.shortest_paths.problem import infinity_of

_DEFINES = length_defines("int32", "int32")
KERNELS = Source(__package__, "partitioned_bfs.cu", check=(tuple(sorted(_DEFINES.items())),))
_INFINITY = infinity_of(np.dtype(np.int32))


class Search:
    """Distances of a search, and the queue of its last level: local numbers."""

    def __init__(self, graph: RankGraph) -> None:
        """Allocate memory."""
        import cupy

        self._graph = graph
        pieces = 2 * graph.heads.size // KERNELS.constant("piece_arcs", **_DEFINES) + 1
        self._distance = primitives_gpu.full(graph.locals, _INFINITY, np.int32)
        self._visited = primitives_gpu.full(-(-graph.locals // 32), 0, np.uint32)
        self._sums = primitives_gpu.full(2, 0, np.uint64)
        self._to_send_count = primitives_gpu.full(1, 0, np.uint64)
        self._to_send = cupy.empty(graph.locals - graph.owned, np.uint32)
        self._lists = [
            (cupy.empty(graph.owned, np.uint32), cupy.empty(pieces, np.uint64)) for _ in range(2)
        ]
        numbering = ghost_numbering(graph)
        self._starts, self._shifts = numbering["starts"], numbering["shifts"]
        self._rows = KERNELS.struct("rank_rows", {"key_t": "i4"}, **_DEFINES).pack(
            {
                "indptr": graph.indptr, "heads": graph.heads, "weights": None,
                "below": graph.below, "owned": graph.owned, "num_arcs": graph.heads.size,
            }
        )  # fmt: skip
        self._size = self._pieces = 0

    def _memory(self) -> Any:
        (queue, pieces), (next_queue, next_pieces) = self._lists
        values = {
            "distance": self._distance, "visited": self._visited, "queue": queue,
            "pieces": pieces, "next_queue": next_queue, "next_pieces": next_pieces,
            "next_sums": self._sums, "to_send": self._to_send,
            "to_send_count": self._to_send_count,
        }  # fmt: skip
        return KERNELS.struct("bfs_memory", {"key_t": "i4"}, **_DEFINES).pack(values)

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, **_DEFINES)

    def _launch_wide(self, name: str, *arguments: Any) -> None:
        """Launch a kernel that appends to lists, with as many threads per block as it expects."""
        threads = KERNELS.constant("threads", **_DEFINES)
        blocks = multiprocessors() * KERNELS.constant("min_blocks", **_DEFINES)
        kernel = KERNELS.kernel(name, **_DEFINES)
        kernel((blocks,), (threads,), (self._rows, self._memory(), *arguments))

    def begin(self, sources: np.ndarray) -> list[int]:
        """Let sources, positions in the rank's range, be level 0; return what ``advance`` does."""
        import cupy

        self.receive(cupy.asarray(sources.astype(np.uint32)), -1)
        return self.advance(0)

    def expand(self, level: int) -> None:
        """Visit the heads of the last level's arcs."""
        sizes = np.int64(self._size), np.int64(self._pieces)
        self._launch_wide("bfs_expand", *sizes, np.int32(level))

    def outgoing(self) -> list[tuple[Any]]:
        """Return the positions of ghosts that were visited first in this level, by owner."""
        import cupy

        graph, size = self._graph, np.int32(self._graph.size)
        count = int(self._to_send_count[0])
        cancellation.raise_if_cancelled()
        ends, positions = np.zeros(graph.size, np.int64), cupy.empty(count, np.uint32)
        if count:
            totals = primitives_gpu.full(graph.size, 0, np.int64)
            listed = self._to_send, np.int64(count), self._starts, size
            self._launch("bfs_count_to_send", *listed, totals)
            ends = np.cumsum(totals.get())
        begins = np.concatenate([[0], ends[:-1]])
        if count:
            cursors = cupy.asarray(begins)
            self._launch("bfs_pack", *listed, self._shifts, graph.ghosts, cursors, positions)
            primitives_gpu.fill(self._to_send_count, 0)
        return [
            (positions[first:stop],)
            for first, stop in zip(begins.tolist(), ends.tolist(), strict=True)
        ]

    def receive(self, positions: Any, level: int) -> None:
        """Visit own vertices to which arcs of other ranks lead."""
        if positions.size:
            count = np.int64(positions.size)
            self._launch_wide("bfs_receive", positions, count, np.int32(level + 1))

    def visited_bits(self) -> list[tuple[Any]]:
        """Return by rank the bits of the visited vertices among those that are ghosts there."""
        import cupy

        messages = []
        for exports in self._graph.exports:
            words = cupy.empty(-(-exports.size // 32), np.uint32)
            if exports.size:
                below, count = np.uint32(self._graph.below), np.int64(exports.size)
                self._launch("bfs_pack_bits", self._visited, below, exports, count, words)
            messages.append((words,))
        return messages

    def mark_ghosts(self, bits: list[Any]) -> None:
        """Note which ghosts are visited. bits: by owner."""
        for ghosts, words in zip(self._graph.ghost_ranges, bits, strict=True):
            if words.size:
                span = np.int64(ghosts.start), np.int64(ghosts.stop - ghosts.start)
                self._launch("bfs_mark_ghosts", self._visited, *span, words)

    def search_rows(self, level: int) -> None:
        """Visit the vertices in whose rows a visited one is."""
        self._launch("bfs_search_rows", self._rows, self._memory(), np.int32(level + 1))
        self._launch_wide("bfs_collect", np.int32(level + 1))

    def advance(self, level: int) -> list[int]:
        """Let the next level be the last; return its vertices, and their arcs."""
        arcs, counts = self._sums.get()
        cancellation.raise_if_cancelled()
        self._size, self._pieces = int(counts & 0xFFFFFFFF), int(counts >> 32)
        self._lists.reverse()
        primitives_gpu.fill(self._sums, 0)
        return [self._size, int(arcs)]

    def count_reached(self, positions: np.ndarray) -> int:
        """Return how many of some own vertices are reached."""
        import cupy

        if not positions.size:
            return 0
        numbers = cupy.asarray((positions + self._graph.below).astype(np.uint32))
        total = primitives_gpu.full(1, 0, np.int64)
        self._launch("bfs_count_visited", self._visited, numbers, np.int64(numbers.size), total)
        return int(total[0])

    def finish(self) -> Any:
        """Return the distances by local number; those of ghosts are not distances."""
        cancellation.raise_if_cancelled()
        return self._distance
