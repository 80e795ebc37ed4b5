"""The steps of ``build`` on a GPU: launches of ``build.cu``, and the sort of the rows."""

from typing import Any

import numpy as np

from mgraph.core import csr_gpu, primitives_gpu
from mgraph.core.edges import EdgeList
from mgraph.cuda.memory import copy
from mgraph.cuda.source import C_TYPES, Source
from mgraph.partitioned.edge_source import Request, check_locals
from mgraph.partitioned.exchange import Message
from mgraph.partitioned.partition import Partition

_HEADS = {4: "unsigned", 8: "long long"}
_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # by size in bytes

KERNELS = Source(
    __package__,
    "build.cu",
    check=tuple(
        (("MGRAPH_HEAD_T", head_t), ("MGRAPH_VERTEX_T", vertex_t), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex_t in _WORDS.values()
        for head_t in _HEADS.values()
        for weight_t in _WORDS.values()
    ),
)


class Steps:
    """One rank's rows while they are built."""

    def __init__(self, request: Request) -> None:
        """Allocate nothing yet."""
        self.request = request
        weight = request.weight_dtype
        self._defines = {
            "MGRAPH_HEAD_T": _HEADS[request.head_dtype.itemsize],
            "MGRAPH_WEIGHT_T": _WORDS[4 if weight is None else weight.itemsize],
        }

    def _launch(self, name: str, *arguments: Any, vertex_dtype: Any = np.int32) -> None:
        vertex_t = {"MGRAPH_VERTEX_T": _WORDS[np.dtype(vertex_dtype).itemsize]}
        KERNELS.launch(name, arguments, **self._defines, **vertex_t)

    def to_backend(self, block: EdgeList) -> EdgeList:
        """Return a block in the memory of the device."""
        import cupy

        return EdgeList(*(cupy.asarray(column) for column in block))

    def begin_survey(self, buckets: int, shift: int) -> None:
        """Begin to count arcs by bucket."""
        self._buckets, self._shift = primitives_gpu.full(buckets + 1, 0, np.int64), shift

    def survey(self, block: EdgeList) -> None:
        """Add the arcs of a block to the counts of their tails' buckets."""
        self._launch(
            "build_survey", block.src, block.dst, np.int64(len(block)), np.int64(self.request.n),
            np.int32(self._shift), np.int32(not self.request.directed), self._buckets,
            self._buckets[-1:], vertex_dtype=block.src.dtype,
        )  # fmt: skip

    def end_survey(self) -> tuple[np.ndarray, int]:
        """Return the arcs of each bucket, and the number of edges with an invalid end."""
        counts = self._buckets.get()
        del self._buckets
        return counts[:-1], int(counts[-1])

    def begin(self, partition: Partition, rank: int) -> None:
        """Allocate the rank's row counts, and a bit per vertex of the graph for ghosts."""
        import cupy

        own = partition.owned(rank)
        self._partition, self._rank = partition, rank
        self._first, self._owned = np.int64(own.start), np.int64(len(own))
        self._bounds = cupy.asarray(partition.bounds)
        self._indptr = primitives_gpu.full(len(own) + 1, 0, np.int64)
        self._is_ghost = primitives_gpu.full(-(-partition.n // 32), 0, np.uint32)

    def outgoing(
        self, block: EdgeList | None, partition: Partition, *, weights: bool
    ) -> list[Message]:
        """Return the arcs of the edges by the owner of their tail. block: None for no edges."""
        import cupy

        request, size = self.request, partition.bounds.size - 1
        dtype = request.weight_dtype if weights else None
        if block is None:
            columns = [cupy.empty(0, np.uint32), cupy.empty(0, request.head_dtype)]
            columns += [] if dtype is None else [cupy.empty(0, dtype)]
            return [tuple(columns)] * size
        ends = primitives_gpu.full(size, 0, np.int64)
        edges = np.int64(len(block))
        arguments = edges, np.int32(not request.directed), self._bounds, np.int32(size)
        vertex_dtype = block.src.dtype
        self._launch(
            "build_count_owners", block.src, block.dst, *arguments, ends, vertex_dtype=vertex_dtype
        )
        counts = np.cumsum(ends.get())
        starts, total = np.concatenate([[0], counts[:-1]]), int(counts[-1])
        cursors = cupy.asarray(starts)
        columns = [cupy.empty(total, np.uint32), cupy.empty(total, request.head_dtype)]
        columns += [] if dtype is None else [cupy.empty(total, dtype)]
        self._launch(
            "build_divide", block.src, block.dst, 0 if dtype is None else block.weight, *arguments,
            cursors, *columns[:2], 0 if dtype is None else columns[2], vertex_dtype=vertex_dtype,
        )  # fmt: skip
        return [
            tuple(column[first:stop] for column in columns)
            for first, stop in zip(starts.tolist(), counts.tolist(), strict=True)
        ]

    def count(self, tails: Any, heads: Any) -> None:
        """Count arcs by row, and note their heads."""
        self._launch(
            "build_count_rows", tails, heads, np.int64(tails.size), self._first, self._owned,
            self._indptr[1:], self._is_ghost,
        )  # fmt: skip

    def number(self) -> tuple[Any, np.ndarray]:
        """Number own vertices and ghosts; return ghosts' positions, and each owner's bounds."""
        import cupy

        primitives_gpu.accumulate(self._indptr)
        words = self._is_ghost.size
        before = primitives_gpu.full(words + 1, 0, np.int64)
        self._launch("build_count_words", self._is_ghost, np.int64(words), before[1:])
        primitives_gpu.accumulate(before)
        self._before, total = before, int(before[-1])
        check_locals(int(self._owned), total)
        ghosts = cupy.empty(total, np.uint32)
        size = np.int32(self._partition.bounds.size - 1)
        self._launch(
            "build_list_ghosts", self._is_ghost, np.int64(words), before, self._bounds, size, ghosts
        )
        ghost_bounds = np.array([self._ghosts_below(bound) for bound in self._partition.bounds])
        self._below = np.int64(ghost_bounds[self._rank])
        arcs, dtype = int(self._indptr[-1]), self.request.weight_dtype
        self._heads = cupy.empty(arcs, np.uint32)
        self._weights = None if dtype is None else cupy.empty(arcs, dtype)
        self._cursors = copy(self._indptr[:-1])
        return ghosts, ghost_bounds

    def _ghosts_below(self, vertex: int) -> int:
        word, bit = divmod(int(vertex), 32)
        if word == self._is_ghost.size:
            return int(self._before[-1])
        earlier = int(self._is_ghost[word]) & ((1 << bit) - 1)
        return int(self._before[word]) + earlier.bit_count()

    def place(self, tails: Any, heads: Any, weights: Any = None) -> None:
        """Put arcs into their rows. A weight of -0.0 becomes 0."""
        dtype = self.request.weight_dtype
        is_float = dtype is not None and dtype.kind == "f"
        self._launch(
            "build_place", tails, heads, 0 if weights is None else weights, np.int32(is_float),
            np.int64(tails.size), self._cursors, self._is_ghost, self._before, self._first,
            self._owned, self._below,
            self._heads, 0 if self._weights is None else self._weights,
        )  # fmt: skip

    def finish(self) -> tuple[Any, Any, Any]:
        """Sort the rows; return where they begin, heads and weights or None."""
        del self._cursors, self._is_ghost, self._before
        heads = self._heads.view(np.int32)
        if self._weights is None:
            csr_gpu.sort_rows(self._indptr, heads, None)
        else:
            csr_gpu.sort_rows_by_weight(self._indptr, heads, self._weights)
        return self._indptr, self._heads, self._weights
