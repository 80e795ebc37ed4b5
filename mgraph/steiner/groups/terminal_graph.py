"""Group Steiner trees as Steiner trees of terminals, for queries too hard for the exact search.

Each group gets a terminal that is joined to its vertices by edges of one weight, heavier than a
known tree. A tree that uses one such edge per terminal costs that much more than what is left of
it without them; any other costs more than the known tree.

Source: S. Voss, "A survey on some generalizations of Steiner's problem" (1990).
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.deadline import Deadline
from mgraph.steiner import takahashi_matsuyama_cpu, tree_cpu
from mgraph.steiner.improvement import improve as improvement
from mgraph.steiner.improvement.conversion import cheapest, cost_of
from mgraph.steiner.result import gap_of
from mgraph.steiner.tree_cpu import Tree


class TerminalGraph(NamedTuple):
    """The graph with a terminal per group. heavy: the weight of the edges at terminals."""

    csr: Any
    terminals: Any
    heavy: Any

    def from_groups(self, tree: Tree, groups: list[Any]) -> Tree:
        """Return a tree for the groups with the terminals."""
        chosen = [group[np.isin(group, tree.vertex)][0] for group in groups]
        src = np.concatenate([tree.vertex[1:], self.terminals])
        dst = np.concatenate([tree.vertex[tree.parent[1:]], chosen])
        heavy = np.full(len(groups), self.heavy, tree.weight.dtype)
        weight = np.concatenate([tree.weight[1:], heavy])
        return tree_cpu.from_edges(src, dst, weight, self.terminals)

    def to_groups(self, tree: Tree) -> Tree:
        """Return a tree without the terminals."""
        n = self.terminals[0]
        upper = tree.vertex[tree.parent[1:]]
        low, high = np.minimum(tree.vertex[1:], upper), np.maximum(tree.vertex[1:], upper)
        is_inner = high < n
        inner = low[is_inner], high[is_inner], tree.weight[1:][is_inner]
        return tree_cpu.from_edges(*inner, np.unique(low[~is_inner]))


def grow_tree(csr: Any, groups: list[Any], starts: Any) -> Tree:
    """Return the best of the trees that grow from some vertices to the nearest group each time.

    starts: vertices of a component that has a vertex of each group.
    """
    graph = _extend(csr, groups, 1, is_directed=True)
    trees = [
        takahashi_matsuyama_cpu.build_tree(graph.csr, graph.terminals, start)
        for start in starts.tolist()
    ]
    return cheapest(*map(graph.to_groups, trees))


def improve_tree(
    csr: Any, groups: list[Any], known: Tree, improve: bool, deadline: Deadline
) -> tuple[Tree, Any]:
    """Return a tree for groups that costs no more than a known one, and a lower bound.

    csr, deadline: see ``improve``. groups: of distinct vertices, ascending. improve: whether to go
    on from the first local optimum.
    """
    cost = cost_of(known)
    graph = _extend(csr, groups, cost + 1 if isinstance(cost, int) else 2 * cost)
    start = graph.from_groups(known, groups)
    if improve:
        tree, bound = improvement.improve_tree(graph.csr, start, graph.terminals, deadline)
    else:
        tree = improvement.search_locally(graph.csr, graph.terminals, deadline, start)
        bound = improvement.find_bound(graph.csr, tree, graph.terminals, deadline)
    better = graph.to_groups(tree)
    if gap_of(cost_of(tree), bound) == 0:
        return better, cost_of(better)
    return better, max(bound - graph.heavy * len(groups), 0)


def _extend(csr: Any, groups: list[Any], heavy: Any, is_directed: bool = False) -> TerminalGraph:
    """Return the graph with a terminal per group, numbered from n on.

    is_directed: whether no arc leads away from a terminal, so that no path goes through one.
    """
    indptr, indices, weights = csr
    n, k = indptr.size - 1, len(groups)
    dtype = np.float64 if weights.dtype.kind == "f" else np.int64
    members, sizes = np.concatenate(groups), np.array([len(group) for group in groups])
    order = np.argsort(members, kind="stable")
    at, terminal = indptr[members[order] + 1], np.repeat(np.arange(n, n + k), sizes)[order]
    indices = np.insert(indices.astype(np.int64), at, terminal)
    weights = np.insert(weights.astype(dtype), at, heavy)
    degree = np.zeros(n + k, np.int64)
    degree[:n] = np.diff(indptr)
    np.add.at(degree, members, 1)
    if not is_directed:
        degree[n:] = sizes
        indices = np.concatenate([indices, members])
        weights = np.concatenate([weights, np.full(members.size, heavy, dtype)])
    extended = np.concatenate([[0], np.cumsum(degree)]), indices, weights
    return TerminalGraph(extended, np.arange(n, n + k), heavy)
