"""The tasks of ``mgraph steiner`` over many queries: prepare the graph, draw queries, solve, write.

A GPU answers the queries of a batch side by side; on cores a thread answers one after another. A
part has one row per edge of a tree: query, src, dst, weight. The table beside the parts has one row
per query: terminals, cost, lower bound, gap, searches, seconds, or why there is no tree.
"""

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
from mgraph.distributed.operations.steiner_queries import flatten
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

    query: its number. terminals, edges: how many, and of groups how many of those. seconds: by
    stage, see ``mgraph.SteinerTree``. error: None if there is a tree; otherwise the figures are
    None. chosen: for groups the vertex of each that the tree holds.
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
    chosen: list[int] | None = None

    @property
    def gap(self) -> float | None:
        """The relative gap between cost and lower bound, as ``mgraph.SteinerTree`` has it."""
        from mgraph.steiner.result import gap_of

        return gap_of(self.cost, self.lower_bound)


def load_graph(name: str, *, options: dict[str, Any], grouped: bool) -> GraphFacts:
    """Read and prepare the graph on this worker, and compile what such queries need.

    options: of ``mgraph.steiner_trees``. grouped: whether queries are of groups.
    """
    from mgraph.steiner.prepared import prepare
    from mgraph.steiner.rehearsal import rehearse, rehearse_groups
    from mgraph.steiner.steiner_tree import prepare_queries

    graph_holder = holder(name)
    graph = graph_holder.graph()
    with cancellation.acquiring(graph_holder.device_lock):
        if grouped:
            prepared = prepare(graph)
            rehearse_groups(graph, options["backend"])
        else:
            names = ("method", "search", "backend")
            prepared = prepare_queries(graph, *(options[name] for name in names))
            rehearse(graph, graph.num_arcs, **options)
    reason_for_cpu = vars(prepared).get("reason_for_cpu")  # if it was determined
    return GraphFacts(
        graph.n,
        graph.num_arcs,
        prepared.cost_dtype,
        (reason_for_cpu,) if reason_for_cpu else (),
        id_kind(graph_holder),
    )


def solve_batch(
    batch: tuple[int, list[tuple[int, list[Any]]]], plan: BatchPlan, grouped: bool
) -> Footer:
    """Answer the queries of a part, write the trees, return the part's footer."""
    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.steiner.groups.group_steiner_tree import group_steiner_trees
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
        if grouped:
            names = ("backend", "improve", "time_limit", "concurrency")
            options = {name: options[name] for name in names}
            trees_found = group_steiner_trees(graph_holder.graph(), terminals, **options)
        else:
            trees_found = steiner_trees(graph_holder.graph(), terminals, **options)
        for i, tree in trees_found:
            answers[i] = make_answer(queries[i][0], len(terminals[i]), tree, grouped)
            gauges.add("queries", 1)
            if not isinstance(tree, DisconnectedError):
                trees[i] = tree
                count_edges(tree.src.size)
    return write_part(index, plan, answers, trees)


def make_answer(query: int, terminals: int, tree: Any, grouped: bool) -> Answer:
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
        chosen=tree.terminals.tolist() if grouped else None,
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
    grouped: bool,
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
        **_query_columns(answers, queries, grouped, named),
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


def _query_columns(
    answers: Sequence[Answer], queries: Sequence[Any], grouped: bool, named: Any
) -> dict[str, Any]:
    """Return the terminals of each query, as numbers or as their ids; for groups all of those."""
    import pyarrow as pa

    elements = pa.array(flatten(queries, grouped), pa.int64()) if named is None else named
    if not grouped:
        return {"terminals": _to_lists(queries, elements)}
    groups = _to_lists([group for query in queries for group in query], elements)
    chosen = [answer.chosen for answer in answers]
    if named is None:
        terminals = pa.array(chosen, pa.list_(pa.int64()))
    else:
        name_of = dict(zip(flatten(queries, grouped), elements.to_pylist(), strict=True))
        names = [None if some is None else [name_of[v] for v in some] for some in chosen]
        terminals = pa.array(names, pa.list_(elements.type))
    return {"groups": _to_lists(queries, groups), "terminals": terminals}


def _to_lists(lists: Sequence[Any], elements: Any) -> Any:
    """Return lists of these lengths, whose elements follow each other."""
    import pyarrow as pa

    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), elements)


def name_terminals(holder_name: str, elements: Sequence[int]) -> Any:
    """Return the ids of vertices as an Arrow array, by the graph that this worker holds."""
    ids = held_ids(holder(holder_name))
    return None if ids is None else take_ids(ids, np.asarray(elements, np.int64))


def choose_batch_size(queries: int, cluster: Cluster) -> int:
    """Choose the queries per task: a GPU answers many concurrently, a core's thread one by one."""
    tasks = (
        BATCHES_PER_GPU * len(cluster.workers)
        if cluster.backend == "gpu"
        else BATCHES_PER_THREAD * cluster.threads
    )
    return max(1, min(-(-queries // tasks), MAX_BATCH))
