"""STAR: a tree by breadth-first search, then loose paths exchanged for shorter ones.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 1 and 2, after G. Kasneci et al., "STAR: Steiner-tree approximation in relationship
graphs" (2009). The searches alone differ between backends. Trees are cut and spliced on a CPU
(``tree_cpu``), in time linear in the tree.

A loose path that was just put in is not tried again in the next round: its partitions are those
between which it is the shortest.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import LoosePaths, Tree

# With fractional weights a path must be shorter by this share: sums differ by their order.
LEAST_GAIN = 1e-9


class Centre(NamedTuple):
    """Paths from a vertex to each terminal, one after another.

    vertex, weight: int64 or float64, of all paths; a path's weights begin with a 0. start:
    ``(k + 1,)``. levels: of the breadth-first search; -1 where no vertex is reached by all, and
    then ``start`` says for each terminal whether the first one reaches it. seconds: this query's
    share of the time.
    """

    vertex: Any
    weight: Any
    start: Any
    levels: int
    seconds: float


class Replacement(NamedTuple):
    """What became of a query's loose paths: a shorter one, if any.

    path: the first that a shorter one can replace, by its place, -1 for none. vertex, weight: the
    shorter path, from the partition below to that above. searches: how many were made, one after
    another. seconds: this query's share of the time.
    """

    path: int
    vertex: Any
    weight: Any
    searches: int
    seconds: float


class Query:
    """A query on its way: its tree, the loose paths to try next, and what happened so far.

    paths: in the order of trial. bounds: of each, below which a replacement counts. complete:
    whether none has a replacement. deadline: of ``time.perf_counter``. seconds: of the initial
    tree, searches, splits and merges.
    """

    def __init__(
        self, tree: Tree, epsilon: float = 0.0, began: float = 0.0, time_limit: float = math.inf
    ) -> None:
        """Take the first tree. began: when, by ``time.perf_counter``; time_limit: seconds since."""
        self.epsilon, self.deadline = epsilon, began + time_limit
        self.searches = self.accepted = 0
        self.complete = False
        self._take(tree, tree_cpu.loose_paths(tree))
        self.initial_cost = self.tree.weight.sum().item()
        self.seconds = {"initial_tree": 0.0, "searches": 0.0, "splits_and_merges": 0.0}

    def _take(self, tree: Tree, paths: LoosePaths) -> None:
        self.tree, self.paths = tree, paths
        self.bounds = _bounds(paths, self.epsilon)

    def advance(self, found: Replacement) -> None:
        """Splice a shorter path in, or have done."""
        began = time.perf_counter()
        self.searches += found.searches
        self.seconds["searches"] += found.seconds
        if found.path < 0:
            self.complete = time.perf_counter() < self.deadline
            return
        self.accepted += 1
        first, last = self.paths.first[found.path], self.paths.last[found.path]
        self._take(*tree_cpu.exchange(self.tree, first, last, found.vertex, found.weight))
        self.seconds["splits_and_merges"] += time.perf_counter() - began


class Apart(NamedTuple):
    """No tree holds both the first terminal of a query and this other."""

    other: int


class Search(Protocol):
    """What a backend does for STAR, for several queries at once."""

    def centres(self, terminals: list[Any]) -> list[Centre]:
        """Phase one, of each array of terminals."""

    def start(self, queries: list[Query]) -> Any:
        """Begin to look for each query's first path that has a replacement.

        Returns a ticket; two may be out at a time.
        """

    def replacements(self, ticket: Any) -> list[Replacement]:
        """What was found, for each query; waits for it."""


def first_tree(centre: Centre, terminals: Any) -> Tree:
    """The tree of a centre's paths: each is followed from where it leaves those before it."""
    src, dst, weight = tree_cpu.without_cycles(*centre[:3])
    return tree_cpu.from_edges(src, dst, weight, terminals)


