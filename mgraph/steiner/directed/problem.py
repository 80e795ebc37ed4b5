"""A directed problem: arcs with ids, in rows by tail and by head, and weights as integers."""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.steiner.improvement import network_cpu


class Problem(NamedTuple):
    """A directed graph, its root and its terminals.

    Arcs are numbered in rows by tail. indptr, heads: these rows. tails: ``(m,)``, of each arc.
    in_indptr, in_arcs: rows by head, of arcs' numbers. root: a vertex; terminals: other vertices,
    int64, ascending.
    """

    indptr: Any
    heads: Any
    tails: Any
    in_indptr: Any
    in_arcs: Any
    root: int
    terminals: Any

    @property
    def n(self) -> int:
        """The number of vertices."""
        return int(self.indptr.size) - 1


class Scale(NamedTuple):
    """How weights become integers.

    factor: a power of two. step: the least gain that counts. lift: another factor, before that one,
    for weights that are so small that one alone would be infinite.
    """

    factor: float
    is_whole: bool
    step: int
    lift: float = 1.0

    @property
    def is_exact(self) -> bool:
        """Whether units hold weights as they are."""
        return self.is_whole and self.factor >= 1

    def to_units(self, weights: Any, cost: Any) -> Any:
        """Return weights in units, rounded down; those above twice a tree's cost count as much."""
        if self.is_exact:
            return np.minimum(weights, 2 * cost).astype(np.int64) * np.int64(self.factor)
        lifted = np.minimum(weights, 2.0 * cost).astype(np.float64) * self.lift
        return np.floor(lifted * self.factor).astype(np.int64)

    def is_fine(self, known: Any, found: Any) -> bool:
        """Whether units of a tree that costs ``known`` judge one that costs ``found``.

        Otherwise what they prove to be no worse by a step may be much worse than the best.
        """
        return self.is_exact or not 0 < found < known / 2

    def to_bound(self, total: int, cost: Any) -> Any:
        """Return a bound in weights for one in units; no more than a known cost."""
        if not self.is_whole:
            bound = total / self.factor / self.lift
            return min(math.nextafter(bound, 0) if total > 0 else 0.0, cost)
        scaled = total * round(1 / self.factor) if self.factor < 1 else total
        return min(-(-scaled // max(int(self.factor), 1)), cost)


def build(indptr: Any, heads: Any, root: int, terminals: Any) -> Problem:
    """Build a problem from rows by tail. terminals: without repeats; the root is none."""
    n = indptr.size - 1
    tails = np.repeat(np.arange(n), np.diff(indptr))
    heads = heads.astype(np.int64, copy=False)
    in_arcs = np.argsort(heads, kind="stable")
    in_indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=n), out=in_indptr[1:])
    distinct = np.unique(terminals)
    return Problem(
        indptr.astype(np.int64, copy=False), heads, tails, in_indptr, in_arcs, root,
        distinct[distinct != root],
    )  # fmt: skip


def choose_scale(size: int, cost: Any, *, is_whole: bool) -> Scale:
    """Choose units for trees that cost no more than a known one.

    size: the larger of vertices and arcs. is_whole: whether weights are integers.
    """
    lift = 1.0 if is_whole else network_cpu.choose_lift(cost)
    factor = network_cpu.choose_scale(is_whole, size, cost * lift or 1)
    least = 1 + int(cost * lift * factor * 1e-9 / 2)
    return Scale(factor, is_whole, int(factor) if is_whole and factor >= 1 else least, lift)
