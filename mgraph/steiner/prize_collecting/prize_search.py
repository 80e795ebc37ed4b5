"""The search for a prize-collecting tree and a bound, for a given root."""

from typing import Any

import numpy as np

from mgraph.steiner.directed.search import Search, grow
from mgraph.steiner.improvement.bound import Bound
from mgraph.steiner.prize_collecting.branch_cutting_cpu import cut_branches
from mgraph.steiner.prize_collecting.extension import Extension

# No set of a terminal takes in another terminal, so that all of them may grow large. All together
# have so many arcs, each at least the second number.
_ARCS, _MIN_ARCS = 1 << 22, 1000


def _max_arcs(extension: Extension) -> int:
    return max(_ARCS // max(extension.prized.size, 1), _MIN_ARCS)


class PrizeSearch(Search):
    """The search for arborescences in an extension, whose branches are cut where that pays."""

    def __init__(self, extension: Extension, step: int, flag: Any) -> None:
        """Prepare the search. step, flag: see ``Search``."""
        super().__init__(extension.problem, extension.weights, step, flag)
        self.extension, self.max_arcs = extension, _max_arcs(extension)

    def start(self, first: Any) -> None:
        """Begin with trees for all prizes, too, whose branches are then cut."""
        super().start(first)
        for factor in (2, 4, 1 << 10):
            weights = self.weights.copy()
            weights[self.extension.paying] *= factor
            above, missing = grow(self.problem, weights, self.flag)
            if missing or self.is_over:
                return
            self.take(above)
        self._ascend()

    def arcs_within(self, above: Any) -> Any:
        """Leave out the arcs that pay for prizes that the arborescence collects."""
        is_kept = super().arcs_within(above)
        paying, n = self.extension.paying, self.extension.n
        is_kept[paying] = above[n : n + paying.size] == paying
        return is_kept

    def improve_locally(self, above: Any) -> None:
        """Exchange paths and cut branches until neither gains."""
        problem = self.problem
        while True:
            super().improve_locally(above)
            gain = cut_branches(
                above, problem.tails, self.weights, self.extension.n, self.extension.paying
            )
            if not gain or self.flag[0]:
                return

    def edges(self) -> Any:
        """Return the best tree's edges, as arcs of the graph."""
        edges = self.extension.edges[self.result.arcs]
        return edges[edges >= 0]


def bound_any_tree(extension: Extension, flag: Any) -> int:
    """Return a lower bound on all trees that hold a vertex with a prize, in units.

    extension: of a payer beside the graph. Sets that do not hold a vertex of the tree are entered
    or paid for; so of the ascent's bound a tree costs at least what was not added by sets that hold
    one of its vertices.
    """
    problem = extension.problem
    order = problem.in_arcs
    load = np.zeros(problem.n, np.int64)
    terminals = np.append(problem.terminals, problem.root)
    bound = Bound(
        problem.in_indptr, problem.tails[order], extension.weights[order], terminals, problem.root,
        np.full(problem.n, -1), flag, load, _max_arcs(extension),
    )  # fmt: skip
    return max(bound.total - int(load[extension.prized].max(initial=0)), 0)
