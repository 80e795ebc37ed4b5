"""How ``mgraph msf`` cuts a dataset into batches, and which forests an output folder holds."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.choices import Backend, Compression
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.resume import existing_parts
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.dataset import EdgeDataset, Part, group_by_size
from mgraph.io.folder import Folder
from mgraph.io.formats import identify_dataset
from mgraph.io.manifest import PART_NAME, Manifest, PartRecord

# Of a batch and of the vertices, at the peak: building the graph, or its forest.
BYTES_PER_EDGE, BYTES_PER_VERTEX = {"cpu": 90, "gpu": 80}, {"cpu": 48, "gpu": 48}
MAX_EDGES = 1 << 31
MEMORY_SHARE = 0.8
_RUN, _PREFIX, _DONE = "_forests.json", "_forest-", "done.json"
_IDENTITY = "graph_identity"


@dataclass(frozen=True)
class ForestPlan:
    """The data of every task, sent with each.

    dtypes: of the columns. drop_infinite: whether edges of infinite weight are left out.
    """

    graph: str
    n: int
    dtypes: tuple[np.dtype, ...]
    folder: Folder
    compression: Compression
    backend: Backend
    drop_infinite: bool = False

    def parts(self, records: Sequence[PartRecord]) -> tuple[Part, ...]:
        """Return the parts of a forest, to be read."""
        return tuple(Part(self.folder, record, list(self.dtypes)) for record in records)


class Batches(NamedTuple):
    """Batches of at most ``max_edges`` edges each, and at least ``min_count`` of them."""

    max_edges: int
    min_count: int

    def share(self, edges: int) -> int:
        """Return about how many of that many edges each batch has."""
        return max(1, min(self.max_edges, -(-edges // self.min_count)))


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
    folder.write(f"{name}{_DONE}", content.encode())


def read_done(folder: Folder, names: set[str], name: str) -> tuple[PartRecord, ...] | None:
    """Return the parts of a forest that an earlier run finished, None if files have changed.

    names: of the files in the folder.
    """
    if f"{name}{_DONE}" not in names:
        return None
    try:
        records = untrusted.parse_json(folder.read(f"{name}{_DONE}"))
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
    if not any(name.endswith(_DONE) for name in names):
        folder.remove(*names, *_part_files(folder))


def remove_others(folder: Folder, records: Sequence[PartRecord]) -> None:
    """Remove parts that are not the result's, such as those that a worker left when it died."""
    folder.remove(*_part_files(folder) - {record.file for record in records})


def _part_files(folder: Folder) -> set[str]:
    return {name for name in folder.names() or [] if PART_NAME.fullmatch(name)}


def _files_of_run(folder: Folder) -> set[str]:
    names = folder.names() or []
    return {name for name in names if name == _RUN or name.startswith(_PREFIX)}


def hash_identity(dataset: EdgeDataset, reading: Any = None) -> str:
    """Return a hash of what a dataset's forest depends on: its edges, n, and its parts.

    reading: how the dataset is read, if not by default.
    """
    parts = [(part.file, part.rows, part.bytes) for part in dataset.manifest.parts]
    content = [identify_dataset(dataset).name, dataset.n, parts, *([reading] if reading else [])]
    return hashlib.sha256(repr(tuple(content)).encode()).hexdigest()[:16]


def plan_batches(cluster: Cluster, n: int, edges: int, batch: int | None = None) -> Batches:
    """Plan batches of ``batch`` edges, or of a worker's share as far as it fits.

    Raises UsageError if two forests do not fit.
    """
    per_vertex, per_edge = BYTES_PER_VERTEX[cluster.backend], BYTES_PER_EDGE[cluster.backend]
    needed_edges = min(edges, 2 * n)
    free = min(
        worker.device_bytes if cluster.backend == "gpu" else worker.host_bytes
        for worker in cluster.workers.values()
    )
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


def group_neighbours(sizes: Sequence[int], batches: Batches) -> list[list[int]]:
    """Group neighbouring positions to about equal sizes, within ``batches``.

    A position whose size exceeds the limit is a group of its own.
    """
    count = max(batches.min_count, len(group_by_size(sizes, batches.max_edges)))
    bounds = range(batches.max_edges)
    limit = bisect_left(bounds, True, key=lambda bound: len(group_by_size(sizes, bound)) <= count)
    return group_by_size(sizes, limit)
