"""Generate a dataset over a cluster: a part a task, written whole by the worker that made it.

Data flow of a task: blocks of 2^20 edges are generated (on a GPU 2^23, generated and copied while
the block before is encoded), encoded and written as row groups; the checksum is added up on the
way. Memory: a few blocks a thread, whatever the graph's size. A worker runs as many tasks at once
as it has threads, so with a GPU that is how many threads encode and write beside it.

A part's footer says whose part it is. So a folder without a manifest, which a run that was killed
leaves, tells all that ``resume`` needs.
"""

import contextlib
import dataclasses
import functools
import os
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TextIO

import mgraph
from mgraph.core.arrays import plain
from mgraph.distributed.clusters.connect import Cluster, ClusterLike, open_cluster
from mgraph.distributed.operations.generate_plan import (
    Plan,
    block_edges,
    check_room,
    default_parts,
    existing_parts,
    footers,
    kept_parts,
    previous_value,
)
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.distributed.protocol.work_time import work_time
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.io import manifest as manifests
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord


@dataclass(frozen=True)
class Result:
    """What a run did: the dataset and its manifest, the edges and parts made, the parts kept.

    seconds: from the call to the manifest, starting a cluster included; work_seconds: of making
    parts, without the time in which workers compiled; compile_seconds: that time.
    """

    location: str
    manifest: Manifest
    made_edges: int
    made_parts: int
    kept_parts: int
    seconds: float
    work_seconds: float
    compile_seconds: float


def where_of(model: CopyModel, backend: str = "auto") -> dict[str, Any]:
    """How a cluster is opened for a model. Raises UsageError where its method lacks the backend."""
    if not model.runs_on_gpu:
        backend = preferential_attachment.resolve(model, backend)
    return {"backend": backend, "threaded": model.stores_endpoints}


def holding(model: CopyModel, cluster: Cluster) -> AbstractContextManager[str | None]:
    """The holder of a graph that is made as a whole, on each worker once; of others None.

    Raises OutOfMemoryError where a worker has no room.
    """
    if not model.stores_endpoints:
        return contextlib.nullcontext()
    from mgraph.distributed.operations.graph_holder import held_by_workers

    check_room(model, cluster)
    make = functools.partial(
        preferential_attachment.generate_endpoints, model, backend=cluster.backend
    )
    return held_by_workers(cluster, make)


def held_ends(name: str | None) -> Any:
    """Called in a task: what the holder of that name has, if there is one."""
    from mgraph.distributed.operations.graph_holder import holder

    return holder(name).graph() if name else None


def make_part(index: int, plan: Plan) -> PartRecord:
    """The task: generate, encode and write one part; return its line of the manifest."""
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.parquet import writing_part

    model, checksum = plan.model, 0
    blocks = preferential_attachment.stream(
        model,
        plan.part(index),
        backend=plan.backend,
        block_edges=plan.block_edges,
        ends=held_ends(plan.holder),
    )
    with writing_part(plan.folder, part_name(index), model.columns, plan.compression) as writer:
        for block in blocks:
            writer.write(block.edges)
            checksum = (checksum + block.checksum) % (1 << 64)
            count_edges(block.edges.src.size)
        writer.close(plan.footer(index) | {"checksum": f"{checksum:016x}"})
    return plan.record(index, checksum)


def generate(
    out: str | os.PathLike[str],
    model: CopyModel,
    *,
    cluster: ClusterLike = None,
    backend: str = "auto",
    parts: int | None = None,
    compression: str = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = sys.stderr,
) -> Result:
    """Generate ``model``'s graph into the folder ``out`` as a Parquet edge-list dataset.

    out: a path or an ``s3://`` address. cluster: a ``Cluster``, or a ``ClusterSpec`` to be opened
    once all else is checked; by default what ``mgraph.connect()`` finds. backend: cpu, gpu, or
    auto: a GPU where every worker has one and the method is known there. parts: how many
    files; by default from the graph's size and the cluster's threads.
    compression: none, lz4 or zstd. resume: keep the parts that are whole and make the rest.
    overwrite: replace a dataset. progress: where the progress line goes; None for silence.
    The edges depend on ``model`` alone. Cost: m/p draws, 3 to 5 bytes an edge written; memory: a
    few blocks a thread. A method that makes a graph as a whole makes it once on each worker, which
    keeps it while it writes its parts: 4 or 8 bytes an edge. Raises UsageError, StorageError,
    ClusterError, OutOfMemoryError; parts that were finished stay, and ``resume`` goes on from them.
    """
    from mgraph.io.parquet import check_compression

    began = time.monotonic()
    (parts,) = plain(parts)
    folder = Folder(out)
    check_compression(compression)
    if parts is not None:
        model.check_parts(parts)
    folder.check_writable()
    asked = {"generate": model.to_json(), "compression": compression, "parts": parts}
    intent = WriteIntent(folder, asked, resume, overwrite)
    intent.check_unowned()
    existing_parts(folder, intent.resume, intent.overwrite)
    with contextlib.ExitStack() as stack:
        stack.enter_context(intent.owning("mgraph generate"))
        names = existing_parts(folder, intent.resume, intent.overwrite)  # what came meanwhile
        intent.record()
        found = footers(folder, names) if intent.resume else {}
        if parts is None and found:
            parts = previous_value(found, "parts", model.n)
        cluster = stack.enter_context(open_cluster(cluster, **where_of(model, backend)))
        plan = Plan(
            model=model,
            parts=parts or default_parts(model, cluster.threads, cluster.backend),
            folder=folder,
            compression=compression,
            backend=cluster.backend,
            block_edges=block_edges(cluster, model),
        )
        records = kept_parts(plan, found)
        kept = len(records)
        missing = {i: plan.edges(i) for i in range(plan.parts) if i not in records}
        if missing:
            holder = stack.enter_context(holding(model, cluster))
            plan = dataclasses.replace(plan, holder=holder)
        if missing:
            folder.remove(manifests.NAME)
        if intent.overwrite:
            folder.remove(*names)
        with work_time(cluster.client) as work:
            made = run_parts(
                cluster,
                make_part,
                {index: index for index in missing},
                missing,
                verb="generate",
                progress=progress,
                plan=plan,
            )
        records |= made
        manifest = Manifest(
            model=model.to_json(),
            n=model.n,
            num_edges=model.num_edges,
            dtype=str(model.dtype),
            compression=compression,
            parts=tuple(records[index] for index in range(plan.parts)),
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=str(model.weight_dtype) if model.weights else None,
        )
        manifest.write(folder)
    seconds = time.monotonic() - began
    return Result(
        folder.location,
        manifest,
        sum(missing.values()),
        len(missing),
        kept,
        seconds,
        work.seconds,
        work.compiling,
    )
