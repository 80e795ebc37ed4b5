"""``mgraph sssp`` over many sources on a graph that no worker holds: it is spread over all of them.

Data flow: the graph is built from the dataset (``partitioned_graph``). Then all workers search from
one source after another, and each writes a part with the rows of its own vertices. The rows and
their checksum are those of searches on one device.
"""

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.choices import Partition
from mgraph.core.formatting import pluralize
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.graph_operation import BatchPlan, GraphFacts
from mgraph.distributed.operations.operation import Run
from mgraph.distributed.operations.partitioned_graph import READING, PartitionedGraph, partitioned
from mgraph.distributed.operations.partitioned_tasks import GRAPH
from mgraph.distributed.operations.resume import Footer
from mgraph.distributed.operations.sssp_tasks import Search, write_part, yield_rows
from mgraph.distributed.operations.streamed_dataset import open_streamed
from mgraph.distributed.protocol.progress import Progress
from mgraph.errors import MgraphError, MgraphWarning, UsageError
from mgraph.io import graph_memory
from mgraph.io.dataset import EdgeDataset
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.vertex_names import id_column

_IDS = "ids"  # of all vertices, in a rank's memory
_ONE_DEVICE = ("set_point", "power_limit", "heap_threshold")


class Choice(NamedTuple):
    """A dataset whose graph is spread over the workers. shortage: why, unless it was asked for."""

    dataset: EdgeDataset
    reading: ReadOptions
    directed: bool
    shortage: str | None


def find_shortage(run: Run, dataset: EdgeDataset, *, directed: bool) -> str | None:
    """Return why no worker holds the graph, in a sentence; None if each does."""
    on_gpu, free = run.cluster.backend == "gpu", run.cluster.worker_bytes
    return graph_memory.find_shortage(dataset, free, "a worker has", on_gpu, directed=directed)


def fits_spread(cluster: Cluster, dataset: EdgeDataset, *, directed: bool) -> bool:
    """Return whether all workers together can hold the graph."""
    needed = graph_memory.bytes_of_graph(dataset, directed=directed)
    return needed <= cluster.worker_bytes * len(cluster.workers)


def choose(
    run: Run,
    partition: Partition,
    location: str,
    reading: dict[str, Any],
    symmetrise: bool,
    options: dict[str, Any],
) -> Choice | None:
    """Return what to spread over the workers; None if each is to hold the graph.

    reading: arguments of ``mgraph.read_graph``. options: of ``mgraph.sssp``. Raises UsageError
    where that was asked for and is not possible.
    """
    if partition == "never":
        return None
    misplaced = [name for name in _ONE_DEVICE if options[name] is not None]
    if options["method"] != "auto":
        misplaced = ["method", *misplaced]
    try:
        opened = open_streamed(location, reading, symmetrise, READING, "partitioned graph")
    except MgraphError:  # it is no dataset, or one that is read in another way
        if partition == "always":
            raise
        return None
    directed = opened[0].manifest.directed and not symmetrise
    if partition == "always":
        if misplaced:
            raise UsageError(f"{misplaced[0]} does not apply to a graph spread over the workers")
        return Choice(*opened, directed, None)
    shortage = find_shortage(run, opened[0], directed=directed)
    if shortage is None:
        return None
    if len(run.cluster.workers) > 1 and not misplaced:
        return Choice(*opened, directed, shortage)
    if opened[0].n > graph_memory.MAX_HELD_N:
        remedy = f"leave out {misplaced[0]}" if misplaced else "use more workers"
        raise UsageError(f"{shortage}, and one worker cannot hold it; {remedy} to spread it")
    return None


