"""STAR: a tree by breadth-first search, then loose paths exchanged for shorter ones.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
algorithms 1 and 2, after G. Kasneci et al., "STAR: Steiner-tree approximation in relationship
graphs" (2009). The first tree is made here, of the paths that a breadth-first search found. The
exchanges are the backend's: on a CPU those of ``tree_cpu``, a search after another (``InTurn``), on
a GPU all of them, and the searches, in one launch (``star_gpu``).

A loose path that was just put in is not tried again in the next round: its partitions are those
between which it is the shortest. With fractional weights it is: the search that found it measured
in units of the path before (``whole_lengths_cpu``), which may have been too coarse for this one.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from mgraph.core import cancellation
from mgraph.core.deadline import NEVER, Deadline
from mgraph.errors import MgraphError
from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import Tree

# With fractional weights a path must be shorter by this share: sums differ by their order.
LEAST_GAIN = 1e-9


def no_way_back() -> MgraphError:
    """The error for a path that was found, and does not lead back to where its search began."""
    return MgraphError(tree_cpu.NO_WAY_BACK)


class InitialTree(NamedTuple):
    """The initial tree: of paths from the meeting vertex to each terminal.

    tree: None where no vertex is reached by all; then there is no path from the first terminal to
    ``other``. levels: of the breadth-first search. seconds: this query's share of the time.
    """

    tree: Tree | None
    other: int
    levels: int
    seconds: float


class Query:
    """A query on its way: its tree, and what happened so far.

    time_left: seconds for the exchanges. until: when they must end, too, on a CPU. complete:
    whether no loose path has a shorter replacement. seconds: of the initial tree, searches, splits
    and merges.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        epsilon: float = 0.0,
        time_left: float = math.inf,
        until: Deadline = NEVER,
        spent: float = 0.0,
    ) -> None:
        """Take the first tree. spent: seconds, on it."""
        self.tree, self.paths = tree, tree_cpu.loose_paths(tree)
        self.epsilon, self.time_left, self.until = epsilon, time_left, until
        self.searches = self.accepted = 0
        self.complete = False
        self.initial_cost = self.tree.weight.sum().item()
        self.seconds = {"initial_tree": spent, "searches": 0.0, "splits_and_merges": 0.0}


class Apart(NamedTuple):
    """No tree holds both the first terminal of a query and this other."""

    other: int


class Search(Protocol):
    """What a backend does for STAR, for several queries at once.

    Either phase is started, and its end is waited for: one of each may be on its way. A caller may
    go away without waiting.
    """

    def start_initial_trees(self, terminals: list[Any]) -> Any:
        """Begin phase one, of each array of terminals; returns a ticket."""

    def finish_initial_trees(self, ticket: Any) -> list[InitialTree]:
        """What phase one found."""

    def start(self, queries: list[Query]) -> Any:
        """Begin phase two, the exchanges; returns a ticket."""

    def finish(self, ticket: Any) -> None:
        """Wait until each query is complete, or its time is up."""


def shrink(kind: np.dtype, epsilon: float) -> float:
    """What a whole length is divided by, or a fractional one multiplied by, for its bound."""
    return 1 + epsilon if kind.kind == "i" else (1 - LEAST_GAIN) / (1 + epsilon)


def bounds(length: Any, epsilon: float) -> Any:
    """A replacement counts whose length, times 1 + epsilon, is less than its path's."""
    by = shrink(length.dtype, epsilon)
    if length.dtype.kind == "f":
        return length * by
    if by == 1:  # also of an epsilon that rounding absorbs
        return length
    # Lengths above 2^53 are rounded, perhaps up: never to more than they are.
    return np.minimum(np.ceil(length / by).astype(np.int64), length)


