"""``_manifest.json``: what an edge-list dataset holds, written last, so that it vouches for all.

The underscore keeps it out of the way: Arrow, Dask and Spark, given the folder, read its Parquet
files and pass over names that begin with ``_`` or ``.``.
"""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from mgraph.core.graph import MAX_N, WEIGHT_DTYPES
from mgraph.errors import DatasetError, UsageError
from mgraph.io import untrusted
from mgraph.io.address import missing
from mgraph.io.folder import Folder

NAME = "_manifest.json"
FORMAT, VERSION = "mgraph edge list", 1
_KEYS = {"num_edges": "m"}  # fields that the file calls by another name
_MOST = 1 << 56  # rows, so that no array's size in bytes overflows, and bytes


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


def part_from_json(content: Any) -> PartRecord:
    """What ``part_to_json`` wrote. Raises ValueError for anything else.

    The file is a name in its folder then, so that no record leads out of it.
    """
    names = [field.name for field in fields(PartRecord)]
    if not isinstance(content, dict) or content.keys() != set(names):
        raise ValueError(f"a part must have {', '.join(names)}, and is {content!r:.60}")
    first = untrusted.parse_int("a part's first", content["first"], 0, MAX_N)
    return PartRecord(
        file=untrusted.parse_file_name(content["file"]),
        rows=untrusted.parse_int("a part's rows", content["rows"], 0, _MOST),
        first=first,
        stop=untrusted.parse_int("a part's stop", content["stop"], first, MAX_N),
        checksum=untrusted.parse_checksum(content["checksum"]),
        bytes=untrusted.parse_int("a part's bytes", content["bytes"], 0, _MOST),
    )


@dataclass(frozen=True)
class Manifest:
    """A dataset's description.

    model: the generator's parameters, enough to make it again; empty for edges from elsewhere.
    directed: whether an edge is an arc; else it stands for both directions. weight_dtype: None
    without weights. forest: of a spanning forest: of which graph, and its total weight.
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
        content = {_KEYS.get(name, name): value for name, value in asdict(self).items()}
        content = {"format": FORMAT, "version": VERSION, **content}
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
        found = untrusted.parse_json_object(folder.read(NAME))["format"]
    except (ValueError, KeyError):
        return  # damaged
    if found != kind:
        raise UsageError(
            f"{folder} holds {found!r:.60}, which {kind!r} does not replace; give an empty or a "
            "new folder, or remove it"
        )


def read(folder: Folder) -> Manifest:
    """Read and check a folder's manifest. Raises DatasetError where it is none or is damaged."""
    names = folder.names()
    if names is None:
        raise missing(folder.address, "; mgraph generate makes a dataset")
    if NAME not in names:
        raise DatasetError(f"{folder} is not a dataset: it has no {NAME}")
    try:
        content = untrusted.parse_json_object(folder.read(NAME))
        found = content.pop("format", None)
        if found != FORMAT:
            raise DatasetError(f"{folder} holds {found!r:.60}, and should hold {FORMAT!r}")
        if content.pop("version", None) != VERSION:
            raise ValueError(f"its version is not {VERSION}; a newer mgraph wrote it")
        return _from_json(content)
    except ValueError as error:
        raise DatasetError(f"{folder}/{NAME} is damaged: {error}") from error


def _from_json(content: dict[str, Any]) -> Manifest:
    """What ``Manifest.to_json`` made, but for format and version. Raises ValueError."""
    total = untrusted.parse_checksum(content.pop("checksum", None))
    listed = content.pop("parts", None)
    if not isinstance(listed, list):
        raise ValueError("its parts are no list")
    records = tuple(map(part_from_json, listed))
    if len({record.file for record in records}) < len(records):
        raise ValueError("it names a file twice")
    known = {_KEYS.get(field.name, field.name) for field in fields(Manifest)} - {"parts"}
    content = {"created_by": "", "weight_dtype": None, "directed": False, "forest": None} | content
    if wrong := content.keys() ^ known:
        name = min(wrong)
        raise ValueError(f"{name!r:.60} is {'missing' if name in known else 'unknown'}")
    n = untrusted.parse_int("n", content["n"], 0, MAX_N)
    content["num_edges"] = untrusted.parse_int("m", content.pop("m"), 0, _MOST)
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
    manifest = Manifest(parts=records, **content)
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
