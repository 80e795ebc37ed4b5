"""The tasks of ``mgraph sssp`` over many sources: load the graph, draw sources, search, write.

On a GPU a task searches from all sources of its batch in one launch and writes the distances, one
row group at a time, while the worker's next task has the device. On cores it searches from one
source after another, and writes each search before the next begins.

A part has one row per vertex reached: source, vertex, distance and, unless left out, predecessor
(-1 at a source).
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.clusters.survey import Survey
from mgraph.distributed.operations.graph_holder import holder
from mgraph.distributed.operations.graph_operation import (
    BatchPlan,
    GraphFacts,
    held_ids,
    id_kind,
    to_record,
)
from mgraph.distributed.operations.resume import Footer
from mgraph.errors import UsageError
from mgraph.io.dataset import part_name
from mgraph.shortest_paths.problem import infinity_of
from mgraph.shortest_paths.rehearsal import rehearse
from mgraph.shortest_paths.result import summarize

BATCHES_PER_THREAD = 4
# On a GPU: searches per task without and with written results, and tasks per thread with them.
# See shortest_paths/BENCHMARKS.md.
GPU_BATCH, GPU_BATCH_WRITTEN, GPU_TASKS_WRITTEN = 16, 4, 2
CPU_BATCH_ARCS = 300_000_000  # of a task's searches together: half a minute of a core
MAX_ROWS = 1 << 27  # per part
BYTES_PER_ROW = 64  # distances, predecessors and their encoding
_ROW_GROUP = 1 << 22  # large, since a worker's threads share one interpreter


@dataclass(frozen=True)
class Search:
    """One search: its source, how many vertices it reached, the greatest distance, its seconds."""

    source: int
    reached: int
    max_distance: int | float
    seconds: float


class Rows(NamedTuple):
    """The rows of a search: columns vertex, distance and, if recorded, predecessor.

    checksum: the sum of the hashes of (source, vertex, distance).
    """

    columns: list[Any]
    checksum: int


def load_graph(name: str, options: dict[str, Any]) -> GraphFacts:
    """Read the graph on this worker, and compile what searches with these options need."""
    from mgraph.shortest_paths.problem import length_dtype

    graph_holder = holder(name)
    graph = graph_holder.graph()
    with cancellation.acquiring(graph_holder.device_lock):
        num_sources = 2 if graph.backend == "gpu" else 1
        rehearse(graph, num_sources, **options | {"power_limit": None})
    kind = id_kind(graph_holder)
    return GraphFacts(graph.n, graph.num_arcs, str(length_dtype(graph)), id_kind=kind)


def draw_sources(name: str, count: int, seed: int) -> list[int]:
    """Draw distinct sources among the vertices that have arcs, in ascending order."""
    indptr = holder(name).graph().indptr
    if not isinstance(indptr, np.ndarray):
        indptr = indptr.get()
    candidates = (indptr[1:] > indptr[:-1]).nonzero()[0]
    if count > candidates.size:
        raise UsageError(
            f"random must be at most {candidates.size:,}, the vertices with arcs (got {count:,})"
        )
    ranks = np.random.default_rng(seed).choice(int(candidates.size), count, replace=False)
    return [int(candidates[rank]) for rank in np.sort(ranks)]


def search_batch(batch: tuple[int, list[int]], plan: BatchPlan) -> Footer:
    """Search from the sources of a part, write the rows, return the part's footer."""
    index, sources = batch
    assert plan.holder is not None
    graph_holder, on_gpu = holder(plan.holder), plan.backend == "gpu"
    with memory_guard(f"{len(sources)} searches and their results", "use a smaller `batch`"):
        answers: Iterable[tuple[Search, Rows | None]] = _search_all(graph_holder, sources, plan)
        if on_gpu:
            with cancellation.acquiring(graph_holder.device_lock):
                answers = list(answers)  # the checksums wait for the device
        if plan.folder is None:
            return {"searched": [to_record(search) for search, _ in answers], "checksum": "0"}
        return write_part(index, plan, answers, held_ids(graph_holder) if plan.writes_ids else None)


def _search_all(
    graph_holder: Any, sources: list[int], plan: BatchPlan
) -> Iterator[tuple[Search, Rows | None]]:
    """Yield each search with its rows, if they are to be written.

    A GPU searches from all sources at once. Cores also have other threads' tasks, so a task
    searches from one source after another.
    """
    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.shortest_paths.power_governor import PowerGovernor
    from mgraph.shortest_paths.sssp import sssp

    graph, options = graph_holder.graph(), dict(plan.options)
    if options["power_limit"]:
        governor = PowerGovernor(options["power_limit"])
        options["power_limit"] = graph_holder.memory.setdefault("governor", governor)
    step = len(sources) if plan.backend == "gpu" else 1
    for first in range(0, len(sources), step):
        group = sources[first : first + step]
        began = time.perf_counter()
        with timings.step(timings.COMPUTING):
            paths = sssp(graph, group, backend=plan.backend, **options)
            searches = _summarize(paths, group, began)
        gauges.add("queries", len(group))
        count_edges(graph.num_arcs * len(group))
        rows: Iterable[Rows | None] = repeat(None)
        if plan.folder is not None:
            rows = yield_rows(paths, searches, plan.vertex_dtype)
        yield from zip(searches, rows, strict=False)


