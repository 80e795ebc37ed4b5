"""Near-far and self-tuning searches on a GPU: memory and the one launch of ``near_far.cu``.

Device bytes beside the graph and the distances, for k searches at a time on a graph of n vertices
and lengths of b bytes: about k·(1.5 + 4)·n·(4 + b), and the pieces of long rows. One launch,
however many searches and iterations; one barrier among the blocks of a search an iteration.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.source import Source
from mgraph.cuda.transfer import multiprocessors
from mgraph.errors import DeviceError

THREADS = 1024
PARTITIONS, PIECE_ARCS, COLUMNS, TRACE_COLUMNS = 16, 256, 29, 16
LEAST = (25, 26)  # the columns of sums that hold minima
CHUNKS = 512
TYPES = {
    ("int32", "int32"): ("int", "int"),
    ("int32", "int64"): ("int", "long long"),
    ("int64", "int64"): ("long long", "long long"),
    ("float32", "float32"): ("float", "float"),
    ("float64", "float64"): ("double", "double"),
}

KERNELS = Source(
    __package__,
    "near_far.cu",
    check=tuple(
        (
            ("MGRAPH_WEIGHT_T", weight),
            ("MGRAPH_LENGTH_T", length),
            ("MGRAPH_THREADS", str(THREADS)),
        )
        for weight, length in TYPES.values()
    ),
)


@dataclass
class Found:
    """What a launch brought: distances ``(searches, n)`` and iterations, on the device."""

    distance: Any
    iterations: Any
    trace: Any


class Searcher:
    """Working memory for searches on one graph; ``run`` may be called again and again."""

    def __init__(self, graph: Graph, length: np.dtype, *, blocks: int | None = None, threads: int = THREADS, groups: int = 1) -> None:
        """Allocate for ``groups`` searches at a time, of ``blocks`` blocks each."""
        import cupy

        self.graph, self.length = graph, np.dtype(length)
        self.threads = threads
        self.blocks = blocks or multiprocessors() // groups
        self.groups = groups
        n, total = graph.n, self.blocks * groups
        self.key = np.dtype(np.int32 if self.length.itemsize == 4 else np.int64)
        self.near = min(4 * -(-n // self.blocks) + 16384, (1 << 26) - 1)
        degrees = graph.indptr[1:] - graph.indptr[:-1]
        pieces = int(((degrees + PIECE_ARCS - 1) // PIECE_ARCS)[degrees > PIECE_ARCS].sum())
        most = -(-graph.max_degree // PIECE_ARCS)
        self.pieces = min(max(most, min(pieces, 4096 + 8 * pieces // self.blocks), 1), (1 << 20) - 1)
        entries = -(-6 * n // self.blocks) + 2 * PARTITIONS * 32
        self.chunk = max(32, -(-entries // CHUNKS // 32) * 32)
        self.chunks = CHUNKS
        far = total * self.chunk * self.chunks
        self.near_vertex = cupy.empty(2 * total * self.near, np.int32)
        self.near_key = cupy.empty(2 * total * self.near, self.key)
        self.piece_vertex = cupy.empty(2 * total * self.pieces, np.int32)
        self.piece_key = cupy.empty(2 * total * self.pieces, self.key)
        self.piece_number = cupy.empty(2 * total * self.pieces, np.uint32)
        self.far_vertex = cupy.empty(far, np.int32)
        self.far_key = cupy.empty(far, self.key)
        self.sums = cupy.empty((groups, 3, COLUMNS), np.uint64)
        self.notes = cupy.empty((groups, 2, self.blocks), np.uint64)
        weights = "int32" if graph.weights is None else str(graph.weights.dtype)
        weight_t, length_t = TYPES[weights, str(self.length)]
        self.defines = {
            "MGRAPH_WEIGHT_T": weight_t,
            "MGRAPH_LENGTH_T": length_t,
            "MGRAPH_THREADS": threads,
            **({"MGRAPH_PROFILE": 1} if os.environ.get("PROFILE") else {}),
        }

    @property
    def infinity(self) -> Any:
        """The distance of a vertex that no path reaches."""
        if self.length.kind == "f":
            return self.length.type(np.inf)
        return np.iinfo(self.length).max

    def run(
        self,
        seed_start: Any,
        seeds: Any,
        *,
        delta: float = 0.0,
        set_point: Any = None,
        mean_weight: float = 1.0,
        targets: Any = None,
        first_target: bool = False,
        cutoff: Any = None,
        hops: int = 8,
        trace_rows: int = 0,
        distance: Any = None,
    ) -> Found:
        """Launch. seed_start, seeds: CuPy int32; search i starts at seeds[start[i]:start[i+1]]."""
        import cupy

        graph = self.graph
        searches = seed_start.shape[0] - 1
        if distance is None:
            distance = cupy.empty((searches, graph.n), self.length)
        distance.fill(self.infinity)
        largest = np.array(self.infinity, self.length).view(self.key)[()] - 1
        key_cutoff = largest if cutoff is None else np.array(cutoff, self.length).view(self.key)[()]
        self.notes.fill(np.iinfo(np.uint64).max)
        self.sums.fill(0)
        for column in LEAST:
            self.sums[:, :, column] = np.iinfo(self.key).max
        iterations = cupy.zeros(searches, np.uint64)
        trace = cupy.zeros((trace_rows, TRACE_COLUMNS), np.float64) if trace_rows else 0
        kernel = KERNELS.kernel("near_far_search", **self.defines)
        shared = 2 * self.chunks * (2 * PARTITIONS + 1) + 2 * self.threads * (16 + self.key.itemsize)
        kernel.max_dynamic_shared_size_bytes = shared
        quantum = 1.0 if self.length.kind == "i" else mean_weight / 1024
        arguments = (
            graph.indptr, graph.indices, 0 if graph.weights is None else graph.weights,
            np.int32(graph.n), np.int32(searches), seed_start, seeds,
            0 if targets is None else targets,
            np.int32(0 if targets is None else targets.shape[0]), np.int32(first_target),
            self.key.type(key_cutoff), distance,
            np.float64(delta), 0 if set_point is None else set_point, np.int32(hops),
            np.float64(graph.m / max(graph.n, 1)), np.float64(mean_weight), np.float64(quantum),
            np.int32(self.blocks), np.uint32(self.near), np.uint32(self.pieces),
            np.int32(self.chunks), np.uint32(self.chunk),
            self.near_vertex, self.near_key, self.piece_vertex, self.piece_key, self.piece_number,
            self.far_vertex, self.far_key, self.sums, self.notes,
            trace, np.int32(trace_rows), np.uint32(int(os.environ.get('LIMIT', 1 << 31))), iterations,
        )  # fmt: skip
        kernel((self.blocks * self.groups,), (self.threads,), arguments, shared_mem=shared)
        return Found(distance, iterations, trace)
