"""Read every part back and hold it against the manifest; make some again and compare.

Cost: every file read once, plus the given share of the graph generated again.
"""

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from typing import TextIO

from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations.generate import held_ends, holding, where_of
from mgraph.distributed.operations.generate_plan import block_edges
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.work_time import work_time
from mgraph.errors import DatasetError, UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.io.dataset import EdgeDataset
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord


@dataclass(frozen=True)
class Verdict:
    """What ``verify`` found: the parts read and made again, and a sentence a fault.

    seconds: from the call to the end; work_seconds: of checking, without the time in which workers
    compiled; compile_seconds: that time.
    """

    location: str
    parts: int
    regenerated: int
    edges: int
    seconds: float
    work_seconds: float
    compile_seconds: float
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not self.faults


def manifest_faults(manifest: Manifest, model: CopyModel | None) -> list[str]:
    """Whether the parts tile the vertices, and their rows are the model's where there is one."""
    faults = []
    expected = 0
    for part in manifest.parts:
        if part.first != expected:
            faults.append(f"{part.file} begins at vertex {part.first}, and should at {expected}")
        if model and part.rows != model.edges_in(range(part.first, part.stop)):
            faults.append(f"{part.file} has {part.rows} rows in the manifest, not the model's")
        expected = part.stop
    sizes = (model.n, model.num_edges) if model else (expected, manifest.num_edges)
    if expected != manifest.n or (manifest.n, manifest.num_edges) != sizes:
        faults.append(f"the manifest's n and m are not those of its parts and model ({model})")
    return faults


def model_of(dataset: EdgeDataset) -> tuple[CopyModel, int] | None:
    """What generated a dataset and the version of its draws; None for edges from elsewhere.

    Raises DatasetError for a model that this mgraph does not know.
    """
    if not dataset.has_manifest or not dataset.manifest.model:
        return None
    try:
        return CopyModel.from_json(dataset.manifest.model)
    except (TypeError, UsageError) as error:
        raise DatasetError(
            f"{dataset.location} was made by a model unknown here: {error}"
        ) from error


def _checked_model(dataset: EdgeDataset, regenerate: float) -> CopyModel | None:
    """What generated a dataset; None for edges from elsewhere.

    Raises DatasetError where there is no manifest, and where parts are to be made again of a model
    whose draws have changed since: then it tells the graph's shape alone.
    """
    if not dataset.has_manifest:
        raise DatasetError(
            f"{dataset.location} has no manifest to hold it against; mgraph convert copies it into "
            "a dataset that has one"
        )
    made_by = model_of(dataset)
    if made_by is None:
        return None
    model, version = made_by
    if regenerate and version != model.version:
        raise DatasetError(
            f"{dataset.location} was made by version {version} of the model {model.method} "
            f"({dataset.manifest.created_by or 'of an unnamed program'}), and this mgraph makes "
            f"version {model.version}, whose edges differ. Its checksums can still be verified "
            "without regenerating parts."
        )
    return model


def check_part(
    job: tuple[PartRecord, bool],
    folder: Folder,
    n: int,
    model: CopyModel | None,
    backend: str,
    block: int,
    holder: str | None,
) -> str | None:
    """The task: one part's first fault as a sentence, or None. job: the part, whether to remake."""
    from mgraph.core.edge_list_cpu import EdgeCheck
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.generators.copy_model_cpu import RowCheck
    from mgraph.io.parquet import read_blocks

    record, again = job
    check = RowCheck(model, record.first) if model else EdgeCheck(record.first, record.stop, n)
    try:
        for edges in read_blocks(folder, record.file):
            fault = check.add(edges)
            if fault:
                return f"{record.file}: {fault}"
            count_edges(edges.src.size)
    except DatasetError as error:
        return str(error)
    if check.rows != record.rows:
        return f"{record.file} has {check.rows} rows, and the manifest says {record.rows}"
    if check.checksum != record.checksum:
        return (
            f"{record.file} has checksum {check.checksum:016x}, and the manifest says "
            f"{record.checksum:016x}: an edge was changed"
        )
    if again and model:
        made = 0
        for generated in preferential_attachment.stream(
            model,
            range(record.first, record.stop),
            backend=backend,
            block_edges=block,
            ends=held_ends(holder),
        ):
            made += generated.checksum
        if made % (1 << 64) != record.checksum:
            return f"{record.file} is not what its parameters generate"
    return None


def chosen(parts: int, fraction: float) -> frozenset[int]:
    """``ceil(fraction · parts)`` parts, spread evenly over all."""
    count = -(-int(fraction * parts * 1_000_000) // 1_000_000)
    return frozenset(i * parts // count for i in range(count)) if count else frozenset()


def verify(
    location: str | os.PathLike[str],
    *,
    regenerate: float = 0.0,
    cluster: ClusterLike = None,
    backend: str = "auto",
    progress: TextIO | None = sys.stderr,
) -> Verdict:
    """Check a dataset: every part's rows, ranges, order, repeated edges and checksum.

    regenerate: a fraction of the parts, in [0, 1], to generate again and compare. cluster, backend:
    as for ``mgraph.generate``. Raises
    DatasetError where there is no dataset, or where parts are to be generated again and the
    dataset's model had other draws in the version of mgraph that made it. Faults in the dataset are
    returned, not raised.
    """
    if not 0 <= regenerate <= 1:
        raise UsageError(f"regenerate is a fraction and must lie in [0, 1], and is {regenerate}")
    began = time.monotonic()
    dataset = EdgeDataset(location)
    manifest = dataset.manifest
    model = _checked_model(dataset, regenerate)
    if regenerate and model is None:
        raise UsageError(f"{dataset.location} was not generated, so it cannot be made again")
    faults = manifest_faults(manifest, model)
    again = chosen(len(dataset), regenerate)
    jobs = {index: (record, index in again) for index, record in enumerate(manifest.parts)}
    with contextlib.ExitStack() as stack:
        made = model if again else None
        where = where_of(made, backend) if made else {"backend": backend}
        cluster = stack.enter_context(open_cluster(cluster, **where))
        holder = stack.enter_context(holding(made, cluster)) if made else None
        with work_time(cluster.client) as work:
            found = run_parts(
                cluster,
                check_part,
                jobs,
                {index: record.rows for index, (record, _) in jobs.items()},
                verb="verify",
                progress=progress,
                folder=dataset.folder,
                n=manifest.n,
                model=model,
                backend=cluster.backend,
                block=block_edges(cluster, model),
                holder=holder,
            )
    faults += [found[index] for index in sorted(found) if found[index]]
    seconds = time.monotonic() - began
    times = seconds, work.seconds, work.compiling
    return Verdict(
        dataset.location, len(dataset), len(again), manifest.num_edges, *times, tuple(faults)
    )
