"""Large trees improved on a GPU, by the exchange of many Steiner vertices at a time.

A tree is determined by its key vertices, the terminals and the vertices of three edges or more: the
minimum spanning tree of their distances costs no more than it. A step removes some key vertices at
random, adds other vertices, and takes that tree, which leaves out those that do not help; then the
tree of its key vertices, and so on. So it tries thousands of moves at a time, of which some are
good and most are bad. What is best of the trees before and after is kept, block by block
(``blocks_cpu``), so that each move is judged for itself.

Sources: K. Mehlhorn (1988) for the trees of key vertices; vertex insertion and elimination are the
moves of E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010).

Cost of a step: ROUNDS + 1 searches from all key vertices, as many forests of the arcs between their
regions, and on a core O(number of edges in which the trees differ). Memory on the device: 77 bytes
per arc, 200 per vertex. Deterministic.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.components.afforest_cpu import label_components
from mgraph.core import cancellation, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source
from mgraph.shortest_paths import near_far_gpu
from mgraph.shortest_paths.problem import infinity_of
from mgraph.spanning_trees import filter_boruvka_gpu
from mgraph.steiner.groups.group_search_gpu import device_lock
from mgraph.steiner.improvement.blocks_cpu import choose
from mgraph.steiner.improvement.network_cpu import EDGE, HEAD, Network

KERNELS = Source(__package__, "vertex_exchange.cu", check=((),))

BYTES_PER_ARC, BYTES_PER_VERTEX = 77, 200
_MEMORY_SHARE = 0.7  # of the free memory
DROPPED, ADDED = 0.1, 0.3  # of the key vertices, in a step
ROUNDS = 2  # in which a step's tree becomes that of its own key vertices
# The search ends when this many steps have gained less than this share of the tree's cost.
PATIENCE, MIN_GAIN = 16, 1e-4
_NO_ARC = 0x7FFFFFFF
_LENGTH = np.dtype(np.int64)
_INFINITY = infinity_of(_LENGTH)
# Ties are broken by a small number that is added to the weight of each edge.
_TIES, _MULTIPLIER = 255, 0x9E3779B97F4A7C15


def exchange_vertices(network: Network, weight: Any, tree: Any, work: Any, flag: Any) -> Any:
    """Return a tree that costs no more; the same if the device has too little memory.

    tree: ascending edge ids. weight: of edges, in units; see ``network_cpu``. Ends when ``flag[0]``
    is not 0, or it gains no more.
    """
    with cancellation.acquiring(device_lock):
        if not _fits(network):
            return tree
        try:
            exchange = VertexExchange(network, weight, tree, work)
            costs = [exchange.cost]
            while not flag[0] and not _has_stalled(costs):
                cancellation.raise_if_cancelled()
                exchange.step()
                costs.append(exchange.cost)
            return exchange.tree
        except MemoryError:  # other work has taken it meanwhile
            return tree


def _fits(network: Network) -> bool:
    """Return whether the current device has the memory."""
    n, arcs = network.indptr.size - 1, network.arcs.shape[0]
    needed = BYTES_PER_ARC * arcs + BYTES_PER_VERTEX * n
    return arcs < 1 << 31 and needed < _MEMORY_SHARE * free_bytes()


def _has_stalled(costs: list[int]) -> bool:
    """Return whether the last steps have gained little."""
    return len(costs) > PATIENCE and costs[-PATIENCE - 1] - costs[-1] < MIN_GAIN * costs[-1]


class Grown(NamedTuple):
    """A pruned tree on the device: which edges it has, uint8, and its key vertices, bool."""

    in_tree: Any
    is_key: Any


class VertexExchange:
    """A network and its best tree, on the current device."""

    def __init__(self, network: Network, weight: Any, tree: Any, work: Any) -> None:
        """Copy them."""
        import cupy

        self._number, self._weight = work.position, weight
        order = np.arange(1, weight.size + 1, dtype=np.uint64) * np.uint64(_MULTIPLIER)
        ties = (order >> np.uint64(40)).astype(np.int64) % _TIES + 1
        lengths = (weight + ties)[network.arcs[:, EDGE]]
        self._n = network.indptr.size - 1
        indptr, self._heads, self._lengths, self._edge_of, self._ends = (
            cupy.asarray(np.ascontiguousarray(array))
            for array in (
                network.indptr, network.arcs[:, HEAD], lengths, network.arcs[:, EDGE], network.ends
            )
        )  # fmt: skip
        self._is_terminal = cupy.asarray(network.is_terminal)
        self._tails = primitives_gpu.tails(indptr, self._heads.size)
        self._mean = float(lengths.mean())
        graph = Graph.unchecked(indptr, self._heads, self._lengths, directed=False)
        self._searcher = near_far_gpu.Searcher(graph, _LENGTH)
        self._distance = cupy.empty((1, self._n), _LENGTH)
        self._rng = np.random.default_rng(1)
        heads = np.ascontiguousarray(network.arcs[:, HEAD])
        component = label_components(network.indptr, heads, is_symmetric=True)
        # Vertices that a tree may have: a tree of others would have no terminal.
        self._candidates = np.flatnonzero(component == component[network.terminals[0]])
        in_tree = np.zeros(weight.size, np.uint8)
        in_tree[tree] = 1
        self.cost = int(weight[tree].sum())
        self.best = self._prune(cupy.asarray(in_tree))

    @property
    def tree(self) -> Any:
        """The best tree: ascending edge ids, int64."""
        return np.flatnonzero(self.best.in_tree.get())

    def step(self) -> None:
        """Exchange vertices of the best tree, and keep what has become better."""
        vertices = self._choose_vertices()
        for _ in range(ROUNDS + 1):
            candidate = self.grow(vertices)
            vertices = candidate.is_key
        self.combine(candidate)

    def _choose_vertices(self) -> Any:
        """Return which vertices the next tree is grown from."""
        import cupy

        kept = self.best.is_key.copy()
        keys = cupy.flatnonzero(self.best.is_key & ~self._is_terminal)
        total = int(kept.sum())
        kept[keys[cupy.asarray(self._rng.random(keys.size) < DROPPED)]] = False
        added = self._rng.integers(0, self._candidates.size, int(ADDED * total) + 1)
        kept[cupy.asarray(self._candidates[added])] = True
        return kept

    def grow(self, is_source: Any) -> Grown:
        """Return the tree of some vertices, all terminals among them."""
        import cupy

        sources = cupy.flatnonzero(is_source).get()
        distance = self._distance[0]
        self._searcher.launch(
            [sources], mean_weight=self._mean, cutoff=_INFINITY, distance=self._distance
        )
        arcs, n = np.int64(self._heads.size), np.int64(self._n)
        via, base = cupy.empty(self._n, np.uint32), cupy.empty(self._n, np.int32)
        primitives_gpu.fill(via, _NO_ARC)
        labels = self._tails, self._heads, self._lengths, distance, arcs, via
        KERNELS.launch("exchange_find_vias", labels)
        KERNELS.launch("exchange_find_bases", (n, via, self._tails, base))
        chosen = self._choose_crossings(distance, base)
        taken, in_tree = cupy.zeros(self._n, np.uint32), cupy.zeros(self._weight.size, np.uint8)
        paths = self._tails, self._heads, self._edge_of, via, taken, in_tree
        KERNELS.launch("exchange_take_paths", (chosen, np.int64(chosen.size), *paths))
        return self._prune(in_tree)

    def _choose_crossings(self, distance: Any, base: Any) -> Any:
        """Return the arcs of a minimum spanning tree of the regions, uint32."""
        import cupy

        first, second = base[self._tails], base[self._heads]
        crossing = cupy.flatnonzero((first < second) & (distance[self._tails] < _INFINITY))
        tails, heads = self._tails[crossing], self._heads[crossing]
        order = cupy.argsort(distance[tails] + self._lengths[crossing] + distance[heads])
        crossing = crossing[order]
        rank = cupy.arange(crossing.size, dtype=np.int32)
        src, dst = first[crossing], second[crossing]
        kept = filter_boruvka_gpu.select_forest(src, dst, rank, self._n)
        return crossing[kept].astype(np.uint32)

    def _prune(self, in_tree: Any) -> Grown:
        """Return a tree without its branches that lead to no terminal; changes ``in_tree``."""
        import cupy

        degree, link = cupy.zeros(self._n, np.uint32), cupy.zeros(self._n, np.uint32)
        tree = cupy.flatnonzero(in_tree)
        counted = tree, np.int64(tree.size), self._ends, degree, link
        KERNELS.launch("exchange_count_degrees", counted)
        leaves = cupy.flatnonzero(degree == 1).astype(np.int32)
        changed = self._is_terminal, self._ends, degree, link, in_tree
        KERNELS.launch("exchange_prune", (leaves, np.int64(leaves.size), *changed))
        return Grown(in_tree, (degree > 2) | self._is_terminal)

    def combine(self, candidate: Grown) -> None:
        """Keep of the best tree and another what is best, block by block."""
        import cupy

        first, second = self.best.in_tree, candidate.in_tree
        differing = cupy.flatnonzero(first != second)
        if not differing.size:
            return
        common, parent = cupy.flatnonzero(first & second), cupy.arange(self._n, dtype=np.int32)
        KERNELS.launch("exchange_join", (common, np.int64(common.size), self._ends, parent))
        roots = cupy.empty((differing.size, 2), np.int32)
        listed = differing, np.int64(differing.size), self._ends, parent, roots
        KERNELS.launch("exchange_flatten", listed)
        edges, is_second = differing.get(), second[differing].get().astype(bool)
        weight = self._weight[edges]
        is_chosen = choose(roots.get().astype(np.int64), weight, is_second, self._number)
        self.cost += int(
            weight[is_chosen & is_second].sum() - weight[~(is_chosen | is_second)].sum()
        )
        in_tree = first & second
        in_tree[cupy.asarray(edges[is_chosen])] = 1
        before = in_tree.copy()
        self.best = self._prune(in_tree)
        pruned = cupy.flatnonzero(before != in_tree).get()
        self.cost -= int(self._weight[pruned].sum())
