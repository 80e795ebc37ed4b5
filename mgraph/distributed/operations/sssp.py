"""Shortest paths from many sources over a cluster: the graph to each worker once, sources fan out.

Data flow: each worker reads the graph (``graph_holder``). Sources are cut into batches, each a task
and a part of the result. On a GPU a task searches from its batch in one launch, and writes what it
found as Parquet, a row group at a time, while the worker's next task has the device; on cores it
searches from one source after another, and writes each before the next. Memory: a worker's graph,
and for each of its threads the distances and predecessors of a batch on the device, or of a search.

A part has a row for each vertex reached: source, vertex, distance and, unless left out, predecessor
(-1 at a source). Its footer says whose part it is, so that ``resume`` can go on from a folder
without a manifest.
"""

import functools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TextIO

import numpy as np

import mgraph
from mgraph.core import cancellation
from mgraph.core.arrays import check_integers, checked_vertices, to_python_numbers
from mgraph.core.graph import MAX_N
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations import fan_out
from mgraph.distributed.operations.fan_out import GraphFacts
from mgraph.distributed.operations.generate_plan import previous_value
from mgraph.distributed.operations.graph_holder import held_by_workers, holder
from mgraph.distributed.operations.sssp_plan import (
    FORMAT,
    Rows,
    Searched,
    SearchPlan,
    batch_size,
    reached_rows,
    sources_hash,
    write_part,
)
from mgraph.distributed.operations.tasks import result_of
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.distributed.protocol.work_time import work_time
from mgraph.errors import UsageError
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder
from mgraph.io.formats import read_quietly
from mgraph.shortest_paths.rehearsal import rehearse


@dataclass(frozen=True)
class SearchRun:
    """What a run did. searched: one a source, in order, those of kept parts included.

    location: the results' folder, or None. checksum: of all rows, the same whatever the batches and
    the machine; 0 where nothing is written. seconds: from the call to the end, of which
    ``search_seconds`` from the moment when all workers had the graph, without the time in which
    they compiled; compile_seconds: that of the whole run.
    """

    location: str | None
    facts: GraphFacts
    searched: list[Searched]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    search_seconds: float
    compile_seconds: float


def load_graph(name: str, options: dict[str, Any]) -> GraphFacts:
    """The task that reads the graph on a worker; raises what is wrong with it.

    And that compiles what the searches need, before any is timed. options: of ``mgraph.sssp``.
    """
    from mgraph.shortest_paths.problem import length_dtype

    held = holder(name)
    graph = held.graph()
    with cancellation.acquiring(held.device):
        several = 2 if graph.backend == "gpu" else 1
        rehearse(graph, several, **options | {"power_limit": None})
    return GraphFacts(graph.n, graph.num_arcs, str(length_dtype(graph)))


def draw_sources(name: str, count: int, seed: int) -> list[int]:
    """The task that draws sources: distinct vertices with an arc to leave by, ascending."""
    graph = holder(name).graph()
    candidates = (graph.indptr[1:] > graph.indptr[:-1]).nonzero()[0]
    if count > candidates.size:
        raise UsageError(
            f"{count:,} random sources were asked for, and {candidates.size:,} vertices have arcs"
        )
    ranks = np.random.default_rng(seed).choice(int(candidates.size), count, replace=False)
    return [int(candidates[rank]) for rank in np.sort(ranks)]


def search_batch(job: tuple[int, list[int]], plan: SearchPlan) -> dict[str, Any]:
    """The task: search from a part's sources, write what was found, return a few numbers."""
    index, sources = job
    held, on_gpu = holder(plan.holder), plan.backend == "gpu"
    with memory_guard(f"{len(sources)} searches and their results", "use a smaller --batch"):
        answers: Iterable[tuple[Searched, Rows | None]] = _answers(held, sources, plan)
        if on_gpu:
            with cancellation.acquiring(held.device):
                answers = list(answers)  # the checksums wait for the device
        if plan.folder is None:
            return {"searched": [list(searched) for searched, _ in answers], "checksum": "0"}
        return write_part(index, plan, answers)


