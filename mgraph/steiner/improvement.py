"""Better trees than STAR's: three local searches, from starts that a lower bound points out.

Local search takes turns: Steiner vertices come in, loose paths are exchanged as STAR does it, key
vertices go, until none of these gains anything. Then, round by round, a dual ascent gives a lower
bound and the edges of which a tree of that cost would consist. On these the shortest path heuristic
starts, with weights made larger at random, and local search goes on from there. Only edges that a
tree cheaper than the best one may have are kept for later rounds: often none is left soon, which
proves the best tree optimal. The best trees so far are also laid over one another: that union is so
small and so good a graph that the same rounds in it find what each of them lacks.

Without a deadline it takes ROUNDS rounds, unless the bound proves the tree optimal before. The
random numbers are always the same, so that without a deadline the tree is, too. Cost: of the first
round an ascent in the whole graph; of all others what is left of it, mostly little.

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
    steiner_vertex_cpu,
    takahashi_matsuyama_cpu,
)
from mgraph.steiner.dual_ascent_cpu import Part
from mgraph.steiner.key_vertex_cpu import Eliminator
from mgraph.steiner.star import LEAST_GAIN
from mgraph.steiner.star_cpu import Searcher
from mgraph.steiner.takahashi_matsuyama_cpu import length_kind
from mgraph.steiner.tree_cpu import Tree

# Rounds in the graph and in a union of trees, starts a round, trees that are laid over one another.
ROUNDS, UNION_ROUNDS, STARTS, UNITED = 6, 2, 6, 8
# By what share a weight is made larger at most, for a start.
NOISE = 0.5
SEED = 1


class Improved(NamedTuple):
    """A tree, and a lower bound on the cost of every tree, int or float; 0 before the first."""

    tree: Tree
    bound: Any


class _LocalSearch:
    """The three local searches in a part of a graph, on trees of the whole graph's ids."""

    def __init__(self, part: Part, search: star.Search, deadline: Deadline) -> None:
        self.part, self.search, self.deadline = part, search, deadline
        self.eliminator = Eliminator(part.csr)

    def improved(self, tree: Tree, eliminating: bool = True) -> Tree:
        """A local optimum, or what there is at the deadline. eliminating: key vertices, too."""
        tree = _inside(self.part, tree)
        steps, idle, at = (self._insert, self._exchange, self._eliminate)[: 2 + eliminating], 0, 0
        while idle < len(steps) and not self.deadline.is_over:
            better = steps[at % len(steps)](tree)
            idle = 1 if cost_of(better) < cost_of(tree) else idle + 1
            tree, at = better, at + 1
        return _outside(self.part, tree)

    def _insert(self, tree: Tree) -> Tree:
        return steiner_vertex_cpu.improved(self.part.csr, tree)

    def _exchange(self, tree: Tree) -> Tree:
        return star.exchanged(self.search, tree, self.deadline)

    def _eliminate(self, tree: Tree) -> Tree:
        return self.eliminator.improved(tree, self.deadline)


def _on_cpu(part: Part, deadline: Deadline) -> _LocalSearch:
    return _LocalSearch(part, Searcher(*part.csr, length_kind(part.csr[2]).name), deadline)


def cost_of(tree: Tree) -> Any:
    """The sum of the weights, int, or float and then correctly rounded, whatever their order."""
    return (math.fsum if tree.weight.dtype.kind == "f" else sum)(tree.weight.tolist())


def bounded(
    search: star.Search, csr: Any, tree: Tree, terminals: Any, deadline: Deadline
) -> Improved:
    """The best tree that was found, no dearer than the given one, and the best lower bound.

    search: STAR's in this graph. csr: NumPy's indptr, indices and weights, all above 0. terminals:
    two or more, int64, ascending. deadline: then the best so far comes back.
    """
    part = Part(csr, np.arange(csr[0].size - 1), terminals)
    local, pool = _LocalSearch(part, search, deadline), [tree]
    _add(pool, local.improved(tree, eliminating=False))
    bound = _rounds(local, pool, ROUNDS, np.random.default_rng(SEED))
    if not _done(pool, bound, deadline):
        _search_from(pool[:1], local, pool, bound)
    cancellation.raise_if_cancelled()
    return Improved(pool[0], bound)


