"""The minimum spanning forest of a dataset over a cluster, whatever the number of its edges.

Where the workers' memory holds all edges, they read a share each and make the forest together
(``spanning_trees/partitioned_forest.py``), and each writes a range of it. If a worker is lost
meanwhile, or the edges do not fit, the forest is made part by part:

Data flow: neighbouring parts form batches that fit a worker. A task reads a batch, builds its graph
and writes its forest, which has fewer edges than vertices, beside the result. Then forests are
merged, as many at a time as fit, until one is left, which is the result. It is the forest of the
whole graph: an edge that a batch's forest lacks is the heaviest of a cycle there, so it is in no
minimum forest. Ties go by the edges' endpoints, so the result does not depend on the batches.

Cost: each edge is read once; each merge reads about n edges per forest, and writes n. Memory: one
batch at a time on each worker, on its GPU if it has one, and at least two forests. Every forest has
files of its own and a record that is written last, so ``resume`` goes on from finished forests.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import mgraph
from mgraph.core.arrays import to_python_numbers
from mgraph.core.choices import Backend, Compression
from mgraph.core.exact_sum import rounded
from mgraph.core.formatting import pluralize
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.batches import Batches, deal_parts, group_neighbours
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.ranks import RankLostError, ranks_of
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput
from mgraph.distributed.operations.spanning_forest_plan import (
    DONE,
    ForestOutput,
    ForestPlan,
    Job,
    fits_ranks,
    job_name,
    plan_batches,
    read_done,
    remove_intermediate_files,
    remove_others,
    remove_unless_resumable,
)
from mgraph.distributed.operations.spanning_forest_tasks import Forest, reduce_parts, span_rank
from mgraph.distributed.operations.streamed_dataset import hash_identity, open_streamed
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, MgraphWarning, UsageError
from mgraph.io.dataset import Part
from mgraph.io.folder import copy_file
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.manifest import Manifest, PartRecord

_READING = ("src", "dst", "weight", "drop_infinite")


@dataclass(frozen=True, repr=False)
class ForestRun(Results):
    """What ``spanning_forest_dataset`` did.

    Attributes
    ----------
    location : str or None
        The folder of the forest, a dataset, if it was written.
    manifest : Manifest
        The dataset's description.
    made, kept : int
        Forests that were computed in all, and those kept from an earlier run.
    is_in_memory : bool
        Whether the workers held all edges and made one forest, without forests in files.
    seconds, work_seconds, compile_seconds : float
        From the call to the end; of the tasks alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str | None
    manifest: Manifest
    made: int
    kept: int
    is_in_memory: bool
    seconds: float
    work_seconds: float
    compile_seconds: float

    @property
    def records(self) -> tuple[PartRecord, ...]:
        """The parts: file, rows, first and stop vertex, checksum, bytes."""
        return self.manifest.parts

    _rows = "records"

    @property
    def total_weight(self) -> int | float:
        """The sum of the weights, as ``SpanningForest.total_weight``."""
        total: int | float = (self.manifest.forest or {})["total_weight"]
        return total

    @property
    def components(self) -> int:
        """Trees, isolated vertices included."""
        return self.manifest.n - self.manifest.num_edges


