"""From a CSR graph to a network and back: integer weights, edges with ids, trees."""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.steiner import tree_cpu
from mgraph.steiner.improvement import network_cpu
from mgraph.steiner.improvement.network_cpu import Network
from mgraph.steiner.star import MIN_RELATIVE_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree


class Units(NamedTuple):
    """How weights become integers. scale: a power of two. is_whole: whether weights are integers.

    cost: of the known tree, in weights. step: the least difference that counts, in units. lift:
    another factor, before the scale, for weights that are so small that one alone would be
    infinite.
    """

    scale: float
    is_whole: bool
    cost: Any
    step: int
    lift: float = 1.0

    def from_weights(self, weights: Any) -> Any:
        """Return weights in units, rounded down; those above the known cost count as much."""
        if self.is_whole and self.scale >= 1:
            capped = np.minimum(weights, min(self.cost, np.iinfo(weights.dtype).max))
            return capped.astype(np.int64) * np.int64(self.scale)
        lifted = np.minimum(weights, self.cost, dtype=np.float64) * self.lift
        return np.floor(lifted * self.scale).astype(np.int64)

    def to_bound(self, total: int) -> Any:
        """Return a bound in weights for one in units."""
        if not self.is_whole:
            nearest = float(total)
            bound = nearest if nearest <= total else math.nextafter(nearest, 0)
            # Exact, or rounded to a multiple of the least float, as all costs are.
            return bound / self.scale / self.lift
        scaled = total if self.scale >= 1 else total * int(1 / self.scale)
        return min(self.cost, -(-scaled // max(int(self.scale), 1)))


def cost_of(tree: Tree) -> Any:
    """Return the sum of the weights: int, or float and then correctly rounded in any order."""
    return (math.fsum if tree.weight.dtype.kind == "f" else sum)(tree.weight.tolist())


def cheapest(*trees: Tree) -> Tree:
    """Return the tree that costs least, the first of those."""
    return min(trees, key=cost_of)


def choose_units(csr: Any, tree: Tree) -> Units:
    """Choose the units for trees that cost no more than a known one."""
    weights, cost = csr[2], cost_of(tree)
    is_whole = weights.dtype.kind in "iu"
    lift = 1.0 if is_whole else network_cpu.choose_lift(cost)
    lifted = cost if lift == 1 else cost * lift
    scale = network_cpu.choose_scale(is_whole, max(csr[0].size, csr[1].size), lifted)
    # Half of the gain that counts, so that rounding does not hide that a tree is optimal.
    least = 1 + int(lifted * scale * MIN_RELATIVE_GAIN / 2)
    step = int(scale) if is_whole and scale >= 1 else least
    return Units(scale, is_whole, cost, step, lift)


class Edges(NamedTuple):
    """Edges of a CSR graph, each once, in ascending order. vertex: their ends, ascending."""

    src: Any
    dst: Any
    weight: Any
    vertex: Any

    def to_network(self, terminals: Any, units: Units) -> tuple[Network, Any]:
        """Return the network of these edges, and their weights in units."""
        src, dst = (np.searchsorted(self.vertex, end) for end in (self.src, self.dst))
        network = network_cpu.build(
            self.vertex.size, src, dst, np.searchsorted(self.vertex, terminals)
        )
        return network, units.from_weights(self.weight)

    def ids_of(self, tree: Tree) -> Any:
        """Return the ids of a tree's edges, ascending."""
        n = int(self.vertex[-1]) + 1
        upper = tree.vertex[tree.parent[1:]]
        low, high = np.minimum(tree.vertex[1:], upper), np.maximum(tree.vertex[1:], upper)
        keys = self.src.astype(np.int64) * n + self.dst
        return np.sort(np.searchsorted(keys, low * n + high))

    def to_tree(self, ids: Any, terminals: Any) -> Tree:
        """Return the tree of some edges."""
        src, dst = (end[ids].astype(np.int64) for end in (self.src, self.dst))
        return tree_cpu.from_edges(
            src, dst, self.weight[ids].astype(sum_dtype(self.weight)), terminals
        )


def list_edges(csr: Any, is_kept: Any, tree: Tree) -> Edges:
    """Return the edges of some arcs, and those of a tree; of parallel edges the lightest."""
    indptr, indices, weights = csr
    n = indptr.size - 1
    tails = np.repeat(np.arange(n, dtype=indices.dtype), np.diff(indptr))[is_kept]
    src = np.concatenate([tails, tree.vertex[1:].astype(tails.dtype)])
    dst = np.concatenate([indices[is_kept], tree.vertex[tree.parent[1:]].astype(tails.dtype)])
    weight = np.concatenate([weights[is_kept], tree.weight[1:].astype(weights.dtype)])
    src, dst = np.minimum(src, dst), np.maximum(src, dst)
    keys = src.astype(np.int64) * n + dst
    order = np.lexsort((weight, keys))
    keys = keys[order]
    is_first = np.ones(order.size, bool)
    is_first[1:] = keys[1:] != keys[:-1]
    order = order[is_first & (src[order] != dst[order])]
    return _with_vertices(n, src[order], dst[order], weight[order], tree)


def light_edges(csr: Any, tree: Tree, units: Units) -> Edges:
    """Return all edges that are no heavier than a tree, its own among them."""
    indptr, indices, weights = csr
    n = indptr.size - 1
    tails = np.repeat(np.arange(n, dtype=indices.dtype), np.diff(indptr))
    is_kept = (tails < indices) & (weights <= units.cost)
    src, dst = tails[is_kept], indices[is_kept]
    is_out_of_order = (src[1:] == src[:-1]) & (dst[1:] <= dst[:-1])
    if is_out_of_order.any():  # rows in any order, or parallel edges
        return list_edges(csr, is_kept, tree)
    return _with_vertices(n, src, dst, weights[is_kept], tree)


def _with_vertices(n: int, src: Any, dst: Any, weight: Any, tree: Tree) -> Edges:
    is_used = np.zeros(n, bool)
    is_used[src] = is_used[dst] = is_used[tree.vertex] = True
    return Edges(src, dst, weight, np.flatnonzero(is_used))