def _rounds(local: _LocalSearch, pool: list[Tree], rounds: int, rng: np.random.Generator) -> Any:
    """Rounds in a part that holds every tree cheaper than the pool's first, which is its best.

    Puts trees into the pool, and returns a lower bound on those in the part and on the best. An
    ascent gets half of the time that is left.
    """
    whole, bound, deadline = local.part, 0, local.deadline
    for i in range(rounds):
        part, half = local.part, deadline.within(deadline.remaining / 2)
        root = rng.choice(part.terminals)
        ascent = dual_ascent_cpu.run(part.csr, part.terminals, root, half, cost_of(pool[0]))
        bound = max(bound, min(ascent.bound, cost_of(pool[0])))
        if not ascent.complete or _done(pool, bound, deadline):
            break
        guide = dual_ascent_cpu.promising(part, root, ascent, 0)
        slack = dual_ascent_cpu.slack_below(ascent, cost_of(pool[0]))
        part = dual_ascent_cpu.promising(part, root, ascent, slack)
        if not part.csr[1].size:
            return cost_of(pool[0])
        local = _on_cpu(part, deadline)
        if i == 0:
            tree = mehlhorn_cpu.run(part.csr, part.terminals)
            _search_from([_outside(part, tree)], local, pool, bound)
        _search_from((_start(guide, part, rng) for _ in range(STARTS)), local, pool, bound)
        if rounds > UNION_ROUNDS and not _done(pool, bound, deadline):
            _unite(pool, whole, local, rng)
    return bound


def _unite(pool: list[Tree], whole: Part, local: _LocalSearch, rng: np.random.Generator) -> None:
    """Rounds in the union of the pool's best trees, the only ones that stay; puts trees in."""
    pool.sort(key=cost_of)
    del pool[UNITED:]
    found = pool[:1]
    _rounds(_on_cpu(_union(pool, whole), local.deadline), found, UNION_ROUNDS, rng)
    if found[0] is not pool[0]:
        _add(found, local.improved(found[0]))
    for tree in found:
        if tree is not pool[0]:
            _add(pool, tree)


def _search_from(starts: Iterable[Tree], local: _LocalSearch, pool: list[Tree], bound: Any) -> None:
    """Put local optima into the pool, until nothing is left to do."""
    for tree in starts:
        if _done(pool, bound, local.deadline):
            break
        _add(pool, local.improved(tree))


def _add(pool: list[Tree], tree: Tree) -> None:
    """Put a tree in, as the first if it is the best."""
    pool.insert(0 if cost_of(tree) < cost_of(pool[0]) else len(pool), tree)


def _done(pool: list[Tree], bound: Any, deadline: Deadline) -> bool:
    """Whether time is up, or no tree is cheaper than the first, but for fractions' rounding."""
    cost = cost_of(pool[0])
    least = cost if isinstance(cost, int) else cost * (1 - LEAST_GAIN)
    return bound >= least or deadline.is_over


def _start(guide: Part, part: Part, rng: np.random.Generator) -> Tree:
    """A tree of the guide's edges by the shortest path heuristic, with weights made larger.

    Then all are divided by the most that one may grow, so that no sum overflows.
    """
    indptr, indices, weights = guide.csr
    noisy = weights * ((1 + NOISE * rng.random(weights.size)) / (1 + NOISE))
    csr = indptr, indices, noisy
    tree = takahashi_matsuyama_cpu.run(csr, guide.terminals, rng.choice(guide.terminals))
    vertices = _inside(part, _outside(guide, tree)).vertex
    return _outside(part, mehlhorn_cpu.spanning_tree(part.csr, vertices, part.terminals))


def _union(trees: list[Tree], whole: Part) -> Part:
    """The part that the edges of some trees make up."""
    indices, weights = whole.csr[1:]
    src = np.concatenate([tree.vertex[1:] for tree in trees])
    dst = np.concatenate([tree.vertex[tree.parent[1:]] for tree in trees])
    weight = np.concatenate([tree.weight[1:] for tree in trees])
    src, dst = (np.searchsorted(whole.vertex, end).astype(indices.dtype) for end in (src, dst))
    return dual_ascent_cpu.subgraph(src, dst, weight.astype(weights.dtype), whole)


def _inside(part: Part, tree: Tree) -> Tree:
    """The tree with a part's places instead of ids."""
    return tree._replace(vertex=np.searchsorted(part.vertex, tree.vertex))


def _outside(part: Part, tree: Tree) -> Tree:
    """The tree with ids instead of a part's places."""
    return tree._replace(vertex=part.vertex[tree.vertex])
