"""The front door of prize-collecting Steiner trees."""

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core import cancellation
from mgraph.core.arrays import checked_vertices
from mgraph.core.deadline import Deadline
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner.directed import search as searches
from mgraph.steiner.directed.checks import (
    check_time_limit,
    checked_vertex_weights,
    total_of,
    weights_of,
)
from mgraph.steiner.directed.problem import choose_scale
from mgraph.steiner.prepared import prepare
from mgraph.steiner.prize_collecting.extension import extend
from mgraph.steiner.prize_collecting.prize_search import PrizeSearch, bound_any_tree
from mgraph.steiner.result import SteinerTree

_ROOTS = 4  # that are tried where none is given
_NEVER = np.zeros(1, np.uint8)


def prize_collecting_steiner_tree(
    graph: Graph | Any,
    prizes: ArrayLike,
    *,
    root: int | None = None,
    improve: bool = False,
    time_limit: float | None = None,
) -> SteinerTree:
    """Find a tree of low cost, where each vertex that it leaves out costs its prize.

    Parameters
    ----------
    graph : Graph, or what becomes one
        See ``steiner_tree``: undirected, with weights of at least 0.
    prizes : array_like of int or float, shape (n,)
        The prize of each vertex, at least 0.
    root : int, optional
        A vertex that the tree must hold. By default it may lie anywhere.
    improve, time_limit
        See ``steiner_arborescence``.

    Returns
    -------
    SteinerTree
        ``cost`` is the sum of the tree's weights and of the prizes that it leaves out, of which
        ``vertex_cost`` is that of the prizes. ``terminals`` has the vertices with a prize that the
        tree holds; a tree of a single vertex has no edges.

    Raises
    ------
    UsageError
        If an option is wrong, or weights or prizes are negative or too few.

    Notes
    -----
    Trees are arborescences in a graph where an arc from the root pays for each prize; their paths
    are exchanged, and branches are cut that cost more than their prizes. A dual ascent gives the
    bound. Without a root several are tried, in the order of their prizes, and the bound is the
    least of theirs and of one on all trees that hold none of them; it is best where few prizes are
    large. It runs on a CPU. Deterministic, but for a time limit.

    Sources: I. Ljubic et al., "An algorithmic framework for the exact solution of the
    prize-collecting Steiner tree problem" (2006); D. S. Johnson, M. Minkoff, S. Phillips, "The
    prize collecting Steiner tree problem: theory and practice" (2000).

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2], [1, 2, 3], [2, 2, 9])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> tree = mgraph.prize_collecting_steiner_tree(graph, [5, 0, 6, 4])
    >>> tree.terminals, tree.cost, tree.vertex_cost, tree.optimal
    (array([0, 2]), 8, 4, True)
    """
    check_time_limit(time_limit)
    start = time.perf_counter()
    graph = as_graph(graph, directed=False, backend="cpu")
    prepare(graph)  # raises for what is no undirected graph
    graph = graph.to_cpu()
    values = checked_vertex_weights("prizes", prizes, graph.n)
    top = None if root is None else int(checked_vertices("root", root, graph.n)[0])
    if not graph.n:
        raise UsageError("graph must have a vertex")
    weights = weights_of(graph)
    if values.dtype.kind == "f" or weights.dtype.kind == "f":
        weights, values = weights.astype(np.float64), values.astype(np.float64)
    deadline = Deadline(math.inf if time_limit is None else time_limit)
    found = _Search(graph, weights, values, top, deadline).run(improve, time_limit is None)
    cancellation.raise_if_cancelled()
    return _to_result(graph, weights, values, found, time.perf_counter() - start)


class _Found(NamedTuple):
    """Arcs of the best tree's edges, one of its vertices, and a bound in weights."""

    arcs: Any
    vertex: int
    bound: Any
    initial_cost: Any
    complete: bool


