"""Generate a dataset over a cluster: one task per part, which the worker generates and writes.

Data flow of a task: blocks of 2^20 edges (on a GPU 2^23, each generated and copied while the block
before is encoded) are generated, encoded and written as row groups; the checksum is added up on the
way. Memory: a few blocks per thread, whatever the graph's size. A worker runs as many tasks at once
as it has threads, so with a GPU that is how many threads encode and write beside it.
"""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TextIO

import mgraph
from mgraph.core.arrays import to_python_numbers
from mgraph.core.choices import Backend, Compression
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.generate_plan import (
    Plan,
    choose_block_edges,
    choose_part_count,
)
from mgraph.distributed.operations.graph_endpoints import (
    check_owners,
    find_endpoints,
    hold_endpoints,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.io import untrusted
from mgraph.io.dataset import part_name
from mgraph.io.manifest import Manifest, PartRecord


@dataclass(frozen=True, repr=False)
class GenerateRun(Results):
    """What ``generate`` did.

    Attributes
    ----------
    location : str
        The dataset's folder.
    manifest : Manifest
        The dataset's description: model, ``n``, ``num_edges``, ``parts``, ``checksum``, ``bytes``.
    made_edges, made_parts, kept_parts : int
        Edges and parts that were generated, and parts kept from an earlier run.
    seconds, work_seconds, compile_seconds : float
        From the call to the manifest; of generating alone, without compiling; of the slowest
        worker's compiler.
    """

    location: str
    manifest: Manifest
    made_edges: int
    made_parts: int
    kept_parts: int
    seconds: float
    work_seconds: float
    compile_seconds: float

    @property
    def records(self) -> tuple[PartRecord, ...]:
        """The parts: file, rows, first and stop vertex, checksum, bytes."""
        return self.manifest.parts

    _rows = "records"


def resolve_backend(model: CopyModel, backend: Backend) -> Backend:
    """Return the backend for a model. Raises UsageError if its method lacks the one requested."""
    if model.runs_on_gpu:
        return backend
    return preferential_attachment.resolve(model, backend)


def make_part(index: int, plan: Plan) -> PartRecord:
    """Generate, encode and write one part; return its entry in the manifest."""
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.parquet import writing_part

    model, checksum = plan.model, 0
    blocks = preferential_attachment.stream(
        model,
        plan.part(index),
        backend=plan.backend,
        block_edges=plan.block_edges,
        ends=find_endpoints(plan.holder),
    )
    with writing_part(plan.folder, part_name(index), model.columns, plan.compression) as writer:
        for block in blocks:
            writer.write(block.edges)
            checksum = (checksum + block.checksum) % (1 << 64)
            count_edges(block.edges.src.size)
        check_owners(plan.holder)
        writer.close(plan.footer(index) | {"checksum": f"{checksum:016x}"})
    return plan.record(index, checksum)


class GenerateOperation(Operation):
    """``mgraph generate``."""

    verb = "generate"
    plan: Plan
    manifest: Manifest

    def __init__(
        self, out: Any, model: CopyModel, parts: int | None, compression: Compression, **more: Any
    ) -> None:
        """Check the request. Raises UsageError."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, threaded=model.stores_endpoints, **more)
        self.backend = resolve_backend(model, self.backend)
        check_compression(compression)
        if parts is not None:
            model.check_parts(parts)
        self.model, self.parts, self.compression = model, parts, compression
        self.edges = model.num_edges

    def request(self) -> dict[str, Any]:
        """Return the model and how it is written."""
        written = {"compression": self.compression, "parts": self.parts}
        return {"generate": self.model.to_json(), **written}

    def adopt(self, existing: ExistingOutput) -> None:
        """Keep the earlier run's number of parts."""
        self.parts = self.parts or existing.previous_value("parts", self.model.n)

    def prepare(self, run: Run) -> None:
        """Cut the graph into parts, and find those to keep."""
        assert self.folder is not None
        cluster, model = run.cluster, self.model
        parts = self.parts or choose_part_count(model, cluster.threads, cluster.backend)
        block = choose_block_edges(cluster, model)
        self.plan = plan = Plan(model, parts, self.folder, self.compression, cluster.backend, block)
        self.kept_records = {
            index: plan.record(index, untrusted.parse_checksum(footer["checksum"]))
            for index, footer in self.kept(run, plan.footer, parts).items()
            if footer["rows"] == plan.edges(index)
        }

    def hold(self, run: Run) -> AbstractContextManager[str] | None:
        """Hold the endpoints, if the method makes them as a whole and parts are missing."""
        is_complete = len(self.kept_records) == self.plan.parts
        return None if is_complete else hold_endpoints(self.model, run)

    def work(self, run: Run) -> Work:
        """Return one task per part."""
        self.plan = replace(self.plan, holder=run.holder)
        parts = range(self.plan.parts)
        sizes = [self.plan.edges(index) for index in parts]
        return Work(make_part, parts, sizes, {"plan": self.plan}, dict(self.kept_records))

    def finish(self, run: Run, results: list[PartRecord]) -> None:
        """Write the manifest."""
        model, folder = self.model, self.plan.folder
        self.manifest = Manifest(
            model=model.to_json(),
            n=model.n,
            num_edges=model.num_edges,
            dtype=str(model.dtype),
            compression=self.compression,
            parts=tuple(results),
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=str(model.weight_dtype) if model.weights else None,
        )
        self.manifest.write(folder)


def generate(
    out: str | os.PathLike[str],
    model: CopyModel,
    *,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    parts: int | None = None,
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> GenerateRun:
    """Generate a model's graph, over a cluster, as a Parquet edge-list dataset.

    Parameters
    ----------
    out : path or ``s3://`` address
        The dataset's folder: ``part-00000.parquet`` and so on, with columns ``src``, ``dst`` and,
        if the model has weights, ``weight``; and ``_manifest.json``, written last.
    model : CopyModel
        The graph. The edges depend on it alone.
    cluster : Cluster, ClusterSpec, or a client or cluster of Dask, optional
        By default what ``mgraph.connect()`` finds. A ClusterSpec is opened once all else is
        checked.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` is a GPU if every worker has one and the model's method runs there.
    parts : int, optional
        The number of files; by default from the graph's size and the cluster's threads.
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
    GenerateRun

    Raises
    ------
    UsageError, StorageError, ClusterError, OutOfMemoryError
        Parts that were finished stay, and ``resume=True`` goes on from them.

    Notes
    -----
    About m/p draws, and 3 to 5 bytes written per edge. Memory: a few blocks per thread; a method
    that makes the graph as a whole (``ba``, ``copy``, ``cuppa``) also keeps 4 or 8 bytes per edge
    on each worker; ``cuppa`` shares them among the GPUs of one host where they fit no single one.

    Examples
    --------
    >>> run = mgraph.generate("graph", mgraph.CopyModel(1000, 2), parts=3)
    >>> run.manifest.num_edges, run.made_parts
    (1997, 3)
    """
    (parts,) = to_python_numbers(parts)
    operation = GenerateOperation(
        out, model, parts, compression, backend=backend, resume=resume, overwrite=overwrite
    )
    outcome = operation.run(cluster, progress)
    kept = sum(record.rows for record in operation.kept_records.values())
    return GenerateRun(
        location=operation.plan.folder.location,
        manifest=operation.manifest,
        made_edges=model.num_edges - kept,
        made_parts=outcome.made_parts,
        kept_parts=outcome.kept_parts,
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )
