"""One rank's steps of ``partitioned_delta_stepping`` on a GPU."""

from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, primitives_gpu
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import copy_into
from mgraph.cuda.source import Source, launch_resident, multiprocessors, resident_blocks
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.partitioned_predecessors_gpu import ghost_numbering
from mgraph.shortest_paths.problem import infinity_of

KERNELS = Source(
    __package__,
    "partitioned_delta_stepping.cu",
    check=tuple(tuple(sorted(length_defines(*types).items())) for types in LENGTH_TYPES),
)


class Search:
    """Distances and queues of a search. Lists hold local numbers, each at most once."""

    def __init__(self, graph: RankGraph, dtype: np.dtype, cutoff: Any) -> None:
        """Allocate memory."""
        import cupy

        self._graph, self._dtype, self._cutoff = graph, dtype, cutoff
        self._infinity = infinity_of(dtype)
        weight = str(dtype) if graph.weights is None else str(graph.weights.dtype)
        self._defines = length_defines(weight, str(dtype))
        size, ghosts = graph.locals, int(graph.ghost_bounds[-1])
        words = -(-size // 32)
        key = self._key = key_dtype(dtype)
        pieces = 2 * graph.heads.size // self._constant("piece_arcs") + 1
        self._distance = primitives_gpu.full(size, self._to_key(self._infinity), key)
        names = ("list_counts", "queue_sums", "search_state")
        counts, sums, state = (self._size(name) // 8 for name in names)
        ends = np.cumsum([counts, 3 * sums, state, 1, 1]).tolist()
        control = primitives_gpu.full(ends[-1], 0, np.uint64)
        self._counts, self._sums, last, self._arrived, stopped = (
            control[first:stop] for first, stop in zip([0, *ends], ends, strict=False)
        )
        self._arrays = {
            "locals": size,
            "distance": self._distance,
            "expanded": primitives_gpu.full(graph.owned, np.iinfo(key).max, key),
            "is_near": primitives_gpu.full(2 * words, 0, np.uint32),
            "is_far": primitives_gpu.full(words, 0, np.uint32),
            "near": cupy.empty(2 * graph.owned, np.uint32),
            "near_pieces": cupy.empty(2 * pieces, np.uint64),
            "settled": cupy.empty(graph.owned, np.uint32),
            "settled_pieces": cupy.empty(pieces, np.uint64),
            "far": cupy.empty(size, np.uint32),
            "to_send": cupy.empty(ghosts, np.uint32),
            "counts": self._counts,
            "sums": self._sums,
            "state": last,
            "arrived": self._arrived,
            "stopped": stopped.view(np.int32)[:1],
        }
        self._far_count, self._to_send_count, self._settled_counts = (
            self._counts[0:1], self._counts[1:2], self._counts[2:]
        )  # fmt: skip
        self._other_far = cupy.empty(size, np.uint32)
        self._rows = self._struct("rank_rows").pack(
            {
                "indptr": graph.indptr, "heads": graph.heads, "weights": graph.weights,
                "below": graph.below, "owned": graph.owned, "num_arcs": graph.heads.size,
            }
        )  # fmt: skip
        numbering = ghost_numbering(graph)
        self._starts, self._shifts = numbering["starts"], numbering["shifts"]

    def _constant(self, name: str) -> int:
        return KERNELS.constant(name, **self._defines)

    def _size(self, name: str) -> int:
        return self._struct(name).dtype.itemsize

    def _struct(self, name: str) -> StructType:
        return KERNELS.struct(name, {"key_t": self._key.str[1:]}, **self._defines)

    def _to_key(self, length: Any) -> Any:
        return np.array(length, self._dtype).view(self._key)[()]

    def _memory(self) -> Any:
        return self._struct("search_memory").pack(self._arrays)

    def _limits(self) -> Any:
        values = {
            "threshold": self._to_key(self._threshold), "cutoff": self._to_key(self._cutoff),
            "cancel_flag": cancellation_gpu.cancel_flag(),
        }  # fmt: skip
        return self._struct("search_limits").pack(values)

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, **self._defines)

    def _launch_wide(self, name: str, *arguments: Any) -> None:
        """Launch a kernel that appends to lists, with as many threads per block as it expects."""
        threads = self._constant("threads")
        blocks = multiprocessors() * self._constant("min_blocks")
        kernel = KERNELS.kernel(name, **self._defines)
        kernel((blocks,), (threads,), (self._rows, self._memory(), self._limits(), *arguments))

    def begin(self, sources: np.ndarray, threshold: Any) -> None:
        """Queue sources, positions in the rank's range, at distance 0."""
        import cupy

        self._threshold = threshold
        lengths = primitives_gpu.full(sources.size, 0, self._key)
        self.receive(cupy.asarray(sources.astype(np.uint32)), lengths)

    def settle(self, threshold: Any) -> None:
        """Relax the light arcs of near vertices until none is left."""
        self._threshold = threshold
        primitives_gpu.fill(self._arrived, 0)
        kernel = KERNELS.kernel("delta_settle", **self._defines)
        threads = self._constant("threads")
        blocks = resident_blocks(kernel, threads, 0, "a search", "use backend cpu")
        launch_resident(kernel, blocks, threads, (self._rows, self._memory(), self._limits()))

    def relax_heavy(self) -> int:
        """Relax the heavy arcs of the vertices that have been settled; return how many arcs."""
        arcs = int(self._settled_counts[0])
        if self._threshold != self._infinity:
            self._launch_wide("delta_relax_heavy")
        primitives_gpu.fill(self._settled_counts, 0)
        return arcs

    def outgoing(self) -> list[tuple[Any, Any]]:
        """Return the near ghosts, positions and distances by owner; they are near no longer."""
        import cupy

        graph, size = self._graph, np.int32(self._graph.size)
        count = int(self._to_send_count[0])
        cancellation.raise_if_cancelled()
        ends = np.zeros(graph.size, np.int64)
        if count:
            totals = primitives_gpu.full(graph.size, 0, np.int64)
            listed = self._memory(), np.int64(count), self._starts, size
            self._launch("delta_count_to_send", *listed, totals)
            ends = np.cumsum(totals.get())
        begins = np.concatenate([[0], ends[:-1]])
        positions = cupy.empty(count, np.uint32)
        lengths = cupy.empty(count, self._key)
        if count:
            cursors = cupy.asarray(begins)
            arrays = self._shifts, graph.ghosts, cursors, positions, lengths
            self._launch("delta_pack", *listed, *arrays)
            primitives_gpu.fill(self._to_send_count, 0)
        return [
            (positions[first:stop], lengths[first:stop])
            for first, stop in zip(begins.tolist(), ends.tolist(), strict=True)
        ]

    def receive(self, positions: Any, lengths: Any) -> None:
        """Take lengths of own vertices, where they are better."""
        if positions.size:
            self._launch_wide("delta_receive", positions, lengths, np.int64(positions.size))

    def nearest(self) -> Any:
        """Return the least distance of a far number, infinity if there are none."""
        none = np.iinfo(self._key).max
        nearest = primitives_gpu.full(1, none, self._key)
        threshold = self._to_key(self._threshold)
        self._launch("delta_nearest", self._memory(), threshold, nearest)
        key = nearest.get()[0]
        return self._infinity if key == none else np.array(key).view(self._dtype)[()]

    def advance(self, threshold: Any) -> int:
        """Queue the far numbers that are within the threshold now; return how many are near."""
        old, self._threshold = self._to_key(self._threshold), threshold
        count = primitives_gpu.full(1, 0, np.uint64)
        self._launch_wide("delta_advance", old, self._other_far, count)
        self._arrays["far"], self._other_far = self._other_far, self._arrays["far"]
        copy_into(self._far_count, count)
        # Of the sums, the second word holds the vertices, and then the pieces.
        near = self._sums[1:2].view(np.uint32)
        return int(near[0]) + int(self._to_send_count[0])

    def lengths(self, positions: np.ndarray) -> np.ndarray:
        """Return the tentative distances of own vertices."""
        import cupy

        numbers = cupy.asarray(positions + self._graph.below)
        found: np.ndarray = self._distance[numbers].get()
        return found.view(self._dtype)

    def finish(self, bound: Any) -> Any:
        """Return the distances by local number, those beyond ``bound`` infinite."""
        cancellation.raise_if_cancelled()
        distance = self._distance.view(self._dtype)
        if bound != self._infinity:
            distance[distance > bound] = self._infinity
        return distance
