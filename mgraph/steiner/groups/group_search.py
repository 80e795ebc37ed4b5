"""The exact search for group Steiner trees of a prepared graph, on a CPU or on a GPU.

The search is ``group_search_cpu`` or ``group_search_gpu``; here is what both share: units of
lengths that fit the weights, and answers in weights.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.deadline import Deadline
from mgraph.errors import UsageError
from mgraph.steiner import tree_cpu
from mgraph.steiner.groups import group_search_cpu
from mgraph.steiner.groups.lengths import (
    TOTAL_BITS,
    LengthUnits,
    WeightFacts,
    choose_units,
    find_facts,
)
from mgraph.steiner.improvement.conversion import cost_of
from mgraph.steiner.prepared import PreparedGraph
from mgraph.steiner.tree_cpu import Tree

_HEAP_SIZE = 1 << 62  # vertices and groups have numbers below


class Traced(NamedTuple):
    """What a search has found: in lengths, with the tree's edges as ends and weights.

    length: of the tree; None if there is none. bound: no tree is shorter; the tree's own length if
    the search was finished, and then None if there is no tree. chosen: a vertex of each group.
    """

    length: int | None
    bound: int | None
    src: Any
    dst: Any
    weight: Any
    chosen: Any


class FoundArcs(NamedTuple):
    """The same with the numbers of arcs, and their tails."""

    length: int | None
    bound: int | None
    arcs: Any
    tails: Any
    chosen: Any


class Found(NamedTuple):
    """A tree, or None, and a lower bound in weights.

    is_optimal: whether no tree is better, or there is none. seconds: of the launch, on a GPU.
    """

    tree: Tree | None
    bound: Any
    is_optimal: bool
    seconds: float = 0.0


class CpuSearch:
    """The search on a CPU, for any number of threads."""

    def __init__(self, graph: PreparedGraph) -> None:
        """Compute the lengths of arcs."""
        self.csr = graph.csr
        self.sum_dtype = graph.cost_dtype
        self.facts = find_facts(self.csr[2], graph.graph.n)
        self.units = choose_units(self.facts)
        self.lengths = self.units.write(*self.csr)

    def run(self, units: LengthUnits, groups: list[Any], max_states: int, flag: Any) -> Traced:
        """Search in some units; max_states, flag: see ``group_search_cpu``."""
        lengths = self.lengths if units == self.units else units.write(*self.csr)
        found = self.find_arcs(lengths, groups, max_states, flag)
        heads, weights = self.csr[1][found.arcs], self.csr[2][found.arcs]
        return Traced(
            found.length, found.bound, found.tails, heads.astype(np.int64),
            weights.astype(self.sum_dtype), found.chosen,
        )  # fmt: skip

    def find_arcs(self, lengths: Any, groups: list[Any], max_states: int, flag: Any) -> FoundArcs:
        """Search by some lengths of arcs."""
        indptr, indices, _ = self.csr
        vertices, starts = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
        n, k = indptr.size - 1, len(groups)
        singles, heap = np.zeros((n, k), np.int64), heap_cpu.new(_HEAP_SIZE, small=False)
        meeting, half, length, bound, states, slots = group_search_cpu.search.with_work(
            min(indices.size << k, 1 << 40), indptr, indices, lengths, vertices, starts,
            np.int64(1 << TOTAL_BITS), singles, heap, max_states, flag,
        )  # fmt: skip
        if meeting < 0:
            is_finished = bound == length
            none = np.empty(0, np.int64)
            return FoundArcs(None, None if is_finished else int(bound), none, none, none)
        arcs, tails, chosen = group_search_cpu.trace(
            indptr, indices, lengths, meeting, half, singles, states, slots
        )
        return FoundArcs(int(length), int(bound), arcs, tails, chosen)


_searches: WeakKeyDictionary[PreparedGraph, CpuSearch] = WeakKeyDictionary()
_preparing = threading.Lock()


def cpu_search(graph: PreparedGraph) -> CpuSearch:
    """Return the search on a graph; it is kept as long as the graph is."""
    with cancellation.acquiring(_preparing):
        search = _searches.get(graph)
        if search is None:
            search = _searches[graph] = CpuSearch(graph)
        return search


def solve(graph: PreparedGraph, groups: list[Any], deadline: Deadline, max_states: int) -> Found:
    """Search for the best tree on a CPU, as long as the deadline and the states allow.

    groups: int64, of the contracted graph. The tree has no branch that leads to no group.
    """
    search = cpu_search(graph)
    with deadline.raising_flag() as flag:

        def run(units: LengthUnits) -> Traced:
            return search.run(units, groups, max_states, flag)

        found = find_in_units(graph, groups, search.facts, run, run(search.units), search.units)
    cancellation.raise_if_cancelled()
    return found


def find_in_units(
    graph: PreparedGraph,
    groups: list[Any],
    facts: WeightFacts,
    run: Callable[[LengthUnits], Traced],
    traced: Traced,
    units: LengthUnits,
) -> Found:
    """Return the answer of a search, or of ``run`` in other units if those do not suit the tree."""
    while True:
        better = _better_units(facts, units, traced)
        if better == units:
            return _to_found(graph, groups, units, traced)
        units, traced = better, run(better)


def _better_units(facts: WeightFacts, units: LengthUnits, traced: Traced) -> LengthUnits:
    """Return the units in which the answer must be searched for again, or the same if it need not.

    For a tree that has been too long or is too short for its units.
    """
    if traced.length != traced.bound:  # given up
        return units
    if traced.length is None:
        return choose_units(facts, float(facts.n) * facts.largest)
    if units.is_fine_enough(traced.length):
        return units
    return choose_units(facts, 2 * traced.weight.sum().item())


def _to_found(graph: PreparedGraph, groups: list[Any], units: LengthUnits, traced: Traced) -> Found:
    """Return the answer in weights."""
    n = graph.graph.n
    if traced.length is None:
        if traced.bound is not None:
            return Found(None, units.to_bound(traced.bound, n), False)
        if graph.in_common_component(groups).size:
            raise UsageError(
                "the tree's cost would overflow 64 bits; scale the weights down, or use float64"
            )
        return Found(None, None, True)
    terminals = np.unique(traced.chosen)
    tree = tree_cpu.from_edges(traced.src, traced.dst, traced.weight, terminals)
    if traced.bound == traced.length:
        return Found(tree, cost_of(tree), True)
    assert traced.bound is not None
    return Found(tree, min(units.to_bound(traced.bound, n), cost_of(tree)), False)
