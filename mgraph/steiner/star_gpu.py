"""STAR's searches on a GPU: the launches of ``star.cu``.

A launch serves all queries on their way: their trees and loose paths go to the device in one copy,
and a group of blocks takes one loose path after another. The fewer there are, the more blocks has a
group. Memory: see ``star_memory_gpu``.
"""

import time
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.mailbox import Mailbox
from mgraph.cuda.source import Source, multiprocessors
from mgraph.errors import DeviceError
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

_SPECULATION = 4  # loose paths of a query at a time

KERNELS = Source(__package__, "star.cu", check=VARIANTS)

_FOUND = np.dtype([("start", "i8"), ("size", "i4"), ("_", "i4")])


def _job_dtype(key: np.dtype) -> np.dtype:
    fields: list[Any] = [("tree", "i8")]
    fields += [(name, "i4") for name in ("size", "first", "last", "end", "query", "order")]
    return np.dtype([*fields, ("bound", key), ("bucket", key)], align=True)


_JOBS = {size: _job_dtype(np.dtype(f"i{size}")) for size in (4, 8)}


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
        self.mailbox = Mailbox()

    def centres(self, terminals: list[Any]) -> list[Centre]:
        """The breadth-first searches."""
        return self.centre_finder.run(terminals)

    def first_shorter(self, queries: list[Query], deadline: float) -> list[Replacement]:
        """Try loose paths, some at a time, and those of all queries at once."""
        began = time.perf_counter()
        none = np.empty(0, np.int64), np.empty(0, self.graph.kind)
        found = [Replacement(-1, *none, query.paths.first.size, 0.0) for query in queries]
        kinds = [self.graph.lengths(query.initial_cost) for query in queries]
        for length in dict.fromkeys(kinds):
            some = [i for i, kind in enumerate(kinds) if kind == length]
            some = [i for i in some if queries[i].paths.first.size]
            if some:
                told = self._run([queries[i] for i in some], length, self.speculation)
                for i, replacement in zip(some, told, strict=True):
                    found[i] = replacement or found[i]
        seconds = (time.perf_counter() - began) / len(queries)
        return [replacement._replace(seconds=seconds) for replacement in found]

    def _run(self, queries: list[Query], length: str, speculation: int) -> list[Replacement | None]:
        """Launch, and read the answer. speculation: how many loose paths of a query at a time."""
        import cupy

        counts = [query.paths.first.size for query in queries]
        jobs_count = sum(counts)
        wanted = min(jobs_count, speculation * len(queries), multiprocessors())
        work = self.memory.workspace(length, wanted)
        groups = min(wanted, work.groups)
        blocks, cluster = shape(groups)
        jobs, trees, state, firsts, found = self.mailbox.lay_out(
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
        room = max(self.graph.n, 1 << 16)
        pool = self.memory.pool(room * work.steps.itemsize)
        at = self.mailbox.address
        self.mailbox.send(5)
        kernel = KERNELS.kernel("star_search", **self.graph.defines(length), MGRAPH_CLUSTER=cluster)
        kernel(
            (groups * blocks,),
            (THREADS,),
            (
                *self.graph.arguments, np.float32(self.graph.mean_degree), at(0),
                np.int32(jobs_count), at(2) + np.uint64(8 * groups), at(1), at(3), at(4),
                np.int32(blocks), at(2), work.told, work.labels, work.marks, work.waits_far,
                *work.near, work.lists, work.touched, pool, np.uint64(room),
                at(2) + np.uint64(8 * groups + 8),
            ),
        )  # fmt: skip
        self.mailbox.fetch(3, 5)
        cupy.cuda.get_current_stream().synchronize()
        return self._read(queries, found[place], firsts.tolist(), pool, work)

    def _read(
        self, queries: list[Query], found: Any, firsts: list[int], pool: Any, work: Workspace
    ) -> list[Replacement | None]:
        """The paths found. found: of all loose paths, query by query; firsts: a query's best."""
        replacements: list[Replacement | None] = []
        starts, sizes = found["start"].tolist(), found["size"].tolist()
        used = max(map(sum, zip(starts, sizes, strict=True)))
        steps = pool[: used * work.steps.itemsize].get().view(work.steps) if used else None
        begin = 0
        for query, first in zip(queries, firsts, strict=True):
            if first == NOTHING:
                replacements.append(None)
            else:
                start, size = starts[begin + first], sizes[begin + first]
                if start < 0:
                    raise DeviceError("...")
                path = steps[start : start + size]
                weight = path["weight"][:-1].copy().view(work.length).astype(self.graph.kind)
                vertex = path["vertex"].astype(np.int64)
                replacements.append(Replacement(first, vertex, weight, first + 1, 0.0))
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
