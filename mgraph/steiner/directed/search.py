"""The search for a cheap arborescence and a bound: growth, local search and dual ascent in turns.

1. An arborescence grows from the root, and paths are exchanged until none can be replaced.
2. A dual ascent gives a bound, and a reduced cost of each arc.
3. In rounds arborescences grow with weights that mix the reduced costs with noise, and are searched
   locally; the bound is searched for, guided by the best. A round without a gain may be the last.

For few terminals dynamic programming finds the best one.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import heap_cpu
from mgraph.steiner import dreyfus_wagner_cpu
from mgraph.steiner.directed import growth_cpu, path_exchange_cpu
from mgraph.steiner.directed.growth_cpu import NONE, UNREACHED
from mgraph.steiner.directed.problem import Problem
from mgraph.steiner.improvement.bound import Bound

# Rounds without a gain after which a search without a time limit ends, and trees per round.
STALE, TREES = 8, 8
_BOUND_STEPS = 200
# The exact search takes so many terminals, and is given up at so many states.
MAX_TERMINALS, MAX_STATES = 12, 1 << 18
SEED = 1


class Arborescence(NamedTuple):
    """Arcs, ascending, and their cost and a lower bound in units."""

    arcs: Any
    cost: int
    bound: int


class _Memory:
    """Arrays that searches share."""

    def __init__(self, problem: Problem) -> None:
        n = problem.n
        self.distance, self.via = np.full(n, UNREACHED), np.full(n, NONE)
        self.is_terminal = np.zeros(n, bool)
        self.is_terminal[problem.terminals] = True


def new_heap(problem: Problem) -> Any:
    """Return a heap for the problem's vertices."""
    return heap_cpu.new(problem.n, small=False)


def grow(problem: Problem, weights: Any, flag: Any) -> tuple[Any, int]:
    """Return an arborescence as ``growth_cpu`` has it, pruned, and how many terminals it lacks."""
    above, missing = growth_cpu.grow_tree(
        problem.indptr, problem.heads, problem.tails, weights, problem.root, problem.terminals,
        new_heap(problem), flag,
    )  # fmt: skip
    if not missing and not flag[0]:
        growth_cpu.prune(above, problem.tails, problem.terminals)
    return above, missing


