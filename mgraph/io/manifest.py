"""``_manifest.json``: the description of an edge-list dataset, written after all its parts.

Its name begins with an underscore, since Arrow, Dask and Spark, given a folder, ignore names that
begin with ``_`` or ``.``.
"""

import json
from dataclasses import dataclass, field, fields
from typing import Any

from mgraph.core.graph import MAX_N, WEIGHT_DTYPES
from mgraph.errors import DatasetError, UsageError
from mgraph.io import untrusted
from mgraph.io.address import missing_error
from mgraph.io.folder import Folder
from mgraph.io.record_fields import check_version, unknown_fields

NAME = "_manifest.json"
FORMAT, VERSION = "mgraph edge list", 1
_KEYS = {"num_edges": "m"}  # fields that the file calls by another name
_MAX_SIZE = 1 << 56  # of rows, so that no array's size in bytes overflows, and of bytes


@dataclass(frozen=True)
class PartRecord:
    """The record of one part: its file, rows, checksum and size in bytes.

    first, stop: the half-open range of its ``src`` ids. unknown: fields of a newer mgraph.
    """

    file: str
    rows: int
    first: int
    stop: int
    checksum: int
    bytes: int
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


_PART_FIELDS = [each.name for each in fields(PartRecord) if each.name != "unknown"]


def part_to_json(part: PartRecord) -> dict[str, Any]:
    """Return the record as JSON; the checksum is hexadecimal, since JSON's numbers are doubles."""
    known = {name: getattr(part, name) for name in _PART_FIELDS}
    return known | {"checksum": f"{part.checksum:016x}"} | part.unknown


def part_from_json(content: Any) -> PartRecord:
    """Parse what ``part_to_json`` wrote; raise ValueError for anything else.

    The file is checked to be a plain name, so that no record leads out of its folder.
    """
    if not isinstance(content, dict) or not content.keys() >= set(_PART_FIELDS):
        raise ValueError(f"a part must have {', '.join(_PART_FIELDS)}, and is {content!r:.60}")
    first = untrusted.parse_int("a part's first", content["first"], 0, MAX_N)
    return PartRecord(
        file=untrusted.parse_file_name(content["file"]),
        rows=untrusted.parse_int("a part's rows", content["rows"], 0, _MAX_SIZE),
        first=first,
        stop=untrusted.parse_int("a part's stop", content["stop"], first, MAX_N),
        checksum=untrusted.parse_checksum(content["checksum"]),
        bytes=untrusted.parse_int("a part's bytes", content["bytes"], 0, _MAX_SIZE),
        unknown=unknown_fields(content, _PART_FIELDS, VERSION),
    )


