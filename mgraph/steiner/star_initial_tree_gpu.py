"""STAR's initial trees on a GPU: the launches of ``star_initial_tree.cu``, a group per query.

Memory: see ``star_memory_gpu``, and 4 words per vertex and 32 terminals for each group.
"""

import functools
import math
import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, cancellation_gpu, primitives_gpu
from mgraph.cuda.declarations import StructType
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, broken_path_error
from mgraph.steiner.star_initial_tree_cpu import HUBS
from mgraph.steiner.star_memory_gpu import (
    GraphOnDevice,
    Memory,
    Workspace,
    constant,
    counter_words,
    max_groups,
    struct_type,
)
from mgraph.steiner.star_types_gpu import VARIANTS

_LOW_DEGREE = 8  # mean: up to this a graph is taken to have long paths
_HUB_FACTOR = 8  # times the mean degree: a graph with such a vertex has hubs
_MEMORY_SHARE = 0.5  # of the free memory, for the vertices' states

KERNELS = Source(__package__, "star_initial_tree.cu", check=VARIANTS)


class _Layout(NamedTuple):
    """The structs that are written and read for a launch."""

    query: np.dtype
    outcome: np.dtype
    launch: StructType


@functools.cache
def _layout(weight: str, length: str) -> _Layout:
    """Return the structs of ``star_initial_tree.cu`` for these types."""
    query, outcome, launch = (
        struct_type(KERNELS, name, weight, length)
        for name in ("query", "outcome", "initial_tree_launch")
    )
    return _Layout(query.dtype, outcome.dtype, launch)


@functools.cache
def _constant(name: str) -> int:
    """Return a constant of ``star_initial_tree.cu``."""
    return KERNELS.constant(name)


class _Launched(NamedTuple):
    """A launch in progress, and what it returns: outcomes per query, sizes per terminal."""

    groups: int
    started: Any
    done: Any
    outcomes: Any
    sizes: Any


class _Ticket(NamedTuple):
    """Queries and the launch for them. seconds: spent on the launching."""

    terminals: list[Any]
    counts: Any
    workspace: Workspace
    seconds: float
    launched: _Launched


