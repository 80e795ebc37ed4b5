"""STAR's exchanges on a GPU: the launches of ``star.cu``.

One launch serves many queries: their trees go to the device in one copy, and come back when no
loose path has a shorter replacement. A team of blocks takes one query after another; the fewer
queries there are, the more blocks a team has. Memory: see ``star_memory_gpu``.
"""

import functools
import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.source import Source, launch_resident
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, Query, broken_path_error, improvement_factor
from mgraph.steiner.star_initial_tree_gpu import InitialTreeBuilder
from mgraph.steiner.star_memory_gpu import (
    GraphOnDevice,
    Memory,
    Shape,
    constant,
    counter_words,
    path_dtype,
    step_dtype,
    struct_type,
)
from mgraph.steiner.star_types_gpu import VARIANTS

# The memory for the steps of a tree: so many times as many as it has now, and so many more.
_STEP_FACTOR, _MORE_STEPS = 4, 1 << 12
_MAX_NANOSECONDS = 1 << 62

KERNELS = Source(__package__, "star.cu", check=VARIANTS)


class _Layout(NamedTuple):
    """The structs that are written and read for a launch."""

    query: np.dtype
    path: np.dtype
    step: np.dtype
    outcome: np.dtype
    launch: StructType


@functools.cache
def _layout(weight: str, length: str) -> _Layout:
    """Return the structs of ``star.cu`` for weights and lengths of these types."""
    query, outcome, launch = (
        struct_type(KERNELS, name, weight, length)
        for name in ("query", "outcome", "exchange_launch")
    )
    return _Layout(query.dtype, path_dtype(length), step_dtype(length), outcome.dtype, launch)


@functools.cache
def _fault(name: str) -> int:
    """Return what ``outcome.start`` is after a fault."""
    return KERNELS.constant(name)


class _Launch:
    """The memory of one launch: its mailbox, and the trees that it answers with."""

    def __init__(self) -> None:
        import cupy

        self.mailbox = Mailbox()
        self.answers: Any = None
        self.started, self.done = cupy.cuda.Event(), cupy.cuda.Event()
        self.is_free = True
        self._stream: Any = None

    def allocate_answers(self, size: int) -> Any:
        """Return so many bytes for the answers."""
        import cupy

        if self.answers is None or self.answers.size < size:
            self.answers = cupy.empty(size, np.uint8)
        return self.answers

    def read_answers(self, size: int) -> Any:
        """Copy the first bytes of the answers, on another stream than the next launch's."""
        import cupy

        self._stream = self._stream or cupy.cuda.Stream(non_blocking=True)
        return self.answers[:size].get(stream=self._stream)

    @property
    def seconds(self) -> float:
        """The time that the device took."""
        import cupy

        return float(cupy.cuda.get_elapsed_time(self.started, self.done) / 1000)


class _Launched(NamedTuple):
    """A launch in progress for some queries: their indices in the ticket, and what it returns."""

    indices: list[int]
    launch: _Launch
    outcomes: Any
    length: str
    step_factor: int


class _Ticket(NamedTuple):
    """Queries and the launches for them. seconds: spent on the launching."""

    queries: list[Query]
    seconds: float
    launches: list[_Launched]


