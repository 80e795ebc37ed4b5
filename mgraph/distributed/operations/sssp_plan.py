"""What a run of ``mgraph sssp`` over many sources will search, and where it writes it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.distributed.clusters.connect import Cluster, Survey
from mgraph.distributed.operations.fan_out import GraphFacts, GraphPlan, total_checksum
from mgraph.errors import without_secrets
from mgraph.io.dataset import part_name

FORMAT, VERSION = "mgraph shortest paths", 1
BATCHES_PER_THREAD = 4
TOGETHER = 16  # on a GPU, searches of a task at least, unless threads would have no task
WRITTEN_TOGETHER, WRITTEN_PER_THREAD = 4, 2  # the same of searches that are written; tasks a thread
MAX_ROWS = 1 << 27  # in a part
BYTES_A_ROW = 64  # distances, predecessors and their encoding, on the way
_ROW_GROUP = 1 << 22  # large, since a worker's threads share one interpreter


class Searched(NamedTuple):
    """One search: its source, the vertices reached, the farthest's distance, its seconds."""

    source: int
    reached: int
    farthest: float
    seconds: float


class SearchPlan(GraphPlan):
    """A plan whose options are ``mgraph.sssp``'s."""

    @property
    def columns(self) -> dict[str, np.dtype]:
        """The types of the rows' columns, by name, in order."""
        columns = {"source": self.ids, "vertex": self.ids, "distance": np.dtype(self.facts.lengths)}
        return columns | ({"predecessor": self.ids} if self.options["predecessors"] else {})

    def manifest(self, graph: str, footers: Sequence[dict[str, Any]], created_by: str) -> bytes:
        """The manifest as it stands in the file. footers: of all parts, in order."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "graph": without_secrets(graph),
            **self.asked,
            "lengths": self.facts.lengths,
            "checksum": f"{total_checksum(footers):016x}",
            "parts": [
                self.record(index, footer, "searched") for index, footer in enumerate(footers)
            ],
            "created_by": created_by,
        }
        return (json.dumps(content, indent=1) + "\n").encode()


def sources_hash(sources: Sequence[int]) -> str:
    """What tells one list of sources from another."""
    return hashlib.sha256(np.array(sources, np.int64).tobytes()).hexdigest()[:16]


def batch_size(facts: GraphFacts, sources: int, cluster: Cluster, written: bool) -> int:
    """Sources a task: a few tasks a thread, as far as a batch fits each worker's memory.

    A GPU does many searches of a task side by side, so tasks are larger there, as far as each
    thread has one or, where results are written, two. See shortest_paths/BENCHMARKS.md.
    """
    from mgraph.shortest_paths.near_far_gpu import best_concurrency

    on_gpu = cluster.backend == "gpu"

    def room(worker: Survey) -> int:
        if not on_gpu:
            return worker.host_bytes // worker.threads
        if not written:
            return worker.device_bytes  # which one task at a time has
        return min(worker.host_bytes, worker.device_bytes) // worker.threads

    rows = min(map(room, cluster.workers.values())) // 2 // BYTES_A_ROW
    fitting = (min(rows, MAX_ROWS) if written else rows) // max(facts.n, 1)
    size = -(-sources // (BATCHES_PER_THREAD * cluster.threads))
    if on_gpu:
        measured = best_concurrency(facts.n, facts.num_arcs)
        enough = WRITTEN_TOGETHER if written else max(TOGETHER, measured)
        tasks = cluster.threads * (WRITTEN_PER_THREAD if written else 1)
        size = max(size, min(enough, -(-sources // tasks)))
    return max(1, min(size, fitting))


class Rows(NamedTuple):
    """A search's rows: the columns vertex, distance and, if there is one, predecessor.

    checksum: the sum of the hashes of (source, vertex, distance).
    """

    columns: list[Any]
    checksum: int


def reached_rows(found: Any, sources: Sequence[int], ids: Any) -> Iterator[Rows]:
    """Of one search after another what was reached; ids: the type of vertices.

    Arrays are where ``found`` has its own.
    """
    if isinstance(found.distance, np.ndarray):
        from mgraph.core.edge_list_cpu import checksum
    else:
        from mgraph.core.edge_list_gpu import checksum
    distance = found.distance.reshape(len(sources), -1)
    arrays = [distance]
    if found.predecessor is not None:
        arrays.append(found.predecessor.reshape(distance.shape).astype(ids, copy=False))
    reached = found.reached.reshape(distance.shape)
    for i, (source, there) in enumerate(zip(sources, reached, strict=True)):
        vertex = np.flatnonzero(there).astype(ids)  # CuPy's, of its arrays
        values = [array[i] for array in arrays]
        if vertex.size < there.size:
            values = [value[vertex] for value in values]
        edges = EdgeList(np.full_like(vertex, source), vertex, values[0])
        yield Rows([vertex, *values], checksum(edges))


def write_part(
    index: int, plan: SearchPlan, answers: Iterable[tuple[Searched, Any]]
) -> dict[str, Any]:
    """Write a batch's searches, each with its ``Rows``, as they come; returns the footer."""
    from mgraph.cuda.transfer import on_host
    from mgraph.io.parquet import writing_part

    assert plan.folder is not None
    searched, total = [], 0
    with writing_part(plan.folder, part_name(index), plan.columns, plan.compression) as writer:
        for search, (columns, checksum) in answers:
            searched.append(list(search))
            total += checksum
            sources = np.full(min(search.reached, _ROW_GROUP), search.source, plan.ids)
            for first in range(0, search.reached, _ROW_GROUP):
                group = on_host([column[first : first + _ROW_GROUP] for column in columns])
                writer.write([sources[: group[0].size], *group])
        footer = plan.footer(index) | {
            "checksum": f"{total % (1 << 64):016x}",
            "searched": searched,
        }
        writer.close(footer)
    return footer | {"rows": sum(reached for _, reached, *_ in searched)}
