"""What a run of ``mgraph msf`` over a cluster will do, and what of it a folder already holds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.distributed.connect import Cluster
from mgraph.distributed.plan import existing_parts
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io.dataset import Part
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord

# Of a batch and of the vertices, at the worst moment: building the graph, or its forest.
BYTES_AN_EDGE, BYTES_A_VERTEX = {"cpu": 90, "gpu": 80}, {"cpu": 48, "gpu": 48}
MOST_EDGES = 1 << 31
MEMORY_SHARE = 0.8
_RUN, _PREFIX, _DONE = "_forests.json", "_forest-", "done.json"
_IDENTITY = "graph_identity"


@dataclass(frozen=True)
class ForestPlan:
    """What every task of a run knows; small, since it travels with each. dtypes: of the columns."""

    graph: str
    n: int
    dtypes: tuple[np.dtype, ...]
    folder: Folder
    compression: str
    backend: str


@dataclass(frozen=True)
class Job:
    """Parts to reduce to their forest; name: what its files begin with, None for the result's."""

    parts: tuple[Part, ...]
    name: str | None

    @property
    def edges(self) -> int:
        """How many it reads."""
        return sum(map(len, self.parts))


def job_name(level: int, index: int) -> str:
    """What the files of a forest begin with. level: 0 of the dataset's parts, above of forests."""
    return f"{_PREFIX}{level}-{index:05d}-"


def write_done(folder: Folder, name: str, records: Sequence[PartRecord]) -> None:
    """Vouch for a forest whose files are whole."""
    content = json.dumps([manifests.part_to_json(record) for record in records])
    folder.write(f"{name}{_DONE}", content.encode())


def read_done(folder: Folder, names: set[str], name: str) -> tuple[PartRecord, ...] | None:
    """The parts of a forest, if an earlier run has finished it and its files are as they were.

    names: what is in the folder.
    """
    if f"{name}{_DONE}" not in names:
        return None
    try:
        records = json.loads(folder.read(f"{name}{_DONE}"))
        parts = tuple(manifests.part_from_json(record) for record in records)
    except (ValueError, KeyError, TypeError):  # damaged
        return None
    whole = all(part.file in names and folder.size(part.file) == part.bytes for part in parts)
    return parts if whole else None


class Standing:
    """What is in the folder of the result. Raises UsageError where it must not be touched."""

    def __init__(
        self, folder: Folder, graph: str, asked: dict[str, Any], resume: bool, overwrite: bool
    ) -> None:
        """Look. graph: its address; asked: what tells one run from another."""
        self.folder, self._graph, self._asked, self._overwrite = folder, graph, asked, overwrite
        self._ours = _of_a_run(folder)
        self._parts = existing_parts(folder, resume, overwrite, also=tuple(self._ours))
        self.finished: Manifest | None = None
        self.began: dict[str, Any] = {}
        if overwrite:
            return
        if self._ours and not resume:
            raise UsageError(
                f"{folder} holds forests of a run that was cut short; --resume goes on, "
                "--overwrite begins anew"
            )
        if manifests.NAME in (folder.names() or []):
            self.finished = manifests.read(folder)
            how = {"compression": self.finished.compression, "batch": asked["batch"]}
            self._check(how | (self.finished.forest or {}))
            clear(folder)  # a run may have been killed while it did so
        elif _RUN in self._ours:
            self.began = self._read_run()
            self._check(self.began)
        elif self._parts:
            raise UsageError(f"{folder} holds parts of another dataset; --overwrite replaces them")

    def _read_run(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.folder.read(_RUN)))
        except (ValueError, TypeError):
            raise DatasetError(
                f"{self.folder}/{_RUN} is damaged; --overwrite begins anew"
            ) from None

    def _check(self, found: dict[str, Any]) -> None:
        if found.get(_IDENTITY) != self._asked[_IDENTITY]:
            raise UsageError(
                f"{self.folder} is not of {self._graph}, or that was changed, touched or moved "
                "since: --overwrite begins anew"
            )
        for key, value in self._asked.items():
            if value is not None and found.get(key) != value:
                raise UsageError(
                    f"{self.folder} was begun with --{key} {found.get(key)}, not {value}; give the "
                    "same to go on, or --overwrite"
                )

    def begin(self, batch: int) -> set[str]:
        """Make the folder ready; returns the names of what is kept of an earlier run."""
        self.folder.create()
        if not self._overwrite and not self.began and _RUN in _of_a_run(self.folder):
            raise UsageError(f"another run has just begun in {self.folder}; give another folder")
        self.folder.remove_temporaries()
        self.folder.remove(manifests.NAME)  # first: what is half removed must not look whole
        self.folder.remove(*self._parts)
        if self.began:
            return self._ours
        self.folder.remove(*self._ours)
        self.folder.write(_RUN, json.dumps(self._asked | {"batch": batch}).encode())
        return set()


def clear(folder: Folder) -> None:
    """Remove what a run left beside its result."""
    folder.remove_temporaries()
    folder.remove(*_of_a_run(folder))


def clear_unless_begun(folder: Folder) -> None:
    """Remove what a run left that failed, unless ``resume`` can go on from a finished forest."""
    ours = _of_a_run(folder)
    if not any(name.endswith(_DONE) for name in ours):
        folder.remove(*ours, *existing_parts(folder, False, True, also=tuple(ours)))


def _of_a_run(folder: Folder) -> set[str]:
    names = folder.names() or []
    return {name for name in names if name == _RUN or name.startswith(_PREFIX)}


def batch_edges(cluster: Cluster, n: int, m: int, asked: int | None = None) -> int:
    """Edges a task: those asked for, or a worker's share, as far as it fits.

    Raises UsageError where two forests do not fit.
    """
    a_vertex, an_edge = BYTES_A_VERTEX[cluster.backend], BYTES_AN_EDGE[cluster.backend]
    least = min(m, 2 * n)
    room = min(
        worker.device_bytes if cluster.backend == "gpu" else worker.host_bytes
        for worker in cluster.workers.values()
    )
    fitting = (int(MEMORY_SHARE * room) - a_vertex * n) // an_edge
    if fitting < least:
        needed = (a_vertex * n + an_edge * least) / MEMORY_SHARE / 2**30
        raise UsageError(
            f"forests of {n:,} vertices take {needed:.1f} GiB of memory on each worker, and one "
            f"has {room / 2**30:.1f}; use fewer workers on a machine, or larger ones"
        )
    return asked or max(1, min(fitting, MOST_EDGES, -(-m // len(cluster.workers))))


def grouped(parts: Sequence[Sequence[Part]], most: int, fewer: bool) -> list[tuple[Part, ...]]:
    """Neighbouring groups of parts joined to groups of about so many edges at most, all alike.

    fewer: than half as many groups in any case, so that merging them comes to an end.
    """
    sizes = [sum(map(len, group)) for group in parts]
    total = sum(sizes)
    count = -(-total // most)
    if fewer:
        count = min(count, len(parts) // 2)
    joined: dict[int, list[Part]] = {}
    before = 0
    for group, size in zip(parts, sizes, strict=True):
        place = (2 * before + size) * count // (2 * max(total, 1))  # by its middle
        joined.setdefault(place, []).extend(group)
        before += size
    return [tuple(group) for group in joined.values()]