class Searcher:
    """STAR on a graph, for many queries at a time: a ``star.Search``."""

    def __init__(self, graph: Graph, shape: Shape | None = None) -> None:
        """Take a graph on the device; memory is allocated when it is needed.

        shape: how the device's blocks are divided, whatever the queries; by default as suits them.
        """
        self.graph = GraphOnDevice(graph)
        self.memory = Memory(self.graph)
        self.initial_tree_builder = InitialTreeBuilder(self.graph, self.memory)
        self.shape = shape
        self._launches: list[_Launch] = []  # some may still run for a caller who dropped them

    def start_initial_trees(self, terminals: list[Any]) -> Any:
        """Launch the breadth-first searches."""
        return self.initial_tree_builder.start(terminals)

    def finish_initial_trees(self, ticket: Any) -> list[InitialTree]:
        """Wait for the breadth-first searches, and return their trees."""
        return self.initial_tree_builder.finish(ticket)

    def start_exchanges(self, queries: list[Query]) -> _Ticket:
        """Launch the exchanges: one launch per type of lengths."""
        lengths = [
            self.graph.length_type(query.initial_cost) if query.paths.first.size else ""
            for query in queries
        ]
        start, launches = time.perf_counter(), []
        for length in sorted(set(lengths) - {""}):
            indices = [i for i, other in enumerate(lengths) if other == length]
            launches.append(self._start_launch(indices, [queries[i] for i in indices], length))
        return _Ticket(queries, time.perf_counter() - start, launches)

    def finish_exchanges(self, ticket: _Ticket) -> None:
        """Wait for the launches, and read the trees."""
        for query in ticket.queries:
            query.complete = True  # of those without a loose path
        seconds = ticket.seconds
        try:
            for launched in ticket.launches:
                queries = [ticket.queries[i] for i in launched.indices]
                seconds += self._finish_launch(queries, launched)
        except cancellation.Cancelled:
            for launched in ticket.launches:
                launched.launch.done.synchronize()
                launched.launch.is_free = True
            raise
        # Each query gets an equal share of the time, divided as the device's clock says.
        share = seconds / max(1, len(ticket.queries))
        for query in ticket.queries:
            on_device = query.seconds["searches"] + query.seconds["splits_and_merges"]
            if on_device:
                for part in ("searches", "splits_and_merges"):
                    query.seconds[part] *= share / on_device

    def _start_launch(
        self, indices: list[int], queries: list[Query], length: str, step_factor: int = 0
    ) -> _Launched:
        """Launch the exchanges of queries whose lengths have one type."""
        step_factor = step_factor or _STEP_FACTOR
        launch = next((launch for launch in self._launches if launch.is_free), None)
        if launch is None:
            launch = _Launch()
            self._launches.append(launch)
        launch.is_free = False
        path_counts = [query.paths.first.size for query in queries]
        step_counts = [query.tree.vertex.size - 1 + query.paths.first.size for query in queries]
        terminals = max(int(query.tree.terminal.sum()) for query in queries)
        slots, capacity = 2 * terminals, step_factor * max(step_counts) + _MORE_STEPS
        workspace, teams, shape = self.memory.allocate_exchanges(
            length, len(queries), max(path_counts), slots, capacity, self.shape
        )
        layout = _layout(self.graph.weight, length)
        groups = shape.teams * shape.groups
        requests, paths, steps, arrivals, counters, outcomes = launch.mailbox.lay_out(
            (len(queries), layout.query),
            (sum(path_counts), layout.path),
            (sum(step_counts), layout.step),
            (groups + shape.teams + 2, np.uint64),  # of groups and teams, next_query, answers_used
            (counter_words(groups, shape.blocks), np.uint64),
            (len(queries), layout.outcome),
        )
        requests["path_count"], requests["step_count"] = path_counts, step_counts
        requests["first_path"] = np.cumsum(path_counts) - path_counts
        requests["first_step"] = np.cumsum(step_counts) - step_counts
        _write_queries(queries, requests, paths, steps["vertex"], self.graph.weights_of(steps))
        arrivals[:] = counters[:] = 0
        answers_capacity = step_factor * sum(step_counts) + _MORE_STEPS
        answers = launch.allocate_answers(answers_capacity * layout.step.itemsize)
        address = [int(launch.mailbox.address(part)) for part in range(6)]
        after_arrivals = address[3] + 8 * (groups + shape.teams)
        argument = layout.launch.pack(
            {
                "queries": address[0], "paths": address[1], "steps": address[2],
                "outcomes": address[5], "answers": answers, "answers_used": after_arrivals + 8,
                "group_arrivals": address[3], "team_arrivals": address[3] + 8 * groups,
                "next_query": after_arrivals, "counters": address[4],
                "cancel_flag": cancellation_gpu.cancel_flag(),
                "answers_capacity": answers_capacity,
                "first_bucket": self.graph.first_bucket(shape.blocks),
                "improvement_factor": improvement_factor(
                    self.graph.cost_dtype, queries[0].epsilon
                ),
                "query_count": len(queries), "blocks_per_group": shape.blocks,
                "groups_per_team": shape.groups, "slots": slots, "capacity": capacity,
            }
        )  # fmt: skip
        kernel = cancellation_gpu.kernel(KERNELS, "star_exchange", **self.graph.defines(length))
        launch.started.record()
        launch.mailbox.send(5)
        launch_resident(
            kernel,
            groups * shape.blocks,
            constant("threads_per_block"),
            (self.graph.argument, workspace.argument, teams, argument),
        )
        launch.mailbox.fetch(5, 6)
        launch.done.record()
        return _Launched(indices, launch, outcomes, length, step_factor)

    def _finish_launch(self, queries: list[Query], launched: _Launched) -> float:
        """Give the queries their trees. Return the seconds of the launch, and those spent here."""
        launch = launched.launch
        launch.done.synchronize()
        launch.is_free = launch.is_free or cancellation.current_token()()
        cancellation.raise_if_cancelled()
        start, seconds = time.perf_counter(), launch.seconds
        outcomes, step = launched.outcomes.copy(), step_dtype(launched.length)
        used = int((outcomes["start"] + outcomes["size"]).max(initial=0))
        steps = launch.read_answers(used * step.itemsize).view(step)
        vertex, key = steps["vertex"], steps["weight"]
        weight, is_last = self.graph.weights_of(steps), key == np.iinfo(key.dtype).max
        launch.is_free = True
        for query, outcome in zip(queries, outcomes, strict=True):
            if outcome["start"] == _fault("broken_path"):
                raise broken_path_error()
            if outcome["start"] == _fault("out_of_memory"):  # again, with more
                again = self._start_launch([0], [query], launched.length, 4 * launched.step_factor)
                seconds += self._finish_launch([query], again)
                continue
            if outcome["accepted"]:
                own = slice(outcome["start"], outcome["start"] + outcome["size"])
                query.tree = tree_cpu.from_steps(vertex[own], weight[own], is_last[own], query.tree)
            query.searches, query.accepted = int(outcome["searches"]), int(outcome["accepted"])
            query.complete = not outcome["timed_out"]
            query.seconds["searches"] = float(outcome["search_time"])
            query.seconds["splits_and_merges"] = float(outcome["exchange_time"])
        return seconds + time.perf_counter() - start


def _write_queries(
    queries: list[Query], requests: Any, paths: Any, step_vertex: Any, step_weight: Any
) -> None:
    """Write the trees as the kernel takes them. requests: has the index of each first path."""
    requests["root"] = [query.tree.vertex[0] for query in queries]
    requests["time_limit"] = [
        max(0, int(min(1e9 * query.time_left, _MAX_NANOSECONDS))) for query in queries
    ]
    paths["length"] = -1  # the device adds it up
    columns = [paths[name] for name in ("vertex", "up", "start", "size", "terminal")]
    first_paths, first_steps = requests["first_path"], requests["first_step"]
    for query, path, step in zip(queries, first_paths, first_steps, strict=True):
        own_columns = (column[path:] for column in columns)
        tree_cpu.write_paths(
            query.tree, query.paths, *own_columns, step_vertex[step:], step_weight[step:]
        )
