"""Better trees than STAR's: three local searches, from starts that a lower bound points out.

The local searches take turns: Steiner vertices are inserted, loose paths are exchanged as STAR does
it, key vertices are eliminated, until none of these gains anything. Then, round by round, a dual
ascent gives a lower bound and the edges of which a tree of that cost would consist. On these the
shortest path heuristic starts, with weights that are increased at random, and local search goes on
from there. Only edges that a tree cheaper than the best one may have are kept for later rounds:
often none remains soon, which proves the best tree optimal. The union of the best trees so far is
searched, too: it is so small and so good a graph that the same rounds in it find what each of the
trees lacks.

Without a deadline there are ROUNDS rounds, unless the bound proves the tree optimal before. The
random numbers are always the same, so that without a deadline the tree is deterministic. Cost: of
the first round one ascent in the whole graph; of all others what remains of it, mostly little.

Sources: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010); T. Pajor,
E. Uchoa, R. F. Werneck, "A robust and scalable algorithm for the Steiner problem in graphs" (2018).
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.deadline import Deadline
from mgraph.steiner import (
    dual_ascent_cpu,
    mehlhorn_cpu,
    star,
    star_cpu,
    steiner_vertex_cpu,
    takahashi_matsuyama_cpu,
)
from mgraph.steiner.dual_ascent_cpu import Subgraph
from mgraph.steiner.key_vertex_cpu import Eliminator
from mgraph.steiner.star import MIN_RELATIVE_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree

# Rounds in the graph and in a union of trees, starts per round, and trees of a union.
ROUNDS, UNION_ROUNDS, STARTS, UNION_TREES = 6, 2, 6, 8
# The share by which a weight is increased at most, for a start.
NOISE = 0.5
SEED = 1


class ImprovedTree(NamedTuple):
    """A tree, and a lower bound on the cost of every tree, int or float; 0 before the first."""

    tree: Tree
    bound: Any


class _LocalSearch:
    """The three local searches in a subgraph, on trees with the whole graph's ids."""

    def __init__(self, graph: Subgraph, search: star.Search, deadline: Deadline) -> None:
        self.graph, self.search, self.deadline = graph, search, deadline
        self.eliminator = Eliminator(graph.csr)

    def improve(self, tree: Tree, eliminate: bool = True) -> Tree:
        """Return a local optimum, or the tree so far at the deadline. eliminate: key vertices."""
        tree = _to_indices(self.graph, tree)
        steps = (self._insert, self._exchange, self._eliminate)[: 2 + eliminate]
        without_gain, i = 0, 0
        while without_gain < len(steps) and not self.deadline.is_over:
            better = steps[i % len(steps)](tree)
            without_gain = 1 if cost_of(better) < cost_of(tree) else without_gain + 1
            tree, i = better, i + 1
        return _to_ids(self.graph, tree)

    def _insert(self, tree: Tree) -> Tree:
        return steiner_vertex_cpu.improve(self.graph.csr, tree)

    def _exchange(self, tree: Tree) -> Tree:
        return star.improve_tree(self.search, tree, self.deadline)

    def _eliminate(self, tree: Tree) -> Tree:
        return self.eliminator.improve(tree, self.deadline)


def _local_search(graph: Subgraph, deadline: Deadline) -> _LocalSearch:
    search = star_cpu.new_search(*graph.csr, sum_dtype(graph.csr[2]).name)
    return _LocalSearch(graph, search, deadline)


def cost_of(tree: Tree) -> Any:
    """Return the sum of the weights: int, or float and then correctly rounded in any order."""
    return (math.fsum if tree.weight.dtype.kind == "f" else sum)(tree.weight.tolist())


def improve_tree(
    search: star.Search, csr: Any, tree: Tree, terminals: Any, deadline: Deadline
) -> ImprovedTree:
    """Return the best tree found, which costs no more than the given one, and the best bound.

    search: STAR's in this graph. csr: NumPy's indptr, indices and weights, all above 0. terminals:
    two or more, int64, ascending. deadline: when it is over, the best so far is returned.
    """
    graph = Subgraph(csr, np.arange(csr[0].size - 1), terminals)
    local, pool = _LocalSearch(graph, search, deadline), [tree]
    _add_to_pool(pool, local.improve(tree, eliminate=False))
    bound = _run_rounds(local, pool, ROUNDS, np.random.default_rng(SEED))
    if not _is_finished(pool, bound, deadline):
        _search_from(pool[:1], local, pool, bound)
    cancellation.raise_if_cancelled()
    return ImprovedTree(pool[0], bound)


