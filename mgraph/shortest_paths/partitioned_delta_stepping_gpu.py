"""One rank's steps of ``partitioned_delta_stepping`` on a GPU."""

from typing import Any

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, primitives_gpu
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import copy_into
from mgraph.cuda.source import Source, launch_resident, multiprocessors, resident_blocks
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.partitioned_predecessors import refresh_ghosts
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
        pieces = 3 * graph.heads.size // self._constant("range_arcs") + 1
        self.distance = primitives_gpu.full(size, self._to_key(self._infinity), key)
        counts = self._struct("list_counts").dtype
        fields: Any = counts.fields
        sizes = counts.itemsize // 8, 3, self._struct("search_state").dtype.itemsize // 8, 1, 1
        ends = np.cumsum(sizes).tolist()
        self._control = primitives_gpu.full(ends[-1], 0, np.uint64)
        self._counts, sums, state, self._arrived, stopped = (
            self._control[first:stop] for first, stop in zip([0, *ends], ends, strict=False)
        )
        self._counts_of = {
            name: self._counts.view(np.uint8)[offset : offset + dtype.itemsize].view(dtype)
            for name, (dtype, offset, *_) in fields.items()
        }
        self._settled_words = slice(fields["settled_arcs"][1] // 8, counts.itemsize // 8)
        self._arrays = {
            "locals": size,
            "distance": self.distance,
            "expanded": primitives_gpu.full(graph.owned, np.iinfo(key).max, key),
            "is_near": primitives_gpu.full(2 * words, 0, np.uint32),
            "is_far": primitives_gpu.full(words, 0, np.uint32),
            "is_settled": primitives_gpu.full(words, 0, np.uint32),
            "near": cupy.empty(2 * graph.owned, np.uint32),
            "near_pieces": cupy.empty(2 * pieces, np.uint64),
            "settled": cupy.empty(graph.owned, np.uint32),
            "far": cupy.empty(size, np.uint32),
            "to_send": cupy.empty(ghosts, np.uint32),
            "counts": self._counts,
            "sums": sums,
            "state": state,
            "arrived": self._arrived,
            "stopped": stopped.view(np.int32)[:1],
        }
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

    def _struct(self, name: str) -> StructType:
        return KERNELS.struct(name, {"key_t": self._key.str[1:]}, **self._defines)

    def _to_key(self, length: Any) -> Any:
        return np.array(length, self._dtype).view(self._key)[()]

    def _memory(self) -> Any:
        return self._struct("search_memory").pack(self._arrays)

    def _limits(self) -> Any:
        values = {
            "threshold": self._to_key(self._threshold),
            "end": self._to_key(self._cutoff) + 1,
            "cancel_flag": cancellation_gpu.cancel_flag(),
        }
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

    def settle(self, threshold: Any, budget: int) -> bool:
        """Relax the light arcs of near vertices, of about ``budget``; return if none is left."""
        self._threshold = threshold
        primitives_gpu.fill(self._arrived, 0)
        kernel = KERNELS.kernel("delta_settle", **self._defines)
        threads = self._constant("threads")
        blocks = resident_blocks(kernel, threads, 0, "a search", "use backend cpu")
        arguments = self._rows, self._memory(), self._limits(), np.int64(budget)
        launch_resident(kernel, blocks, threads, arguments)
        self._found, near = self._read()
        return not near

    def settled_in_step(self) -> tuple[int, int, int]:
        """Return the arcs of the settled vertices, of those settled first now, and how many."""
        found = self._found
        return int(found["settled_arcs"]), int(found["first_arcs"]), int(found["settled"])

    def push(self) -> None:
        """Relax the heavy arcs of the vertices that this step settled."""
        self._relax("delta_push")

    def refresh_ghosts(self, exchange: Exchange) -> None:
        """Give all ghosts the distances of their owners: links between GPUs are fast."""
        refresh_ghosts(exchange, self._graph, self.distance)

    def pull(self) -> None:
        """Relax the arcs from all settled vertices, by their mirrors in the others' rows.

        Ghosts that are settled have their distances; none of the others waits any longer.
        """
        for bits in ("is_settled", "is_far"):
            primitives_gpu.fill(self._arrays[bits], 0)
        self._set("far", 0)
        self._relax("delta_pull")

    def _relax(self, name: str) -> None:
        if self._threshold != self._infinity:
            self._launch_wide(name)
            self._launch_wide(f"{name}_pieces")
        primitives_gpu.fill(self._counts[self._settled_words], 0)

    def _set(self, name: str, value: int) -> None:
        primitives_gpu.fill(self._counts_of[name], value)

    def outgoing(self) -> list[tuple[Any, Any]]:
        """Return the near ghosts, positions and distances by owner; they are near no longer."""
        import cupy

        graph, size = self._graph, np.int32(self._graph.size)
        count = int(self._found["to_send"])
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
            self._set("to_send", 0)
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

    def advance(self, threshold: Any) -> None:
        """Queue the far numbers that are within the threshold now."""
        old, self._threshold = self._to_key(self._threshold), threshold
        count = primitives_gpu.full(1, 0, np.uint64)
        self._launch_wide("delta_advance", old, self._other_far, count)
        self._arrays["far"], self._other_far = self._other_far, self._arrays["far"]
        copy_into(self._counts_of["far"], count)

    def _read(self) -> tuple[Any, int]:
        """Return the lengths of lists, and what the near queue has: vertices and pieces."""
        size, dtype = self._counts.size, self._struct("list_counts").dtype
        control = self._control[: size + 1].get()
        return control[:size].view(dtype)[0], int(control[size:].view(np.uint32).sum())

    def lengths(self, positions: np.ndarray) -> np.ndarray:
        """Return the tentative distances of own vertices."""
        import cupy

        numbers = cupy.asarray(positions + self._graph.below)
        found: np.ndarray = self.distance[numbers].get()
        return found.view(self._dtype)

    def finish(self, bound: Any) -> Any:
        """Return the distances by local number, those beyond ``bound`` infinite."""
        cancellation.raise_if_cancelled()
        distance = self.distance.view(self._dtype)
        if bound != self._infinity:
            distance[distance > bound] = self._infinity
        return distance