class ForestOperation(Operation):
    """``mgraph msf`` of a dataset: levels of tasks, which merge forests until one is left."""

    verb = "msf"
    output: ForestOutput

    def __init__(
        self,
        location: str | os.PathLike[str],
        out: Any,
        symmetrise: bool,
        batch: int | None,
        compression: Compression,
        reading: Mapping[str, Any] | None,
        **more: Any,
    ) -> None:
        """Check the request. Raises UsageError, DatasetError."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, **more)
        if self.folder is None and (batch is not None or self.resume or self.overwrite):
            raise UsageError("batch, resume and overwrite need `out`")
        if batch is not None and not (isinstance(batch, int) and batch >= 1):
            raise UsageError(f"batch must be a whole number of edges, at least 1 (got {batch})")
        check_compression(compression)
        self.dataset, options = open_streamed(location, reading, symmetrise, _READING, "forest")
        is_default = options == ReadOptions(symmetrise=symmetrise)
        self.drop_infinite = options.drop_infinite
        self.edges = self.dataset.num_edges
        if self.dataset.manifest.directed and not symmetrise:
            raise UsageError(
                f"a spanning forest needs an undirected graph, and {self.dataset.location} lists "
                "arcs; pass `symmetrise=True` to add the reverse of every arc"
            )
        if self.folder is not None and self.folder.same_as(self.dataset.folder):
            raise UsageError(f"{self.folder} is the graph; write its forest to another folder")
        self.batch, self.compression = batch, compression
        self.identity = {
            "graph_identity": hash_identity(self.dataset, None if is_default else options),
            "compression": compression,
            "batch": batch,
        }

    def request(self) -> dict[str, Any]:
        """Return the graph and how its forest is written."""
        return {"msf": self.dataset.location, **self.identity}

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """Read which forests and parts the folder holds, from records of their own."""
        assert self.folder is not None
        self.output = ForestOutput(
            self.folder, self.dataset.location, self.identity, intent.resume, intent.overwrite
        )
        return ExistingOutput(self.output.parts)

    def is_finished(self, existing: ExistingOutput) -> bool:
        """Return whether the folder holds this forest already."""
        if self.folder is None or self.output.finished is None:
            return False
        self.manifest, self.made, self.kept_forests = self.output.finished, 0, 1
        self.is_in_memory = False
        remove_intermediate_files(self.folder)  # an earlier run may have been killed before it did
        return True

    def work(self, run: Run) -> Work:
        """Return the first level's inputs: the dataset's parts, cut so that they balance."""
        dataset, fits = self.dataset, fits_ranks(run.cluster, self.dataset)
        plan = ForestPlan(
            dataset.location, dataset.n, tuple(dataset.dtypes), self.folder, self.compression,
            run.cluster.backend, self.drop_infinite,
        )  # fmt: skip
        if self.folder is None:
            if not fits:
                raise UsageError(
                    f"the workers have no memory for {pluralize(dataset.num_edges, 'edge')} and "
                    f"{pluralize(dataset.n, 'vertex', 'vertices')} at once; pass `out=FOLDER`, "
                    "beside which the forests of parts are kept, or use workers with more memory"
                )
            self.is_in_memory = True
            return Work(reduce_parts, [], [], {"plan": plan})
        self.batches = self.output.batches or plan_batches(
            run.cluster, dataset.n, dataset.num_edges, self.batch
        )
        self.names = self.output.begin(self.batches)
        self.share = self.batches.share(dataset.num_edges)
        has_forests = any(name.endswith(DONE) for name in self.names)
        self.is_in_memory = self.batch is None and not has_forests and fits
        inputs = [(piece,) for part in dataset for piece in part.pieces(self.share)]
        sizes = [sum(map(len, parts)) for parts in inputs]
        return Work(reduce_parts, inputs, sizes, {"plan": plan})

    def fan_out(self, run: Run, work: Work) -> list[Forest]:
        """Make the forest over ranks, or merge forests level by level, until one is left."""
        self.made = self.kept_forests = 0
        plan: ForestPlan = work.shared["plan"]
        try:
            if self.is_in_memory:
                try:
                    return [self._span_in_memory(run, plan)]
                except RankLostError:
                    if self.folder is None:
                        raise
                    self.is_in_memory = False
                    message = "a worker was lost; the forest is made again, from forests in files"
                    warnings.warn(message, MgraphWarning, stacklevel=2)
            inputs: list[tuple[Part, ...]] = list(work.arguments)
            level = 0
            while True:
                inputs, forest = self._merge(run, plan, inputs, level)
                if forest is not None:
                    return [forest]
                level += 1
        except DatasetError:
            if self.folder is not None:
                remove_unless_resumable(self.folder)
            raise

    def _span_in_memory(self, run: Run, plan: ForestPlan) -> Forest:
        """Let all workers read a share of the edges, and write a range of the forest."""
        with ranks_of(run.cluster) as ranks:
            shares = deal_parts(self.dataset, ranks.size)  # later edges take longer
            sizes = [sum(map(len, share)) for share in shares]
            forests: list[Forest] = ranks.run(
                span_rank, shares, verb="msf", sizes=sizes, progress=run.progress, plan=plan
            )
        self.made = 1
        records = tuple(record for forest in forests for record in forest.records)
        num_edges = sum(forest.num_edges for forest in forests)
        return Forest(records, num_edges, sum(forest.total_weight for forest in forests))

    def _merge(
        self, run: Run, plan: ForestPlan, inputs: list[tuple[Part, ...]], level: int
    ) -> tuple[list[tuple[Part, ...]], Forest | None]:
        """Run one level; return the next level's inputs, and the result if there is one group."""
        sizes = [sum(map(len, parts)) for parts in inputs]
        # Above the first level, any two forests may be merged, so that the levels end.
        batches = Batches(max(self.share, 2 * max(sizes)), 1) if level else self.batches
        groups = group_neighbours(sizes, batches) or [[]]
        merged = [tuple(part for i in group for part in inputs[i]) for group in groups]
        if len(groups) == 1:
            jobs = {0: Job(merged[0], None)}
        else:
            jobs = {
                index: Job(parts, job_name(level, index))
                for index, parts in enumerate(merged)
                if not level or len(groups[index]) > 1  # a single forest waits for the next level
            }
        for index, job in list(jobs.items()):
            assert plan.folder is not None
            if job.name and (records := read_done(plan.folder, self.names, job.name)) is not None:
                merged[index] = plan.parts(records)
                del jobs[index]
                self.kept_forests += 1
        forests: dict[int, Forest] = run_parts(
            run.cluster,
            reduce_parts,
            jobs,
            {index: job.edges for index, job in jobs.items()},
            verb="msf-merge" if level else "msf",
            progress=run.progress,
            plan=plan,
        )
        self.made += len(forests)
        if len(groups) == 1:
            return [], forests[0]
        for index, forest in forests.items():
            merged[index] = plan.parts(forest.records)
        return merged, None

    def finish(self, run: Run, results: list[Forest]) -> None:
        """Write the manifest, and remove the intermediate forests."""
        (forest,), dataset, folder = results, self.dataset, self.folder
        self.manifest = Manifest(
            model={},
            n=dataset.n,
            num_edges=forest.num_edges,
            dtype=dataset.manifest.dtype,
            compression=self.compression,
            parts=forest.records,
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=dataset.manifest.weight_dtype,
            forest={
                "of": dataset.location,
                "graph_identity": self.identity["graph_identity"],
                "total_weight": rounded(forest.total_weight),
            },
            vertices=dataset.manifest.vertices,
        )
        if folder is None:
            return
        remove_others(folder, forest.records)
        for name in dataset.manifest.vertex_files:
            copy_file(dataset.folder, folder, name)
        self.manifest.write(folder)
        remove_intermediate_files(folder)


