"""Trees of key vertices on a GPU, for ``vertex_exchange``: the launches of ``vertex_exchange.cu``.

Cost of a tree: one search from all key vertices, one forest of the arcs between their regions, and
three passes over the arcs. Memory on the device: 77 bytes per arc, 200 per vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source
from mgraph.shortest_paths import near_far_gpu
from mgraph.shortest_paths.problem import infinity_of
from mgraph.spanning_trees import filter_boruvka_gpu
from mgraph.steiner.improvement.network_cpu import EDGE, HEAD, Network
from mgraph.steiner.improvement.vertex_exchange import write_lengths

KERNELS = Source(__package__, "vertex_exchange.cu", check=((),))

BYTES_PER_ARC, BYTES_PER_VERTEX = 77, 200
_MEMORY_SHARE = 0.7  # of the free memory
_NO_ARC = 0x7FFFFFFF


def fits(network: Network) -> bool:
    """Return whether the current device has the memory."""
    n, arcs = network.indptr.size - 1, network.arcs.shape[0]
    needed = BYTES_PER_ARC * arcs + BYTES_PER_VERTEX * n
    return arcs < 1 << 31 and needed < _MEMORY_SHARE * free_bytes()


class KeyTrees:
    """Trees of key vertices in one network, on the current device."""

    def __init__(self, network: Network, weight: Any) -> None:
        """Copy the network. weight: by edge, in units; see ``network_cpu``."""
        import cupy

        lengths = write_lengths(weight)[network.arcs[:, EDGE]]
        self.n, self.edges = network.indptr.size - 1, weight.size
        indptr, self.heads, self.lengths, self.edge_of, self.ends = (
            cupy.asarray(np.ascontiguousarray(array))
            for array in (
                network.indptr, network.arcs[:, HEAD], lengths, network.arcs[:, EDGE], network.ends
            )
        )  # fmt: skip
        self.is_terminal = cupy.asarray(network.is_terminal.view(np.uint8))
        self.tails = primitives_gpu.tails(indptr, self.heads.size)
        self.mean = float(lengths.mean())
        graph = Graph.unchecked(indptr, self.heads, self.lengths, directed=False)
        self._searcher = near_far_gpu.Searcher(graph, np.dtype(np.int64))
        self._distance = cupy.empty((1, self.n), np.int64)

    def grow(self, vertices: Any) -> tuple[Any, Any]:
        """Return the tree of some vertices, terminals among them, and its key vertices.

        vertices: NumPy's, distinct. The tree is pruned: edge ids, int64, ascending.
        """
        import cupy

        self._searcher.launch(
            [vertices], mean_weight=self.mean, cutoff=infinity_of(np.dtype(np.int64)),
            distance=self._distance,
        )  # fmt: skip
        distance, arcs = self._distance[0], np.int64(self.heads.size)
        via, base = cupy.empty(self.n, np.uint32), cupy.empty(self.n, np.int32)
        primitives_gpu.fill(via, _NO_ARC)
        labels = self.tails, self.heads, self.lengths, distance, arcs, via
        KERNELS.launch("exchange_find_vias", labels)
        KERNELS.launch("exchange_find_bases", (np.int64(self.n), via, self.tails, base))
        chosen = self._choose_crossings(distance, base)
        taken, in_tree = cupy.zeros(self.n, np.uint32), cupy.zeros(self.edges, np.uint8)
        paths = self.tails, self.heads, self.edge_of, via, taken, in_tree
        KERNELS.launch("exchange_take_paths", (chosen, np.int64(chosen.size), *paths))
        return self._prune(in_tree)

    def _choose_crossings(self, distance: Any, base: Any) -> Any:
        """Return the arcs of a minimum spanning tree of the regions, uint32."""
        import cupy

        first, second = base[self.tails], base[self.heads]
        is_crossing = (first < second) & (distance[self.tails] < infinity_of(np.dtype(np.int64)))
        crossing = cupy.flatnonzero(is_crossing)
        tails, heads = self.tails[crossing], self.heads[crossing]
        order = cupy.argsort(distance[tails] + self.lengths[crossing] + distance[heads])
        crossing = crossing[order]
        src, dst = (base[ends[crossing]] for ends in (self.tails, self.heads))
        rank = cupy.arange(crossing.size, dtype=np.int32)
        kept = filter_boruvka_gpu.select_forest(src, dst, rank, self.n)
        return crossing[kept].astype(np.uint32)

    def _prune(self, in_tree: Any) -> tuple[Any, Any]:
        import cupy

        degree, link = cupy.zeros(self.n, np.uint32), cupy.zeros(self.n, np.uint32)
        tree = cupy.flatnonzero(in_tree)
        counted = tree, np.int64(tree.size), self.ends, degree, link
        KERNELS.launch("exchange_count_degrees", counted)
        leaves = cupy.flatnonzero(degree == 1).astype(np.int32)
        KERNELS.launch(
            "exchange_prune",
            (
                leaves, np.int64(leaves.size), self.is_terminal, self.ends, degree, link, in_tree,
            ),
        )  # fmt: skip
        keys = cupy.flatnonzero((degree > 2) | self.is_terminal.view(np.bool_))
        return cupy.flatnonzero(in_tree).get(), keys.get()
