"""Predecessors from distances on a GPU: launches of ``predecessors.cu``.

Cost: one pass over the arcs, 12 to 28 bytes an arc. Where arcs of no length are the only way to
some vertices, a second one, and those arcs are followed on the CPU, level by level: a chain of them
has as many levels as arcs. Device bytes: 4 an arc, and 4 a vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import rows_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.source import Source
from mgraph.shortest_paths import predecessors_cpu
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of

KERNELS = Source(
    __package__,
    "predecessors.cu",
    check=tuple(tuple(length_defines(*types).items()) for types in LENGTH_TYPES),
)


class Finder:
    """Finds predecessors on one graph, on the device, again and again."""

    def __init__(self, graph: Graph, length: np.dtype) -> None:
        """length: the type of distances."""
        weights = graph.weights
        types = (str(length) if weights is None else str(weights.dtype), str(length))
        self.graph, self.defines = graph, length_defines(*types)
        self.infinity = np.array(infinity_of(length)).view(key_dtype(length))[()]
        self.arcs = (
            rows_gpu.tails(graph.indptr, graph.num_arcs),
            graph.indices.astype(np.int32, copy=False),
            0 if weights is None else weights,
            np.int64(graph.num_arcs),
        )

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, (*self.arcs, *arguments), **self.defines)

    def run(self, distance: Any, sources: Any, predecessor: Any) -> None:
        """Fill ``predecessor`` (int32, ``(n,)``); -1 for sources and unreached vertices."""
        import cupy

        predecessor.fill(-1)
        self._launch("predecessors_take_nearer", distance, self.infinity, predecessor)
        reached = distance < infinity_of(distance.dtype)
        if int((reached & (predecessor < 0)).sum()) <= len(sources):
            return
        marked = cupy.empty(self.graph.num_arcs, np.bool_)
        self._launch("predecessors_mark_arcs", distance, self.infinity, predecessor, marked)
        tails, heads = (array[marked].astype(np.int64).get() for array in self.arcs[:2])
        found = predecessor.get()
        predecessors_cpu.follow(tails, heads, sources, found)
        predecessor.set(found)