class InTurn(ABC):
    """A search that tries one loose path after another, of one query after another.

    Subclasses have an ``initial_tree_builder``, and ``searcher(query)``, which returns
    ``find(i, below)``: the ids and weights of a path shorter than ``below`` for the query's loose
    path i, from the partition below to that above, or empty arrays.
    """

    initial_tree_builder: Any

    @abstractmethod
    def searcher(self, query: Query) -> Callable[[int, Any], tuple[Any, Any]]:
        """Make ready for the searches of a query's tree."""

    def start_initial_trees(self, terminals: list[Any]) -> list[Any]:
        """Nothing yet."""
        return terminals

    def finish_initial_trees(self, ticket: list[Any]) -> list[InitialTree]:
        """The breadth-first searches."""
        return [self.initial_tree_builder.run(some) for some in ticket]

    def start(self, queries: list[Query]) -> list[Query]:
        """Nothing yet."""
        return queries

    def finish(self, ticket: list[Query]) -> None:
        """Search and exchange."""
        for query in ticket:
            deadline = query.until.within(query.time_left)
            while not query.complete and not deadline.over:
                self._exchange_one(query, deadline)
            cancellation.raise_if_cancelled()
            if query.accepted:
                query.tree = tree_cpu.in_order(query.tree)

    def _exchange_one(self, query: Query, deadline: Deadline) -> None:
        """Exchange the first loose path that has a shorter replacement."""
        began = time.perf_counter()
        find = self.searcher(query)
        paths, vertex = query.paths, np.empty(0, np.int64)
        for i, below in enumerate(bounds(paths.length, query.epsilon)):
            if deadline.over:
                return
            vertex, weight = find(i, below)
            query.searches += 1
            if vertex.size:
                break
        found = time.perf_counter()
        query.seconds["searches"] += found - began
        if not vertex.size:
            query.complete = True
            return
        query.accepted += 1
        ends = paths.first[i], paths.last[i]
        query.tree, query.paths = tree_cpu.exchange(query.tree, *ends, vertex, weight)
        query.seconds["splits_and_merges"] += time.perf_counter() - found


def run(
    search: Search,
    terminals: list[Any],
    *,
    epsilon: float = 0.0,
    time_limit: float = math.inf,
    until: Deadline = NEVER,
    batch_size: int = 1,
) -> Iterator[tuple[int, Query | Apart]]:
    """STAR for many queries, some at a time; yields each one's index and outcome, as they end.

    terminals: an array a query, int64, ascending, distinct. time_limit: seconds after which a query
    comes back as it is. until: when all must end, on a CPU. While the exchanges of some are on
    their way, those before are handed out, and the first trees of the next are made.
    """
    count = len(terminals)
    batches = [range(count)[i : i + batch_size] for i in range(0, count, batch_size)]

    def start_initial_trees(batch: range) -> Any:
        return search.start_initial_trees([terminals[i] for i in batch])

    def first_queries(batch: range, ticket: Any) -> dict[int, Query | Apart]:
        found: dict[int, Query | Apart] = {}
        for i, initial in zip(batch, search.finish_initial_trees(ticket), strict=True):
            if initial.tree is None:
                found[i] = Apart(initial.other)
            else:
                found[i] = Query(
                    initial.tree,
                    epsilon=epsilon,
                    time_left=time_limit - initial.seconds,
                    until=until,
                    spent=initial.seconds,
                )
        return found

    done: dict[int, Query | Apart] = {}
    ready: dict[int, Query | Apart] = {}
    for batch in [*batches, None]:
        cancellation.raise_if_cancelled()
        ticket = None if batch is None else start_initial_trees(batch)
        started = search.start([query for query in ready.values() if isinstance(query, Query)])
        yield from done.items()
        try:
            following = {} if batch is None else first_queries(batch, ticket)
        except cancellation.Cancelled:
            search.finish(started)  # so that nothing is on its way any more
            raise
        search.finish(started)
        done, ready = ready, following
    yield from done.items()


def exchanged(search: Search, tree: Tree, deadline: Deadline) -> Tree:
    """A tree of which no loose path can be exchanged for a shorter one, from any tree."""
    query = Query(tree, time_left=deadline.left, until=deadline)
    search.finish(search.start([query]))
    return query.tree
