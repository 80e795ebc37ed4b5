"""The search for a better tree and a better bound, until they meet or time is up.

1. A dual ascent gives a bound. Trees are grown from a few terminals, with noise in the weights, and
   searched locally; the best of them guides another ascent.
2. What no better tree needs is removed (``reduction_cpu``), again whenever the best tree or the
   bound has become better.
3. Cycle by cycle, a tree is taken from the pool, or grown from a terminal, and led by a walk with
   less and less noise to a better one; walks become longer. The result is merged with the pool's
   trees: what both have is kept, the rest is searched for what is best of either. The bound is
   searched for as many steps as help.

All random numbers come from one seed, and steps are counted, so that without a deadline the result
is the same everywhere. Without a deadline it ends after STALE cycles without a gain.

Sources: T. Pajor, E. Uchoa, R. F. Werneck, "A robust and scalable algorithm for the Steiner problem
in graphs" (2018), for the pool; E. Uchoa, R. F. Werneck (2010) for the local searches.
"""

import contextlib
import math
from typing import Any

import numpy as np

from mgraph.steiner import dreyfus_wagner_cpu
from mgraph.steiner.dreyfus_wagner_cpu import MAX_GROUPS
from mgraph.steiner.improvement import contraction_cpu, reduction_cpu, subproblem_cpu
from mgraph.steiner.improvement.bound import Bound
from mgraph.steiner.improvement.contraction_cpu import Reduced
from mgraph.steiner.improvement.network_cpu import EDGE, HEAD, INFINITY, Network, new_workspace
from mgraph.steiner.improvement.trees_cpu import grow, hang, induced_edges, span
from mgraph.steiner.improvement.walk_cpu import add_noise, search_locally, walk

STALE = 6  # cycles without a gain, after which the search ends
POOL = 8  # trees
STARTS = 3
# Noise in units of 1 / 1024: of a start, and of a walk's first and last step.
START_NOISE, FIRST_NOISE, LAST_NOISE = 205, 614, 102
MERGE_STEPS = 5
# Of the walk of a cycle: at first, and at most with and without a deadline.
MIN_WALK, MAX_WALK, MAX_ENDLESS_WALK = 20, 1280, 40
# Of the search for a better bound: steps of a round, and rounds of a cycle at least, or one per so
# many steps of its walk.
BOUND_STEPS, MIN_ROUNDS, STEPS_PER_ROUND = 500, 3, 10
# States of the exact search for few terminals: in the first attempt and at most.
FIRST_STATES, MAX_STATES = 1 << 17, 1 << 23


class _TimeUp(Exception):
    """Ends a search whose current step has no result."""