class _Search:
    """The search for a tree over its roots."""

    def __init__(
        self, graph: Graph, weights: Any, prizes: Any, root: int | None, deadline: Deadline
    ) -> None:
        """Begin with a tree of one vertex, which costs the other prizes."""
        self.root, self.deadline, self.prizes, self.weights = root, deadline, prizes, weights
        vertex = int(np.argmax(prizes)) if root is None else root
        self.cost = total_of(np.delete(prizes, vertex))
        self.best, self.vertex = np.empty(0, np.int64), vertex
        self.graph = graph

    def _use_units_of(self, cost: Any) -> None:
        """Count in units of a tree that costs so much."""
        graph = self.graph
        self.starts: list[_Start] = []
        self.rest = 0  # a bound on trees that hold no root
        size = 2 * max(graph.n, graph.num_arcs) << 10  # prizes may count a thousandfold
        self.scale = choose_scale(size, cost, is_whole=self.weights.dtype.kind == "i")
        self.csr = graph.indptr, graph.indices, self.scale.to_units(self.weights, cost)
        self.prize_units = self.scale.to_units(self.prizes, cost)
        left_out = self.prize_units[self._is_left_out(self.best, self.vertex)]
        self.best_units = int(self.csr[2][self.best].sum() + left_out.sum())

    def _is_left_out(self, arcs: Any, vertex: int) -> Any:
        """Return for each vertex whether a tree does not hold it. vertex: one that it holds."""
        is_left_out = np.ones(self.prizes.size, bool)
        is_left_out[vertex] = is_left_out[self.csr[1][arcs]] = False
        is_left_out[np.searchsorted(self.csr[0], arcs, side="right") - 1] = False
        return is_left_out

    def run(self, improve: bool, is_endless: bool) -> _Found:
        """Return the best tree and bound."""
        if not self.cost:
            return _Found(self.best, self.vertex, 0, self.cost, True)
        initial_cost = self.cost
        with self.deadline.raising_flag() as flag:
            while True:
                known = self.cost
                self._use_units_of(known)
                self._start_from_roots(flag)
                if improve and self.scale.is_fine(known, self.cost):
                    self._improve(searches.STALE if is_endless else math.inf)
                if (is_fine := self.scale.is_fine(known, self.cost)) or self.deadline.is_over:
                    break
        bound = self.bound
        if is_fine and bound > self.best_units - self.scale.step:
            return _Found(self.best, self.vertex, self.cost, initial_cost, True)
        found_bound = self.scale.to_bound(bound, self.cost)
        is_complete = not self.deadline.is_over
        return _Found(self.best, self.vertex, found_bound, initial_cost, is_complete)

    @property
    def bound(self) -> int:
        """A lower bound on all trees: those of each root, and those that hold no root."""
        bounds = [start.missed + start.search.lower_bound for start in self.starts]
        return min(*bounds, self.rest, self.best_units)

    def _start_from_roots(self, flag: Any) -> None:
        """Search from the root; or from those of the largest prizes, each without those before."""
        is_kept, missed = np.ones(self.prize_units.size, bool), 0
        roots = np.argsort(-self.prize_units, kind="stable")[:_ROOTS].tolist()
        self.rest = 0
        for root in roots if self.root is None else [self.root]:
            extension = extend(self.csr, self.prize_units, is_kept, root)
            first, _ = searches.grow(extension.problem, extension.weights, _NEVER)
            search = PrizeSearch(extension, self.scale.step, flag)
            search.start(first)
            self.starts.append(_Start(search, root, missed))
            self._take(self.starts[-1])
            if self.root is not None:
                self.rest = self.best_units
                return
            missed += int(self.prize_units[root])
            is_kept[root] = False
            if missed + self.scale.step > self.best_units or flag[0]:
                break
        self.rest = missed
        if missed + self.scale.step <= self.best_units and not flag[0]:
            rest = bound_any_tree(extend(self.csr, self.prize_units, is_kept, None), flag)
            self.rest += 0 if flag[0] else rest

    def _improve(self, max_stale: float) -> None:
        """Go on with the root of the best tree and with that of the lowest bound, in turns."""
        stale, turn = 0, 0
        while stale < max_stale * len(self.starts):
            going = [start for start in self.starts if not start.search.is_over]
            if not going or self.bound > self.best_units - self.scale.step:
                return
            if turn % 2:
                start = min(going, key=lambda start: start.missed + start.search.lower_bound)
            else:
                start = going[turn // 2 % len(going)]
            before = self.best_units, self.bound
            start.search.improve(1)
            self._take(start)
            turn += 1
            stale = 0 if (self.best_units, self.bound) != before else stale + 1

    def _take(self, start: "_Start") -> None:
        """Keep the best tree of a root if it is the best of all."""
        units = start.missed + start.search.best_cost
        if units < self.best_units:
            arcs = start.search.edges()
            self.best_units, self.best, self.vertex = units, arcs, start.root
            left_out = self.prizes[self._is_left_out(arcs, start.root)]
            self.cost = total_of(np.append(self.weights[arcs], left_out))


class _Start(NamedTuple):
    """The search from a root. missed: the prizes of earlier roots, which it leaves out."""

    search: PrizeSearch
    root: int
    missed: int


def _to_result(
    graph: Graph, weights: Any, prizes: Any, found: _Found, seconds: float
) -> SteinerTree:
    heads = graph.indices[found.arcs].astype(np.int64)
    tails = np.searchsorted(graph.indptr, found.arcs, side="right") - 1
    src, dst = np.maximum(tails, heads), np.minimum(tails, heads)
    order = np.lexsort((dst, src))
    is_held = np.zeros(graph.n, bool)
    is_held[src] = is_held[dst] = is_held[found.vertex] = True
    missed = total_of(prizes[~is_held])
    return SteinerTree(
        terminals=np.flatnonzero(is_held & (prizes > 0)),
        src=src[order],
        dst=dst[order],
        weight=weights[found.arcs][order],
        cost=total_of(np.append(weights[found.arcs], prizes[~is_held])),
        initial_cost=found.initial_cost,
        searches=0,
        accepted=0,
        seconds={"improvement": seconds},
        method="local_search",
        search="dijkstra",
        backend="cpu",
        complete=found.complete,
        lower_bound=found.bound,
        labels=graph.labels,
        vertex_cost=missed,
    )