def spanning_forest_dataset(
    location: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    symmetrise: bool = False,
    reading: Mapping[str, Any] | None = None,
    batch: int | None = None,
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> ForestRun:
    """Make the minimum spanning forest of a dataset, a dataset itself, however many edges it has.

    Parameters
    ----------
    location : path or ``s3://`` address
        A folder of Parquet files with columns ``src``, ``dst`` and, for weights, ``weight``; edges
        without weights count 1 each.
    out : path or ``s3://`` address, optional
        The folder for the forest; ``forest`` in its manifest holds the total weight. Without it
        only the manifest is returned, if the workers' memory holds all edges.
    cluster, backend, compression, overwrite, progress
        As for ``mgraph.generate``.
    symmetrise : bool, default False
        Take arcs for edges.
    reading : mapping, optional
        Any of the arguments src, dst, weight and drop_infinite of ``mgraph.read_graph``.
    batch : int, optional
        Edges per task; by default a worker's share, as far as it fits.
    resume : bool, default False
        Go on from the forests that an earlier run finished.

    Returns
    -------
    ForestRun

    Raises
    ------
    UsageError, DatasetError, StorageError, ClusterError
        Forests that were finished stay, and ``resume=True`` goes on from them.

    Notes
    -----
    The edges are those of ``mgraph.minimum_spanning_forest`` of the whole graph, for any cluster
    and any batches. Each edge is read once. Where the workers' memory does not hold all edges, or
    with ``batch``, forests are merged in files: each merge reads about n edges per forest.

    Examples
    --------
    >>> model = mgraph.CopyModel(1000, 2, weights=(1, 100))
    >>> made = mgraph.generate("graph", model)
    >>> run = mgraph.spanning_forest_dataset("graph", "forest")
    >>> run.manifest.num_edges, run.components
    (999, 1)
    """
    (batch,) = to_python_numbers(batch)
    operation = ForestOperation(
        location, out, symmetrise, batch, compression, reading,
        backend=backend, resume=resume, overwrite=overwrite,
    )  # fmt: skip
    outcome = operation.run(cluster, progress)
    return ForestRun(
        location=operation.location,
        manifest=operation.manifest,
        made=operation.made,
        kept=operation.kept_forests,
        is_in_memory=operation.is_in_memory,
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )
