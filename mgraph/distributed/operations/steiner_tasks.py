"""The tasks of ``mgraph steiner`` over many queries: prepare the graph, draw queries, solve, write.

A GPU answers the queries of a batch side by side; on cores a thread answers one after another. A
part has one row per edge of a tree: query, src, dst, weight. The table beside the parts has one row
per query: terminals, cost, lower bound, gap, searches, seconds, or why there is no tree.
"""

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.edge_list_cpu import checksum
from mgraph.core.edges import EdgeList
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.graph_holder import holder
from mgraph.distributed.operations.graph_operation import (
    BatchPlan,
    GraphFacts,
    held_ids,
    id_kind,
    to_record,
)
from mgraph.distributed.operations.resume import Footer
from mgraph.errors import DisconnectedError
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.vertex_names import take_ids

TABLE = "_queries.parquet"
MAX_BATCH = 1024  # queries per task
BATCHES_PER_GPU, BATCHES_PER_THREAD = 2, 8
STAGES = ("initial_tree", "searches", "splits_and_merges", "improvement")


@dataclass(frozen=True)
class Answer:
    """The answer to one query: its tree's figures, or why there is no tree.

    query: its number. terminals, edges: how many. seconds: by stage, see ``mgraph.SteinerTree``.
    error: None if there is a tree; otherwise the figures are None.
    """

    query: int
    terminals: int
    edges: int
    cost: int | float | None
    initial_cost: int | float | None
    lower_bound: int | float | None
    searches: int | None
    accepted: int | None
    complete: bool | None
    seconds: dict[str, float]
    error: str | None

    @property
    def gap(self) -> float | None:
        """The relative gap between cost and lower bound, as ``mgraph.SteinerTree`` has it."""
        from mgraph.steiner.result import gap_of

        return gap_of(self.cost, self.lower_bound)


def load_graph(name: str, *, options: dict[str, Any]) -> GraphFacts:
    """Read and prepare the graph on this worker, and compile what such queries need."""
    from mgraph.steiner.rehearsal import rehearse
    from mgraph.steiner.steiner_tree import prepare_queries

    graph_holder = holder(name)
    graph = graph_holder.graph()
    prepared = prepare_queries(graph, *(options[name] for name in ("method", "search", "backend")))
    with cancellation.acquiring(graph_holder.device_lock):
        rehearse(graph, graph.num_arcs, **options)
    reason_for_cpu = vars(prepared).get("reason_for_cpu")  # if it was determined
    return GraphFacts(
        graph.n,
        graph.num_arcs,
        prepared.cost_dtype,
        (reason_for_cpu,) if reason_for_cpu else (),
        id_kind(graph_holder),
    )


def draw_queries(name: str, sizes: list[tuple[int, int]], seed: int) -> list[list[int]]:
    """Draw terminals; see ``mgraph.steiner.sampling``."""
    from mgraph.steiner.sampling import sample

    return [drawn.tolist() for drawn in sample(holder(name).graph(), sizes, seed)]


def solve_batch(batch: tuple[int, list[tuple[int, list[int]]]], plan: BatchPlan) -> Footer:
    """Answer the queries of a part, write the trees, return the part's footer."""
    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.steiner.steiner_tree import steiner_trees

    index, queries = batch
    assert plan.holder is not None
    graph_holder, on_gpu = holder(plan.holder), plan.backend == "gpu"
    # Cores also have other threads' tasks, so a task answers one query after another.
    concurrency = None if on_gpu else 1
    trees: list[Any] = [None] * len(queries)
    answers: list[Any] = [None] * len(queries)
    terminals = [vertices for _, vertices in queries]
    with (
        memory_guard(f"{len(queries)} queries and their trees", "use a smaller `batch`"),
        cancellation.acquiring(graph_holder.device_lock) if on_gpu else nullcontext(),
        timings.step(timings.COMPUTING),
    ):
        options = {**plan.options, "concurrency": concurrency}
        for i, tree in steiner_trees(graph_holder.graph(), terminals, **options):
            answers[i] = make_answer(queries[i][0], len(terminals[i]), tree)
            gauges.add("queries", 1)
            if not isinstance(tree, DisconnectedError):
                trees[i] = tree
                count_edges(tree.src.size)
    return write_part(index, plan, answers, trees)


def make_answer(query: int, terminals: int, tree: Any) -> Answer:
    """Return the answer to a query, given its ``SteinerTree`` or the error in its place."""
    if isinstance(tree, DisconnectedError):
        return Answer(query, terminals, 0, None, None, None, None, None, None, {}, str(tree))
    return Answer(
        query=query,
        terminals=terminals,
        edges=int(tree.src.size),
        cost=tree.cost,
        initial_cost=tree.initial_cost,
        lower_bound=tree.lower_bound,
        searches=tree.searches,
        accepted=tree.accepted,
        complete=tree.complete,
        seconds=tree.seconds,
        error=None,
    )


def write_part(index: int, plan: BatchPlan, answers: list[Answer], trees: list[Any]) -> Footer:
    """Write the trees of a batch; return the footer. trees: None for a query without a tree."""
    from mgraph.io.parquet import writing_part

    footer = plan.footer(index) | {"answers": [to_record(answer) for answer in answers]}
    if plan.folder is None:
        return footer | {"checksum": "0", "rows": 0}
    assert plan.facts is not None
    vertex, weight = plan.vertex_column, np.dtype(plan.facts.length_dtype)
    columns = {"query": np.dtype(np.int64), "src": vertex, "dst": vertex, "weight": weight}
    assert plan.holder is not None
    ids = held_ids(holder(plan.holder)) if plan.writes_ids else None
    total = rows = 0
    with writing_part(plan.folder, part_name(index), columns, plan.compression) as writer:
        for answer, tree in zip(answers, trees, strict=True):
            if tree is None or not tree.src.size:
                continue
            query = np.full(tree.src.size, answer.query)
            edges = EdgeList(tree.src, tree.dst, tree.weight)
            total += checksum(edges) + checksum(EdgeList(query, tree.src, tree.dst))
            rows += tree.src.size
            ends = [
                plan.name_vertices(np.ascontiguousarray(column, plan.vertex_dtype), ids)
                for column in (tree.src, tree.dst)
            ]
            writer.write([query, *ends, np.ascontiguousarray(tree.weight, weight)])
        footer |= {"checksum": f"{total % (1 << 64):016x}"}
        writer.close(footer)
    return footer | {"rows": rows}


def write_table(
    folder: Folder,
    answers: Sequence[Answer],
    queries: Sequence[Any],
    costs: str,
    named: Any = None,
) -> None:
    """Write the table of all queries, one row each, in their order.

    costs: the type of costs. named: an Arrow array of the terminals' ids, one query after another.
    """
    import pyarrow as pa
    from pyarrow import parquet

    cost = pa.from_numpy_dtype(np.dtype(costs))
    columns: dict[str, Any] = {
        "query": pa.array([answer.query for answer in answers], pa.int64()),
        "k": pa.array([answer.terminals for answer in answers], pa.int64()),
        "terminals": _terminal_lists(queries, named),
        "edges": pa.array([answer.edges for answer in answers], pa.int64()),
    }
    for name in ("cost", "initial_cost", "lower_bound"):
        columns[name] = pa.array([getattr(answer, name) for answer in answers], cost)
    columns["gap"] = pa.array([answer.gap for answer in answers], pa.float64())
    for name in ("searches", "accepted"):
        columns[name] = pa.array([getattr(answer, name) for answer in answers], pa.int64())
    columns["complete"] = pa.array([answer.complete for answer in answers], pa.bool_())
    for stage in STAGES:
        seconds = [answer.seconds.get(stage) for answer in answers]
        columns[f"seconds_{stage}"] = pa.array(seconds, pa.float64())
    columns["error"] = pa.array([answer.error for answer in answers], pa.string())
    with folder.writing(TABLE) as stream:
        parquet.write_table(pa.table(columns), stream)


def _terminal_lists(queries: Sequence[Any], named: Any) -> Any:
    """Return the terminals of each query, as numbers or as their ids."""
    import pyarrow as pa

    if named is None:
        return pa.array([list(query) for query in queries], pa.list_(pa.int64()))
    offsets = np.cumsum([0, *map(len, queries)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), named)


def name_terminals(holder_name: str, queries: Sequence[Any]) -> Any:
    """Return the ids of all terminals as an Arrow array, by the graph that this worker holds."""
    ids = held_ids(holder(holder_name))
    return None if ids is None else take_ids(ids, np.concatenate(queries))


def hash_queries(queries: Sequence[Any]) -> str:
    """Return a hash that distinguishes one list of queries from another."""
    digest = hashlib.sha256()
    for query in queries:
        digest.update(np.array([len(query), *query], np.int64).tobytes())
    return digest.hexdigest()[:16]


def choose_batch_size(queries: int, cluster: Cluster) -> int:
    """Choose the queries per task: a GPU answers many concurrently, a core's thread one by one."""
    tasks = (
        BATCHES_PER_GPU * len(cluster.workers)
        if cluster.backend == "gpu"
        else BATCHES_PER_THREAD * cluster.threads
    )
    return max(1, min(-(-queries // tasks), MAX_BATCH))
