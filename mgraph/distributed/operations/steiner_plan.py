"""What a run of ``mgraph steiner`` over many queries will answer, and what it writes."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.edge_list_cpu import checksum
from mgraph.core.edges import EdgeList
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.fan_out import GraphPlan, total_checksum
from mgraph.errors import without_secrets
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder

FORMAT, VERSION = "mgraph Steiner trees", 1
TABLE = "_queries.parquet"
MOST_TOGETHER = 1024  # queries of a task
BATCHES_PER_GPU, BATCHES_PER_THREAD = 2, 8
SECONDS = ("initial_tree", "searches", "splits_and_merges", "improvement")


class Answer(NamedTuple):
    """What became of a query: of its tree what a table tells, or why there is none.

    edges: of the tree. seconds: by part, see ``mgraph.SteinerTree``. error: None where there is a
    tree; then the numbers are None.
    """

    query: int
    terminals: int
    edges: int
    cost: Any
    initial_cost: Any
    lower_bound: Any
    searches: int | None
    accepted: int | None
    complete: bool | None
    seconds: dict[str, float]
    error: str | None

    @property
    def gap(self) -> float | None:
        """As ``mgraph.SteinerTree`` has it."""
        from mgraph.steiner.result import gap_of

        return gap_of(self.cost, self.lower_bound)


def no_answer(query: int, terminals: int, error: str) -> Answer:
    """Of a query without a tree."""
    return Answer(query, terminals, 0, None, None, None, None, None, None, {}, error)


class SteinerPlan(GraphPlan):
    """A plan whose options are ``mgraph.steiner_trees``'s."""

    @property
    def columns(self) -> dict[str, np.dtype]:
        """The types of the rows' columns, by name, in order."""
        weight = np.dtype(self.facts.lengths)
        return {"query": np.dtype(np.int64), "src": self.ids, "dst": self.ids, "weight": weight}

    def manifest(self, graph: str, footers: Sequence[dict[str, Any]], created_by: str) -> bytes:
        """The manifest as it stands in the file. footers: of all parts, in order."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "graph": without_secrets(graph),
            **self.asked,
            "costs": self.facts.lengths,
            "checksum": f"{total_checksum(footers):016x}",
            "parts": [self.record(index, footer) for index, footer in enumerate(footers)],
            "table": TABLE,
            "created_by": created_by,
        }
        return (json.dumps(content, indent=1) + "\n").encode()


def queries_hash(queries: Sequence[Any]) -> str:
    """What tells one list of queries from another."""
    digest = hashlib.sha256()
    for query in queries:
        digest.update(np.array([len(query), *query], np.int64).tobytes())
    return digest.hexdigest()[:16]


def batch_size(queries: int, cluster: Cluster) -> int:
    """Queries a task: a GPU answers many side by side, a CPU's threads one each."""
    tasks = (
        BATCHES_PER_GPU * len(cluster.workers)
        if cluster.backend == "gpu"
        else BATCHES_PER_THREAD * cluster.threads
    )
    return max(1, min(-(-queries // tasks), MOST_TOGETHER))


def write_part(
    index: int, plan: SteinerPlan, answers: list[Answer], trees: list[Any]
) -> dict[str, Any]:
    """Write a batch's trees; returns the footer. trees: None where there is none."""
    from mgraph.io.parquet import writing_part

    total = rows = 0
    footer = plan.footer(index) | {"answers": [list(answer) for answer in answers]}
    if plan.folder is None:
        return footer | {"checksum": "0", "rows": 0}
    with writing_part(plan.folder, part_name(index), plan.columns, plan.compression) as writer:
        for answer, tree in zip(answers, trees, strict=True):
            if tree is None or not tree.src.size:
                continue
            query = np.full(tree.src.size, answer.query)
            edges = EdgeList(tree.src, tree.dst, tree.weight)
            total += checksum(edges) + checksum(EdgeList(query, tree.src, tree.dst))
            rows += tree.src.size
            columns = zip((query, *edges), plan.columns.values(), strict=True)
            writer.write([np.ascontiguousarray(values, kind) for values, kind in columns])
        footer |= {"checksum": f"{total % (1 << 64):016x}"}
        writer.close(footer)
    return footer | {"rows": rows}


def write_table(folder: Folder, answers: list[Answer], queries: Sequence[Any], costs: str) -> None:
    """Write the table of all queries, a row each, in their order."""
    import pyarrow as pa
    from pyarrow import parquet

    kind = pa.from_numpy_dtype(np.dtype(costs))
    columns: dict[str, Any] = {
        "query": pa.array([answer.query for answer in answers], pa.int64()),
        "k": pa.array([answer.terminals for answer in answers], pa.int64()),
        "terminals": pa.array([list(query) for query in queries], pa.list_(pa.int64())),
        "edges": pa.array([answer.edges for answer in answers], pa.int64()),
    }
    for name in ("cost", "initial_cost", "lower_bound"):
        columns[name] = pa.array([getattr(answer, name) for answer in answers], kind)
    columns["gap"] = pa.array([answer.gap for answer in answers], pa.float64())
    for name in ("searches", "accepted"):
        columns[name] = pa.array([getattr(answer, name) for answer in answers], pa.int64())
    columns["complete"] = pa.array([answer.complete for answer in answers], pa.bool_())
    for part in SECONDS:
        seconds = [answer.seconds.get(part) for answer in answers]
        columns[f"seconds_{part}"] = pa.array(seconds, pa.float64())
    columns["error"] = pa.array([answer.error for answer in answers], pa.string())
    with folder.writing(TABLE) as stream:
        parquet.write_table(pa.table(columns), stream)