class Search:
    """A search with weights in units. step: the least gain that counts."""

    max_arcs = 1 << 62  # of a terminal's set in a dual ascent

    def __init__(self, problem: Problem, weights: Any, step: int, flag: Any) -> None:
        """Prepare the search. flag: not 0 once time is up."""
        self.problem, self.weights, self.step, self.flag = problem, weights, step, flag
        self.memory, self.rng = _Memory(problem), np.random.default_rng(SEED)
        self.best: Any = None
        self.best_cost, self.lower_bound = UNREACHED, 0
        self.bound: Bound | None = None

    @property
    def is_proved(self) -> bool:
        """Whether no tree is better by a step."""
        return self.lower_bound > self.best_cost - self.step

    @property
    def is_over(self) -> bool:
        """Whether time is up, or the best is proved to be."""
        return bool(self.flag[0]) or self.is_proved

    @property
    def result(self) -> Arborescence:
        """The best so far."""
        arcs = np.sort(self.best[self.best >= 0])
        return Arborescence(arcs, self.best_cost, min(self.lower_bound, self.best_cost))

    def start(self, first: Any) -> None:
        """Take a first tree, and compute a bound."""
        self.best, self.best_cost = first, int(growth_cpu.cost_of(first, self.weights))
        self.take(first.copy())
        self._ascend()

    def improve(self, max_stale: float) -> None:
        """Go on until the best is proved to be, or a gain is ``max_stale`` rounds ago."""
        stale = 0
        while not self.is_over and stale < max_stale:
            cost, bound = self.best_cost, self.lower_bound
            for _ in range(TREES):
                if self.is_over:
                    return
                self.take(self._grow_with_noise())
            if self.best_cost < cost:
                self._ascend()
            self._search_bound()
            gap = self.best_cost - self.lower_bound
            has_gained = self.best_cost < cost or self.lower_bound - bound > gap // 50
            stale = 0 if has_gained else stale + 1

    def solve_exactly(self) -> None:
        """Find the best one by dynamic programming, if that takes no more than ``MAX_STATES``."""
        problem = self.problem
        k = problem.terminals.size
        order = problem.in_arcs
        groups = np.concatenate([problem.terminals, [problem.root]])
        # From the root to each vertex; a tree of what is left holds such a path to each terminal.
        depth = self._distances_from_root()
        limit = np.int64(2 * (self.best_cost - self.step))
        distance = np.empty((problem.n, k + 1), np.int64)
        distance[:, :k] = depth[problem.terminals]
        distance[:, k] = np.minimum(depth, limit + 1)
        between = np.zeros((k + 1, k + 1), np.int64)
        arcs, cost, states = dreyfus_wagner_cpu.solve.with_work(
            min(problem.n << k, MAX_STATES), problem.in_indptr, problem.tails[order], order,
            2 * self.weights[order], groups, np.arange(k + 2), distance, between, limit,
            heap_cpu.new(1 << 31, small=False), MAX_STATES, self.flag,
        )  # fmt: skip
        if cost >= 0:
            # Where arcs weigh nothing, the branches that were united may overlap: grow among them.
            weights = np.full_like(self.weights, UNREACHED >> 2)
            weights[arcs] = self.weights[arcs]
            above, missing = grow(problem, weights, self.flag)
            if not missing:
                self.take(above)
        if states < MAX_STATES and not self.flag[0]:
            self.lower_bound = self.best_cost - self.step + 1

    def _distances_from_root(self) -> Any:
        """Return twice the length of a shortest path from the root to each vertex."""
        problem = self.problem
        return 2 * growth_cpu.find_distances(
            problem.indptr, problem.heads, self.weights, problem.root, new_heap(problem), self.flag
        )

    def take(self, above: Any) -> None:
        """Search locally from an arborescence, and keep the result if it is the best."""
        self.improve_locally(above)
        cost = int(growth_cpu.cost_of(above, self.weights))
        if cost < self.best_cost:
            self.best, self.best_cost = above.copy(), cost

    def improve_locally(self, above: Any) -> None:
        """Exchange paths of an arborescence until none gains."""
        problem, memory = self.problem, self.memory
        children = np.bincount(problem.tails[above[above >= 0]], minlength=problem.n)
        while True:
            order = self.rng.permutation(np.flatnonzero(above >= 0))
            gain = path_exchange_cpu.exchange_paths(
                problem.in_indptr, problem.in_arcs, problem.heads, problem.tails, self.weights,
                memory.is_terminal, order, above, children, memory.distance, memory.via,
                new_heap(problem), self.flag,
            )  # fmt: skip
            if not gain or self.flag[0]:
                return

    def _grow_with_noise(self) -> Any:
        """Grow an arborescence where reduced costs, or weights, are low."""
        assert self.bound is not None
        noise = self.rng.random(self.weights.size) * self.rng.choice([0.1, 0.3, 1.0])
        share = self.rng.choice([0.0, 0.05, 0.3, 1.0])
        reduced = np.empty_like(self.weights)
        reduced[self.problem.in_arcs] = self.bound.reduced
        mixed = (1 - share) * reduced + share * self.weights + 1
        above, _ = grow(self.problem, (mixed * (1 + noise)).astype(np.int64), self.flag)
        return self._improve_within(above)

    def _improve_within(self, above: Any) -> Any:
        """Grow again by weights, among the vertices of an arborescence alone."""
        problem = self.problem
        if not self.flag[0]:
            is_kept = self.arcs_within(above)
            above, missing = grow(
                problem, np.where(is_kept, self.weights, UNREACHED >> 2), self.flag
            )
            if not missing:
                return above
        return self.best.copy()

    def arcs_within(self, above: Any) -> Any:
        """Return which arcs a tree of the same vertices as an arborescence may have."""
        is_inside = above != NONE
        return is_inside[self.problem.tails] & is_inside[self.problem.heads]

    def _ascend(self) -> None:
        """Run a dual ascent, guided by the best arborescence."""
        problem = self.problem
        order = problem.in_arcs
        guide = np.full(problem.n, -1)
        inner = np.flatnonzero(self.best >= 0)
        guide[inner] = problem.tails[self.best[inner]]
        terminals = np.sort(np.append(problem.terminals, problem.root))
        self.bound = Bound(
            problem.in_indptr, problem.tails[order], self.weights[order], terminals, problem.root,
            guide, self.flag, max_arcs=self.max_arcs,
        )  # fmt: skip
        self._note_bound()

    def _search_bound(self) -> None:
        assert self.bound is not None
        if not self.is_over:
            self.bound.search(_BOUND_STEPS, int(self.rng.integers(1 << 62)))
            self._note_bound()

    def _note_bound(self) -> None:
        assert self.bound is not None
        self.lower_bound = max(self.lower_bound, min(self.bound.total, self.best_cost))


def find_reached(problem: Problem) -> Any:
    """Return whether the root reaches each vertex."""
    ones, flag = np.ones(problem.heads.size, np.int64), np.zeros(1, np.uint8)
    distance = growth_cpu.find_distances(
        problem.indptr, problem.heads, ones, problem.root, new_heap(problem), flag
    )
    return distance < UNREACHED >> 2
