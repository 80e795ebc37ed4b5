"""Steiner trees of many queries over a cluster: the graph to each worker once, queries fan out.

Data flow: each worker reads the graph (``graph_holder``). Queries are dealt to batches in turn, so
that all are about as much work; a batch is a task and a part of the result. A GPU answers the
queries of a batch side by side, a CPU's thread one after another.

A part has a row for each edge of a tree: query, src, dst, weight. A table beside them has a row for
each query: terminals, cost, lower bound, gap, searches, seconds, or why there is no tree.
"""

import functools
import os
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

import mgraph
from mgraph.core import cancellation
from mgraph.core.arrays import as_list, check_whole, checked_vertices, plain
from mgraph.core.graph import MAX_N
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations import fan_out
from mgraph.distributed.operations.fan_out import GraphFacts
from mgraph.distributed.operations.generate_plan import previous_value
from mgraph.distributed.operations.graph_holder import held_by_workers, holder
from mgraph.distributed.operations.steiner_plan import (
    FORMAT,
    TABLE,
    Answer,
    SteinerPlan,
    batch_size,
    no_answer,
    queries_hash,
    write_part,
    write_table,
)
from mgraph.distributed.operations.tasks import result_of
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.distributed.protocol.work_time import work_time
from mgraph.errors import DisconnectedError, MgraphWarning, UsageError
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder
from mgraph.io.formats import read_quietly


@dataclass(frozen=True)
class SteinerRun:
    """What a run did. answers: one a query, in order, those of kept parts included.

    location: the results' folder, or None. checksum: of all rows, the same whatever the batches and
    the machine; 0 where nothing is written. seconds: from the call to the end, of which
    ``solve_seconds`` from the moment when all workers had the graph ready, without the time in
    which they compiled; compile_seconds: that of the whole run.
    """

    location: str | None
    facts: GraphFacts
    answers: list[Answer]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    solve_seconds: float
    compile_seconds: float


def load_graph(name: str, *, options: dict[str, Any]) -> GraphFacts:
    """The task that makes the graph ready on a worker; raises what is wrong with it.

    And that compiles what queries need, before any is timed. options: of ``steiner_trees``.
    """
    from mgraph.steiner.rehearsal import rehearse
    from mgraph.steiner.steiner_tree import prepare_queries

    held = holder(name)
    graph = held.graph()
    ready = prepare_queries(graph, *(options[name] for name in ("method", "search", "backend")))
    with cancellation.acquiring(held.device):
        rehearse(graph, **options)
    on_cpu = vars(ready).get("reason_for_cpu")  # if it was looked at
    return GraphFacts(graph.n, graph.num_arcs, ready.cost_dtype, (on_cpu,) if on_cpu else ())


def draw_queries(name: str, sizes: list[tuple[int, int]], seed: int) -> list[list[int]]:
    """The task that draws terminals; see ``mgraph.steiner.sampling``."""
    from mgraph.steiner.sampling import sample

    return [drawn.tolist() for drawn in sample(holder(name).graph(), sizes, seed)]


def solve_batch(job: tuple[int, list[tuple[int, list[int]]]], plan: SteinerPlan) -> dict[str, Any]:
    """The task: answer a part's queries, write the trees, return what the table tells of them."""
    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.steiner.steiner_tree import steiner_trees

    index, queries = job
    held = holder(plan.holder)
    graph, on_gpu = held.graph(), plan.backend == "gpu"
    concurrency = None if on_gpu else 1  # cores have other threads' tasks as well
    trees: list[Any] = [None] * len(queries)
    answers: list[Any] = [None] * len(queries)
    terminals = [some for _, some in queries]
    with (
        memory_guard(f"{len(queries)} queries and their trees", "use a smaller --batch"),
        cancellation.acquiring(held.device) if on_gpu else nullcontext(),
    ):
        options = {**plan.options, "concurrency": concurrency}
        for i, found in steiner_trees(graph, terminals, **options):
            number, k = queries[i][0], len(terminals[i])
            gauges.add("queries", 1)
            if isinstance(found, DisconnectedError):
                answers[i] = no_answer(number, k, str(found))
                continue
            trees[i] = found
            answers[i] = Answer(
                query=number,
                terminals=k,
                edges=found.src.size,
                cost=found.cost,
                initial_cost=found.initial_cost,
                lower_bound=found.lower_bound,
                searches=found.searches,
                accepted=found.accepted,
                complete=found.complete,
                seconds=found.seconds,
                error=None,
            )
            count_edges(found.src.size)
    return write_part(index, plan, answers, trees)


