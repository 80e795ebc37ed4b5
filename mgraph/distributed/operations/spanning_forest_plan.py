"""How ``mgraph msf`` cuts a dataset into batches, and which forests an output folder holds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.choices import Backend, Compression
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.batches import Batches
from mgraph.distributed.operations.resume import existing_parts
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.dataset import EdgeDataset, Part
from mgraph.io.folder import Folder
from mgraph.io.manifest import PART_NAME, Manifest, PartRecord
from mgraph.spanning_trees.partitioned_forest import MAX_N

# Of a batch and of the vertices, at the peak: building the graph, or its forest.
BYTES_PER_EDGE, BYTES_PER_VERTEX = {"cpu": 90, "gpu": 80}, {"cpu": 48, "gpu": 48}
LISTED_BYTES, RANK_BYTES_PER_VERTEX = (
    12,
    72,
)  # while ranks make a forest; a weight comes in addition
MAX_EDGES = 1 << 31
MEMORY_SHARE = 0.8
_RUN, _PREFIX = "_forests.json", "_forest-"
DONE = "done.json"  # how the names of records of finished forests end
_IDENTITY = "graph_identity"


@dataclass(frozen=True)
class ForestPlan:
    """The data of every task, sent with each.

    dtypes: of the columns. folder: of the output, if there is one. drop_infinite: whether edges of
    infinite weight are left out.
    """

    graph: str
    n: int
    dtypes: tuple[np.dtype, ...]
    folder: Folder | None
    compression: Compression
    backend: Backend
    drop_infinite: bool = False

    def parts(self, records: Sequence[PartRecord]) -> tuple[Part, ...]:
        """Return the parts of a forest, to be read."""
        assert self.folder is not None
        return tuple(Part(self.folder, record, list(self.dtypes)) for record in records)


@dataclass(frozen=True)
class Job:
    """Parts to reduce to their forest; name: the prefix of its files, None for the result's."""

    parts: tuple[Part, ...]
    name: str | None

    @property
    def edges(self) -> int:
        """The number of edges to read."""
        return sum(map(len, self.parts))


def job_name(level: int, index: int) -> str:
    """Return the prefix of a forest's files. level: 0 for forests of the dataset's parts."""
    return f"{_PREFIX}{level}-{index:05d}-"


def write_done(folder: Folder, name: str, records: Sequence[PartRecord]) -> None:
    """Record that a forest's files are complete."""
    content = json.dumps([manifests.part_to_json(record) for record in records])
    folder.write(f"{name}{DONE}", content.encode())


def read_done(folder: Folder, names: set[str], name: str) -> tuple[PartRecord, ...] | None:
    """Return the parts of a forest that an earlier run finished, None if files have changed.

    names: of the files in the folder.
    """
    if f"{name}{DONE}" not in names:
        return None
    try:
        records = untrusted.parse_json(folder.read(f"{name}{DONE}"))
        parts = tuple(manifests.part_from_json(record) for record in records)
    except (ValueError, TypeError):  # a damaged record
        return None
    if not all(part.file.startswith(name) for part in parts):  # the files of another forest
        return None
    is_complete = all(part.file in names and folder.size(part.file) == part.bytes for part in parts)
    return parts if is_complete else None