def _answers(
    held: Any, sources: list[int], plan: SearchPlan
) -> Iterator[tuple[Searched, Rows | None]]:
    """Search: on a GPU all at once, on cores, which have other threads' tasks as well, in turn.

    Of each source what came of it and, where they are to be written, its rows.
    """
    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.shortest_paths.power_governor import PowerGovernor
    from mgraph.shortest_paths.sssp import sssp

    graph, options = held.graph(), dict(plan.options)
    if options["power_limit"]:
        governor = PowerGovernor(options["power_limit"])
        options["power_limit"] = held.memory.setdefault("governor", governor)
    together = len(sources) if plan.backend == "gpu" else 1
    for first in range(0, len(sources), together):
        some = sources[first : first + together]
        began = time.perf_counter()
        found = sssp(graph, some, backend=plan.backend, **options)
        searched = _told(found, some, began)
        gauges.add("queries", len(some))
        count_edges(graph.num_arcs * len(some))
        rows = repeat(None) if plan.folder is None else reached_rows(found, some, plan.ids)
        yield from zip(searched, rows, strict=False)


def _told(found: Any, sources: list[int], began: float) -> list[Searched]:
    """What came of each search, by the backend that has it; waits for it."""
    distance = found.distance.reshape(len(sources), -1)
    reached = found.reached.reshape(distance.shape)
    # A row at a time: CuPy reduces an array by all of a GPU, but each row of a matrix by one block.
    counts = [int(row.sum()) for row in reached]
    rows = zip(distance, reached, strict=True)
    lengths = [np.where(there, row, 0).max().item() for row, there in rows]  # CuPy's, of its arrays
    seconds = (time.perf_counter() - began) / len(sources)
    return [Searched(*row, seconds) for row in zip(sources, counts, lengths, strict=True)]