def _bounds(paths: LoosePaths, epsilon: float) -> Any:
    """A replacement counts whose length, times 1 + epsilon, is less than its path's."""
    if paths.length.dtype.kind == "f":
        return paths.length * ((1 - LEAST_GAIN) / (1 + epsilon))
    if epsilon == 0:
        return paths.length
    return np.ceil(paths.length / (1 + epsilon)).astype(np.int64)


class InTurn:
    """A search that tries one loose path after another, of one query after another.

    Subclasses have a ``centre_finder``, and ``searcher(query)``, which gives ``find(i, below)``:
    the ids and weights of a path shorter than ``below`` for the query's loose path i, or empty
    arrays.
    """

    centre_finder: Any

    def searcher(self, query: Query) -> Callable[[int, Any], tuple[Any, Any]]:
        """Make ready for the searches of a query's tree."""
        raise NotImplementedError

    def centres(self, terminals: list[Any]) -> list[Centre]:
        """The breadth-first searches."""
        return [self.centre_finder.run(some) for some in terminals]

    def start(self, queries: list[Query]) -> list[Query]:
        """Nothing yet: each search is waited for."""
        return queries

    def replacements(self, ticket: list[Query]) -> list[Replacement]:
        """Search for all queries, each until a path has a replacement or its time is up."""
        return [self._first_shorter(query) for query in ticket]

    def _first_shorter(self, query: Query) -> Replacement:
        began, searches = time.perf_counter(), 0
        find = self.searcher(query)
        vertex, weight = np.empty(0, np.int64), query.tree.weight[:0]
        for i, below in enumerate(query.bounds):
            if time.perf_counter() >= query.deadline:
                break
            vertex, weight = find(i, below)
            searches += 1
            if vertex.size:
                return Replacement(i, vertex, weight, searches, time.perf_counter() - began)
        return Replacement(-1, vertex, weight, searches, time.perf_counter() - began)


def run(
    search: Search,
    terminals: list[Any],
    *,
    epsilon: float = 0.0,
    time_limit: float = math.inf,
    together: int = 1,
) -> Iterator[tuple[int, Query | Apart]]:
    """STAR for many queries, some at a time; yields each one's index and outcome, as they end.

    terminals: an array a query, int64, ascending, distinct. time_limit: seconds after which a query
    comes back as it is. With several together there are two crews of them: while the
    searches of one are on their way, the other's trees are spliced here.
    """
    waiting = iter(range(len(terminals)))
    places = [together] if together < 4 else [(together + 1) // 2, together // 2]
    crews: list[dict[int, Query]] = [{} for _ in places]
    tickets: list[Any] = [None for _ in places]
    more = True
    while more or any(crews):
        for at, crew in enumerate(crews):
            if tickets[at] is not None:
                found = search.replacements(tickets[at])
                for query, replacement in zip(crew.values(), found, strict=True):
                    query.advance(replacement)
            now = time.perf_counter()
            for i in [i for i, one in crew.items() if one.complete or now >= one.deadline]:
                yield i, crew.pop(i)
            if 2 * len(crew) <= places[at]:  # seldom, since it is a launch of its own
                begun = list(itertools.islice(waiting, places[at] - len(crew)))
                more = bool(begun)
                centres = search.centres([terminals[i] for i in begun]) if begun else []
                for i, centre in zip(begun, centres, strict=True):
                    if centre.levels < 0:
                        yield i, Apart(int(terminals[i][np.flatnonzero(centre.start == 0)[0]]))
                    else:
                        began = time.perf_counter()
                        tree = first_tree(centre, terminals[i])
                        crew[i] = Query(tree, epsilon, began - centre.seconds, time_limit)
                        its_seconds = time.perf_counter() - began + centre.seconds
                        crew[i].seconds["initial_tree"] = its_seconds
            tickets[at] = search.start(list(crew.values())) if crew else None


def exchanged(search: Search, tree: Tree, deadline: float) -> Tree:
    """A tree of which no loose path can be exchanged for a shorter one, from any tree."""
    query = Query(tree, time_limit=deadline)
    while not query.complete and time.perf_counter() < deadline:
        query.advance(search.replacements(search.start([query]))[0])
    return query.tree
