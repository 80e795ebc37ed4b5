"""STAR with the paper's searches: CUDA_N and CUDA_E, a vertex or an arc of the graph a thread.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 3 to 5. A search goes from the partition above until it settles a vertex of that below
(``frontier.cu``); the rest of STAR runs on the CPU, the first tree included. Every round of a
search reads all vertices, or all arcs, so that its labels, and the whole lengths of fractional
weights, may as well be written again for each. Device bytes of those: 8 an arc.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.graph import Graph, WeightRange
from mgraph.cuda.source import Source
from mgraph.shortest_paths import frontier_gpu
from mgraph.steiner.star import InTurn, Query, no_way_back
from mgraph.steiner.star_centre_cpu import CentreFinder
from mgraph.steiner.star_memory_gpu import LENGTHS, GraphOnDevice, step_dtype
from mgraph.steiner.whole_lengths_cpu import Scale, measured, whole

KERNELS = Source(__package__, "star_frontier.cu", check=LENGTHS)
_NO_WAY_BACK = -1  # as in star_frontier.cu


class Searcher(InTurn):
    """The searches on one graph, a loose path at a time; of ``mgraph.steiner.star``."""

    def __init__(self, graph: Graph, csr: tuple[Any, Any, Any], kind: str, *, by_arc: bool) -> None:
        """Take a graph, on the device and on the CPU. by_arc: an arc a thread, else a vertex."""
        self.graph, self.by_arc = GraphOnDevice(graph, sort_rows=False), by_arc
        on_device = self.graph.indptr, self.graph.indices, self.graph.weights
        self.as_graph = Graph.unchecked(*on_device, False, **graph.known)
        self.centre_finder = CentreFinder(*csr, kind)
        self.searchers: dict[str, frontier_gpu.Searcher] = {}
        self.lengths: Any = None

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
        fractional = self.graph.kind.kind == "f"
        most, scale = measured(below, fractional)
        if fractional:
            search.graph = self._with_whole_lengths(scale)
        n, steps = self.graph.n, step_dtype(length)
        distance = cupy.empty(n, length)
        above = np.concatenate([vertex[:first], vertex[end:]]).astype(np.int32)
        targets = cupy.asarray(vertex[last:end].astype(np.int32))
        search.launch(above, distance, targets=targets, stop_at_first=True, cutoff=most - 1)
        cancellation_gpu.finish()  # else no path may be there to be walked
        path, size = cupy.empty(n * steps.itemsize, np.uint8), cupy.empty(1, np.int32)
        kernel = KERNELS.kernel("star_frontier_walk", **self.graph.defines(str(length)))
        arguments = (
            *self.graph.arguments[:4], *map(np.float64, scale), distance, targets,
            np.int32(targets.size), length.type(most), path, size,
        )  # fmt: skip
        kernel((1,), (1024,), arguments)
        if int(size[0]) == _NO_WAY_BACK:
            raise no_way_back()
        found = path[: int(size[0]) * steps.itemsize].get().view(steps)
        weight = self.graph.weights_of(found)[:-1].astype(self.graph.kind)
        return found["vertex"].astype(np.int64), weight

    def _with_whole_lengths(self, scale: Scale) -> Graph:
        """The graph with its arcs' lengths in a search as weights, until the next search."""
        import cupy

        if self.lengths is None:
            self.lengths = cupy.empty(self.graph.num_arcs, np.int64)
        weights = self.graph.weights
        defines = self.graph.defines("int64")
        arguments = weights, np.int64(self.graph.num_arcs), *map(np.float64, scale), self.lengths
        KERNELS.launch("star_frontier_lengths", arguments, **defines)
        ends = (whole(float(weight), scale) for weight in self.as_graph.weight_range)
        on_device = self.graph.indptr, self.graph.indices, self.lengths
        return Graph.unchecked(*on_device, False, weight_range=WeightRange(*ends))