class Search:
    """The state of a search: the current problem, its best trees, and its bound. All in units."""

    def __init__(self, network: Network, weight: Any, step: int, flag: Any, seed: int) -> None:
        """Begin without a tree. step: the least difference between two costs."""
        self.flag, self.step = flag, step
        self.rng = np.random.default_rng(seed)
        self.reductions: list[Reduced] = []
        self.outer_weight = weight
        self.best: Any = None  # a tree of the outer network
        self.best_cost = int(INFINITY)
        self.lower_bound = 0
        self.fixed_cost = 0  # of what reductions have taken
        self._enter(network, weight)

    def _enter(self, network: Network, weight: Any) -> None:
        self.network, self.weight = network, weight
        self.work, self.pool = new_workspace(network), list[Any]()
        self.bound: Bound | None = None

    @property
    def is_over(self) -> bool:
        """Whether time is up or the best tree is optimal."""
        return bool(self.flag[0]) or self.lower_bound > self.best_cost - self.step

    def run(self, tree: Any, max_stale: float = STALE) -> None:
        """Search, from a tree of the network. max_stale: cycles without a gain."""
        self.add(tree)
        with contextlib.suppress(_TimeUp):
            self._run(max_stale)

    def _run(self, max_stale: float) -> None:
        self._raise_bound()
        self.add(self._search_locally(self.pool[0]))
        for _ in range(STARTS):
            if self.is_over:
                return
            self.add(self._start())
        self._raise_bound()  # again, since the best tree guides it
        self._reduce()
        stale, max_states, steps = 0, FIRST_STATES, MIN_WALK
        max_steps = MAX_WALK if max_stale == math.inf else MAX_ENDLESS_WALK
        while not self.is_over and stale < max_stale:
            cost, total = self.best_cost, self.lower_bound
            if self.network.terminals.size <= MAX_GROUPS and max_states <= MAX_STATES:
                self._solve_exactly(max_states)
                max_states *= 4
                if self.is_over:
                    break
            self._improve_tree(steps)
            self._improve_bound(max(MIN_ROUNDS, steps // STEPS_PER_ROUND))
            gap = self.best_cost - self.lower_bound
            has_gained = self.best_cost < cost or self.lower_bound - total > gap // 50
            stale = 0 if has_gained else stale + 1
            steps = min(steps + steps // 2, max_steps)
            self._reduce()

    def cost_of(self, tree: Any) -> int:
        """Return the cost of a tree of the current network."""
        return int(self.weight[tree].sum())

    def add(self, tree: Any) -> None:
        """Add a tree of the current network to the pool, and see whether it is the best."""
        cost = self.cost_of(tree)
        if cost + self.fixed_cost < self.best_cost:
            self.best_cost, self.best = cost + self.fixed_cost, self._expand(tree)
        if any(np.array_equal(tree, other) for other in self.pool):
            return
        self.pool.append(tree)
        self.pool.sort(key=self.cost_of)
        del self.pool[POOL:]

    def _expand(self, tree: Any) -> Any:
        for reduced in reversed(self.reductions):
            tree = reduced.expand(tree)
        return tree

    def _random(self) -> int:
        return int(self.rng.integers(1 << 62))

    def _grow(self, weight: Any, start: int) -> Any:
        """Grow a tree, and return a minimum spanning tree of its vertices."""
        tree = grow(self.network, weight[self.network.arcs[:, EDGE]], start, self.work, self.flag)
        if self.flag[0]:
            raise _TimeUp
        edges = induced_edges(self.network, tree, self.work.stamp)
        return span(self.network, weight, edges, self.work)

    def _search_locally(self, tree: Any) -> Any:
        return search_locally(self.network, self.weight, tree, self.work, self.flag)

    def _start(self) -> Any:
        """Grow a tree with noise in the weights, and search locally."""
        noisy = add_noise(self.weight, START_NOISE, self._random())
        tree = self._grow(noisy, int(self.rng.choice(self.network.terminals)))
        tree = walk(self.network, noisy, tree, 0, 0, 0, self.work, self.flag, rounds=1)
        return self._search_locally(tree)

    def _walk(self, tree: Any, steps: int, noise: float) -> Any:
        return walk(
            self.network, self.weight, tree, steps, int(noise), self._random(), self.work, self.flag
        )

    def _improve_tree(self, steps: int) -> None:
        """Take a cycle: lead a tree to a better one, and merge it with the pool's."""
        choice = self.rng.random()
        if choice < 0.5 or len(self.pool) < 2:
            tree = self.pool[0]
        elif choice < 0.75:
            tree = self.pool[self.rng.integers(1, len(self.pool))]
        else:
            tree = self._start()
        for i in range(steps):
            noise = FIRST_NOISE * (LAST_NOISE / FIRST_NOISE) ** (i / (steps - 1))
            tree = self._walk(tree, 1, noise)
            if self.flag[0]:
                break
        others = [other for other in self.pool if not np.array_equal(other, tree)]
        self.add(tree)
        for other in others:
            if self.flag[0]:
                break
            tree = self._merge(tree, other)
        self.add(tree)

    def _merge(self, first: Any, second: Any) -> Any:
        """Return a tree that costs no more than either: the best of both, searched locally."""
        kept, candidates = subproblem_cpu.differences(first, second)
        cheaper = first if self.cost_of(first) <= self.cost_of(second) else second
        if not candidates.size:
            return cheaper
        merged = self._solve_part(cheaper, kept, candidates, MERGE_STEPS)
        if self.cost_of(merged) < self.cost_of(cheaper):
            return self._search_locally(merged)
        return cheaper

    def _solve_part(self, tree: Any, kept: Any, candidates: Any, steps: int) -> Any:
        """Return the tree after a walk in the subproblem of the candidates."""
        part = subproblem_cpu.contract(self.network, self.weight, kept, candidates, tree, self.work)
        if part.network.terminals.size < 2:
            return tree
        noise = FIRST_NOISE / 2
        better = walk(
            part.network, part.weight, part.tree, steps, int(noise), self._random(),
            new_workspace(part.network), self.flag,
        )  # fmt: skip
        if part.weight[better].sum() == part.weight[part.tree].sum():
            return tree
        return span(self.network, self.weight, subproblem_cpu.extend(part, better), self.work)

    def _raise_bound(self) -> None:
        """Run a dual ascent in the current problem, guided by its best tree."""
        network, tree = self.network, self.pool[0]
        rooted = hang(network, tree, self.work.position)
        self.work.position[rooted.vertex] = -1
        guide = np.full(network.indptr.size - 1, -1)
        root = int(self.rng.choice(network.terminals))
        guide[rooted.vertex[1:]] = rooted.vertex[rooted.parent[1:]]
        weights = self.weight[network.arcs[:, EDGE]]
        heads = network.arcs[:, HEAD].copy()
        self.bound = Bound(
            network.indptr, heads, weights, network.terminals, root, guide, self.flag
        )
        self._note_bound()

    def _note_bound(self) -> None:
        assert self.bound is not None
        total = self.bound.total + self.fixed_cost
        self.lower_bound = max(self.lower_bound, min(total, self._least_better))

    @property
    def _least_better(self) -> int:
        """The bound if no tree is better by a step: reductions keep only those that are."""
        return self.best_cost - self.step + 1

    def _improve_bound(self, rounds: int) -> None:
        assert self.bound is not None
        for _ in range(rounds):
            gain = self.bound.search(BOUND_STEPS, self._random())
            self._note_bound()
            gap = self.best_cost - self.lower_bound
            if self.is_over:
                break
            if gain < gap // 20:
                self._raise_bound()  # from another root

    def _solve_exactly(self, max_states: int) -> None:
        """Search for a better tree by dynamic programming; if it ends, the best tree is optimal."""
        max_cost = self.best_cost - self.fixed_cost - self.step
        tree, is_optimal = dreyfus_wagner_cpu.solve_network(
            self.network, self.weight, max_cost, max_states, self.flag
        )
        if tree is not None:
            self.add(span(self.network, self.weight, tree, self.work))
        if is_optimal:
            self.lower_bound = self._least_better

    def _reduce(self) -> None:
        """Remove what no better tree needs, if that makes the problem smaller."""
        assert self.bound is not None
        if self.is_over:
            return
        network, weight = self.network, self.weight
        cost = self.best_cost - self.fixed_cost - self.step  # of the dearest tree that is better
        heads, arc_weight = network.arcs[:, HEAD].copy(), weight[network.arcs[:, EDGE]]
        nearest = reduction_cpu.find_nearest(
            network.indptr, heads, arc_weight, network.terminals, INFINITY, network.shift, self.flag
        )
        is_kept = reduction_cpu.edges_short(network.ends, weight, *nearest, network.terminals.size)
        is_near = reduction_cpu.vertices_below(network, weight, nearest, cost, self.flag)
        is_kept &= is_near[network.ends].all(axis=1)
        if self.bound.is_complete:
            slack = cost - self.bound.total
            is_kept &= reduction_cpu.edges_below(
                network, self.bound.reduced, self.bound.root, slack, self.flag
            )
        if self.flag[0]:
            return
        if not reduction_cpu.connects_terminals(network, is_kept):  # so no tree is better
            self.lower_bound = self._least_better
            return
        reduced = contraction_cpu.shrink(network, weight, is_kept)
        if reduced.weight.size > 0.9 * weight.size:
            return
        trees = [reduced.restrict(tree) for tree in self.pool]
        self.reductions.append(reduced)
        self.fixed_cost += int(weight[reduced.expand(trees[0][:0])].sum())
        if reduced.network.terminals.size < 2:
            self._finish()
            return
        self._enter(reduced.network, reduced.weight)
        for tree in trees:
            self.add(self._repair(tree))
        self._raise_bound()

    def _repair(self, part: Any) -> Any:
        """Return a tree of the current network for a part of one."""
        weight = self.weight.copy()
        weight[part] >>= 10
        tree = self._grow(weight, int(self.network.terminals[0]))
        return self._search_locally(tree)

    def _finish(self) -> None:
        """Take the tree of what the reductions have taken, which is all that is needed."""
        tree = self._expand(np.empty(0, np.int64))
        cost = int(self.outer_weight[tree].sum())
        if cost < self.best_cost:
            self.best, self.best_cost = tree, cost
        self.lower_bound = self._least_better