def steiner_many(
    location: str | os.PathLike[str],
    queries: Sequence[Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    sample: Sequence[tuple[int, int]] | None = None,
    seed: int = 1,
    cluster: ClusterLike = None,
    method: str = "star",
    search: str = "auto",
    backend: str = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
    symmetrise: bool = False,
    batch: int | None = None,
    compression: str = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = sys.stderr,
) -> SteinerRun:
    """Steiner trees of many queries, over a cluster, as Parquet in the folder ``out``.

    location: a graph that every worker can read: what ``mgraph.read_graph`` takes. queries: a list
    of terminals each; or sample: pairs (k, count), for count queries of k terminals, drawn by
    ``seed`` uniformly among those that a tree can hold. out: a path or ``s3://`` address; None
    writes nothing, and tells only what ``SteinerRun`` holds. cluster: as for ``mgraph.generate``,
    by default ``connect(threaded=True)``. batch: queries a task; by default as their number allows.
    resume: keep the parts that are whole. overwrite: replace what is there. See
    ``mgraph.steiner_trees`` for the rest; time_limit: seconds a query.
    A query that no tree answers is told in the table, and the others go on. Rows do not depend on
    the workers, the batches or, without a time limit, the backend where weights are whole. Raises
    UsageError, DatasetError, StorageError, ClusterError; what was finished stays, and ``resume``
    goes on from it.
    """
    from mgraph.io.parquet import check_compression
    from mgraph.steiner.steiner_tree import check_options, runs_on_cpu

    began = time.monotonic()
    seed, batch, epsilon, time_limit = plain(seed, batch, epsilon, time_limit)
    check_whole(seed=seed, batch=batch)
    check_compression(compression)
    check_options(method, search, backend, epsilon, time_limit)
    if (queries is None) == (sample is None):
        raise UsageError("give queries, or how many to draw at random")
    if queries is not None:  # before the graph is there to hold them against
        given = as_list("queries", queries)
        queries = [_checked(i, query, MAX_N) for i, query in enumerate(given)]
    sizes = None if sample is None else _checked_sizes(sample)
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed must lie in [0, 2^64), and is {seed}")
    if batch is not None and batch < 1:
        raise UsageError(f"batch must be at least 1, and is {batch}")
    options = {
        "method": method, "search": search, "epsilon": epsilon, "improve": improve, "bound": bound,
        "time_limit": time_limit,
    }  # fmt: skip
    folder = None if out is None else Folder(out)
    graph, identity = fan_out.named(location)
    asked_for = {"steiner": identity.name, "queries": queries, "sample": [sizes, seed], **options}
    asked_for |= {"symmetrise": symmetrise, "compression": compression, "batch": batch}
    intent = WriteIntent(folder, asked_for, resume, overwrite)
    where = "cpu" if runs_on_cpu(method, search) else backend
    with ExitStack() as stack:
        there = stack.enter_context(
            fan_out.standing(
                folder, "mgraph steiner", graph, identity.name, FORMAT, intent, (TABLE,)
            )
        )
        if batch is None and there[1]:
            batch = previous_value(there[1], "batch", MAX_N)
        cluster = stack.enter_context(open_cluster(cluster, threaded=True, backend=where))
        check_options(method, search, cluster.backend, epsilon, time_limit)
        if cluster.backend == "cpu":
            backend = "cpu"
        read = functools.partial(read_quietly, graph, symmetrise, backend=cluster.backend)
        load = functools.partial(load_graph, options=options | {"backend": backend})
        with held_by_workers(cluster, read) as name:
            compiled = stack.enter_context(work_time(cluster.client))
            facts = fan_out.load_everywhere(cluster, load, name, identity.edges, progress)
            for note in facts.notes:
                warnings.warn(note, MgraphWarning, stacklevel=2)
            if sizes is not None:
                key = (f"mgraph-draw-{time.time_ns()}", 0)
                drawing = cluster.client.submit(draw_queries, name, sizes, seed, key=key)
                queries = result_of(drawing, "steiner")
            wanted = [np.unique(_checked(i, some, facts.n)) for i, some in enumerate(queries or [])]
            if not wanted:
                raise UsageError("there must be a query at least")
            work = stack.enter_context(work_time(cluster.client))
            batch = batch or batch_size(len(wanted), cluster)
            asked = {
                "graph_identity": identity.name,
                "symmetrise": symmetrise,
                "n": facts.n,
                "m": facts.num_arcs,
                "queries": len(wanted),
                "queries_hash": queries_hash(wanted),
                **options,
                "compression": compression,
                "batch": batch,
            }
            how = options | {"backend": backend}
            plan = SteinerPlan(asked, folder, compression, cluster.backend, how, name, facts)
            numbered = [(i, some.tolist()) for i, some in enumerate(wanted)]
            parts = -(-len(wanted) // batch)
            batches = [numbered[part::parts] for part in range(parts)]
            results, kept = fan_out.run_batches(
                cluster,
                solve_batch,
                batches,
                [len(some) for some in batches],
                there,
                plan=plan,
                verb="steiner",
                unit="queries",
                progress=progress,
            )
        told = fan_out.read_answers(results, "answers", Answer, folder)
        answers = sorted(told, key=lambda answer: answer.query)
        if folder is not None:
            write_table(folder, answers, wanted, facts.lengths)
            content = plan.manifest(graph, results, f"mgraph {mgraph.__version__}")
            folder.write(manifests.NAME, content)
    now = time.monotonic()
    return SteinerRun(
        location=None if folder is None else folder.location,
        facts=facts,
        answers=answers,
        made_parts=len(batches) - kept,
        kept_parts=kept,
        checksum=fan_out.total_checksum(results),
        seconds=now - began,
        solve_seconds=work.seconds,
        compile_seconds=compiled.compiling,
    )


def _checked_sizes(sample: Any) -> list[tuple[int, int]]:
    """Pairs of a number of terminals and how many queries have it. Raises UsageError."""
    sizes = []
    for pair in as_list("sample", sample):
        try:
            k, count = plain(*pair)
        except (TypeError, ValueError):
            raise UsageError(f"sample must be pairs (k, count), and one is {pair!r}") from None
        check_whole(k=k, count=count)
        sizes.append((k, count))
    return sizes


def _checked(number: int, terminals: Any, n: int) -> Any:
    """A query's terminals. Raises UsageError that names the query."""
    try:
        found = checked_vertices("terminals", terminals, n)
    except UsageError as error:
        raise UsageError(f"query {number}: {error}") from None
    if not found.size:
        raise UsageError(f"query {number} has no terminal")
    return found