def _summarize(paths: Any, sources: list[int], began: float) -> list[Search]:
    """Compute each search's figures where the distances are, and wait for them."""
    figures = [summarize(row) for row in paths.distance.reshape(len(sources), -1)]
    seconds = (time.perf_counter() - began) / len(sources)
    return [
        Search(source, reached, greatest, seconds)
        for source, (reached, greatest) in zip(sources, figures, strict=True)
    ]


def yield_rows(
    paths: Any, searches: Sequence[Search], dtype: Any, first: int = 0
) -> Iterator[Rows]:
    """Yield the rows of one search after another; dtype: of vertices.

    first: the vertex that the arrays of ``paths`` begin with. The columns are arrays of the library
    that ``paths`` uses, NumPy or CuPy.
    """
    distances = paths.distance.reshape(len(searches), -1)
    predecessors: Any = repeat(None)
    if paths.predecessor is not None:
        predecessors = paths.predecessor.reshape(distances.shape).astype(dtype, copy=False)
    for search, distance, predecessor in zip(searches, distances, predecessors, strict=False):
        if isinstance(distance, np.ndarray):
            from mgraph.core.edge_list_cpu import checksum

            vertex = np.flatnonzero(distance != infinity_of(distance.dtype)).astype(dtype)
            given = [distance] if predecessor is None else [distance, predecessor]
            columns = [vertex + vertex.dtype.type(first), *(values[vertex] for values in given)]
            source = np.full_like(vertex, search.source)
        else:
            from mgraph.core.edge_list_gpu import checksum
            from mgraph.core.primitives_gpu import full
            from mgraph.shortest_paths import reached_rows_gpu

            columns = reached_rows_gpu.list_rows(
                distance, predecessor, search.reached, dtype, first
            )
            source = full(search.reached, search.source, columns[0].dtype)
        yield Rows(columns, checksum(EdgeList(source, *columns[:2])))


def column_types(plan: BatchPlan) -> dict[str, Any]:
    """Return the types of a part's columns, by name, in order."""
    assert plan.facts is not None
    vertex, length = plan.vertex_column, np.dtype(plan.facts.length_dtype)
    columns = {"source": vertex, "vertex": vertex, "distance": length}
    return columns | ({"predecessor": vertex} if plan.options["predecessors"] else {})


def write_part(
    index: int,
    plan: BatchPlan,
    answers: Iterable[tuple[Search, Any]],
    ids: Any,
    searched: Sequence[Search] | None = None,
) -> Footer:
    """Write searches as they come, each with its ``Rows``; return the footer.

    ids: of all vertices, if those are written. searched: what the footer says of the searches, by
    default those that were written.
    """
    from mgraph.cuda.transfer import stage_on_host
    from mgraph.io.parquet import writing_part

    assert plan.folder is not None
    searches, total = [], 0
    types = column_types(plan)
    with writing_part(plan.folder, part_name(index), types, plan.compression) as writer:
        for search, (columns, checksum) in answers:
            searches.append(search)
            total += checksum
            sources = np.full(min(search.reached, _ROW_GROUP), search.source, plan.vertex_dtype)
            for first in range(0, search.reached, _ROW_GROUP):
                group = stage_on_host([column[first : first + _ROW_GROUP] for column in columns])
                rows = [sources[: group[0].size], *group]
                is_length = [name == "distance" for name in types]
                writer.write(
                    column if length else plan.name_vertices(column, ids)
                    for column, length in zip(rows, is_length, strict=True)
                )
        footer = plan.footer(index) | {
            "checksum": f"{total % (1 << 64):016x}",
            "searched": [to_record(each) for each in (searches if searched is None else searched)],
        }
        writer.close(footer)
    return footer | {"rows": sum(search.reached for search in searches)}


def hash_sources(sources: Sequence[int]) -> str:
    """Return a hash that distinguishes one list of sources from another."""
    return hashlib.sha256(np.array(sources, np.int64).tobytes()).hexdigest()[:16]


def choose_batch_size(facts: GraphFacts, sources: int, cluster: Cluster, has_output: bool) -> int:
    """Choose the sources per task: a few tasks per thread, if a batch fits each worker's memory.

    On cores a task takes no more than half a minute or so, since progress is counted in tasks, and
    an interruption loses those that run. A GPU does many searches of a task side by side, so its
    tasks are larger, as long as each thread has one task or, where results are written, two.
    """
    from mgraph.shortest_paths.near_far_gpu import best_concurrency

    on_gpu = cluster.backend == "gpu"

    def free_bytes(worker: Survey) -> int:
        if not on_gpu:
            return worker.host_bytes // worker.threads
        if not has_output:
            return worker.device_bytes  # one task at a time uses the device
        return min(worker.host_bytes, worker.device_bytes) // worker.threads

    rows = min(map(free_bytes, cluster.workers.values())) // 2 // BYTES_PER_ROW
    max_sources = (min(rows, MAX_ROWS) if has_output else rows) // max(facts.n, 1)
    size = -(-sources // (BATCHES_PER_THREAD * cluster.threads))
    if on_gpu:
        best = GPU_BATCH_WRITTEN
        if not has_output:
            best = max(GPU_BATCH, best_concurrency(facts.n, facts.num_arcs))
        tasks = cluster.threads * (GPU_TASKS_WRITTEN if has_output else 1)
        size = max(size, min(best, -(-sources // tasks)))
    else:
        size = min(size, CPU_BATCH_ARCS // max(facts.num_arcs, 1))
    return max(1, min(size, max_sources))
