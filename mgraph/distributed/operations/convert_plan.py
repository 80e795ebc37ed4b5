"""How ``mgraph convert`` divides its work, and what its output folder may hold from before."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from mgraph.core.choices import Compression
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.resume import existing_parts
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.folder import Folder
from mgraph.io.manifest import PART_NAME, VERTICES_NAME
from mgraph.io.renumbering.pieces import PREFIX
from mgraph.io.tables.id_columns import Kind

_PLAN = f"{PREFIX}plan.json"
_MIN_ROWS, _MAX_PIECE_ROWS, _MAX_PART_ROWS = 1 << 16, 1 << 22, 1 << 24
_BYTES_PER_ROW = 240  # of a task, at its peak


@dataclass(frozen=True)
class Sizes:
    """Rows per task: of a piece, of ids ranked at a time, of edges merged at a time."""

    piece_rows: int
    range_ids: int
    merge_rows: int


def choose_sizes(cluster: Cluster) -> Sizes:
    """Choose the largest tasks, up to some 2^22 rows, that fit the memory of each worker."""
    free = min(worker.host_bytes // worker.threads for worker in cluster.workers.values())
    rows = max(_MIN_ROWS, min(_MAX_PIECE_ROWS, free // (2 * _BYTES_PER_ROW)))
    return Sizes(rows, 2 * rows, rows)


def choose_part_rows(rows: int, threads: int) -> int:
    """Choose the edges of a part: a few parts per thread, of 1 to 16 Mi edges."""
    return max(1 << 20, min(_MAX_PART_ROWS, -(-rows // (2 * threads))))


@dataclass(frozen=True)
class ConvertPlan:
    """What every task needs; it is sent with each, so it is small.

    keep: whether ids are kept as the numbers of vertices. kind: of ids, once that is known.
    """

    folder: Folder
    compression: Compression
    sizes: Sizes
    keep: bool
    footer: dict[str, Any]
    kind: Kind = "int64"


def hash_identity(content: Any) -> str:
    """Return a hash of all that the output depends on."""
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


class ConvertOutput:
    """What the output folder holds.

    parts: the names of parts and of files of vertices. finished: the manifest, if an earlier run
    finished the same conversion.
    """

    def __init__(self, folder: Folder, identity: str, resume: bool, overwrite: bool) -> None:
        """Read the folder. Raises UsageError if its content must not be touched."""
        self.folder, self._identity = folder, identity
        names = folder.names() or []
        self._scratch = {name for name in names if name.startswith(PREFIX)}
        vertices = tuple(filter(VERTICES_NAME.fullmatch, names))
        tables = (*self._scratch, *vertices)
        self.parts = (
            *existing_parts(folder, resume, overwrite, manifests.FORMAT, tables), *vertices
        )  # fmt: skip
        self.finished: manifests.Manifest | None = None
        self.sizes: Sizes | None = None
        if overwrite:
            return
        if self._scratch and not resume:
            raise UsageError(
                f"{folder} holds files of a conversion that was cut short; pass `resume=True` to "
                "go on, or `overwrite=True` to begin again"
            )
        if manifests.NAME in names:
            self._check(self._identity_of_parts())
            self.finished = manifests.read(folder)
        elif _PLAN in self._scratch:
            plan = self._read_plan()
            self._check(plan["identity"])
            self.sizes = Sizes(*plan["sizes"])
        elif self.parts:
            raise UsageError(
                f"{folder} holds parts of another dataset; pass `overwrite=True` to replace them"
            )

    def _identity_of_parts(self) -> Any:
        from mgraph.io.parquet import read_metadata

        for name in filter(PART_NAME.fullmatch, self.parts):
            try:
                return read_metadata(self.folder, name).get("conversion")
            except DatasetError:
                break
        return None

    def _read_plan(self) -> dict[str, Any]:
        try:
            plan = untrusted.parse_json_object(self.folder.read(_PLAN))
            for size in plan["sizes"]:
                untrusted.parse_int("a size", size, 1, 1 << 40)
            if len(plan["sizes"]) != len(Sizes.__dataclass_fields__):
                raise ValueError("sizes are missing")
            return plan
        except (ValueError, TypeError, KeyError):
            raise DatasetError(
                f"{self.folder}/{_PLAN} is damaged; pass `overwrite=True` to begin again"
            ) from None

    def _check(self, earlier: Any) -> None:
        if earlier != self._identity:
            raise UsageError(
                f"{self.folder} is a conversion of other files or with other options, or the files "
                "were changed since; pass `overwrite=True` to begin again"
            )

    def begin(self, sizes: Sizes) -> set[str]:
        """Prepare the folder; return the names of the files that are kept from an earlier run."""
        # The manifest first: a folder that is half removed must not look complete.
        self.folder.remove(manifests.NAME)
        if self.sizes is not None:
            return self._scratch
        self.folder.remove(*self.parts, *self._scratch)
        values = [sizes.piece_rows, sizes.range_ids, sizes.merge_rows]
        self.folder.write(_PLAN, json.dumps({"identity": self._identity, "sizes": values}).encode())
        return set()


def remove_scratch(folder: Folder, keep: set[str]) -> None:
    """Remove the files of the stages, and parts that are not the result's."""
    folder.remove_temporaries()
    names = folder.names() or []
    own = [name for name in names if PART_NAME.fullmatch(name) or VERTICES_NAME.fullmatch(name)]
    scratch = [name for name in names if name.startswith(PREFIX)]
    folder.remove(*scratch, *(name for name in own if name not in keep))
