"""STAR's exchanges on a GPU: the launches of ``star.cu``.

A launch serves many queries: their trees go to the device in one copy, and come back when no loose
path has a shorter replacement. A team of blocks takes one query after another; the fewer there are,
the more blocks has a team. Memory: see ``star_memory_gpu``.
"""

import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.source import Source, launch_resident
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, Query, no_way_back, shrink
from mgraph.steiner.star_initial_tree_gpu import InitialTreeBuilder
from mgraph.steiner.star_memory_gpu import (
    LENGTHS,
    SHARED_COUNTERS_BYTES,
    THREADS,
    GraphOnDevice,
    Memory,
    Shape,
    path_dtype,
    step_dtype,
)

_SPARE, _FEW_STEPS = 4, 1 << 12  # a tree may have so many times its steps now, and so many more
_LONGEST = 1 << 62  # nanoseconds
_NO_MEMORY, _NO_WAY_BACK = -1, -2  # as in star.cu

KERNELS = Source(__package__, "star.cu", check=LENGTHS)

_QUERY = np.dtype(
    [("paths", "i8"), ("steps", "i8")]
    + [(name, "i4") for name in ("path_count", "step_count", "root", "_")]
    + [("limit", "u8")]
)
_OUTCOME = np.dtype(
    [("start", "i8")]
    + [(name, "i4") for name in ("size", "searches", "accepted", "late")]
    + [("searching", "u8"), ("exchanging", "u8")]
)


class _Launch:
    """A launch on its way: what was asked, and where the answer will be."""

    def __init__(self) -> None:
        import cupy

        self.mailbox = Mailbox()
        self.answers: Any = None
        self.begun, self.done = cupy.cuda.Event(), cupy.cuda.Event()
        self.free = True
        self._stream: Any = None

    def room(self, size: int) -> Any:
        """So many bytes for the answers."""
        import cupy

        if self.answers is None or self.answers.size < size:
            self.answers = cupy.empty(size, np.uint8)
        return self.answers

    def fetched(self, size: int) -> Any:
        """The first bytes of the answers, on a stream beside that of the next launch."""
        import cupy

        self._stream = self._stream or cupy.cuda.Stream(non_blocking=True)
        return self.answers[:size].get(stream=self._stream)

    @property
    def seconds(self) -> float:
        """How long it took the device."""
        import cupy

        return float(cupy.cuda.get_elapsed_time(self.begun, self.done) / 1000)


class _Ticket(NamedTuple):
    """Queries, and the launches for them, each with the places of its queries.

    spent: seconds, on the launching.
    """

    queries: list[Query]
    spent: float
    launches: list[tuple[list[int], Any]]


