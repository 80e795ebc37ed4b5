"""Shortest paths from many sources over a cluster: sources fan out, in batches.

Data flow: each worker reads the graph once (``graph_holder``). Sources are cut into batches, each a
task and a part of the result (``sssp_tasks``). Memory: one graph per worker and, for each of its
threads, the distances and predecessors of a batch on a GPU, or of one search on cores.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, get_args

from mgraph.core.arrays import check_integers, checked_vertices, to_python_numbers
from mgraph.core.choices import Backend, Compression, Ids, Partition, SsspMethod, check_choice
from mgraph.core.graph import MAX_N
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.graph_operation import (
    BatchPlan,
    GraphFacts,
    GraphOperation,
    read_answers,
    total_checksum,
)
from mgraph.distributed.operations.operation import Outcome, Run, Work
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput, Footer
from mgraph.distributed.operations.sssp_tasks import (
    Search,
    choose_batch_size,
    draw_sources,
    hash_sources,
    load_graph,
    search_batch,
)
from mgraph.errors import UsageError

if TYPE_CHECKING:
    from mgraph.distributed.operations.partitioned_sssp import PartitionedSearches


@dataclass(frozen=True, repr=False)
class SearchRun(Results):
    """What ``sssp_many`` did.

    Attributes
    ----------
    location : str or None
        The folder of the rows, or None if nothing was written.
    facts : GraphFacts
        ``n``, ``num_arcs`` and ``length_dtype`` of the graph.
    searches : tuple of Search
        One per source, in order, those of kept parts included: ``source``, ``reached`` (vertices),
        ``max_distance``, ``seconds``.
    made_parts, kept_parts : int
        Parts that were searched, and parts kept from an earlier run.
    checksum : int
        Of all rows: the same for any batches, workers and backend; 0 if nothing was written.
    seconds, search_seconds, compile_seconds : float
        From the call to the end; of the searches alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str | None
    facts: GraphFacts
    searches: tuple[Search, ...]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    search_seconds: float
    compile_seconds: float

    _rows = "searches"


