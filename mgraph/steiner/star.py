"""STAR: an initial tree by breadth-first search, whose loose paths are exchanged for shorter ones.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
section 2, algorithms 1 and 2, after G. Kasneci et al., "STAR: Steiner-tree approximation in
relationship graphs" (2009).

1. ``buildInitialTree``: breadth-first searches from all terminals until one vertex is reached by
   all of them; the paths back to the terminals make up the initial tree (``star_initial_tree``).
2. ``improveTree``: fixed vertices are the terminals and the vertices of degree 3 or more; a loose
   path leads from one fixed vertex to the next. Loose paths are tried in descending order of
   length: one is cut out of the tree, and a shortest path between the two partitions that are left
   is searched for. If it is shorter, it replaces the loose path, and the next round begins.
3. The tree is a local optimum when every loose path was tried and none was replaced.

``SequentialSearch`` does this for one loose path at a time, of one query at a time, on a CPU
(``star_cpu``) or with the paper's searches (``star_frontier_gpu``); ``star_gpu`` does it for many
queries in one launch. All of them exchange the same paths.

Departure from the paper: a loose path that was just put in is not tried in the next round, since
its partitions are those between which it is a shortest path. With fractional weights it is tried:
the search that found it measured in units of the path before (``whole_lengths_cpu``), which may
have been too coarse for the new one.
"""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from mgraph.core import cancellation
from mgraph.core.deadline import NEVER, Deadline
from mgraph.errors import MgraphError
from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import Tree

# The share by which a replacement of fractional weights must be shorter: sums of the same weights
# in another order differ by rounding.
MIN_RELATIVE_GAIN = 1e-9


def broken_path_error() -> MgraphError:
    """Return the error for a shortest path that cannot be followed back to its beginning."""
    return MgraphError(tree_cpu.BROKEN_PATH)


class InitialTree(NamedTuple):
    """The paths from the meeting vertex, which all breadth-first searches reach, to each terminal.

    tree: None if no vertex is reached by all; then no path leads from the first terminal to
    ``unreachable``. levels: the levels of the breadth-first searches. seconds: this query's share
    of the time.
    """

    tree: Tree | None
    unreachable: int
    levels: int
    seconds: float


class UnreachableTerminal(NamedTuple):
    """A terminal of a query that no path connects to the query's first terminal."""

    terminal: int


class Query:
    """The state of a query: its current tree, and what was done so far.

    paths: the loose paths to be tried, the longest first. time_left: seconds for the exchanges.
    deadline: the end of all work, checked on a CPU only. complete: whether no loose path has a
    shorter replacement. seconds: the time of each part of the work.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        epsilon: float = 0.0,
        time_left: float = math.inf,
        deadline: Deadline = NEVER,
        initial_seconds: float = 0.0,
    ) -> None:
        """Begin with an initial tree, which took ``initial_seconds``."""
        self.tree, self.paths = tree, tree_cpu.find_loose_paths(tree, tree_cpu.NO_VERTEX)
        self.epsilon, self.time_left, self.deadline = epsilon, time_left, deadline
        self.searches = self.accepted = 0
        self.complete = False
        self.initial_cost = self.tree.weight.sum().item()
        self.seconds = {
            "initial_tree": initial_seconds, "searches": 0.0, "splits_and_merges": 0.0
        }  # fmt: skip


class Search(Protocol):
    """The two phases of STAR on one backend, each for several queries at a time.

    A phase is started, and finished later: one of each may be in progress. A caller may drop a
    started phase without finishing it.
    """

    def start_initial_trees(self, terminals: list[Any]) -> Any:
        """Start phase one for some arrays of terminals, and return a ticket."""

    def finish_initial_trees(self, ticket: Any) -> list[InitialTree]:
        """Wait for phase one, and return its trees."""

    def start_exchanges(self, queries: list[Query]) -> Any:
        """Start phase two, the exchanges of loose paths, and return a ticket."""

    def finish_exchanges(self, ticket: Any) -> None:
        """Wait until each query is complete or its time is up; the queries have the results."""


class InitialTreeBuilder(Protocol):
    """Phase one of STAR for one query."""

    def build(self, terminals: Any) -> InitialTree:
        """Build the initial tree of some terminals."""


class PathFinder(Protocol):
    """The shortest-path searches of phase two, for the tree of one query at a time."""

    def prepare(self, query: Query) -> None:
        """Take a query's tree for the next calls of ``find``."""

    def find(self, path: int, bound: Any) -> tuple[Any, Any]:
        """Search for a replacement of the query's loose path number ``path``.

        Return the ids and weights of a path shorter than ``bound``, from the partition below to the
        partition above, or empty arrays if there is none.
        """


def improvement_factor(dtype: np.dtype, epsilon: float) -> float:
    """Return what a loose path's length is divided by (integers) or multiplied by (fractions).

    The result is the bound that the length of a replacement must be below.
    """
    return 1 + epsilon if dtype.kind == "i" else (1 - MIN_RELATIVE_GAIN) / (1 + epsilon)


