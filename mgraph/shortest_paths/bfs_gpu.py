"""Breadth-first search on a GPU: memory and the one launch of ``bfs.cu`` per search.

Device bytes beside the graph and the results: 8 per vertex, and the bitmaps.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.shortest_paths.near_far_gpu import ENDLESS, Patience
from mgraph.shortest_paths.problem import infinity_of

KERNELS = Source(__package__, "bfs.cu", check=((),))
LENGTH = np.dtype(np.int32)


class Launched(NamedTuple):
    """A search that was launched: what it fills, and a word that is not 0 if it gave up."""

    distance: Any
    predecessor: Any
    gave_up: Any


class Searcher:
    """Working memory for searches on one graph, on the device."""

    def __init__(self, graph: Graph, *, predecessors: bool) -> None:
        """Allocate memory.

        predecessors: whether they are recorded. Levels are also found bottom-up if the graph is
        undirected and, for predecessors, its rows ascend.
        """
        import cupy

        n, words = graph.n, -(-graph.n // 32)
        self._n, self._predecessors = n, predecessors
        has_mirrors = not graph.directed and graph.symmetric
        if has_mirrors and predecessors:
            has_mirrors = graph.rows_ascend
        max_pieces = 2 * graph.num_arcs // KERNELS.constant("piece_arcs") + 1
        self._arrays = {
            "visited": cupy.empty(2 * words, np.uint32),
            "queue": cupy.empty(2 * n, np.int32),
            "pieces": cupy.empty(2 * max_pieces, np.uint64),
        }
        self._sizes = {
            name: KERNELS.struct(name).dtype.itemsize for name in ("level_sums", "search_state")
        }
        self._indices = graph.indices.astype(np.int32, copy=False)
        self._graph = KERNELS.struct("graph").pack(
            {
                "indptr": graph.indptr, "indices": self._indices, "n": n,
                "num_arcs": graph.num_arcs, "has_mirrors": has_mirrors,
            }
        )  # fmt: skip

    def launch(
        self,
        sources: Any,
        *,
        distance: Any,
        targets: Any,
        stop_at_first: bool,
        cutoff: int,
        predecessor: Any = None,
        patience: Patience = ENDLESS,
    ) -> Launched:
        """Launch a search that fills ``distance`` and ``predecessor``, and do not wait for it.

        sources: vertices, int64, each once. targets: int32, on the device, empty for none.
        distance, predecessor: int32, ``(n,)``, the latter only if predecessors are recorded.
        cutoff: the greatest distance.
        """
        import cupy

        infinity = infinity_of(LENGTH)
        primitives_gpu.fill(distance, infinity)
        if predecessor is not None:
            primitives_gpu.fill(predecessor, -1)
        primitives_gpu.fill(self._arrays["visited"], 0)
        # The sums of levels, the state, the barrier, and two words.
        sums, state = 4 * self._sizes["level_sums"], self._sizes["search_state"]
        words = np.zeros((sums + state) // 8 + 2, np.uint64)
        words[-1:].view(np.int32)[0] = infinity
        control = cupy.empty(words.size, np.uint64)
        primitives_gpu.assign(control, words)
        flags = control[-1:].view(np.int32)
        memory = {
            **self._arrays,
            "distance": distance,
            "predecessor": None if predecessor is None else predecessor.view(np.uint32),
            "sums": control[: sums // 8],
            "state": control[sums // 8 :],
            "arrived": control[-2:],
            "stopped_level": flags,
            "gave_up": flags[1:],
        }
        request = {
            "sources": cupy.asarray(np.asarray(sources, np.int32)),
            "source_count": len(sources),
            "targets": targets,
            "target_count": targets.size,
            "stop_at_first": stop_at_first,
            "cutoff": cutoff,
            "cancel_flag": cancellation_gpu.cancel_flag(),
            "patience": 1e9 * patience.seconds,
            "min_reached_per_nanosecond": patience.min_reached_per_second / 1e9,
        }
        launch_resident(
            KERNELS.kernel("bfs_search"),
            multiprocessors(),
            KERNELS.constant("threads"),
            (
                self._graph,
                KERNELS.struct("search_request").pack(request),
                KERNELS.struct("search_memory").pack(memory),
            ),
        )
        return Launched(distance, predecessor, flags[1:])
