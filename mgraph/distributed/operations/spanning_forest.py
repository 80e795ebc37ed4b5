"""The minimum spanning forest of a dataset over a cluster, whatever the number of its edges.

Data flow: neighbouring parts make batches that fit a worker. A task reads a batch, builds its graph
and writes its forest, of fewer edges than vertices, beside the result; then forests are merged, as
many at a time as fit, until one is left, which is the result. It is the forest of the whole: an
edge that a batch's forest lacks is the heaviest of a cycle there, so it is in no forest. Ties go by
the edges' ends, so it is the same however the parts are grouped.

Cost: each edge is read once; for each merge about n edges a forest are read, and n written. Memory:
a batch at a time on each worker, on its GPU if it has one, and two forests at least. Every forest
stands in files of its own with a record that is written last, so ``resume`` goes on from those that
are finished.
"""

import os
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TextIO

import mgraph
from mgraph.core import cancellation
from mgraph.core.arrays import to_python_numbers
from mgraph.core.edges import EdgeList
from mgraph.core.exact_sum import exact_sum, rounded
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import Cluster, ClusterLike, open_cluster
from mgraph.distributed.operations.spanning_forest_plan import (
    Batches,
    ForestPlan,
    Job,
    Standing,
    batches_for,
    clear,
    clear_unless_begun,
    grouped,
    identity_of,
    job_name,
    read_done,
    remove_others,
    write_done,
)
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, UsageError
from mgraph.io.dataset import EdgeDataset, Part, part_name
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord

_memory = threading.Lock()  # a worker's, or its GPU's: one batch at a time


class Found(NamedTuple):
    """A forest in files: their records, and of the result the exact sum of its weights."""

    records: tuple[PartRecord, ...]
    total_weight: int | Fraction = 0


@dataclass(frozen=True)
class ForestRun:
    """What a run did: the dataset and its manifest, forests made in all, those kept of another."""

    location: str
    manifest: Manifest
    made: int
    kept: int
    seconds: float

    @property
    def total_weight(self) -> int | float:
        """The sum of the weights, as ``SpanningForest.total_weight``."""
        total: int | float = (self.manifest.forest or {})["total_weight"]
        return total

    @property
    def components(self) -> int:
        """Trees, those of a single vertex included."""
        return self.manifest.n - self.manifest.num_edges


def reduce_parts(job: Job, plan: ForestPlan) -> Found:
    """The task: write the forest of some parts, as one on the way or as the result."""
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.graph_dataset import read_parts, write_parts
    from mgraph.spanning_trees.edge_forest import forest_of_edges

    threads = get_worker().state.nthreads  # the other cores are other workers'
    third = job.edges // 3  # to be counted when they are read, spanned, and their forest written

    def read() -> EdgeList:
        edges = read_parts(job.parts, plan.dtypes, plan.graph, plan.backend, threads)
        count_edges(third)
        return edges

    with (
        cancellation.acquiring(_memory),
        memory_guard(f"{job.edges:,} edges and their forest", "use a smaller --batch"),
    ):
        try:
            forest = forest_of_edges(read(), plan.n, threads)
        except UsageError as error:  # of what the files hold
            raise DatasetError(f"{plan.graph}: {error}") from error
        total: int | Fraction = 0
        if job.name is None:
            total = len(forest) if forest.weight is None else exact_sum(forest.weight)
    count_edges(third)
    records = write_parts(
        forest,
        plan.n,
        plan.folder,
        compression=plan.compression if job.name is None else "lz4",
        name=part_name if job.name is None else lambda index: f"{job.name}{index:05d}.parquet",
        threads=threads,
    )
    count_edges(job.edges - 2 * third)
    if job.name is not None:
        write_done(plan.folder, job.name, records)
    return Found(tuple(records), total)