@dataclass(frozen=True)
class Manifest:
    """The description of a dataset.

    model: the generator's parameters, enough to generate the dataset again; empty for edges from
    elsewhere. directed: whether an edge is an arc; else it stands for both directions.
    weight_dtype: None without weights. forest: the graph and the total weight of a spanning forest.
    unknown: fields of a newer mgraph.
    """

    model: dict[str, Any]
    n: int
    num_edges: int
    dtype: str
    compression: str
    parts: tuple[PartRecord, ...]
    created_by: str = ""
    weight_dtype: str | None = None
    directed: bool = False
    forest: dict[str, Any] | None = None
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def checksum(self) -> int:
        """The sum of the parts' checksums modulo 2^64, which does not depend on the division."""
        return sum(part.checksum for part in self.parts) % (1 << 64)

    @property
    def bytes(self) -> int:
        """The size of all parts in bytes."""
        return sum(part.bytes for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        content = {key: getattr(self, name) for name, key in _MANIFEST_FIELDS.items()}
        content = {"format": FORMAT, "version": VERSION, **content}
        content["checksum"] = f"{self.checksum:016x}"
        if self.forest is None:
            del content["forest"]
        content["parts"] = [part_to_json(part) for part in self.parts]
        return content | self.unknown

    def write(self, folder: Folder) -> None:
        """Write the file atomically."""
        folder.write(NAME, (json.dumps(self.to_json(), indent=1) + "\n").encode())


_MANIFEST_FIELDS = {  # and what the file calls them
    each.name: _KEYS.get(each.name, each.name)
    for each in fields(Manifest)
    if each.name != "unknown"
}


def check_replaceable(folder: Folder, format_name: str = FORMAT) -> None:
    """Raise UsageError if the manifest in the folder describes data of another format."""
    try:
        existing = untrusted.parse_json_object(folder.read(NAME))["format"]
    except (ValueError, KeyError):
        return  # damaged
    if existing != format_name:
        raise UsageError(
            f"{folder} holds {existing!r:.60}, which {format_name!r} does not replace; give an "
            "empty or a new folder, or remove it"
        )


def read(folder: Folder) -> Manifest:
    """Read and check a folder's manifest; raise DatasetError if it is missing or damaged."""
    names = folder.names()
    if names is None:
        raise missing_error(folder.address, "; mgraph generate makes a dataset")
    if NAME not in names:
        raise DatasetError(f"{folder} is not a dataset: it has no {NAME}")
    try:
        content = untrusted.parse_json_object(folder.read(NAME))
        format_name = content.pop("format", None)
        if format_name != FORMAT:
            raise DatasetError(f"{folder} holds {format_name!r:.60}, and should hold {FORMAT!r}")
        check_version(content.get("version"), VERSION)
        return _from_json(content)
    except ValueError as error:
        raise DatasetError(f"{folder}/{NAME} is damaged: {error}") from error


def _from_json(content: dict[str, Any]) -> Manifest:
    """Parse what ``Manifest.to_json`` made, without the format, or raise ValueError."""
    total = untrusted.parse_checksum(content.pop("checksum", None))
    listed = content.pop("parts", None)
    if not isinstance(listed, list):
        raise ValueError("its parts are no list")
    records = tuple(map(part_from_json, listed))
    if len({record.file for record in records}) < len(records):
        raise ValueError("it names a file twice")
    known = set(_MANIFEST_FIELDS.values()) - {"parts"}
    unknown = unknown_fields(content, known, VERSION)
    content = {name: value for name, value in content.items() if name in known}
    content = {"created_by": "", "weight_dtype": None, "directed": False, "forest": None} | content
    if missing_names := known - content.keys():
        raise ValueError(f"{min(missing_names)!r} is missing")
    n = untrusted.parse_int("n", content["n"], 0, MAX_N)
    content["num_edges"] = untrusted.parse_int("m", content.pop("m"), 0, _MAX_SIZE)
    for name in ("compression", "created_by"):
        content[name] = untrusted.parse_text(name, content[name])
    if content["dtype"] not in ("int32", "int64") or (content["dtype"] == "int32" and n > 1 << 31):
        raise ValueError(f"ids of {n:,} vertices cannot be of type {content['dtype']!r:.60}")
    if content["weight_dtype"] not in (None, *WEIGHT_DTYPES):
        raise ValueError(f"weights cannot be of type {content['weight_dtype']!r:.60}")
    if not isinstance(content["directed"], bool):
        raise ValueError(f"directed must be true or false, and is {content['directed']!r:.60}")
    if not isinstance(content["model"], dict):
        raise ValueError(f"model must be an object, and is {content['model']!r:.60}")
    content["model"] = {
        untrusted.printable(name): untrusted.printable(value) if isinstance(value, str) else value
        for name, value in content["model"].items()
    }
    if content["forest"] is not None:
        content["forest"] = _forest_from_json(content["forest"])
    manifest = Manifest(parts=records, unknown=unknown, **content)
    if total != manifest.checksum or manifest.num_edges != sum(part.rows for part in records):
        raise ValueError("its parts do not add up to its totals")
    return manifest


def _forest_from_json(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"forest must be an object, and is {content!r:.60}")
    total = content.get("total_weight")
    if isinstance(total, bool) or not isinstance(total, int | float):
        raise ValueError(f"a forest's total_weight must be a number, and is {total!r:.60}")
    return content | {"of": untrusted.parse_text("of", content.get("of"))}
