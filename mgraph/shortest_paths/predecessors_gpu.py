"""Predecessors from distances on a GPU: launches of ``predecessors.cu``.

Cost: one pass over the arcs, 12 to 28 bytes per arc. Where some vertices can only be reached along
arcs that add nothing, a second pass finds those arcs, and the CPU follows them level by level: a
chain of them has as many levels as arcs. Device bytes: 4 per arc, and 4 per vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.source import Source
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of

KERNELS = Source(
    __package__,
    "predecessors.cu",
    check=tuple(tuple(length_defines(*types).items()) for types in LENGTH_TYPES),
)


class PredecessorFinder:
    """Finds the predecessors of searches on one graph, on the device."""

    def __init__(self, graph: Graph, length: np.dtype) -> None:
        """Find the arcs' tails. length: the type of distances."""
        weights = graph.weights
        types = (str(length) if weights is None else str(weights.dtype), str(length))
        self.graph, self.defines = graph, length_defines(*types)
        self.infinity = np.array(infinity_of(length)).view(key_dtype(length))[()]
        self.arcs = (
            primitives_gpu.tails(graph.indptr, graph.num_arcs),
            graph.indices.astype(np.int32, copy=False),
            0 if weights is None else weights,
            np.int64(graph.num_arcs),
        )

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, (*self.arcs, *arguments), **self.defines)

    def find(self, distance: Any, sources: Any, predecessor: Any) -> None:
        """Fill ``predecessor`` (int32, ``(n,)``); -1 for sources and unreached vertices."""
        import cupy

        primitives_gpu.fill(predecessor, -1)
        self._launch("predecessors_find_nearer", distance, self.infinity, predecessor)
        missing = cupy.zeros(1, np.uint32)
        arguments = distance, self.infinity, predecessor, np.int64(distance.size), missing
        KERNELS.launch("predecessors_count_missing", arguments, **self.defines)
        if int(missing[0]) <= len(sources):
            return
        marked = cupy.empty(self.graph.num_arcs, np.bool_)
        self._launch("predecessors_mark_arcs", distance, self.infinity, predecessor, marked)
        from mgraph.shortest_paths import predecessors_cpu

        tails, heads = (array[marked].astype(np.int64).get() for array in self.arcs[:2])
        on_host = predecessor.get()
        predecessors_cpu.follow_zero_arcs(tails, heads, sources, on_host)
        predecessor.set(on_host)
