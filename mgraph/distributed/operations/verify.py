"""Read every part and compare it with the manifest; generate some again and compare.

Cost: every file is read once, and the given share of the graph is generated again.
"""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TextIO

from mgraph import timings
from mgraph.core.choices import Backend
from mgraph.core.html import Tabular
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.generate import resolve_backend
from mgraph.distributed.operations.generate_plan import choose_block_edges
from mgraph.distributed.operations.graph_endpoints import (
    check_owners,
    find_endpoints,
    hold_endpoints,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.errors import DatasetError, UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.io.dataset import EdgeDataset
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord


@dataclass(frozen=True)
class Verdict(Tabular):
    """What ``verify`` found.

    Attributes
    ----------
    location : str
        The dataset's folder.
    parts, regenerated : int
        Parts that were read, and those of them that were generated again.
    num_edges : int
        The edges that the manifest declares.
    seconds, work_seconds, compile_seconds : float
        From the call to the end; of checking alone, without compiling; of the slowest worker's
        compiler.
    faults : tuple of str
        One sentence per fault, in the order of the parts.
    """

    location: str
    parts: int
    regenerated: int
    num_edges: int
    seconds: float
    work_seconds: float
    compile_seconds: float
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    def _columns(self) -> dict[str, tuple[str, ...]]:
        return {"fault": self.faults}


def find_manifest_faults(manifest: Manifest, model: CopyModel | None) -> list[str]:
    """Return the manifest's faults: parts must tile the vertices, with the model's rows."""
    faults = []
    expected = 0
    for part in manifest.parts:
        if part.first != expected:
            faults.append(f"{part.file} begins at vertex {part.first} instead of {expected}")
        if model and part.rows != model.edges_in(range(part.first, part.stop)):
            faults.append(f"{part.file} has {part.rows} rows in the manifest, not the model's")
        expected = part.stop
    sizes = (model.n, model.num_edges) if model else (expected, manifest.num_edges)
    if expected != manifest.n or (manifest.n, manifest.num_edges) != sizes:
        faults.append(f"the manifest's n and m are not those of its parts and model ({model})")
    return faults


def read_model(dataset: EdgeDataset) -> tuple[CopyModel, int] | None:
    """Return the model that generated a dataset and its draws' version; None for other edges.

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


def _read_model_to_check(dataset: EdgeDataset, regenerate: float) -> CopyModel | None:
    """Return the model that generated a dataset; None for other edges.

    Raises DatasetError where there is no manifest, or where parts are to be generated again by a
    model whose draws have changed since.
    """
    if not dataset.has_manifest:
        raise DatasetError(
            f"{dataset.location} has no manifest to verify it against; mgraph convert copies it "
            "into a dataset that has one"
        )
    made_by = read_model(dataset)
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
    backend: Backend,
    block: int,
    holder: str | None,
) -> str | None:
    """Return the first fault of a part, or None. job: the part; whether to generate it again."""
    from mgraph.core.edge_list_cpu import EdgeCheck
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.generators.copy_model_cpu import RowCheck
    from mgraph.io.parquet import read_blocks

    record, regenerate = job
    check = RowCheck(model, record.first) if model else EdgeCheck(record.first, record.stop, n)
    try:
        for edges in read_blocks(folder, record.file):
            with timings.step(timings.COMPUTING):
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
    if regenerate and model:
        blocks = preferential_attachment.stream(
            model,
            range(record.first, record.stop),
            backend=backend,
            block_edges=block,
            ends=find_endpoints(holder),
        )
        checksum = sum(edges.checksum for edges in blocks) % (1 << 64)
        check_owners(holder)
        if checksum != record.checksum:
            return f"{record.file} is not what its parameters generate"
    return None


def choose_parts(parts: int, fraction: float) -> frozenset[int]:
    """Choose ``ceil(fraction · parts)`` parts, spread evenly over all."""
    count = -(-int(fraction * parts * 1_000_000) // 1_000_000)
    return frozenset(i * parts // count for i in range(count)) if count else frozenset()


class VerifyOperation(Operation):
    """``mgraph verify``."""

    verb = "verify"

    def __init__(
        self, location: str | os.PathLike[str], regenerate: float, backend: Backend
    ) -> None:
        """Read the manifest. Raises DatasetError, UsageError."""
        if not 0 <= regenerate <= 1:
            raise UsageError(f"regenerate must be a fraction in [0, 1] (got {regenerate})")
        self.dataset = EdgeDataset(location)
        self.edges = self.dataset.num_edges
        self.model = _read_model_to_check(self.dataset, regenerate)
        if regenerate and self.model is None:
            raise UsageError(
                f"{self.dataset.location} was not generated, so no part can be generated again"
            )
        self.regenerated = choose_parts(len(self.dataset), regenerate)
        self.regenerated_model = self.model if self.regenerated else None
        if (model := self.regenerated_model) is not None:
            backend = resolve_backend(model, backend)
        super().__init__(backend=backend, threaded=bool(model and model.stores_endpoints))

    @property
    def subject(self) -> str:
        """The dataset."""
        return self.dataset.location

    def hold(self, run: Run) -> AbstractContextManager[str] | None:
        """Hold the endpoints, if parts are generated again by a method that makes them all."""
        model = self.regenerated_model
        return None if model is None else hold_endpoints(model, run)

    def work(self, run: Run) -> Work:
        """Return one task per part."""
        records = self.dataset.manifest.parts
        shared = {
            "folder": self.dataset.folder,
            "n": self.dataset.n,
            "model": self.model,
            "backend": run.cluster.backend,
            "block": choose_block_edges(run.cluster, self.regenerated_model),
            "holder": run.holder,
        }
        jobs = [(record, index in self.regenerated) for index, record in enumerate(records)]
        return Work(check_part, jobs, [record.rows for record in records], shared)


def verify(
    location: str | os.PathLike[str],
    *,
    regenerate: float = 0.0,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    progress: TextIO | None = None,
) -> Verdict:
    """Check a dataset's parts: rows, ranges, order, repeated edges and checksums.

    Parameters
    ----------
    location : path or ``s3://`` address
        The dataset's folder.
    regenerate : float, default 0
        The fraction of the parts, in [0, 1], to generate again and compare.
    cluster, backend, progress
        As for ``mgraph.generate``; a GPU is used only to generate parts again.

    Returns
    -------
    Verdict
        Faults of the dataset are in ``faults``, not raised.

    Raises
    ------
    DatasetError
        If there is no dataset, or parts are to be generated again and the dataset's model had other
        draws in the version of mgraph that made it.

    Examples
    --------
    >>> run = mgraph.generate("graph", mgraph.CopyModel(1000, 2))
    >>> mgraph.verify("graph", regenerate=1).ok
    True
    """
    operation = VerifyOperation(location, regenerate, backend)
    outcome = operation.run(cluster, progress)
    dataset = operation.dataset
    faults = find_manifest_faults(dataset.manifest, operation.model)
    return Verdict(
        location=dataset.location,
        parts=len(dataset),
        regenerated=len(operation.regenerated),
        num_edges=dataset.num_edges,
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
        faults=(*faults, *filter(None, outcome.results)),
    )