class PartitionedSearches:
    """The searches of an operation on a graph that is spread over the workers."""

    def __init__(self, graph: PartitionedGraph, dataset: EdgeDataset) -> None:
        """Take a graph that is built."""
        self.graph, self._dataset = graph, dataset

    @property
    def facts(self) -> GraphFacts:
        """What the client knows of the graph."""
        graph, ids = self.graph, self._dataset.ids
        kind = None if ids is None else ids.kind
        return GraphFacts(graph.n, graph.num_arcs, str(graph.length_dtype), id_kind=kind)

    @property
    def size(self) -> int:
        """The parts of each search."""
        return len(self.graph.ranks)

    def draw(self, count: int, seed: int) -> list[int]:
        """Draw distinct sources among the vertices that have arcs, as on one device."""
        found = self.graph.run(draw_rank, "draw", count=count, seed=seed)
        candidates = found[0][1]
        if count > candidates:
            raise UsageError(
                f"random must be at most {candidates:,}, the vertices with arcs (got {count:,})"
            )
        return [vertex for vertices, _ in found for vertex in vertices]

    def whole(self, kept: dict[int, Footer]) -> dict[int, Footer]:
        """Return those of kept parts whose searches have all parts."""
        parts_of = Counter(part // self.size for part in kept)
        return {part: kept[part] for part in kept if parts_of[part // self.size] == self.size}

    def search(
        self, plan: BatchPlan, sources: Sequence[int], kept: dict[int, Any], progress: Any
    ) -> list[Footer]:
        """Search from each source without kept parts; return the footers of all parts.

        kept: of whole searches.
        """
        results = dict(kept)
        ids = self._dataset.ids if plan.writes_ids else None
        parts_of = {i: range(i * self.size, (i + 1) * self.size) for i in range(len(sources))}
        missing = [i for i, parts in parts_of.items() if parts.start not in kept]
        arcs = [facts.arcs for facts in self.graph.ranks]
        size, parts = sum(arcs) * len(missing), self.size * len(missing)
        with Progress("sssp", size, parts, progress, "arcs") as line:
            for i in missing:
                paths = self.graph.sssp(
                    sources[i], cutoff=plan.options["cutoff"], delta=plan.options["delta"],
                    predecessors=plan.options["predecessors"],
                )  # fmt: skip
                search = Search(sources[i], paths.reached, paths.max_distance, paths.seconds)
                footers = self.graph.run(
                    write_rank, "write", plan=plan, name=paths.name, index=parts_of[i].start,
                    search=search, ids=ids,
                )  # fmt: skip
                results |= dict(zip(parts_of[i], footers, strict=True))
                for count in arcs:
                    line.add(count)
        return [results[part] for part in sorted(results)]


@contextlib.contextmanager
def searching(run: Run, choice: Choice) -> Iterator[PartitionedSearches]:
    """Build the graph over the workers for a block; say so, unless it was asked for."""
    dataset, reading, directed, shortage = choice
    if shortage is not None:
        workers = pluralize(len(run.cluster.workers), "worker")
        warnings.warn(
            f"{shortage}: its arcs are spread over {workers}", MgraphWarning, stacklevel=2
        )
    with partitioned(
        run.cluster, dataset, reading, directed=directed, progress=run.progress
    ) as graph:
        yield PartitionedSearches(graph, dataset)


def draw_rank(
    exchange: Any, memory: dict[str, Any], argument: None, *, count: int, seed: int
) -> tuple[list[int], int]:
    """Return the sources that lie in the rank's range, and how many vertices have arcs at all."""
    graph = memory[GRAPH]
    indptr = graph.indptr if isinstance(graph.indptr, np.ndarray) else graph.indptr.get()
    candidates = np.flatnonzero(indptr[1:] > indptr[:-1])
    counts = [int(each[0]) for each in exchange.gather_numbers(np.array([candidates.size]))]
    total, before = sum(counts), sum(counts[: exchange.rank])
    if count > total:
        return [], total
    chosen = np.sort(np.random.default_rng(seed).choice(total, count, replace=False)) - before
    mine = chosen[(chosen >= 0) & (chosen < candidates.size)]
    return (candidates[mine] + graph.first).tolist(), total


def write_rank(
    exchange: Any,
    memory: dict[str, Any],
    argument: None,
    *,
    plan: BatchPlan,
    name: str,
    index: int,
    search: Search,
    ids: Any,
) -> Footer:
    """Write the rows of the rank's vertices, and forget the search; return the part's footer.

    index: of the first rank's part, whose footer says what was found. ids: of all vertices, if
    those are written; every rank reads them once.
    """
    from types import SimpleNamespace

    from mgraph.shortest_paths.result import summarize

    distance, predecessor = memory.pop(name)
    record = [search] if exchange.rank == 0 else []
    if plan.folder is None:
        return {"searched": [vars(each) for each in record], "checksum": "0"}
    if ids is not None:
        if _IDS not in memory:
            memory[_IDS] = id_column(ids)
        ids = memory[_IDS]
    paths = SimpleNamespace(distance=distance, predecessor=predecessor)
    mine = Search(search.source, summarize(distance)[0], search.max_distance, search.seconds)
    (rows,) = yield_rows(paths, [mine], plan.vertex_dtype, memory[GRAPH].first)
    assert plan.facts is not None
    rows.columns[1] = rows.columns[1].astype(plan.facts.length_dtype, copy=False)
    return write_part(index + exchange.rank, plan, [(mine, rows)], ids, record)
