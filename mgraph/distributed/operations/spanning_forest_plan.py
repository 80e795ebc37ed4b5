"""What a run of ``mgraph msf`` over a cluster will do, and what of it a folder already holds."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.generate_plan import existing_parts
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.dataset import PART_NAME, EdgeDataset, Part, group_by_size
from mgraph.io.folder import Folder
from mgraph.io.formats import identify_dataset
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

    def parts(self, records: Sequence[PartRecord]) -> tuple[Part, ...]:
        """A forest's, to be read."""
        return tuple(Part(self.folder, record, list(self.dtypes)) for record in records)


class Batches(NamedTuple):
    """Of at most so many edges each, and at least so many, if there are as many parts."""

    most: int
    least: int

    def share(self, m: int) -> int:
        """About how many of m edges each has."""
        return max(1, min(self.most, -(-m // self.least)))


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
        records = untrusted.parse_json(folder.read(f"{name}{_DONE}"))
        parts = tuple(manifests.part_from_json(record) for record in records)
    except (ValueError, TypeError):  # damaged
        return None
    if not all(part.file.startswith(name) for part in parts):  # another's files
        return None
    whole = all(part.file in names and folder.size(part.file) == part.bytes for part in parts)
    return parts if whole else None


class Standing:
    """What is in the folder of the result. Raises UsageError where it must not be touched."""

    def __init__(
        self, folder: Folder, graph: str, asked: dict[str, Any], resume: bool, overwrite: bool
    ) -> None:
        """Look. graph: its address; asked: what tells one run from another."""
        self.folder, self._graph, self._asked = folder, graph, asked
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
        elif _RUN in self._ours:
            self.began = self._read_run()
            self._check(self.began)
        elif self._parts:
            raise UsageError(f"{folder} holds parts of another dataset; --overwrite replaces them")

    def _read_run(self) -> dict[str, Any]:
        try:
            began = untrusted.parse_json_object(self.folder.read(_RUN))
            most, least = began["batches"]
            for size in (most, least):
                untrusted.parse_int("a batch", size, 1, 1 << 63)
            return began
        except (ValueError, TypeError, KeyError):
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
                how = f"with --{key} {found[key]}" if found.get(key) else f"without --{key}"
                raise UsageError(
                    f"{self.folder} was begun {how}, and now it is {value}; go on with the same, "
                    "or --overwrite"
                )

    @property
    def batches(self) -> Batches | None:
        """Those of the run to go on with."""
        return Batches(*self.began["batches"]) if self.began else None

    def begin(self, batches: Batches) -> set[str]:
        """Make the folder ready; returns the names of what is kept of an earlier run."""
        self.folder.remove(manifests.NAME)  # first: what is half removed must not look whole
        self.folder.remove(*self._parts)
        if self.began:
            return self._ours
        self.folder.remove(*self._ours)
        self.folder.write(_RUN, json.dumps(self._asked | {"batches": batches}).encode())
        return set()


def clear(folder: Folder) -> None:
    """Remove what a run left beside its result."""
    folder.remove_temporaries()
    folder.remove(*_of_a_run(folder))


def clear_unless_begun(folder: Folder) -> None:
    """Remove what a run left that failed, unless ``resume`` can go on from a finished forest."""
    ours = _of_a_run(folder)
    if not any(name.endswith(_DONE) for name in ours):
        folder.remove(*ours, *_parts(folder))


def remove_others(folder: Folder, records: Sequence[PartRecord]) -> None:
    """Remove parts that are not the result's: a worker that died may have begun to write others."""
    folder.remove(*_parts(folder) - {record.file for record in records})


def _parts(folder: Folder) -> set[str]:
    return {name for name in folder.names() or [] if PART_NAME.fullmatch(name)}


def _of_a_run(folder: Folder) -> set[str]:
    names = folder.names() or []
    return {name for name in names if name == _RUN or name.startswith(_PREFIX)}


def identity_of(dataset: EdgeDataset) -> str:
    """What forests of a dataset's parts are told from others by: its edges, n, and the parts."""
    parts = [(part.file, part.rows, part.bytes) for part in dataset.manifest.parts]
    told = repr((identify_dataset(dataset).name, dataset.n, parts)).encode()
    return hashlib.sha256(told).hexdigest()[:16]


def batches_for(cluster: Cluster, n: int, m: int, asked: int | None = None) -> Batches:
    """Those of so many edges as are asked for, or a worker's share, as far as it fits.

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
    if asked:
        return Batches(asked, 1)
    return Batches(max(1, min(fitting, MOST_EDGES)), len(cluster.workers))


def grouped(sizes: Sequence[int], batches: Batches) -> list[list[int]]:
    """Places of neighbours in groups that keep to ``batches``, all about alike.

    One that is larger than allowed stands alone.
    """
    count = max(batches.least, len(group_by_size(sizes, batches.most)))
    bounds = range(batches.most)
    enough = bisect_left(bounds, True, key=lambda bound: len(group_by_size(sizes, bound)) <= count)
    return group_by_size(sizes, enough)
