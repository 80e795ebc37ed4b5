"""Frontier Dijkstra on a GPU: memory and the one launch of ``frontier.cu``, a search each.

Device bytes beside the graph and the distances: 2 a vertex, and 4 an arc for ``frontier_edge``.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation_gpu, rows_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of

_THREADS = 1024

KERNELS = Source(
    __package__,
    "frontier.cu",
    check=tuple(
        (*length_defines(*types).items(), ("MGRAPH_BY_ARC", by_arc))
        for types in LENGTH_TYPES
        for by_arc in "01"
    ),
)


class Searcher:
    """Working memory for searches on one graph, on the device."""

    def __init__(self, graph: Graph, length: np.dtype, *, by_arc: bool) -> None:
        """Allocate. length: the type of distances; by_arc: an arc a thread, else a vertex."""
        import cupy

        self.graph, self.length, self.by_arc = graph, np.dtype(length), by_arc
        self.indices = graph.indices.astype(np.int32, copy=False)
        self.tails = rows_gpu.tails(graph.indptr, graph.num_arcs) if by_arc else None
        self.waiting = cupy.empty(graph.n, np.uint8)
        self.frontier = cupy.empty(graph.n if by_arc else 0, np.uint8)

    def run(
        self, sources: Any, distance: Any, *, targets: Any, first_target: bool, cutoff: Any
    ) -> Any:
        """Fill ``distance`` (``(n,)``, on the device) from one array of sources, without waiting.

        targets: on the device, int32, perhaps none. Returns the rounds, uint64 of shape (1,).
        """
        import cupy

        graph, key = self.graph, key_dtype(self.length)
        weights = graph.weights
        types = (str(self.length) if weights is None else str(weights.dtype), str(self.length))
        least_weight = np.dtype(types[0]).type(graph.weight_range.minimum)
        distance.fill(infinity_of(self.length))
        self.waiting.fill(0)
        seeds = cupy.asarray(sources)
        distance[seeds] = 0
        self.waiting[seeds] = 1
        least = cupy.full(3, np.iinfo(key).max, key)
        arrived, rounds = cupy.zeros(1, np.uint64), cupy.zeros(1, np.uint64)
        stopped_at = cupy.full(1, np.iinfo(np.uint64).max, np.uint64)
        kernel = KERNELS.kernel(
            "frontier_search", **length_defines(*types), MGRAPH_BY_ARC=int(self.by_arc)
        )
        launch_resident(
            kernel,
            multiprocessors(),
            _THREADS,
            (
                graph.indptr, self.indices, 0 if weights is None else weights,
                0 if self.tails is None else self.tails, np.int64(graph.n),
                np.int64(graph.num_arcs),
                distance, self.waiting, self.frontier, targets, np.int32(targets.size),
                np.int32(first_target), np.array(cutoff, self.length).view(key)[()], least_weight,
                least, arrived, rounds, cancellation_gpu.cancel_flag(), stopped_at,
            ),
        )  # fmt: skip
        return rounds
