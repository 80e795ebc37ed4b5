"""``_manifest.json``: what an edge-list dataset holds, written last, so that it vouches for all.

The underscore keeps it out of the way: Arrow, Dask and Spark, given the folder, read its Parquet
files and pass over names that begin with ``_`` or ``.``.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder

NAME = "_manifest.json"
FORMAT, VERSION = "mgraph edge list", 1


@dataclass(frozen=True)
class PartRecord:
    """One part: its file, rows, the half-open range of its ``src`` ids, checksum, size in bytes."""

    file: str
    rows: int
    first: int
    stop: int
    checksum: int
    bytes: int


def part_to_json(part: PartRecord) -> dict[str, Any]:
    """As it stands in a file; checksums are hexadecimal, since JSON's numbers are doubles."""
    return asdict(part) | {"checksum": f"{part.checksum:016x}"}


def part_from_json(content: dict[str, Any]) -> PartRecord:
    """What ``part_to_json`` wrote."""
    return PartRecord(**content | {"checksum": int(content["checksum"], 16)})


@dataclass(frozen=True)
class Manifest:
    """A dataset's description.

    model: the generator's parameters, enough to make it again; empty for edges from elsewhere.
    directed: whether an edge is an arc; else it stands for both directions. weight_dtype: None
    without weights. forest: of a spanning forest: of which graph, and its total weight.
    """

    model: dict[str, Any]
    n: int
    m: int
    dtype: str
    compression: str
    parts: tuple[PartRecord, ...]
    created_by: str = ""
    weight_dtype: str | None = None
    directed: bool = False
    forest: dict[str, Any] | None = None

    @property
    def checksum(self) -> int:
        """The sum of the parts' checksums modulo 2^64: the same in every partition."""
        return sum(part.checksum for part in self.parts) % (1 << 64)

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(part.bytes for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        content["checksum"] = f"{self.checksum:016x}"
        if self.forest is None:
            del content["forest"]
        content["parts"] = [part_to_json(part) for part in self.parts]
        return content

    def write(self, folder: Folder) -> None:
        """Write the file, whole."""
        folder.write(NAME, (json.dumps(self.to_json(), indent=1) + "\n").encode())


def check_replaceable(folder: Folder, kind: str = FORMAT) -> None:
    """Raise UsageError where the folder's manifest, which is there, tells of another kind."""
    try:
        found = json.loads(folder.read(NAME))["format"]
    except (ValueError, KeyError, TypeError):
        return  # damaged
    if found != kind:
        raise UsageError(
            f"{folder} holds {found!r}, which {kind!r} does not replace; give an empty or a new "
            "folder, or remove it"
        )


def read(folder: Folder) -> Manifest:
    """Read and check a folder's manifest. Raises DatasetError where it is none or is damaged."""
    names = folder.names()
    if names is None:
        raise DatasetError(f"{folder} does not exist; mgraph generate makes a dataset")
    if NAME not in names:
        raise DatasetError(f"{folder} is not a dataset: it has no {NAME}")
    try:
        content = json.loads(folder.read(NAME))
        found = content.pop("format")
        if found != FORMAT:
            raise DatasetError(f"{folder} holds {found!r}, and should hold {FORMAT!r}")
        if content.pop("version") != VERSION:
            raise ValueError(f"its version is not {VERSION}; a newer mgraph wrote it")
        total = int(content.pop("checksum"), 16)
        records = tuple(map(part_from_json, content.pop("parts")))
        manifest = Manifest(parts=records, **content)
        if total != manifest.checksum or manifest.m != sum(part.rows for part in records):
            raise ValueError("its parts do not add up to its totals")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{folder}/{NAME} is damaged: {error}") from error
    return manifest