class InitialTreeBuilder:
    """A graph's hubs, and the states of its vertices for some queries at a time."""

    def __init__(self, graph: GraphOnDevice, memory: Memory) -> None:
        """Find the hubs; all other memory is allocated when it is needed."""
        import cupy

        self.graph, self.memory, self.mailbox = graph, memory, Mailbox()
        self.state = self.listed = cupy.empty((0, 0), np.uint32)
        self.words = self.groups = self.requested = 0
        self._levels: Any = None  # the struct level_memory
        self._stream: Any = None
        self._done: Any = None
        has_long_paths = graph.mean_degree <= _LOW_DEGREE
        self.path_capacity = 2 * math.isqrt(graph.n) + 16 if has_long_paths else 64
        self.hubs: Any = None
        self.near_hubs: Any = None
        size = 8 * _constant("hub_levels") * graph.n
        has_hubs = graph.max_degree > _HUB_FACTOR * graph.mean_degree
        if has_hubs and size < _MEMORY_SHARE * free_bytes():
            self._find_hubs()
        self._hub_table = struct_type(KERNELS, "hub_table", graph.weight, "int64").pack(
            {"ids": self.hubs, "near": self.near_hubs}
        )

    def _find_hubs(self) -> None:
        """Find the vertices of highest degree, and which vertices they are near."""
        import cupy

        hub_levels = _constant("hub_levels")
        hubs = primitives_gpu.largest_rows(self.graph.indptr, HUBS)
        self.hubs = cupy.asarray(hubs.astype(np.int32))
        self.near_hubs = cupy.zeros((self.graph.n, hub_levels), np.uint64)
        bits = np.uint64(1) << np.arange(hubs.size, dtype=np.uint64)
        primitives_gpu.put_each(self.near_hubs, hubs * hub_levels, bits)
        defines = self.graph.defines(self.graph.length_type(0))
        for level in range(1, hub_levels + 1):
            arguments = (self.graph.argument, np.int32(level), self.near_hubs)
            KERNELS.launch("star_hubs", arguments, **defines)

    def start(self, terminals: list[Any]) -> _Ticket:
        """Launch the searches for some arrays of terminals (int64, ascending)."""
        start = time.perf_counter()
        workspace = self.memory.workspace(self.graph.length_type(0), max_groups(len(terminals)))
        requested = min(workspace.groups, len(terminals), multiprocessors())
        counts = np.array([some.size for some in terminals])
        groups = self._allocate_states(-(-int(counts.max()) // 32), requested)
        launched = self._launch(terminals, counts, workspace, min(groups, requested))
        return _Ticket(terminals, counts, workspace, time.perf_counter() - start, launched)

    def finish(self, ticket: _Ticket) -> list[InitialTree]:
        """Wait for the searches, and return the trees of their paths."""
        import cupy

        terminals, counts, workspace, seconds, launched = ticket
        self._stream = self._stream or cupy.cuda.Stream(non_blocking=True)
        launched.done.synchronize()
        cancellation.raise_if_cancelled()  # else some outcomes may be missing
        start = time.perf_counter()
        seconds += cupy.cuda.get_elapsed_time(launched.started, launched.done) / 1000
        while launched.outcomes["levels"].max() >= self.path_capacity:
            self.path_capacity = 2 * int(launched.outcomes["levels"].max()) + 16
            launched = self._launch(terminals, counts, workspace, launched.groups)
            launched.done.synchronize()
            cancellation.raise_if_cancelled()
        sizes = launched.sizes
        if (sizes == _constant("broken_path")).any():
            raise broken_path_error()
        ends = np.cumsum(counts)
        used = int(ends[-1]) * self.path_capacity * workspace.step.itemsize
        paths = self.memory.pool(used)[:used].get(stream=self._stream).view(workspace.step)
        vertex, weight = paths["vertex"], self.graph.weights_of(paths)
        begin = np.arange(ends[-1]) * self.path_capacity
        zero = self.graph.cost_dtype.type(0)
        trees: list[tuple[Any, int, int]] = []
        levels_of_queries = launched.outcomes["levels"].tolist()
        for some, end, levels in zip(terminals, ends, levels_of_queries, strict=True):
            own = slice(end - some.size, end)
            if levels < 0:
                unreachable = some[sizes[own] == 0]
                if not unreachable.size:
                    raise broken_path_error()
                trees.append((None, int(unreachable[0]), -1))
            else:
                tree = tree_cpu.from_paths(vertex, weight, begin[own], sizes[own], some, zero)
                trees.append((tree, -1, levels))
        seconds = (seconds + time.perf_counter() - start) / len(terminals)
        return [InitialTree(*tree, seconds) for tree in trees]

    def _allocate_states(self, words: int, groups: int) -> int:
        """Allocate states of so many words for some groups; return for how many."""
        import cupy

        if self.words != words or self.requested < groups:
            self.state, self.words = None, 0
            n, per_vertex = self.graph.n, _constant("words_per_vertex")
            bytes_per_group = 4 * words * per_vertex * n + n // 4
            fitting = int(_MEMORY_SHARE * free_bytes() / bytes_per_group)
            self.groups = max(1, min(groups, fitting))
            self.state = cupy.zeros((self.groups, n * per_vertex * words), np.uint32)
            self.listed = cupy.zeros((self.groups, (n + 15) // 16), np.uint32)
            self.words, self.requested = words, groups
            self._levels = struct_type(KERNELS, "level_memory", self.graph.weight, "int64").pack(
                {"state": self.state, "listed": self.listed, "words": words}
            )
        return self.groups

    def _launch(
        self, terminals: list[Any], counts: Any, workspace: Workspace, groups: int
    ) -> _Launched:
        """Launch the searches; the results are there when the event ``done`` is."""
        import cupy

        ends = np.cumsum(counts)
        total = int(ends[-1])
        if self._done is not None:  # the last caller may have dropped its launch
            self._done.synchronize()
        blocks = multiprocessors() // groups
        layout = _layout(self.graph.weight, workspace.length)
        queries, ids, arrivals, counters, outcomes, sizes = self.mailbox.lay_out(
            (len(terminals), layout.query),
            (total, np.int32),
            (groups + 1, np.uint64),  # of groups, and next_query
            (counter_words(groups, blocks), np.uint64),
            (len(terminals), layout.outcome),
            (total, np.int32),
        )
        queries["first_terminal"], queries["terminal_count"] = ends - counts, counts
        queries["first_path"] = (ends - counts) * self.path_capacity
        queries["path_capacity"] = self.path_capacity
        np.concatenate(terminals, out=ids, casting="same_kind")
        arrivals[:] = counters[:] = 0
        address = [int(self.mailbox.address(part)) for part in range(6)]
        path_bytes = total * self.path_capacity * workspace.step.itemsize
        argument = layout.launch.pack(
            {
                "queries": address[0], "terminals": address[1], "outcomes": address[4],
                "sizes": address[5], "paths": self.memory.pool(path_bytes),
                "group_arrivals": address[2], "next_query": address[2] + 8 * groups,
                "counters": address[3], "cancel_flag": cancellation_gpu.cancel_flag(),
                "query_count": len(terminals), "blocks_per_group": blocks,
            }
        )  # fmt: skip
        kernel = KERNELS.kernel("star_initial_tree", **self.graph.defines(workspace.length))
        started, done = cupy.cuda.Event(), cupy.cuda.Event()
        started.record()
        self.mailbox.send(4)
        launch_resident(
            kernel,
            groups * blocks,
            constant("threads_per_block"),
            (self.graph.argument, workspace.argument, self._levels, self._hub_table, argument),
        )
        self.mailbox.fetch(4, 6)
        done.record()
        self._done = done
        return _Launched(groups, started, done, outcomes, sizes)
