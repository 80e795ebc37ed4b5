"""One rank's steps of ``partitioned_delta_stepping`` on a GPU."""

from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, primitives_gpu
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
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
        # Sums of near queues, the state, the barrier, counts, and a word for cancellation.
        sums, state = self._size("queue_sums") * 3, self._size("search_state")
        control = primitives_gpu.full((sums + state) // 8 + 4, 0, np.uint64)
        self._far_count, self._to_send_count = control[-3:-2], control[-2:-1]
        self._stopped = control[-1:].view(np.int32)[:1]
        self._sums = control[: sums // 8]
        self._arrays = {
            "distance": self._distance,
            "is_near": primitives_gpu.full(words, 0, np.uint32),
            "is_far": primitives_gpu.full(words, 0, np.uint32),
            "near": cupy.empty(2 * graph.owned, np.uint32),
            "pieces": cupy.empty(2 * pieces, np.uint64),
            "far": cupy.empty(size, np.uint32),
            "to_send": cupy.empty(ghosts, np.uint32),
            "far_count": self._far_count,
            "to_send_count": self._to_send_count,
            "sums": self._sums,
            "state": control[sums // 8 :],
            "arrived": control[-4:],
            "stopped": self._stopped,
        }
        self._arrived = control[-4:-3]
        self._other_far = cupy.empty(size, np.uint32)
        self._rows = KERNELS.struct("rank_rows", **self._defines).pack(
            {
                "indptr": graph.indptr, "heads": graph.heads, "weights": graph.weights,
                "below": graph.below, "owned": graph.owned, "num_arcs": graph.heads.size,
            }
        )  # fmt: skip
        starts = [ghosts.start for ghosts in graph.ghost_ranges]
        starts[graph.rank] = graph.below
        shifts = np.where(np.arange(graph.size) > graph.rank, graph.owned, 0)
        # An owner without ghosts begins where the next one does, and the search passes it over.
        self._starts = cupy.asarray(np.array(starts, np.uint32))
        self._shifts = cupy.asarray(shifts.astype(np.uint32))

    def _constant(self, name: str) -> int:
        return KERNELS.constant(name, **self._defines)

    def _size(self, name: str) -> int:
        return KERNELS.struct(name, **self._defines).dtype.itemsize

    def _to_key(self, length: Any) -> Any:
        return np.array(length, self._dtype).view(self._key)[()]

    def _memory(self) -> Any:
        return KERNELS.struct("search_memory", **self._defines).pack(self._arrays)

    def _limits(self, threshold: Any) -> Any:
        values = {
            "threshold": self._to_key(threshold), "cutoff": self._to_key(self._cutoff),
            "cancel_flag": cancellation_gpu.cancel_flag(),
        }  # fmt: skip
        types = {"key_t": self._key.str[1:]}
        return KERNELS.struct("search_limits", types, **self._defines).pack(values)

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, **self._defines)

    def begin(self, sources: np.ndarray) -> None:
        """Queue sources, positions in the rank's range, at distance 0."""
        import cupy

        lengths = primitives_gpu.full(sources.size, 0, self._key)
        positions = cupy.asarray(sources.astype(np.uint32))
        self._receive(positions, lengths, np.array(1).astype(self._dtype))

    def settle(self, threshold: Any) -> None:
        """Relax the arcs of near vertices until none is left."""
        self._threshold = threshold
        primitives_gpu.fill(self._arrived, 0)
        launch_resident(
            KERNELS.kernel("delta_settle", **self._defines),
            multiprocessors(),
            self._constant("threads"),
            (self._rows, self._memory(), self._limits(threshold)),
        )

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

    def receive(self, positions: Any, lengths: Any, threshold: Any) -> None:
        """Take lengths of own vertices, where they are better."""
        self._receive(positions, lengths, threshold)

    def _receive(self, positions: Any, lengths: Any, threshold: Any) -> None:
        if positions.size:
            arguments = self._rows, self._memory(), self._limits(threshold)
            self._launch("delta_receive", *arguments, positions, lengths, np.int64(positions.size))

    def nearest(self) -> Any:
        """Return the least distance of a far number, infinity if there are none."""
        none = np.iinfo(self._key).max
        nearest = primitives_gpu.full(1, none, self._key)
        threshold = self._to_key(self._threshold)
        self._launch("delta_nearest", self._memory(), threshold, nearest)
        key = nearest.get()[0]
        return self._infinity if key == none else np.array(key).view(self._dtype)[()]

    def advance(self, threshold: Any) -> None:
        """Queue the far numbers that are within the threshold now."""
        count = primitives_gpu.full(1, 0, np.int64)
        arguments = self._rows, self._memory(), self._limits(threshold)
        old = self._to_key(self._threshold)
        self._launch("delta_advance", *arguments, old, self._other_far, count)
        self._arrays["far"], self._other_far = self._other_far, self._arrays["far"]
        self._far_count[:] = count.view(np.uint64)

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
