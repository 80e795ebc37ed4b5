"""A tree of a CSR graph is improved, or a lower bound computed: the package's entries.

csr: NumPy's indptr, indices and weights, none below 0, of both arcs of every edge. terminals: two
or more, int64, ascending, of one component. Trees are pruned.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.deadline import NEVER, Deadline
from mgraph.steiner import mehlhorn_cpu, takahashi_matsuyama_cpu
from mgraph.steiner.improvement import conversion, network_cpu, reduction_cpu
from mgraph.steiner.improvement.bound import Bound
from mgraph.steiner.improvement.conversion import Edges, Units, cheapest, choose_units, cost_of
from mgraph.steiner.improvement.search import STALE, Search
from mgraph.steiner.improvement.walk_cpu import search_locally as search_network
from mgraph.steiner.improvement.walk_cpu import walk
from mgraph.steiner.tree_cpu import Tree

# With more arcs than that the problem is made smaller before it becomes a network.
MAX_ARCS = 1 << 22
SEED = 1
# Of the walk of ``search_locally``: its noise in units of 1 / 1024, edges times steps, and steps.
WALK_NOISE, WALK_ARCS, WALK_STEPS = 300, 1 << 20, (2, 50)


class ImprovedTree(NamedTuple):
    """A tree, and a lower bound on the cost of every tree, int or float; 0 if there was no time."""

    tree: Tree
    bound: Any


def improve_tree(
    csr: Any, tree: Tree, terminals: Any, deadline: Deadline, on_gpu: bool = False
) -> ImprovedTree:
    """Return the best tree found, which costs no more than the given one, and the best bound.

    deadline: when it is over, the best so far is returned; without a time limit the search ends
    when it no longer gains. on_gpu: whether a GPU exchanges vertices first.
    """
    if deadline.is_over:
        cancellation.raise_if_cancelled()
        return ImprovedTree(tree, 0)
    if on_gpu:
        start = exchange_vertices(csr, tree, terminals, deadline)
    else:
        start = cheapest(tree, *cheap_trees(csr, terminals))
    units = choose_units(csr, start)
    with deadline.raising_flag() as flag:
        edges = _find_edges(csr, terminals, start, units, flag)
        network, weight = edges.to_network(terminals, units)
        search = Search(network, weight, units.step, flag, SEED)
        max_stale = STALE if math.isinf(deadline.remaining) else math.inf
        search.run(edges.ids_of(start), max_stale)
    cancellation.raise_if_cancelled()
    best = cheapest(tree, start, edges.to_tree(search.best, terminals))
    return ImprovedTree(best, min(units.to_bound(search.lower_bound), cost_of(best)))


def exchange_vertices(csr: Any, tree: Tree, terminals: Any, deadline: Deadline) -> Tree:
    """Return a tree that costs no more, by moves on a GPU; if it has no memory for them, the same.

    Takes at most half of the remaining time.
    """
    from mgraph.steiner.improvement import vertex_exchange_gpu

    units = choose_units(csr, tree)
    edges = conversion.light_edges(csr, tree, units)
    network, weight = edges.to_network(terminals, units)
    work = network_cpu.new_workspace(network)
    with deadline.within(deadline.remaining / 2).raising_flag() as flag:
        best = vertex_exchange_gpu.exchange_vertices(
            network, weight, edges.ids_of(tree), work, flag
        )
    cancellation.raise_if_cancelled()
    return cheapest(tree, edges.to_tree(best, terminals))


def search_locally(csr: Any, terminals: Any, deadline: Deadline = NEVER, *known: Tree) -> Tree:
    """Return a local optimum of all moves, after a walk over some of them from a few starts.

    known: trees to start from besides the cheap ones.
    """
    starts = [*known, *cheap_trees(csr, terminals)]
    start = cheapest(*starts)
    units = choose_units(csr, start)
    with deadline.raising_flag() as flag:
        edges = conversion.light_edges(csr, start, units)
        network, weight = edges.to_network(terminals, units)
        work = network_cpu.new_workspace(network)
        optima = [
            search_network(network, weight, edges.ids_of(tree), work, flag)
            for tree in starts
            if tree.weight.max() <= units.cost  # heavier edges are left out
        ]
        steps = int(np.clip(WALK_ARCS // max(weight.size, 1), *WALK_STEPS))
        best = min(optima, key=lambda tree: weight[tree].sum())
        best = walk(network, weight, best, steps, WALK_NOISE, SEED, work, flag)
    cancellation.raise_if_cancelled()
    return cheapest(*starts, edges.to_tree(best, terminals))


def find_bound(csr: Any, tree: Tree, terminals: Any, deadline: Deadline = NEVER) -> Any:
    """Return a lower bound on the cost of every tree, at most that of the given one."""
    units = choose_units(csr, cheapest(tree, *cheap_trees(csr, terminals)))
    with deadline.raising_flag() as flag:
        bound = _ascend(csr, terminals, tree, units, flag)
    cancellation.raise_if_cancelled()
    return min(units.to_bound(bound.total), cost_of(tree))


def cheap_trees(csr: Any, terminals: Any) -> list[Tree]:
    """Return the trees of the two shortest path heuristics."""
    grown = takahashi_matsuyama_cpu.build_tree(csr, terminals, terminals[0])
    return [grown, mehlhorn_cpu.build_tree(csr, terminals)]


def _ascend(csr: Any, terminals: Any, tree: Tree, units: Units, flag: Any) -> Bound:
    """Run a dual ascent in a CSR graph, guided by a tree that begins at its root."""
    indptr, indices, weights = csr
    guide = np.full(indptr.size - 1, -1)
    guide[tree.vertex[1:]] = tree.vertex[tree.parent[1:]]
    root = int(tree.vertex[0])
    return Bound(indptr, indices, units.from_weights(weights), terminals, root, guide, flag)


def _find_edges(csr: Any, terminals: Any, tree: Tree, units: Units, flag: Any) -> Edges:
    """Return all edges that a better tree may have, and those of the tree."""
    indptr, indices, _ = csr
    if indices.size <= MAX_ARCS:
        return conversion.light_edges(csr, tree, units)
    bound = _ascend(csr, terminals, tree, units, flag)
    slack = int(units.cost * units.lift * units.scale) - bound.total
    is_kept = reduction_cpu.arcs_below(indptr, indices, bound.reduced, terminals, slack, flag)
    if flag[0]:
        is_kept[:] = False
    return conversion.list_edges(csr, is_kept, tree)
