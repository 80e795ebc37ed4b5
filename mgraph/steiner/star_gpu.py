"""STAR's searches on a GPU: memory, and the launches of ``star.cu``."""

import time
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, multiprocessors
from mgraph.shortest_paths.length_types_gpu import LENGTH_TYPES, key_dtype, length_defines
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner.star import Query, Replacement

_THREADS = 1024
CLUSTER = 8  # blocks
_STEPS = 4  # as in arc_queue.cuh
_NEAR_MOST = 1 << 22
_COUNTERS_BYTES = 128

KERNELS = Source(
    __package__,
    "star.cu",
    check=tuple(
        (*length_defines(*types).items(), ("MGRAPH_CLUSTER", cluster))
        for types in LENGTH_TYPES
        if types != ("float32", "float32")
        for cluster in ("1", str(CLUSTER))
    ),
)


def _job_dtype(key: np.dtype) -> np.dtype:
    return np.dtype(
        [
            ("tree", np.int64), ("size", np.int32), ("first", np.int32), ("last", np.int32),
            ("end", np.int32), ("query", np.int32), ("order", np.int32), ("bound", key),
            ("bucket", key), ("arcs", np.int64, 2),
        ],
        align=True,
    )  # fmt: skip


_FOUND = np.dtype([("start", np.int64), ("size", np.int32)], align=True)


class Searcher:
    def __init__(self, graph: Graph, length: str = "int32", blocks: int = CLUSTER, groups: int = 16,
                 divisions: int = 8) -> None:
        import cupy

        self.graph, self.length = graph, np.dtype(length)
        self.key = key_dtype(self.length)
        n, m = graph.n, graph.m
        self.blocks, self.groups, self.divisions = blocks, groups, divisions
        self.indices = graph.indices.astype(np.int32, copy=False)
        degree = m / max(n, 1)
        self.tile = 32 if degree > 24 else 16 if degree > 10 else 8 if degree > 5 else 4
        self.near = int(min(n + m // (_STEPS * self.tile) + 64, _NEAR_MOST))
        infinity = np.iinfo(self.key).max
        self.labels = cupy.full((groups, n, 2), infinity, self.key)
        self.marks = cupy.zeros((groups, (n + 31) // 32), np.uint32)
        self.waits = cupy.zeros((groups, (n + 15) // 16), np.uint32)
        self.near_vertex = cupy.empty((groups, 2, self.near), np.int32)
        self.near_arcs = cupy.empty((groups, 2, self.near), np.uint64)
        self.near_key = cupy.empty((groups, 2, self.near), self.key)
        self.far = cupy.empty((groups, 4, n), np.int32)
        self.touched = cupy.empty((groups, 2, n), np.int32)
        self.told = cupy.zeros((groups, _COUNTERS_BYTES), np.uint8)
        self.arrived = cupy.zeros(groups, np.uint64)
        self.pool = max(n, 1 << 16)
        self.pool_vertex = cupy.empty(self.pool, np.int32)
        self.pool_weight = cupy.empty(self.pool, self.key)
        self.row_start = graph.indptr.get()

    def first_shorter(self, queries: list[Query], deadline: float) -> list[Replacement]:
        import cupy

        began = time.perf_counter()
        jobs, start = [], 0
        n_over_m = self.graph.n / self.graph.m
        for i, query in enumerate(queries):
            tree, paths = query.tree, query.paths
            size, count = tree.vertex.size, paths.first.size
            its = np.zeros(count, _job_dtype(self.key))
            arcs = np.zeros(size + 1, np.int64)
            np.cumsum(self.row_start[tree.vertex + 1] - self.row_start[tree.vertex], out=arcs[1:])
            end = tree.end[paths.last]
            its["tree"], its["size"], its["query"] = start, size, i
            its["first"], its["last"], its["end"] = paths.first, paths.last, end
            its["order"] = np.arange(count)
            its["bound"] = query.bounds.astype(self.length).view(self.key)
            its["bucket"] = np.array([max(1, self.graph.mean_weight * n_over_m * self.divisions / 8)]).astype(self.length).view(self.key)
            its["arcs"][:, 0] = arcs[paths.first] + arcs[size] - arcs[end]
            its["arcs"][:, 1] = arcs[end] - arcs[paths.last]
            jobs.append(its)
            start += size
        all_jobs = np.concatenate(jobs)
        if not all_jobs.size:
            return [Replacement(-1, None, None, 0, 0.0) for _ in queries]
        all_jobs = all_jobs[np.argsort(all_jobs["order"], kind="stable")]
        trees = np.concatenate([query.tree.vertex for query in queries]).astype(np.int32)
        device_jobs = cupy.asarray(all_jobs.view(np.uint8))
        device_trees = cupy.asarray(trees)
        state = np.zeros(2 + len(queries), np.uint64)
        first = cupy.full(len(queries), 0xFFFFFFFF, np.uint32)
        found = cupy.zeros(all_jobs.size * _FOUND.itemsize, np.uint8)
        next_job, used = cupy.zeros(1, np.uint32), cupy.zeros(1, np.uint64)
        self.arrived.fill(0)
        graph = self.graph
        weights = graph.weights
        types = (str(self.length) if weights is None else str(weights.dtype), str(self.length))
        cluster = self.blocks if self.blocks in (2, 4, 8) else 1
        kernel = KERNELS.kernel("star_search", **length_defines(*types), MGRAPH_CLUSTER=cluster)
        groups = min(self.groups, all_jobs.size)
        kernel(
            (groups * self.blocks,),
            (_THREADS,),
            (
                graph.indptr, self.indices, 0 if weights is None else weights, np.int32(graph.n),
                np.float32(graph.m / max(graph.n, 1)), np.int32(self.tile), device_jobs,
                np.int32(all_jobs.size), next_job, device_trees, first, found,
                np.int32(self.blocks), self.arrived, self.told, self.labels, self.marks, self.waits,
                self.near_vertex, self.near_arcs, self.near_key, np.uint32(self.near), self.far,
                self.touched, self.pool_vertex, self.pool_weight, np.uint64(self.pool), used,
            ),
        )  # fmt: skip
        firsts = first.get()
        founds = found.get().view(_FOUND)
        seconds = (time.perf_counter() - began) / len(queries)
        out = []
        index = {(int(q), int(o)): i for i, (q, o) in enumerate(zip(all_jobs["query"], all_jobs["order"]))} if len(queries) > 1 else None
        for i, query in enumerate(queries):
            order = int(firsts[i])
            if order == 0xFFFFFFFF:
                out.append(Replacement(-1, None, None, query.paths.first.size, seconds))
                continue
            job = order if index is None else index[i, order]
            at, size = int(founds["start"][job]), int(founds["size"][job])
            assert at >= 0, (at, size)
            vertex = self.pool_vertex[at : at + size].get().astype(np.int64)
            weight = self.pool_weight[at : at + size - 1].get().view(self.length)
            weight = weight.astype(np.int64 if self.length.kind == "i" else np.float64)
            out.append(Replacement(order, vertex, weight, order + 1, seconds))
        return out