class SsspOperation(GraphOperation):
    """``mgraph sssp`` over many sources."""

    verb, unit, format = "sssp", "arcs", "mgraph shortest paths"
    answers_in_manifest = ("searched",)
    searches: "PartitionedSearches | None"

    def __init__(
        self,
        location: str | os.PathLike[str],
        out: Any,
        sources: Any,
        sample: tuple[int | None, int],
        batch: int | None,
        compression: Compression,
        options: dict[str, Any],
        partition: Partition = "auto",
        **more: Any,
    ) -> None:
        """Check what can be checked without the graph. options: of ``mgraph.sssp``."""
        from mgraph.shortest_paths.sssp import prefer_backend

        check_choice("partition", partition, get_args(Partition))
        if sources is not None and more.get("ids", "number") == "number":
            sources = checked_vertices("sources", sources, MAX_N).tolist()
        elif sources is not None:
            sources = list(sources)
        _check_request(sources, *sample, batch, compression, options)
        super().__init__(location, out, **more)
        self.backend = prefer_backend(options["method"], self.backend)
        if sources is not None:
            self.names.early("sources", sources)
        self.sources, self.sample, self.batch = sources, sample, batch
        self.compression, self.options = compression, options
        self.partition, self.searches = partition, None
        if partition == "always":
            self.threaded = False  # a rank of a graph computes on one core

    def request(self) -> dict[str, Any]:
        """Return the graph, the sources and every option."""
        named = self.ids == "original" and self.sources is not None
        sources = {
            "sources": list(map(str, self.sources)) if named else self.sources,
            "random": list(self.sample),
            "ids": self.ids,
        }
        output: dict[str, Any] = {"compression": self.compression, "batch": self.batch}
        graph = {"sssp": self.identity.name, "symmetrise": self.symmetrise}
        if self.partition != "auto":
            output["partition"] = self.partition
        return graph | sources | self.options | output

    def adopt(self, existing: ExistingOutput) -> None:
        """Keep the earlier run's batches."""
        self.batch = self.batch or existing.previous_value("batch", MAX_N)

    def prepare(self, run: Run) -> None:
        """Refuse a method that the cluster's backend lacks."""
        from mgraph.shortest_paths.sssp import check_backend

        check_backend(run.cluster.backend, self.options["method"], self.options["power_limit"])
        self._partition(run)

    def _partition(self, run: Run) -> None:
        """Spread the graph over the workers, if no worker holds it."""
        from mgraph.distributed.operations.partitioned_sssp import choose, searching

        arguments = self.graph, self.reading_arguments, self.symmetrise, self.options
        if (choice := choose(run, self.partition, *arguments)) is not None:
            self.searches = self._stack.enter_context(searching(run, choice))

    def run(self, cluster: ClusterLike, progress: TextIO | None) -> Outcome:
        """Do it; a graph that is spread over the workers is let go of at the end."""
        with ExitStack() as self._stack:
            return super().run(cluster, progress)

    def shared_graph(self, run: Run) -> Callable[[], Any] | None:
        """Return the function by which a worker reads the graph, if each reads it."""
        return super().shared_graph(run) if self.searches is None else None

    def load(self, run: Run) -> None:
        """Read the graph everywhere; draw the sources, and check them."""
        task = functools.partial(load_graph, options=self.options)
        self.facts = self.load_everywhere(run, task)
        count, seed = self.sample
        if count is not None:
            self.sources = self.draw(run, draw_sources, count, seed)
        else:
            self.sources = self.resolve(run, "sources", self.sources)
        self.sources = checked_vertices("sources", self.sources, self.facts.n).tolist()

    def work(self, run: Run) -> Work:
        """Return one task per batch of sources, or a part per source and worker."""
        has_output = self.folder is not None
        if self.searches is not None:
            self._ask_ranks(run)
            size = self.searches.size
        else:
            size = self.batch or choose_batch_size(
                self.facts, len(self.sources), run.cluster, has_output
            )
        identity = {
            "graph_identity": self.identity.name,
            "symmetrise": self.symmetrise,
            "n": self.facts.n,
            "m": self.facts.num_arcs,
            "sources": len(self.sources),
            "sources_hash": hash_sources(self.sources),
            "cutoff": self.options["cutoff"],
            "predecessors": self.options["predecessors"],
            "compression": self.compression,
            "batch": size,
        }
        if self.searches is not None:
            identity |= {"batch": 1, "workers": size}
        if self.ids == "original" and self.facts.id_kind is not None:
            identity["ids"] = "original"
        backend = run.cluster.backend
        self.plan = BatchPlan(
            identity, self.folder, self.compression, backend, self.options, self.facts, run.holder,
            writes_ids=self.ids == "original",
        )  # fmt: skip
        if self.searches is not None:
            parts = list(range(len(self.sources) * size))
            kept = self.searches.whole(self.kept(run, self.plan.footer, len(parts)))
            return Work(search_batch, parts, [0] * len(parts), {}, kept)
        starts = range(0, len(self.sources), size)
        batches = [(i, self.sources[start : start + size]) for i, start in enumerate(starts)]
        sizes = [self.facts.num_arcs * len(sources) for _, sources in batches]
        # Parts of a graph over all workers have some of the rows of a search.
        kept = self.kept(run, lambda i: self.plan.footer(i) | {"workers": None}, len(batches))
        return Work(search_batch, batches, sizes, {"plan": self.plan}, kept)

    def _ask_ranks(self, run: Run) -> None:
        """Learn of the graph from the workers over which it is spread; draw or check sources."""
        assert self.searches is not None
        self.facts = self.searches.facts
        count, seed = self.sample
        if count is not None:
            self.sources = self.searches.draw(count, seed)
        else:
            sources = self.names.early("sources", self.sources)
            if sources is None:
                raise UsageError("sources of a graph spread over the workers must be its numbers")
            self.sources = sources
        self.sources = checked_vertices("sources", self.sources, self.facts.n).tolist()

    def fan_out(self, run: Run, work: Work) -> list[Any]:
        """Search from all sources, on each worker's graph or on the one over all of them."""
        if self.searches is None:
            return super().fan_out(run, work)
        self.clear(run, work)
        return self.searches.search(self.plan, self.sources, work.kept, run.progress)

    def manifest(self, footers: Sequence[Footer]) -> dict[str, Any]:
        """Return the manifest with the type of distances."""
        return super().manifest(footers) | {"lengths": self.facts.length_dtype}


