"""Frontier Dijkstra on a GPU: memory and the one launch of ``frontier.cu`` per search.

Device bytes beside the graph and the distances: 2 per vertex, 4 per arc for ``frontier_edge``, and
a weight per vertex for a bound by vertex.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of


def search_defines(weight: str, length: str, by_arc: bool) -> dict[str, str]:
    """Return the kernel's macros for weights and lengths of these types, by arc or by vertex."""
    return {**length_defines(weight, length), "MGRAPH_BY_ARC": str(int(by_arc))}


KERNELS = Source(
    __package__,
    "frontier.cu",
    check=tuple(
        tuple(search_defines(*types, by_arc).items())
        for types in LENGTH_TYPES
        for by_arc in (False, True)
    ),
)


class Declared(NamedTuple):
    """The declarations of ``frontier.cu`` that the host uses."""

    threads: int
    graph: StructType
    request: StructType
    memory: StructType


@functools.cache
def _read_declarations(weight: str, length: str, by_arc: bool) -> Declared:
    """Read the kernel's source, once per variant."""
    macros = search_defines(weight, length, by_arc)
    types = {"key_t": f"i{np.dtype(length).itemsize}"}

    def struct(name: str) -> StructType:
        return KERNELS.struct(name, types, **macros)

    return Declared(
        threads=KERNELS.constant("threads", **macros),
        graph=struct("graph"),
        request=struct("search_request"),
        memory=struct("search_memory"),
    )


class Searcher:
    """Working memory for searches on one graph, on the device."""

    def __init__(
        self, graph: Graph, length: np.dtype, *, by_arc: bool, by_vertex_bound: bool = False
    ) -> None:
        """Allocate memory.

        length: the type of distances. by_arc: give an arc to a thread, else a vertex.
        by_vertex_bound: settle up to the nearest head of any vertex.
        """
        import cupy

        self.length, self.by_arc = np.dtype(length), by_arc
        self._indices = graph.indices.astype(np.int32, copy=False)
        self._tails = primitives_gpu.tails(graph.indptr, graph.num_arcs) if by_arc else None
        self._in_u = cupy.empty(graph.n, np.uint8)
        self._in_f = cupy.empty(graph.n if by_arc else 0, np.uint8)
        self._row_minima = None
        if by_vertex_bound:
            self._row_minima = cupy.empty(
                graph.n, graph.weights.dtype if graph.weights is not None else length
            )
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph, which may be replaced by one that differs in its weights alone."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        weight = str(self.length if graph.weights is None else graph.weights.dtype)
        self._types = weight, str(self.length), self.by_arc
        self._graph = graph
        self._packed_graph = _read_declarations(*self._types).graph.pack(
            {
                "indptr": graph.indptr,
                "indices": self._indices,
                "weights": graph.weights,
                "tails": self._tails,
                "n": graph.n,
                "num_arcs": graph.num_arcs,
            }
        )
        if self._row_minima is not None:
            macros = search_defines(*self._types)
            KERNELS.launch("frontier_row_minima", (self._packed_graph, self._row_minima), **macros)

    def launch(
        self, sources: Any, distance: Any, *, targets: Any, stop_at_first: bool, cutoff: Any
    ) -> Any:
        """Launch a search that fills ``distance``, ``(n,)`` on the device, and do not wait for it.

        sources: vertices, int64. targets: int32, on the device, empty for none. Returns the number
        of rounds as an array on the device, uint64 of shape (1,).
        """
        import cupy

        key = key_dtype(self.length)
        min_weight, _ = self.graph.weight_range
        primitives_gpu.fill(distance, infinity_of(self.length))
        self._in_u.fill(0)
        vertices = cupy.asarray(sources)
        primitives_gpu.put(distance, vertices, 0)
        primitives_gpu.put(self._in_u, vertices, 1)
        min_distance = primitives_gpu.full(3, np.iinfo(key).max, key)
        arrived, rounds = cupy.zeros(1, np.uint64), cupy.zeros(1, np.uint64)
        cancelled_round = primitives_gpu.full(1, np.iinfo(np.uint64).max, np.uint64)
        declared = _read_declarations(*self._types)
        request = {
            "targets": targets,
            "target_count": targets.size,
            "stop_at_first": stop_at_first,
            "cutoff": np.array(cutoff, self.length).view(key)[()],
            "min_weight": min_weight,
            "cancel_flag": cancellation_gpu.cancel_flag(),
        }
        memory = {
            "distance": distance.view(key),
            "in_u": self._in_u,
            "in_f": self._in_f,
            "row_minima": self._row_minima,
            "min_distance": min_distance,
            "arrived": arrived,
            "rounds": rounds,
            "cancelled_round": cancelled_round,
        }
        launch_resident(
            KERNELS.kernel("frontier_search", **search_defines(*self._types)),
            multiprocessors(),
            declared.threads,
            (self._packed_graph, declared.request.pack(request), declared.memory.pack(memory)),
        )
        return rounds