def _run_rounds(
    local: _LocalSearch, pool: list[Tree], rounds: int, rng: np.random.Generator
) -> Any:
    """Run rounds in a subgraph that holds every tree cheaper than the pool's first, its best.

    Adds trees to the pool, and returns a lower bound on those in the subgraph and on the best. An
    ascent gets half of the remaining time.
    """
    full_graph, bound, deadline = local.graph, 0, local.deadline
    for i in range(rounds):
        graph, half = local.graph, deadline.within(deadline.remaining / 2)
        root = rng.choice(graph.terminals)
        ascent = dual_ascent_cpu.ascend(graph.csr, graph.terminals, root, half, cost_of(pool[0]))
        bound = max(bound, min(ascent.bound, cost_of(pool[0])))
        if not ascent.complete or _is_finished(pool, bound, deadline):
            break
        guide = dual_ascent_cpu.promising_edges(graph, root, ascent, 0)
        slack = dual_ascent_cpu.slack_below(ascent, cost_of(pool[0]))
        graph = dual_ascent_cpu.promising_edges(graph, root, ascent, slack)
        if not graph.csr[1].size:
            return cost_of(pool[0])
        local = _local_search(graph, deadline)
        if i == 0:
            tree = mehlhorn_cpu.build_tree(graph.csr, graph.terminals)
            _search_from([_to_ids(graph, tree)], local, pool, bound)
        starts = (_random_start(guide, graph, rng) for _ in range(STARTS))
        _search_from(starts, local, pool, bound)
        if rounds > UNION_ROUNDS and not _is_finished(pool, bound, deadline):
            _search_union(pool, full_graph, local, rng)
    return bound


def _search_union(
    pool: list[Tree], full_graph: Subgraph, local: _LocalSearch, rng: np.random.Generator
) -> None:
    """Run rounds in the union of the pool's best trees, the only ones kept; add their trees."""
    pool.sort(key=cost_of)
    del pool[UNION_TREES:]
    union_pool = pool[:1]
    union = _local_search(_union(pool, full_graph), local.deadline)
    _run_rounds(union, union_pool, UNION_ROUNDS, rng)
    if union_pool[0] is not pool[0]:
        _add_to_pool(union_pool, local.improve(union_pool[0]))
    for tree in union_pool:
        if tree is not pool[0]:
            _add_to_pool(pool, tree)


def _search_from(starts: Iterable[Tree], local: _LocalSearch, pool: list[Tree], bound: Any) -> None:
    """Add the local optima of some starts to the pool, until it is finished."""
    for tree in starts:
        if _is_finished(pool, bound, local.deadline):
            break
        _add_to_pool(pool, local.improve(tree))


def _add_to_pool(pool: list[Tree], tree: Tree) -> None:
    """Add a tree, as the first if it is the best."""
    pool.insert(0 if cost_of(tree) < cost_of(pool[0]) else len(pool), tree)


def _is_finished(pool: list[Tree], bound: Any, deadline: Deadline) -> bool:
    """Return whether time is over, or the first tree is optimal up to the rounding of fractions."""
    cost = cost_of(pool[0])
    minimum = cost if isinstance(cost, int) else cost * (1 - MIN_RELATIVE_GAIN)
    return bound >= minimum or deadline.is_over


def _random_start(guide: Subgraph, graph: Subgraph, rng: np.random.Generator) -> Tree:
    """Build a tree of the guide's edges by the shortest path heuristic, with increased weights.

    All weights are divided by the largest factor, so that no sum overflows.
    """
    indptr, indices, weights = guide.csr
    noisy = weights * ((1 + NOISE * rng.random(weights.size)) / (1 + NOISE))
    csr, start = (indptr, indices, noisy), rng.choice(guide.terminals)
    tree = takahashi_matsuyama_cpu.build_tree(csr, guide.terminals, start)
    vertices = _to_indices(graph, _to_ids(guide, tree)).vertex
    return _to_ids(graph, mehlhorn_cpu.spanning_tree(graph.csr, vertices, graph.terminals))


def _union(trees: list[Tree], full_graph: Subgraph) -> Subgraph:
    """Return the subgraph that the edges of some trees make up."""
    indices, weights = full_graph.csr[1:]
    src = np.concatenate([tree.vertex[1:] for tree in trees])
    dst = np.concatenate([tree.vertex[tree.parent[1:]] for tree in trees])
    weight = np.concatenate([tree.weight[1:] for tree in trees])
    src, dst = (np.searchsorted(full_graph.vertex, end).astype(indices.dtype) for end in (src, dst))
    return dual_ascent_cpu.edge_subgraph(src, dst, weight.astype(weights.dtype), full_graph)


def _to_indices(graph: Subgraph, tree: Tree) -> Tree:
    """Return the tree with indices into the subgraph's vertices instead of ids."""
    return tree._replace(vertex=np.searchsorted(graph.vertex, tree.vertex))


def _to_ids(graph: Subgraph, tree: Tree) -> Tree:
    """Return the tree with ids instead of indices into the subgraph's vertices."""
    return tree._replace(vertex=graph.vertex[tree.vertex])