def sssp_many(
    location: str | os.PathLike[str],
    sources: Sequence[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    random: int | None = None,
    seed: int = 1,
    cluster: ClusterLike = None,
    backend: str = "auto",
    method: str = "auto",
    predecessors: bool = True,
    cutoff: float | None = None,
    delta: float | None = None,
    set_point: float | None = None,
    power_limit: float | None = None,
    heap_threshold: int | None = None,
    symmetrise: bool = False,
    batch: int | None = None,
    compression: str = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = sys.stderr,
) -> SearchRun:
    """Shortest paths from each of many sources, over a cluster, as Parquet in the folder ``out``.

    location: a graph that every worker can read: what ``mgraph.read_graph`` takes. sources:
    vertices; or random: how many to draw, by ``seed``, among vertices that have arcs. out: a path
    or ``s3://`` address; None writes nothing, and tells only what ``SearchRun`` holds. cluster: as
    for ``mgraph.generate``; one that is started has a worker of many threads. backend: cpu, gpu, or
    auto: a GPU where every worker has one, but for ``dijkstra``. batch: sources a task; by
    default as their number and memory allow. resume: keep the parts that are whole. overwrite:
    replace what is there. See ``mgraph.sssp`` for the rest; power_limit: watts a GPU, kept by
    moving the set-point.
    Rows do not depend on the workers, the batches or the backend. Raises UsageError, DatasetError,
    StorageError, ClusterError; what was finished stays, and ``resume`` goes on from it.
    """
    from mgraph.shortest_paths.sssp import check_backend

    began = time.monotonic()
    random, seed, batch, cutoff = to_python_numbers(random, seed, batch, cutoff)
    delta, set_point, power_limit, heap_threshold = to_python_numbers(
        delta, set_point, power_limit, heap_threshold
    )
    check_integers(random=random, seed=seed, batch=batch)
    if cutoff == float("inf"):  # which JSON does not know
        cutoff = None
    options = {
        "method": method,
        "predecessors": predecessors and out is not None,
        "cutoff": cutoff,
        "delta": delta,
        "set_point": set_point,
        "power_limit": power_limit,
        "heap_threshold": heap_threshold,
    }
    if sources is not None:  # before the graph is there to hold them against
        sources = checked_vertices("sources", sources, MAX_N).tolist()
    _check(sources, random, seed, batch, compression, options)
    folder = None if out is None else Folder(out)
    graph, identity = fan_out.named(location)
    asked_for = {"sssp": identity.name, "sources": sources, "random": [random, seed], **options}
    asked_for |= {"symmetrise": symmetrise, "compression": compression, "batch": batch}
    intent = WriteIntent(folder, asked_for, resume, overwrite)
    if method == "dijkstra" and backend == "auto":
        backend = "cpu"
    with ExitStack() as stack:
        there = stack.enter_context(
            fan_out.standing(folder, "mgraph sssp", graph, identity.name, FORMAT, intent)
        )
        if batch is None and there[1]:
            batch = previous_value(there[1], "batch", MAX_N)
        cluster = stack.enter_context(open_cluster(cluster, threaded=True, backend=backend))
        check_backend(cluster.backend, method, power_limit)
        read = functools.partial(read_quietly, graph, symmetrise, backend=cluster.backend)
        with held_by_workers(cluster, read) as name:
            compiled = stack.enter_context(work_time(cluster.client))
            load = functools.partial(load_graph, options=options)
            facts = fan_out.load_everywhere(cluster, load, name, identity.edges, progress)
            if random is not None:
                key = (f"mgraph-draw-{time.time_ns()}", 0)
                drawn = cluster.client.submit(draw_sources, name, random, seed, key=key)
                sources = result_of(drawn, "sssp")
            sources = checked_vertices("sources", sources, facts.n).tolist()
            work = stack.enter_context(work_time(cluster.client))
            batch = batch or batch_size(facts, len(sources), cluster, folder is not None)
            asked = {
                "graph_identity": identity.name,
                "symmetrise": symmetrise,
                "n": facts.n,
                "m": facts.num_arcs,
                "sources": len(sources),
                "sources_hash": sources_hash(sources),
                "cutoff": cutoff,
                "predecessors": predecessors,
                "compression": compression,
                "batch": batch,
            }
            plan = SearchPlan(asked, folder, compression, cluster.backend, options, name, facts)
            starts = range(0, len(sources), batch)
            batches = [list(sources[start : start + batch]) for start in starts]
            results, kept = fan_out.run_batches(
                cluster,
                search_batch,
                batches,
                [facts.num_arcs * len(batch) for batch in batches],
                there,
                plan=plan,
                verb="sssp",
                unit="arcs",
                progress=progress,
            )
        if folder is not None:
            content = plan.manifest(graph, results, f"mgraph {mgraph.__version__}")
            folder.write(manifests.NAME, content)
    now = time.monotonic()
    return SearchRun(
        location=None if folder is None else folder.location,
        facts=facts,
        searched=fan_out.read_answers(results, "searched", Searched, folder),
        made_parts=len(batches) - kept,
        kept_parts=kept,
        checksum=fan_out.total_checksum(results),
        seconds=now - began,
        search_seconds=work.seconds,
        compile_seconds=compiled.compiling,
    )


def _check(
    sources: Sequence[int] | None,
    random: int | None,
    seed: int,
    batch: int | None,
    compression: str,
    options: dict[str, Any],
) -> None:
    """Raise UsageError for what is wrong before anything is started."""
    from mgraph.io.parquet import check_compression
    from mgraph.shortest_paths.sssp import check_options

    check_compression(compression)
    names = ("method", "delta", "set_point", "power_limit", "heap_threshold")
    check_options(*(options[name] for name in names))
    cutoff = options["cutoff"]
    if cutoff is not None and not cutoff >= 0:
        raise UsageError(f"cutoff must be at least 0, and is {cutoff}")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed must lie in [0, 2^64), and is {seed}")
    if (sources is None) == (random is None):
        raise UsageError("give sources, or how many to draw at random")
    if (random is not None and random < 1) or (sources is not None and not len(sources)):
        raise UsageError("there must be a source at least")
    if batch is not None and batch < 1:
        raise UsageError(f"batch must be at least 1, and is {batch}")
