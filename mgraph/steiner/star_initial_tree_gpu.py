"""STAR's first tree on a GPU: the launches of ``star_initial_tree.cu``, a query a group of blocks.

Memory: see ``star_memory_gpu``.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, cancellation_gpu
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors
from mgraph.steiner import tree_cpu
from mgraph.steiner.star import InitialTree, no_way_back
from mgraph.steiner.star_initial_tree_cpu import hubs_of
from mgraph.steiner.star_memory_gpu import (
    LENGTHS,
    SHARED_COUNTERS_BYTES,
    THREADS,
    GraphOnDevice,
    Memory,
    Workspace,
    groups_for,
)

_FEW_ARCS = 8  # a vertex: then a graph is taken for a wide one
_OUTSTANDING = 8  # times the mean degree: a hub
_WORDS, _HUB_LEVELS, _NO_WAY_BACK = 4, 4, -2  # as in star_initial_tree.cu
_MEMORY_SHARE = 0.5  # of what is free, for the vertices' states

KERNELS = Source(__package__, "star_initial_tree.cu", check=LENGTHS)

_QUERY = np.dtype([("terminals", "i8"), ("paths", "i8"), ("count", "i4"), ("room", "i4")])
_OUTCOME = np.dtype([("levels", "i4"), ("meeting_vertex", "i4")])


class _Ticket(NamedTuple):
    """What was asked, and what ``_launch`` gave."""

    terminals: list[Any]
    counts: Any
    work: Workspace
    spent: float  # seconds, on the launching
    launched: tuple[Any, ...]


class InitialTreeBuilder:
    """A graph's hubs, and the states of its vertices for some queries at a time."""

    def __init__(self, graph: GraphOnDevice, memory: Memory) -> None:
        """Find the hubs; what else is needed is allocated later."""
        import cupy

        self.graph, self.memory, self.mailbox = graph, memory, Mailbox()
        self.state = cupy.empty((0, 0), np.uint32)
        self.words = self.groups = self.asked = 0
        self._stream: Any = None
        self._done: Any = None
        wide = graph.mean_degree <= _FEW_ARCS
        self.room = 2 * math.isqrt(graph.n) + 16 if wide else 64  # vertices of a path
        self.hubs: Any = 0
        self.near_hubs: Any = 0  # of each vertex, as the kernel takes them
        size = 8 * _HUB_LEVELS * graph.n
        outstanding = graph.max_degree > _OUTSTANDING * graph.mean_degree
        if outstanding and size < _MEMORY_SHARE * free_bytes():
            self._find_hubs()

    def _find_hubs(self) -> None:
        """The vertices of most arcs, and near which vertices they are."""
        import cupy

        n, (indptr, indices) = self.graph.n, self.graph.arguments[:2]
        self.hubs = hubs_of(indptr, cupy).astype(np.int32)
        self.near_hubs = cupy.zeros((n, _HUB_LEVELS), np.uint64)
        bits = np.uint64(1) << cupy.arange(self.hubs.size, dtype=np.uint64)
        self.near_hubs[self.hubs, 0] = bits
        for level in range(1, _HUB_LEVELS + 1):
            arguments = (indptr, indices, np.int32(n), np.int32(level), self.near_hubs)
            KERNELS.launch("star_hubs", arguments, **self.graph.defines(self.graph.lengths(0)))

    def start(self, terminals: list[Any]) -> "_Ticket":
        """Begin to find the meeting vertices of some arrays of terminals (int64, ascending)."""
        began = time.perf_counter()
        work = self.memory.workspace(self.graph.lengths(0), groups_for(len(terminals)))
        wanted = min(work.groups, len(terminals), multiprocessors())
        counts = np.array([some.size for some in terminals])
        groups = self._states(-(-int(counts.max()) // 32), wanted)
        launched = self._launch(terminals, counts, work, min(groups, wanted))
        return _Ticket(terminals, counts, work, time.perf_counter() - began, launched)

    def finish(self, ticket: "_Ticket") -> list[InitialTree]:
        """The trees of the meeting vertices' paths."""
        import cupy

        terminals, counts, work, seconds, (groups, begun, done, found, sizes) = ticket
        self._stream = self._stream or cupy.cuda.Stream(non_blocking=True)
        done.synchronize()
        cancellation.raise_if_cancelled()  # else some outcomes may be none
        began = time.perf_counter()
        seconds += cupy.cuda.get_elapsed_time(begun, done) / 1000
        while found["levels"].max() >= self.room:
            self.room = 2 * int(found["levels"].max()) + 16
            groups, begun, done, found, sizes = self._launch(terminals, counts, work, groups)
            done.synchronize()
            cancellation.raise_if_cancelled()
        if (sizes == _NO_WAY_BACK).any():
            raise no_way_back()
        ends = np.cumsum(counts)
        used = int(ends[-1]) * self.room * work.steps.itemsize
        paths = self.memory.pool(used)[:used].get(stream=self._stream).view(work.steps)
        vertex, weight = paths["vertex"], self.graph.weights_of(paths)
        begin, zero = np.arange(ends[-1]) * self.room, self.graph.kind.type(0)
        told: list[tuple[Any, int, int]] = []
        for some, end, levels in zip(terminals, ends, found["levels"].tolist(), strict=True):
            its = slice(end - some.size, end)
            if levels < 0:
                apart = some[sizes[its] == 0]
                if not apart.size:
                    raise no_way_back()
                told.append((None, int(apart[0]), -1))
            else:
                tree = tree_cpu.from_paths(vertex, weight, begin[its], sizes[its], some, zero)
                told.append((tree, -1, levels))
        seconds = (seconds + time.perf_counter() - began) / len(terminals)
        return [InitialTree(*what, seconds) for what in told]

    def _states(self, words: int, groups: int) -> int:
        """Have states of so many words for some groups; returns for how many."""
        import cupy

        if self.words != words or self.asked < groups:
            self.state, self.words = None, 0
            each = 4 * words * _WORDS * self.graph.n + self.graph.n // 4
            self.groups = max(1, min(groups, int(_MEMORY_SHARE * free_bytes() / each)))
            self.state = cupy.zeros((self.groups, self.graph.n * _WORDS * words), np.uint32)
            self.listed = cupy.zeros((self.groups, (self.graph.n + 15) // 16), np.uint32)
            self.words, self.asked = words, groups
        return self.groups

    def _launch(self, terminals: list[Any], counts: Any, work: Any, groups: int) -> tuple[Any, ...]:
        """Search; what comes back is there when the event is: outcomes, sizes of all paths."""
        import cupy

        ends = np.cumsum(counts)
        total = int(ends[-1])
        if self._done is not None:  # the last caller may have gone away without waiting
            self._done.synchronize()
        blocks = multiprocessors() // groups
        queries, ids, counters, boards, outcomes, sizes = self.mailbox.lay_out(
            (len(terminals), _QUERY),
            (total, np.int32),
            (groups + 1, np.uint64),
            (SHARED_COUNTERS_BYTES // 8 * groups * (blocks > 1), np.uint64),
            (len(terminals), _OUTCOME),
            (total, np.int32),
        )
        queries["terminals"], queries["count"] = ends - counts, counts
        queries["paths"], queries["room"] = (ends - counts) * self.room, self.room
        np.concatenate(terminals, out=ids, casting="same_kind")
        counters[:] = boards[:] = 0
        at = self.mailbox.address
        begun, done = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        self.mailbox.send(4)
        kernel = KERNELS.kernel("star_initial_tree", **self.graph.defines(str(work.length)))
        launch_resident(
            kernel,
            groups * blocks,
            THREADS,
            (
                *self.graph.arguments, at(0), np.int32(len(terminals)),
                at(2) + np.uint64(8 * groups), at(1), np.int32(self.words), self.hubs,
                self.near_hubs, at(4), at(5),
                self.memory.pool(total * self.room * work.steps.itemsize), np.int32(blocks), at(2),
                at(3), self.state, self.listed, *work.near, work.lists,
                cancellation_gpu.cancel_flag(),
            ),
        )  # fmt: skip
        self.mailbox.fetch(4, 6)
        done.record()
        self._done = done
        return groups, begun, done, outcomes, sizes
