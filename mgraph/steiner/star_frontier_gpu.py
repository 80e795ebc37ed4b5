"""STAR with the paper's searches: CUDA_N and CUDA_E, one thread per vertex or per arc of the graph.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
section 3, algorithms 3 to 5. A search goes from the partition above until it settles a vertex of
the partition below (``frontier.cu``); the rest of STAR runs on the CPU, as in the paper, the
initial tree included. Every round of a search reads all vertices or all arcs, so that its labels,
and the integer lengths of fractional weights, may as well be written again for each search. Device
bytes of those lengths: 8 per arc.
"""

import functools
from typing import Any

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.graph import Graph, WeightRange
from mgraph.cuda.source import Source
from mgraph.shortest_paths import frontier_gpu
from mgraph.steiner.star import Query, SequentialSearch, broken_path_error
from mgraph.steiner.star_initial_tree_cpu import InitialTreeBuilder
from mgraph.steiner.star_memory_gpu import GraphOnDevice, step_dtype
from mgraph.steiner.star_types_gpu import VARIANTS
from mgraph.steiner.whole_lengths_cpu import Scale, choose_scale, whole_length

KERNELS = Source(__package__, "star_frontier.cu", check=VARIANTS)


@functools.cache
def _broken_path() -> int:
    """Return the size of a path that cannot be followed back."""
    return KERNELS.constant("broken_path")


class PathFinder:
    """The paper's searches on a graph of the device, for the tree of one query at a time."""

    def __init__(self, graph: Graph, *, by_arc: bool) -> None:
        """Take a graph. by_arc: one thread per arc (CUDA_E) instead of one per vertex (CUDA_N)."""
        self.graph, self.by_arc = GraphOnDevice(graph, sort_rows=False), by_arc
        self.csr = self.graph.indptr, self.graph.indices, self.graph.weights
        self.searched_graph = Graph.unchecked(*self.csr, False, **graph.known)
        self.searchers: dict[str, frontier_gpu.Searcher] = {}  # by the type of lengths
        self.lengths: Any = None
        self.query: Any = None
        self.length = ""

    def prepare(self, query: Query) -> None:
        """Take a query's tree for the next calls of ``find``."""
        self.query, self.length = query, self.graph.length_type(query.initial_cost)

    def find(self, path: int, bound: Any) -> tuple[Any, Any]:
        """Search for a replacement of loose path number ``path`` that is shorter than ``bound``."""
        import cupy

        length = np.dtype(self.length)
        search = self.searchers.get(self.length)
        if search is None:
            search = frontier_gpu.Searcher(self.searched_graph, length, by_arc=self.by_arc)
            self.searchers[self.length] = search
        is_fractional = self.graph.cost_dtype.kind == "f"
        max_length, scale = choose_scale(bound, is_fractional)
        if is_fractional:
            search.graph = self._with_whole_lengths(scale)
        n, step = self.graph.n, step_dtype(self.length)
        distance = cupy.empty(n, length)
        tree, paths = self.query.tree, self.query.paths
        first, last = paths.first[path], paths.last[path]
        end = tree.end[last]
        above = np.concatenate([tree.vertex[:first], tree.vertex[end:]]).astype(np.int64)
        targets = cupy.asarray(tree.vertex[last:end].astype(np.int32))
        search.launch(above, distance, targets=targets, stop_at_first=True, cutoff=max_length - 1)
        cancellation_gpu.finish()  # a cancelled search has no path to be followed
        steps, size = cupy.empty(n * step.itemsize, np.uint8), cupy.empty(1, np.int32)
        indptr, indices, weights = self.csr
        kernel = KERNELS.kernel("star_frontier_walk", **self.graph.defines(self.length))
        arguments = (
            indptr, indices, 0 if weights is None else weights, np.int32(n),
            *map(np.float64, scale), distance, targets, np.int32(targets.size),
            length.type(max_length), steps, size,
        )  # fmt: skip
        kernel((1,), (1024,), arguments)
        if int(size[0]) == _broken_path():
            raise broken_path_error()
        path_steps = steps[: int(size[0]) * step.itemsize].get().view(step)
        weight = self.graph.weights_of(path_steps)[:-1].astype(self.graph.cost_dtype)
        return path_steps["vertex"].astype(np.int64), weight

    def _with_whole_lengths(self, scale: Scale) -> Graph:
        """Return the graph with its arcs' integer lengths as weights, until the next search."""
        import cupy

        if self.lengths is None:
            self.lengths = cupy.empty(self.graph.num_arcs, np.int64)
        indptr, indices, weights = self.csr
        arguments = (
            weights, np.int64(self.graph.num_arcs), *map(np.float64, scale), self.lengths
        )  # fmt: skip
        KERNELS.launch("star_frontier_lengths", arguments, **self.graph.defines("int64"))
        ends = (whole_length(float(end), scale) for end in self.searched_graph.weight_range)
        weight_range = WeightRange(*ends)
        return Graph.unchecked(indptr, indices, self.lengths, False, weight_range=weight_range)


def new_search(
    graph: Graph, csr: tuple[Any, Any, Any], dtype: str, *, by_arc: bool
) -> SequentialSearch:
    """Return STAR on a graph of the device, given its arrays on the CPU, too.

    dtype: of the weights that are returned, int64 or float64. by_arc: see ``PathFinder``.
    """
    return SequentialSearch(InitialTreeBuilder(*csr, dtype), PathFinder(graph, by_arc=by_arc))