def replacement_bounds(length: Any, epsilon: float) -> Any:
    """Return the bound that a replacement's length must be below, for each loose path.

    A replacement is accepted if its length times 1 + epsilon is less than the loose path's.
    """
    factor = improvement_factor(length.dtype, epsilon)
    if length.dtype.kind == "f":
        return length * factor
    if factor == 1:  # also for an epsilon that rounding absorbs
        return length
    # Lengths above 2^53 are rounded, perhaps up; the bound may not exceed the length.
    return np.minimum(np.ceil(length / factor).astype(np.int64), length)


class SequentialSearch:
    """STAR that tries one loose path at a time, of one query at a time; it is a ``Search``."""

    def __init__(self, initial_tree_builder: InitialTreeBuilder, path_finder: PathFinder) -> None:
        """Combine the two phases."""
        self.initial_tree_builder, self.path_finder = initial_tree_builder, path_finder

    def start_initial_trees(self, terminals: list[Any]) -> list[Any]:
        """Do nothing yet."""
        return terminals

    def finish_initial_trees(self, ticket: list[Any]) -> list[InitialTree]:
        """Run the breadth-first searches."""
        return [self.initial_tree_builder.build(terminals) for terminals in ticket]

    def start_exchanges(self, queries: list[Query]) -> list[Query]:
        """Do nothing yet."""
        return queries

    def finish_exchanges(self, ticket: list[Query]) -> None:
        """Search for shorter paths and exchange them, for one query after another."""
        for query in ticket:
            deadline = query.deadline.within(query.time_left)
            while not query.complete and not deadline.is_over:
                self._exchange_one(query, deadline)
            cancellation.raise_if_cancelled()
            if query.accepted:
                query.tree = tree_cpu.sort_children(query.tree)

    def _exchange_one(self, query: Query, deadline: Deadline) -> None:
        """Exchange the first loose path that has a shorter replacement (``improveTree``)."""
        start = time.perf_counter()
        self.path_finder.prepare(query)
        paths, vertex = query.paths, np.empty(0, np.int64)
        for i, bound in enumerate(replacement_bounds(paths.length, query.epsilon)):
            if deadline.is_over:
                return
            vertex, weight = self.path_finder.find(i, bound)
            query.searches += 1
            if vertex.size:
                break
        searched = time.perf_counter()
        query.seconds["searches"] += searched - start
        if not vertex.size:
            query.complete = True
            return
        query.accepted += 1
        ends = paths.first[i], paths.last[i]
        query.tree, query.paths = tree_cpu.exchange_path(query.tree, *ends, vertex, weight)
        query.seconds["splits_and_merges"] += time.perf_counter() - searched


def solve_queries(
    search: Search,
    terminals: list[Any],
    *,
    epsilon: float = 0.0,
    time_limit: float = math.inf,
    deadline: Deadline = NEVER,
    batch_size: int = 1,
) -> Iterator[tuple[int, Query | UnreachableTerminal]]:
    """Solve queries in batches; yield the index and the outcome of each, batch by batch.

    terminals: one array per query, int64, ascending, distinct. time_limit: seconds after which a
    query is returned as it is. deadline: the end of all work, checked on a CPU only.

    The batches form a pipeline: while the exchanges of one batch are in progress, the outcomes of
    the batch before are yielded, and the initial trees of the next batch are built.
    """
    count = len(terminals)
    batches = [range(count)[i : i + batch_size] for i in range(0, count, batch_size)]

    def start_initial_trees(batch: range) -> Any:
        return search.start_initial_trees([terminals[i] for i in batch])

    def finish_initial_trees(batch: range, ticket: Any) -> dict[int, Query | UnreachableTerminal]:
        outcomes: dict[int, Query | UnreachableTerminal] = {}
        for i, initial in zip(batch, search.finish_initial_trees(ticket), strict=True):
            if initial.tree is None:
                outcomes[i] = UnreachableTerminal(initial.unreachable)
            else:
                outcomes[i] = Query(
                    initial.tree,
                    epsilon=epsilon,
                    time_left=time_limit - initial.seconds,
                    deadline=deadline,
                    initial_seconds=initial.seconds,
                )
        return outcomes

    finished: dict[int, Query | UnreachableTerminal] = {}
    exchanging: dict[int, Query | UnreachableTerminal] = {}
    for batch in [*batches, None]:
        cancellation.raise_if_cancelled()
        ticket = None if batch is None else start_initial_trees(batch)
        queries = [query for query in exchanging.values() if isinstance(query, Query)]
        exchanges = search.start_exchanges(queries)
        yield from finished.items()
        try:
            following = {} if batch is None else finish_initial_trees(batch, ticket)
        except cancellation.Cancelled:
            search.finish_exchanges(exchanges)  # so that nothing is left in progress
            raise
        search.finish_exchanges(exchanges)
        finished, exchanging = exchanging, following
    yield from finished.items()
