"""STAR's searches on a GPU: the launches of ``star.cu``.

A launch serves all queries on their way: their trees and loose paths go to the device in one copy,
and a group of blocks takes one loose path after another. The fewer there are, the more blocks has a
group. Memory: see ``star_memory_gpu``.
"""

import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.source import Source, multiprocessors
from mgraph.steiner.star import Centre, Query, Replacement
from mgraph.steiner.star_centre_gpu import CentreFinder
from mgraph.steiner.star_memory_gpu import (
    NOTHING,
    THREADS,
    VARIANTS,
    GraphOnDevice,
    Memory,
    Workspace,
    shape,
)

_LEAST_POOL = 1 << 16  # vertices of all paths of a launch
_SPECULATION = 4  # loose paths of a query at a time

KERNELS = Source(__package__, "star.cu", check=VARIANTS)

_FOUND = np.dtype([("start", "i8"), ("size", "i4"), ("_", "i4")])


def _job_dtype(key: np.dtype) -> np.dtype:
    fields: list[Any] = [("tree", "i8")]
    fields += [(name, "i4") for name in ("size", "first", "last", "end", "query", "order")]
    return np.dtype([*fields, ("bound", key), ("bucket", key)], align=True)


_JOBS = {size: _job_dtype(np.dtype(f"i{size}")) for size in (4, 8)}


class _Launch:
    """A launch on its way: what was asked, and where the answer will be."""

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.pool: Any = None
        self.done: Any = None
        self._stream: Any = None

    def stream(self) -> Any:
        """One beside that on which the next launch runs already."""
        import cupy

        self._stream = self._stream or cupy.cuda.Stream(non_blocking=True)
        return self._stream

    def room(self, size: int) -> Any:
        """So many bytes for the paths that are found."""
        import cupy

        if self.pool is None or self.pool.size < size:
            self.pool = cupy.empty(size, np.uint8)
        return self.pool


class _Ticket(NamedTuple):
    """Queries, and of each length that they need a launch with its queries' places."""

    queries: list[Query]
    began: float
    parts: list[Any]


