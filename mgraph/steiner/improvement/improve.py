"""A tree of a CSR graph is improved, or a lower bound computed: the package's entry."""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.deadline import NEVER, Deadline
from mgraph.steiner import takahashi_matsuyama_cpu, tree_cpu
from mgraph.steiner.improvement import network_cpu, reduction_cpu
from mgraph.steiner.improvement.bound import Bound
from mgraph.steiner.improvement.network_cpu import Network
from mgraph.steiner.improvement.search import STALE, Search
from mgraph.steiner.star import MIN_RELATIVE_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree

# With more arcs than that the problem is made smaller before it becomes a network.
MAX_ARCS = 1 << 22
SEED = 1


class ImprovedTree(NamedTuple):
    """A tree, and a lower bound on the cost of every tree, int or float; 0 if there was no time."""

    tree: Tree
    bound: Any


class Units(NamedTuple):
    """How weights become integers. scale: a power of two. is_whole: whether weights are integers.

    cost: of the known tree, in weights. step: the least difference that counts, in units.
    """

    scale: float
    is_whole: bool
    cost: Any
    step: int

    def from_weights(self, weights: Any) -> Any:
        """Return weights in units, rounded down; those above the known cost count as much."""
        if self.is_whole and self.scale >= 1:
            capped = np.minimum(weights, min(self.cost, np.iinfo(weights.dtype).max))
            return capped.astype(np.int64) * np.int64(self.scale)
        return np.floor(np.minimum(weights, self.cost, dtype=np.float64) * self.scale).astype(
            np.int64
        )

    def to_bound(self, total: int) -> Any:
        """Return a bound in weights for one in units."""
        if not self.is_whole:
            nearest = float(total)
            return (nearest if nearest <= total else math.nextafter(nearest, 0)) / self.scale
        scaled = total if self.scale >= 1 else total * int(1 / self.scale)
        return min(self.cost, -(-scaled // max(int(self.scale), 1)))


def cost_of(tree: Tree) -> Any:
    """Return the sum of the weights: int, or float and then correctly rounded in any order."""
    return (math.fsum if tree.weight.dtype.kind == "f" else sum)(tree.weight.tolist())


def choose_units(csr: Any, tree: Tree) -> Units:
    """Choose the units for trees that cost no more than a known one."""
    weights, cost = csr[2], cost_of(tree)
    is_whole = weights.dtype.kind in "iu"
    scale = network_cpu.choose_scale(is_whole, max(csr[0].size, csr[1].size), cost)
    step = int(scale) if is_whole and scale >= 1 else 1 + int(cost * scale * MIN_RELATIVE_GAIN)
    return Units(scale, is_whole, cost, step)


def improve_tree(csr: Any, tree: Tree, terminals: Any, deadline: Deadline) -> ImprovedTree:
    """Return the best tree found, which costs no more than the given one, and the best bound.

    csr: NumPy's indptr, indices and weights, none below 0, of both arcs of every edge. terminals:
    two or more, int64, ascending, of one component. deadline: when it is over, the best so far is
    returned; without a time limit the search ends when it no longer gains.
    """
    if deadline.is_over:
        cancellation.raise_if_cancelled()
        return ImprovedTree(tree, 0)
    given, tree = tree, _better_start(csr, tree, terminals)
    units = choose_units(csr, tree)
    with deadline.raising_flag() as flag:
        edges = _find_edges(csr, terminals, tree, units, flag)
        network, weight = edges.to_network(terminals, units)
        search = Search(network, weight, units.step, flag, SEED)
        max_stale = STALE if math.isinf(deadline.remaining) else math.inf
        search.run(edges.ids_of(tree), max_stale)
    cancellation.raise_if_cancelled()
    best = edges.to_tree(search.best, terminals, sum_dtype(csr[2]))
    if cost_of(best) >= units.cost:
        best = tree
    if cost_of(best) >= cost_of(given):
        best = given
    bound = units.to_bound(search.lower_bound)
    return ImprovedTree(best, min(bound, cost_of(best)))


def _better_start(csr: Any, tree: Tree, terminals: Any) -> Tree:
    """Return the tree, or one that grows from a terminal if that costs less."""
    grown = takahashi_matsuyama_cpu.build_tree(csr, terminals, terminals[0])
    return grown if cost_of(grown) < cost_of(tree) else tree


def find_bound(csr: Any, tree: Tree, terminals: Any, deadline: Deadline = NEVER) -> Any:
    """Return a lower bound on the cost of every tree, at most that of a known one: see above."""
    units = choose_units(csr, _better_start(csr, tree, terminals))
    with deadline.raising_flag() as flag:
        bound = _ascend(csr, terminals, tree, units, flag)
    cancellation.raise_if_cancelled()
    return min(units.to_bound(bound.total), units.cost)


def _ascend(csr: Any, terminals: Any, tree: Tree, units: Units, flag: Any) -> Bound:
    """Run a dual ascent in a CSR graph, guided by a tree that begins at its root."""
    indptr, indices, weights = csr
    guide = np.full(indptr.size - 1, -1)
    guide[tree.vertex[1:]] = tree.vertex[tree.parent[1:]]
    root = int(tree.vertex[0])
    return Bound(indptr, indices, units.from_weights(weights), terminals, root, guide, flag)


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

    def to_tree(self, ids: Any, terminals: Any, dtype: Any) -> Tree:
        """Return the tree of some edges."""
        ends = (self.src[ids].astype(np.int64), self.dst[ids].astype(np.int64))
        return tree_cpu.from_edges(*ends, self.weight[ids].astype(dtype), terminals)


def _find_edges(csr: Any, terminals: Any, tree: Tree, units: Units, flag: Any) -> Edges:
    """Return all edges that a better tree may have, and those of the tree."""
    indptr, indices, weights = csr
    n = indptr.size - 1
    tails = np.repeat(np.arange(n, dtype=indices.dtype), np.diff(indptr))
    is_kept = weights <= units.cost
    if indices.size <= MAX_ARCS:
        is_kept &= tails < indices
    else:
        bound = _ascend(csr, terminals, tree, units, flag)
        slack = int(units.cost * units.scale) - bound.total
        is_kept &= reduction_cpu.arcs_below(indptr, indices, bound.reduced, terminals, slack, flag)
        if flag[0]:
            is_kept[:] = False
    src, dst, weight = tails[is_kept], indices[is_kept], weights[is_kept]
    if indices.size > MAX_ARCS:
        src = np.concatenate([src, tree.vertex[1:].astype(src.dtype)])
        dst = np.concatenate([dst, tree.vertex[tree.parent[1:]].astype(src.dtype)])
        weight = np.concatenate([weight, tree.weight[1:].astype(weight.dtype)])
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    keys = src.astype(np.int64) * n + dst
    if (keys[1:] <= keys[:-1]).any():  # in any order, or parallel: the lightest remains
        order = np.lexsort((weight, keys))
        keys = keys[order]
        order = order[np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))]
        src, dst, weight = src[order], dst[order], weight[order]
        is_edge = src != dst
        src, dst, weight = src[is_edge], dst[is_edge], weight[is_edge]
    is_used = np.zeros(n, bool)
    is_used[src] = is_used[dst] = is_used[terminals] = True
    return Edges(src, dst, weight, np.flatnonzero(is_used))