def sssp_many(
    location: str | os.PathLike[str],
    sources: Sequence[Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    random: int | None = None,
    seed: int = 1,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    method: SsspMethod = "auto",
    predecessors: bool = True,
    cutoff: float | None = None,
    delta: float | None = None,
    set_point: float | None = None,
    power_limit: float | None = None,
    heap_threshold: int | None = None,
    symmetrise: bool = False,
    reading: Mapping[str, Any] | None = None,
    ids: Ids = "number",
    batch: int | None = None,
    partition: Partition = "auto",
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> SearchRun:
    """Shortest paths from each of many sources, over a cluster, written as Parquet.

    Parameters
    ----------
    location : path or ``s3://`` address
        A graph that every worker can read: whatever ``mgraph.read_graph`` takes.
    sources : sequence of int, or of ids, optional
        The vertices to search from; or give ``random``.
    out : path or ``s3://`` address, optional
        The folder for the rows: source, vertex, distance and predecessor of each vertex reached. By
        default nothing is written.
    random : int, optional
        How many sources to draw among the vertices that have arcs.
    seed : int, default 1
        Of the random sources.
    cluster : Cluster, ClusterSpec, or a client or cluster of Dask, optional
        By default what ``mgraph.connect()`` finds; a local cluster gets one worker with a thread
        per core, or one worker per GPU.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` is a GPU if every worker has one, except for ``dijkstra``.
    method, cutoff, delta, set_point, power_limit, heap_threshold
        As for ``mgraph.sssp``; ``power_limit`` is in watts per GPU.
    predecessors : bool, default True
        Also write each vertex's predecessor.
    symmetrise : bool, default False
        Add the reverse of every arc.
    reading : mapping, optional
        Further arguments of ``mgraph.read_graph``, such as ``{"weight": "minutes"}``.
    ids : {"number", "original"}
        What ``sources`` and the rows hold: vertices' numbers, or their own ids where the graph has
        any, such as a dataset that ``mgraph.convert`` numbered.
    batch : int, optional
        Sources per task and part; by default as their number and the workers' memory allow.
    partition : {"auto", "always", "never"}, default "auto"
        Whether all workers hold one graph together, each a share of its arcs, and search from one
        source after another; ``auto`` does so where a dataset's graph does not fit a worker, says
        so in an ``MgraphWarning``, and writes a part per source and worker.
    compression : {"none", "lz4", "zstd"}, default "lz4"
        Of the Parquet files.
    resume : bool, default False
        Keep the finished parts of an earlier run.
    overwrite : bool, default False
        Replace what the folder holds.
    progress : TextIO, optional
        The stream for a progress line, such as ``sys.stderr``.

    Returns
    -------
    SearchRun

    Raises
    ------
    UsageError, DatasetError, StorageError, ClusterError
        Parts that were finished stay, and ``resume=True`` goes on from them.

    Notes
    -----
    The rows do not depend on the workers, the batches, the partition or the backend. Each worker
    reads the graph once; a batch costs what ``mgraph.sssp`` costs for its sources.

    Examples
    --------
    >>> model = mgraph.CopyModel(1000, 2)
    >>> made = mgraph.generate("graph", model)
    >>> run = mgraph.sssp_many("graph", [0, 5], "paths")
    >>> [search.reached for search in run.searches]
    [1000, 1000]
    """
    random, seed, batch, cutoff = to_python_numbers(random, seed, batch, cutoff)
    delta, set_point, power_limit, heap_threshold = to_python_numbers(
        delta, set_point, power_limit, heap_threshold
    )
    check_integers(random=random, seed=seed, batch=batch)
    options = {
        "method": method,
        "predecessors": predecessors and out is not None,
        "cutoff": None if cutoff == float("inf") else cutoff,  # JSON has no infinity
        "delta": delta,
        "set_point": set_point,
        "power_limit": power_limit,
        "heap_threshold": heap_threshold,
    }
    operation = SsspOperation(
        location, out, sources, (random, seed), batch, compression, options, partition,
        symmetrise=symmetrise, reading=reading, ids=ids, backend=backend, resume=resume,
        overwrite=overwrite,
    )  # fmt: skip
    outcome = operation.run(cluster, progress)
    count = len(operation.sources)
    searches = read_answers(outcome.results, "searched", Search, count, operation.folder)
    return SearchRun(
        location=operation.location,
        facts=operation.facts,
        searches=tuple(searches),
        made_parts=outcome.made_parts,
        kept_parts=outcome.kept_parts,
        checksum=total_checksum(outcome.results),
        seconds=outcome.seconds,
        search_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )


def _check_request(
    sources: Sequence[int] | None,
    random: int | None,
    seed: int,
    batch: int | None,
    compression: Compression,
    options: dict[str, Any],
) -> None:
    """Raise UsageError for arguments that are invalid for any graph."""
    from mgraph.io.parquet import check_compression
    from mgraph.shortest_paths.sssp import check_options

    check_compression(compression)
    names = ("method", "delta", "set_point", "power_limit", "heap_threshold")
    check_options(*(options[name] for name in names))
    cutoff = options["cutoff"]
    if cutoff is not None and not cutoff >= 0:
        raise UsageError(f"cutoff must be at least 0 (got {cutoff})")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed must lie in [0, 2^64) (got {seed})")
    if (sources is None) == (random is None):
        raise UsageError("exactly one of sources and random must be given")
    if (random is not None and random < 1) or (sources is not None and not len(sources)):
        raise UsageError("there must be at least one source")
    if batch is not None and batch < 1:
        raise UsageError(f"batch must be at least 1 (got {batch})")