class ForestOutput:
    """What the output folder holds.

    parts: the names of part files. finished: the manifest of the finished forest, if there is one.
    """

    def __init__(
        self, folder: Folder, graph: str, identity: dict[str, Any], resume: bool, overwrite: bool
    ) -> None:
        """Read the folder. Raises UsageError if its content must not be touched.

        graph: its address; identity: what distinguishes this run from another.
        """
        self.folder, self._graph, self._identity = folder, graph, identity
        self._own_files = _files_of_run(folder)
        tables = tuple(self._own_files)
        self.parts = existing_parts(folder, resume, overwrite, manifests.FORMAT, tables)
        self.finished: Manifest | None = None
        self._earlier: dict[str, Any] = {}
        if overwrite:
            return
        if self._own_files and not resume:
            raise UsageError(
                f"{folder} holds forests of a run that was cut short; pass `resume=True` to go "
                "on, or `overwrite=True` to begin again"
            )
        if manifests.NAME in (folder.names() or []):
            self.finished = manifests.read(folder)
            written = {"compression": self.finished.compression, "batch": identity["batch"]}
            self._check(written | (self.finished.forest or {}))
        elif _RUN in self._own_files:
            self._earlier = self._read_run()
            self._check(self._earlier)
        elif self.parts:
            raise UsageError(
                f"{folder} holds parts of another dataset; pass `overwrite=True` to replace them"
            )

    def _read_run(self) -> dict[str, Any]:
        try:
            record = untrusted.parse_json_object(self.folder.read(_RUN))
            max_edges, min_count = record["batches"]
            for size in (max_edges, min_count):
                untrusted.parse_int("a batch", size, 1, 1 << 63)
            return record
        except (ValueError, TypeError, KeyError):
            raise DatasetError(
                f"{self.folder}/{_RUN} is damaged; pass `overwrite=True` to begin again"
            ) from None

    def _check(self, earlier: dict[str, Any]) -> None:
        if earlier.get(_IDENTITY) != self._identity[_IDENTITY]:
            raise UsageError(
                f"{self.folder} is not of {self._graph}, or that was changed, touched or moved "
                "since; pass `overwrite=True` to begin again"
            )
        for key, value in self._identity.items():
            previous = earlier.get(key)
            if value is not None and previous != value:
                setting = f"with `{key}={previous}`" if previous else f"without `{key}`"
                raise UsageError(
                    f"{self.folder} was begun {setting} (got {key}={value}); go on with the same, "
                    "or pass `overwrite=True`"
                )

    @property
    def batches(self) -> Batches | None:
        """The batches of the run to resume, or None."""
        return Batches(*self._earlier["batches"]) if self._earlier else None

    def begin(self, batches: Batches) -> set[str]:
        """Prepare the folder; return the names of the files that are kept from an earlier run."""
        # The manifest first: a folder that is half removed must not look complete.
        self.folder.remove(manifests.NAME)
        vertices = filter(manifests.VERTICES_NAME.fullmatch, self.folder.names() or [])
        self.folder.remove(*self.parts, *vertices)
        if self._earlier:
            return self._own_files
        self.folder.remove(*self._own_files)
        self.folder.write(_RUN, json.dumps(self._identity | {"batches": batches}).encode())
        return set()


def remove_intermediate_files(folder: Folder) -> None:
    """Remove the files that a run left beside its result."""
    folder.remove_temporaries()
    folder.remove(*_files_of_run(folder))


def remove_unless_resumable(folder: Folder) -> None:
    """Remove the files of a failed run, unless ``resume`` can go on from a finished forest."""
    names = _files_of_run(folder)
    if not any(name.endswith(DONE) for name in names):
        folder.remove(*names, *_part_files(folder))


def remove_others(folder: Folder, records: Sequence[PartRecord]) -> None:
    """Remove parts that are not the result's, such as those that a worker left when it died."""
    folder.remove(*_part_files(folder) - {record.file for record in records})


def _part_files(folder: Folder) -> set[str]:
    return {name for name in folder.names() or [] if PART_NAME.fullmatch(name)}


def _files_of_run(folder: Folder) -> set[str]:
    names = folder.names() or []
    return {name for name in names if name == _RUN or name.startswith(_PREFIX)}


def plan_batches(cluster: Cluster, n: int, edges: int, batch: int | None = None) -> Batches:
    """Plan batches of ``batch`` edges, or of a worker's share as far as it fits.

    Raises UsageError if two forests do not fit.
    """
    per_vertex, per_edge = BYTES_PER_VERTEX[cluster.backend], BYTES_PER_EDGE[cluster.backend]
    needed_edges = min(edges, 2 * n)
    free = cluster.worker_bytes
    max_batch = (int(MEMORY_SHARE * free) - per_vertex * n) // per_edge
    if max_batch < needed_edges:
        needed = (per_vertex * n + per_edge * needed_edges) / MEMORY_SHARE / 2**30
        raise UsageError(
            f"forests of {n:,} vertices take {needed:.1f} GiB of memory on each worker, and one "
            f"has {free / 2**30:.1f}; use fewer workers per machine, or larger machines"
        )
    if batch:
        return Batches(batch, 1)
    return Batches(max(1, min(max_batch, MAX_EDGES)), len(cluster.workers))


def fits_ranks(cluster: Cluster, dataset: EdgeDataset) -> bool:
    """Return whether the workers can hold all edges while they make a forest together."""
    src, dst, *weights = (dtype.itemsize for dtype in dataset.dtypes)
    weight = sum(weights)
    # If weights are all equal, every edge is listed, and many are listed again.
    per_edge = src + dst + weight + 2 * (LISTED_BYTES + weight)
    needed = per_edge * -(-dataset.num_edges // len(cluster.workers))
    needed += RANK_BYTES_PER_VERTEX * dataset.n
    return dataset.n <= MAX_N and needed <= MEMORY_SHARE * cluster.worker_bytes
