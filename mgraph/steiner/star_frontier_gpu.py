"""STAR with the paper's searches: CUDA_N and CUDA_E, a vertex or an arc of the graph a thread.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 3 to 5. A search goes from the partition above until it settles a vertex of that below
(``frontier.cu``); the rest of STAR runs on the CPU, the first tree included. Every round of a
search reads all vertices, or all arcs, so that its labels may as well be written anew for each.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import stopping_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.source import Source
from mgraph.shortest_paths import frontier_gpu
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.steiner.star import InTurn, Query
from mgraph.steiner.star_centre_cpu import CentreFinder
from mgraph.steiner.star_memory_gpu import LENGTHS, GraphOnDevice

KERNELS = Source(__package__, "star_frontier.cu", check=LENGTHS)


class Searcher(InTurn):
    """The searches on one graph, a loose path at a time; of ``mgraph.steiner.star``."""

    def __init__(self, graph: Graph, csr: tuple[Any, Any, Any], kind: str, *, by_arc: bool) -> None:
        """Take a graph, on the device and on the CPU. by_arc: an arc a thread, else a vertex."""
        self.graph, self.by_arc = GraphOnDevice(graph, sort_rows=False), by_arc
        on_device = self.graph.indptr, self.graph.indices, self.graph.weights
        self.as_graph = Graph.unchecked(*on_device, False)
        self.centre_finder = CentreFinder(*csr, kind)
        self.searchers: dict[str, frontier_gpu.Searcher] = {}

    def searcher(self, query: Query) -> Callable[[int, Any], tuple[Any, Any]]:
        """Take a query's tree."""
        length = np.dtype(self.graph.lengths(query.initial_cost))
        tree, paths = query.tree, query.paths

        def find(i: int, below: Any) -> tuple[Any, Any]:
            ends = paths.first[i], paths.last[i], tree.end[paths.last[i]]
            return self._shortest_path(tree.vertex, *ends, below, length)

        return find

    def _shortest_path(
        self, vertex: Any, first: int, last: int, end: int, below: Any, length: np.dtype
    ) -> tuple[Any, Any]:
        """The shortest path from the partition below to that above, if shorter than ``below``."""
        import cupy

        search = self.searchers.get(str(length))
        if search is None:
            search = frontier_gpu.Searcher(self.as_graph, length, by_arc=self.by_arc)
            self.searchers[str(length)] = search
        n, key = self.graph.n, key_dtype(length)
        steps = np.dtype([("weight", key), ("vertex", "i4")], align=True)
        distance = cupy.empty(n, length)
        above = np.concatenate([vertex[:first], vertex[end:]]).astype(np.int32)
        targets = cupy.asarray(vertex[last:end].astype(np.int32))
        bound = np.array(below).astype(length)
        most = bound - 1 if length.kind == "i" else np.nextafter(bound, length.type(0))
        search.run(above, distance, targets=targets, first_target=True, cutoff=most)
        stopping_gpu.finished()  # else no path may be there to be walked
        path, size = cupy.empty(n * steps.itemsize, np.uint8), cupy.empty(1, np.int32)
        kernel = KERNELS.kernel("star_frontier_walk", **self.graph.defines(str(length)))
        arguments = (
            *self.graph.arguments[:3], distance, targets, np.int32(targets.size),
            bound.view(key)[()], path, size,
        )  # fmt: skip
        kernel((1,), (1024,), arguments)
        found = path[: int(size[0]) * steps.itemsize].get().view(steps)
        weight = found["weight"][:-1].copy().view(length).astype(self.graph.kind)
        return found["vertex"].astype(np.int64), weight