class Searcher:
    """STAR's searches on a graph, for many queries at once; of ``mgraph.steiner.star``."""

    def __init__(self, graph: Graph, speculation: int = _SPECULATION) -> None:
        """Take a graph on the device; memory is allocated when it is needed.

        speculation: how many loose paths of a query to search for at a time.
        """
        self.graph = GraphOnDevice(graph)
        self.memory = Memory(self.graph)
        self.centre_finder = CentreFinder(self.graph, self.memory)
        self.speculation = speculation
        self._free: list[_Launch] = []

    def centres(self, terminals: list[Any]) -> list[Centre]:
        """The breadth-first searches."""
        return self.centre_finder.run(terminals)

    def start(self, queries: list[Query]) -> _Ticket:
        """Launch searches for loose paths, some at a time, and those of all queries at once."""
        kinds = [
            self.graph.lengths(query.initial_cost) if query.paths.first.size else ""
            for query in queries
        ]
        began, parts = time.perf_counter(), []
        for length in sorted(set(kinds) - {""}):
            some = [i for i, kind in enumerate(kinds) if kind == length]
            parts.append((some, self._launch([queries[i] for i in some], length)))
        return _Ticket(queries, began, parts)

    def replacements(self, ticket: _Ticket) -> list[Replacement]:
        """What the launches found."""
        none = np.empty(0, np.int64), np.empty(0, self.graph.kind)
        found = [Replacement(-1, *none, query.paths.first.size, 0.0) for query in ticket.queries]
        for some, launched in ticket.parts:
            told = self._read([ticket.queries[i] for i in some], *launched)
            for i, replacement in zip(some, told, strict=True):
                found[i] = replacement or found[i]
        seconds = (time.perf_counter() - ticket.began) / max(1, len(ticket.queries))
        return [replacement._replace(seconds=seconds) for replacement in found]

    def _launch(self, queries: list[Query], length: str, speculation: int = 0) -> tuple[Any, ...]:
        import cupy

        launch = self._free.pop() if self._free else _Launch()
        counts = [query.paths.first.size for query in queries]
        jobs_count = sum(counts)
        at_a_time = (speculation or self.speculation) * len(queries)
        wanted = min(jobs_count, at_a_time, multiprocessors())
        work = self.memory.workspace(length, wanted)
        groups = min(wanted, work.groups)
        blocks, cluster = shape(groups)
        jobs, trees, state, firsts, found = launch.mailbox.lay_out(
            (jobs_count, _JOBS[work.key.itemsize]),
            (sum(query.tree.vertex.size for query in queries), np.int32),
            (groups + 2, np.uint64),
            (len(queries), np.uint32),
            (jobs_count, _FOUND),
        )
        place = self._write_jobs(queries, counts, work, jobs)
        np.concatenate([query.tree.vertex for query in queries], out=trees, casting="same_kind")
        state[:] = 0
        firsts[:] = NOTHING
        found[:] = 0
        room = max(self.graph.n, _LEAST_POOL)
        pool = launch.room(room * work.steps.itemsize)
        at = launch.mailbox.address
        launch.mailbox.send(5)
        kernel = KERNELS.kernel("star_search", **self.graph.defines(length), MGRAPH_CLUSTER=cluster)
        kernel(
            (groups * blocks,),
            (THREADS,),
            (
                *self.graph.arguments, *self.graph.sorted_rows, np.float32(self.graph.mean_degree),
                at(0),
                np.int32(jobs_count), at(2) + np.uint64(8 * groups), at(1), at(3), at(4),
                np.int32(blocks), at(2), work.told, work.labels, work.marks, work.waits_far,
                *work.near, work.lists, work.touched, pool, np.uint64(room),
                at(2) + np.uint64(8 * groups + 8),
            ),
        )  # fmt: skip
        launch.mailbox.fetch(3, 5)
        launch.done = cupy.cuda.Event(disable_timing=True)
        launch.done.record()
        return launch, firsts, found, place, work

    def _read(
        self,
        queries: list[Query],
        launch: _Launch,
        firsts: Any,
        found: Any,
        place: Any,
        work: Workspace,
    ) -> list[Replacement | None]:
        """The paths found. place: of all loose paths, query by query, where they stand in found."""
        launch.done.synchronize()
        starts, sizes = found["start"][place].tolist(), found["size"][place].tolist()
        replacements: list[Replacement | None] = []
        best, begin = [], 0
        for query, first in zip(queries, firsts.tolist(), strict=True):
            best.append(-1 if first == NOTHING else begin + first)
            begin += query.paths.first.size
        if min([starts[i] for i in best if i >= 0], default=0) < 0:  # no room: all again, apart
            self._free.append(launch)
            length = str(work.length)
            return [self._read([one], *self._launch([one], length, 1))[0] for one in queries]
        used = max([starts[i] + sizes[i] for i in best if i >= 0], default=0)
        steps: Any = None
        if used:
            stream = launch.stream()
            steps = launch.pool[: used * work.steps.itemsize].get(stream=stream).view(work.steps)
        self._free.append(launch)
        begin = 0
        for query, i in zip(queries, best, strict=True):
            if i < 0:
                replacements.append(None)
            else:
                path = steps[starts[i] : starts[i] + sizes[i]]
                weight = path["weight"][:-1].copy().view(work.length).astype(self.graph.kind)
                vertex = path["vertex"].astype(np.int64)
                replacements.append(Replacement(i - begin, vertex, weight, i - begin + 1, 0.0))
            begin += query.paths.first.size
        return replacements

    def _write_jobs(
        self, queries: list[Query], counts: list[int], work: Workspace, jobs: Any
    ) -> Any:
        """All loose paths, those that each query tries first coming first; returns their places."""
        graph, length = self.graph, work.length
        of = np.repeat(np.arange(len(queries)), counts)
        begins = np.cumsum(counts) - counts
        order = np.arange(of.size) - begins[of]
        by_order = np.argsort(order, kind="stable") if len(queries) > 1 else slice(None)
        sizes = np.array([query.tree.vertex.size for query in queries])

        def column(arrays: list[Any]) -> Any:
            return np.concatenate(arrays)[by_order] if len(arrays) > 1 else arrays[0]

        of = of[by_order]
        jobs["query"], jobs["order"] = of, order[by_order]
        jobs["tree"], jobs["size"] = (np.cumsum(sizes) - sizes)[of], sizes[of]
        jobs["first"] = column([query.paths.first for query in queries])
        jobs["last"] = column([query.paths.last for query in queries])
        jobs["end"] = column([query.tree.end[query.paths.last] for query in queries])
        jobs["bound"] = column([query.bounds for query in queries]).astype(length).view(work.key)
        bucket = graph.mean_weight / max(graph.mean_degree, 1.0)
        bucket = max(1.0, bucket) if length.kind == "i" else bucket
        jobs["bucket"] = np.array(bucket).astype(length).view(work.key)
        if len(queries) == 1:
            return order
        place = np.empty(of.size, np.int64)
        place[by_order] = np.arange(of.size)
        return place