def _reduce(
    cluster: Cluster,
    plan: ForestPlan,
    dataset: EdgeDataset,
    batches: Batches,
    there: set[str],
    progress: TextIO | None,
) -> tuple[Found, int, int]:
    """Level after level until one forest is left; returns it, and how many were made and kept."""
    share = batches.share(dataset.num_edges)
    inputs: list[tuple[Part, ...]] = [(piece,) for part in dataset for piece in part.pieces(share)]
    level = made = kept = 0
    while True:
        sizes = [sum(map(len, parts)) for parts in inputs]
        if level:  # any two forests may be merged, so that there is an end
            batches = Batches(max(share, 2 * max(sizes)), 1)
        groups = grouped(sizes, batches) or [[]]
        joined = [tuple(part for place in group for part in inputs[place]) for group in groups]
        if len(groups) == 1:
            jobs = {0: Job(joined[0], None)}
        else:
            jobs = {
                index: Job(parts, job_name(level, index))
                for index, parts in enumerate(joined)
                if not level or len(groups[index]) > 1  # one that is alone waits
            }
        for index, job in list(jobs.items()):
            if job.name and (records := read_done(plan.folder, there, job.name)) is not None:
                joined[index] = plan.parts(records)
                del jobs[index]
                kept += 1
        edges = {index: job.edges for index, job in jobs.items()}
        found: dict[int, Found] = run_parts(
            cluster,
            reduce_parts,
            jobs,
            edges,
            verb="msf-merge" if level else "msf",
            progress=progress,
            plan=plan,
        )
        made += len(found)
        if len(groups) == 1:
            return found[0], made, kept
        for index, forest in found.items():
            joined[index] = plan.parts(forest.records)
        inputs, level = joined, level + 1


def spanning_forest_dataset(
    location: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    cluster: ClusterLike = None,
    backend: str = "auto",
    symmetrise: bool = False,
    batch: int | None = None,
    compression: str = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = sys.stderr,
) -> ForestRun:
    """Write the minimum spanning forest of a dataset as a dataset, however many edges there are.

    location: a folder of Parquet files with ``src``, ``dst[, weight]``, or an ``s3://`` address;
    edges without weights count 1 each. out: a new folder; ``forest`` in its manifest holds the
    total weight. cluster, backend: as ``mgraph.generate``'s. symmetrise: take arcs for edges.
    batch: edges a task, by default a worker's share as far as it fits. compression: none, lz4 or
    zstd. resume: go on from the forests that an earlier run has finished. overwrite: replace a
    dataset. progress:
    where the progress line goes; None for none.

    The edges are those of ``minimum_spanning_forest`` of the whole graph, whatever the cluster and
    the batches. Raises UsageError, DatasetError, StorageError, ClusterError.
    """
    from mgraph.io.parquet import check_compression

    began = time.monotonic()
    (batch,) = to_python_numbers(batch)
    if batch is not None and not (isinstance(batch, int) and batch >= 1):
        raise UsageError(f"batch is a whole number of edges, at least 1, and is {batch}")
    check_compression(compression)
    dataset = EdgeDataset(location)
    if dataset.manifest.directed and not symmetrise:
        raise UsageError(
            f"a spanning forest is of an undirected graph, and {dataset.location} lists arcs; "
            "--symmetrise takes each for both directions"
        )
    graph, folder = dataset.location, Folder(out)
    if folder.same_as(dataset.folder):
        raise UsageError(f"{folder} is the graph; write its forest to another folder")
    folder.check_writable()
    asked = {
        "graph_identity": identity_of(dataset),
        "compression": compression,
        "batch": batch,
    }
    intent = WriteIntent(folder, {"msf": graph, **asked}, resume, overwrite)
    intent.check_unowned()
    Standing(folder, graph, asked, intent.resume, intent.overwrite)
    with ExitStack() as stack:
        stack.enter_context(intent.owning("mgraph msf"))
        standing = Standing(folder, graph, asked, intent.resume, intent.overwrite)
        intent.record()
        if standing.finished:
            clear(folder)  # a run may have been killed while it did so
            return ForestRun(folder.location, standing.finished, 0, 1, time.monotonic() - began)
        cluster = stack.enter_context(open_cluster(cluster, backend=backend))
        batches = standing.batches or batches_for(cluster, dataset.n, dataset.num_edges, batch)
        there = standing.begin(batches)
        dtypes = tuple(dataset.dtypes)
        plan = ForestPlan(graph, dataset.n, dtypes, folder, compression, cluster.backend)
        try:
            found, made, kept = _reduce(cluster, plan, dataset, batches, there, progress)
        except DatasetError:
            clear_unless_begun(folder)
            raise
        told: dict[str, Any] = {"of": graph, "graph_identity": asked["graph_identity"]}
        manifest = Manifest(
            model={},
            n=dataset.n,
            num_edges=sum(record.rows for record in found.records),
            dtype=dataset.manifest.dtype,
            compression=compression,
            parts=found.records,
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=dataset.manifest.weight_dtype,
            forest=told | {"total_weight": rounded(found.total_weight)},
        )
        remove_others(folder, found.records)
        manifest.write(folder)
        clear(folder)
    return ForestRun(folder.location, manifest, made, kept, time.monotonic() - began)