class Searcher:
    """STAR on a graph, for many queries at once; of ``mgraph.steiner.star``."""

    def __init__(self, graph: Graph, shape: Shape | None = None) -> None:
        """Take a graph on the device; memory is allocated when it is needed.

        shape: how the device's blocks are shared out, whatever is asked; None: as suits the
        queries.
        """
        self.graph = GraphOnDevice(graph)
        self.memory = Memory(self.graph)
        self.initial_tree_builder = InitialTreeBuilder(self.graph, self.memory)
        self.shape = shape
        self._launches: list[_Launch] = []  # of which some may be for a caller who went away

    def start_initial_trees(self, terminals: list[Any]) -> Any:
        """Launch the breadth-first searches."""
        return self.initial_tree_builder.start(terminals)

    def finish_initial_trees(self, ticket: Any) -> list[InitialTree]:
        """What they found."""
        return self.initial_tree_builder.finish(ticket)

    def start(self, queries: list[Query]) -> _Ticket:
        """Launch the exchanges."""
        kinds = [
            self.graph.lengths(query.initial_cost) if query.paths.first.size else ""
            for query in queries
        ]
        began, launches = time.perf_counter(), []
        for length in sorted(set(kinds) - {""}):
            some = [i for i, kind in enumerate(kinds) if kind == length]
            launches.append((some, self._launch([queries[i] for i in some], length)))
        return _Ticket(queries, time.perf_counter() - began, launches)

    def finish(self, ticket: _Ticket) -> None:
        """Wait, and read the trees."""
        for query in ticket.queries:
            query.complete = True  # those without a loose path
        seconds = ticket.spent
        try:
            for some, launched in ticket.launches:
                seconds += self._read([ticket.queries[i] for i in some], *launched)
        except cancellation.Cancelled:
            for _, (launch, *_) in ticket.launches:
                launch.done.synchronize()
                launch.free = True
            raise
        # Of all the time that it took, a query's share; the device's clock says what it was for.
        each = seconds / max(1, len(ticket.queries))
        for query in ticket.queries:
            told = query.seconds["searches"] + query.seconds["splits_and_merges"]
            if told:
                for part in ("searches", "splits_and_merges"):
                    query.seconds[part] *= each / told

    def _launch(self, queries: list[Query], length: str, spare: int = 0) -> tuple[Any, ...]:
        """Ask for the exchanges. spare: how many times as many steps as now there is room for."""

        spare = spare or _SPARE
        launch = next((launch for launch in self._launches if launch.free), None)
        if launch is None:
            launch = _Launch()
            self._launches.append(launch)
        launch.free = False
        key = key_dtype(np.dtype(length))
        path_counts = [query.paths.first.size for query in queries]
        step_counts = [query.tree.vertex.size - 1 + query.paths.first.size for query in queries]
        terminals = max(int(query.tree.terminal.sum()) for query in queries)
        slots, capacity = 2 * terminals, spare * max(step_counts) + _FEW_STEPS
        work, teams, shape = self.memory.for_exchanges(
            length, len(queries), max(path_counts), slots, capacity, self.shape
        )
        step = step_dtype(key)
        groups = shape.teams * shape.groups
        asked, paths, steps, counts, boards, outcomes = launch.mailbox.lay_out(
            (len(queries), _QUERY),
            (sum(path_counts), path_dtype(key)),
            (sum(step_counts), step),
            (groups + shape.teams + 2, np.uint64),  # counts, and those of all teams
            (SHARED_COUNTERS_BYTES // 8 * groups * (shape.blocks > 1), np.uint64),
            (len(queries), _OUTCOME),
        )
        asked["path_count"], asked["step_count"] = path_counts, step_counts
        asked["paths"] = np.cumsum(path_counts) - path_counts
        asked["steps"] = np.cumsum(step_counts) - step_counts
        _write_queries(queries, asked, paths, steps["vertex"], self.graph.weights_of(steps))
        counts[:] = boards[:] = 0
        room = spare * sum(step_counts) + _FEW_STEPS
        answers = launch.room(room * step.itemsize)
        at = launch.mailbox.address
        launch.begun.record()
        launch.mailbox.send(5)
        kernel = cancellation_gpu.kernel(KERNELS, "star_exchange", **self.graph.defines(length))
        counters = at(3) + np.uint64(8 * (groups + shape.teams))
        launch_resident(
            kernel,
            groups * shape.blocks,
            THREADS,
            (
                *self.graph.arguments, *self.graph.sorted_rows, np.float32(self.graph.mean_degree),
                self.graph.bucket(shape.blocks),
                shrink(self.graph.kind, queries[0].epsilon), at(0), np.uint32(len(queries)), at(1),
                at(2), at(5), counters, answers, np.uint64(room), counters + np.uint64(8),
                np.int32(shape.blocks), np.int32(shape.groups), at(3),
                at(3) + np.uint64(8 * groups), work.path_sizes, at(4), work.labels, *work.near,
                work.lists, work.touched, *teams, cancellation_gpu.cancel_flag(),
            ),
        )  # fmt: skip
        launch.mailbox.fetch(5, 6)
        launch.done.record()
        return launch, outcomes, step, length, spare

    def _read(
        self,
        queries: list[Query],
        launch: _Launch,
        outcomes: Any,
        step: Any,
        length: str,
        spare: int,
    ) -> float:
        """Give the queries their trees. Returns seconds: the launch's, and those spent here."""
        launch.done.synchronize()
        launch.free = launch.free or cancellation.current_token()()
        cancellation.raise_if_cancelled()
        began, seconds = time.perf_counter(), launch.seconds
        told = outcomes.copy()
        used = int((told["start"] + told["size"]).max(initial=0))
        steps = launch.fetched(used * step.itemsize).view(step)
        vertex, key = steps["vertex"], steps["weight"]
        weight, last = self.graph.weights_of(steps), key == np.iinfo(key.dtype).max
        launch.free = True
        for query, its in zip(queries, told, strict=True):
            if its["start"] == _NO_WAY_BACK:
                raise no_way_back()
            if its["start"] == _NO_MEMORY:  # again, with more
                seconds += self._read([query], *self._launch([query], length, 4 * spare))
                continue
            if its["accepted"]:
                its_steps = slice(its["start"], its["start"] + its["size"])
                found = vertex[its_steps], weight[its_steps], last[its_steps]
                query.tree = tree_cpu.from_steps(*found, query.tree)
            query.searches, query.accepted = int(its["searches"]), int(its["accepted"])
            query.complete = not its["late"]
            query.seconds["searches"] = float(its["searching"])
            query.seconds["splits_and_merges"] = float(its["exchanging"])
        return seconds + time.perf_counter() - began


def _write_queries(
    queries: list[Query], asked: Any, paths: Any, step_vertex: Any, step_weight: Any
) -> None:
    """Write trees down as the kernel takes them. asked: says already where each one's paths are."""
    asked["root"] = [query.tree.vertex[0] for query in queries]
    asked["limit"] = [max(0, int(min(1e9 * query.time_left, _LONGEST))) for query in queries]
    paths["length"] = -1  # the device adds it up
    columns = [paths[name] for name in ("vertex", "up", "start", "size", "terminal")]
    for query, path, step in zip(queries, asked["paths"], asked["steps"], strict=True):
        its_columns = (column[path:] for column in columns)
        tree_cpu.write_paths(
            query.tree, query.paths, *its_columns, step_vertex[step:], step_weight[step:]
        )
