"""``_manifest.json``: the description of an edge-list dataset, written after all its parts.

Its name begins with an underscore, since Arrow, Dask and Spark, given a folder, ignore names that
begin with ``_`` or ``.``.
"""

import json
import os
import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from mgraph.core.graph import MAX_N
from mgraph.errors import DatasetError, UsageError
from mgraph.io import untrusted
from mgraph.io.address import missing_error
from mgraph.io.folder import Folder
from mgraph.io.record_fields import OtherVersionError, check_version, read_record, record_json

NAME = "_manifest.json"
PART_NAME = re.compile(r"part-\d{5,}\.parquet")  # of mgraph; no other file may be replaced
VERTICES_NAME = re.compile(r"_?vertices-\d{5,}\.parquet")  # without _: by earlier mgraphs
FORMAT, VERSION = "mgraph edge list", 1
_KEYS = {"num_edges": "m"}  # fields that the file calls by another name
# No array's size in bytes overflows.
Size = Annotated[int, Meta(ge=0, le=1 << 56)]
VertexCount = Annotated[int, Meta(ge=0, le=MAX_N)]


def part_name(index: int) -> str:
    """Return the file name of a part: ``part-00000.parquet`` is the first."""
    return f"part-{index:05d}.parquet"


def vertices_name(index: int) -> str:
    """Return the name of a file of vertices, which readers of the folder pass over."""
    return f"_vertices-{index:05d}.parquet"


@dataclass(frozen=True)
class PartRecord:
    """The record of one part: its file, rows, checksum and size in bytes.

    first, stop: the half-open range of its ``src`` ids. unknown: fields of a newer mgraph.
    """

    file: str
    rows: Size
    first: VertexCount
    stop: VertexCount
    checksum: int
    bytes: Size
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


def part_to_json(part: PartRecord) -> dict[str, Any]:
    """Return the record as JSON; the checksum is hexadecimal, since JSON's numbers are doubles."""
    return record_json(part) | {"checksum": f"{part.checksum:016x}"}


def part_from_json(content: Any) -> PartRecord:
    """Parse what ``part_to_json`` wrote; raise ValueError for anything else."""
    if isinstance(content, dict):
        content = content | {
            "file": untrusted.parse_file_name(content.get("file")),
            "checksum": untrusted.parse_checksum(content.get("checksum")),
        }
    part = read_record(content, PartRecord, VERSION)
    if part.stop < part.first:
        raise ValueError(f"the vertices of a part end at {part.stop}, before {part.first}")
    return part


@dataclass(frozen=True)
class VertexTable:
    """The files with the ids of the vertices, in the order of their numbers.

    kind: of ids: int64, uint64, string, binary or uuid. ascending: whether ids ascend, so that one
    can be searched for. files, rows: the files and the vertices in each. attributes: the names of
    the columns beside ``vertex`` and ``id``.
    """

    kind: Literal["int64", "uint64", "string", "binary", "uuid"]
    ascending: bool
    files: tuple[str, ...]
    rows: tuple[Size, ...]
    attributes: tuple[str, ...] = ()
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Manifest:
    """The description of a dataset.

    model: the generator's parameters, enough to generate the dataset again; empty for edges from
    elsewhere. directed: whether an edge is an arc; else it stands for both directions.
    weight_dtype: None without weights. forest: the graph and the total weight of a spanning forest.
    vertices: where the vertices' own ids are, if they are not their numbers.
    unknown: fields of a newer mgraph.
    """

    model: dict[str, Any]
    n: VertexCount
    num_edges: Size
    dtype: Annotated[str, Meta(pattern=r"\Aint(32|64)\Z")]
    compression: str
    parts: tuple[PartRecord, ...]
    created_by: str = ""
    weight_dtype: Annotated[str, Meta(pattern=r"\A(int|float)(32|64)\Z")] | None = None
    directed: bool = False
    forest: dict[str, Any] | None = None
    vertices: VertexTable | None = None
    unknown: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def checksum(self) -> int:
        """The sum of the parts' checksums modulo 2^64, which does not depend on the division."""
        return sum(part.checksum for part in self.parts) % (1 << 64)

    @property
    def vertex_files(self) -> tuple[str, ...]:
        """The files with the ids of the vertices."""
        return () if self.vertices is None else self.vertices.files

    @property
    def bytes(self) -> int:
        """The size of all parts in bytes."""
        return sum(part.bytes for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        content = {"format": FORMAT, "version": VERSION} | {
            _KEYS.get(name, name): value for name, value in record_json(self).items()
        }
        content["checksum"] = f"{self.checksum:016x}"
        if self.forest is None:
            del content["forest"]
        del content["vertices"]
        if self.vertices is not None:
            content["vertices"] = record_json(self.vertices)
        content["parts"] = [part_to_json(part) for part in self.parts]
        return content

    def write(self, folder: Folder) -> None:
        """Write the file atomically."""
        folder.write(NAME, (json.dumps(self.to_json(), indent=1) + "\n").encode())


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
    if folder.address.is_local and os.path.isfile(folder.address.path):
        raise DatasetError(
            f"{folder} is a file, and a dataset is a folder; mgraph convert makes one of a file"
        )
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
    except OtherVersionError as error:
        raise DatasetError(f"{folder}/{NAME} cannot be read: {error}") from error
    except ValueError as error:
        raise DatasetError(f"{folder}/{NAME} is damaged: {error}") from error


def _from_json(content: dict[str, Any]) -> Manifest:
    """Parse what ``Manifest.to_json`` made, without the format, or raise ValueError."""
    total = untrusted.parse_checksum(content.pop("checksum", None))
    listed = content.pop("parts", None)
    if not isinstance(listed, list):
        raise ValueError("its parts are no list")
    content |= {name: content.pop(key) for name, key in _KEYS.items() if key in content}
    vertices = content.pop("vertices", None)
    manifest = read_record(content | {"parts": []}, Manifest, VERSION)
    manifest = replace(
        manifest,
        vertices=None if vertices is None else _vertices_from_json(vertices, manifest.n),
        model=untrusted.printable_strings(manifest.model),
        forest=None if manifest.forest is None else _forest_from_json(manifest.forest),
        parts=tuple(map(part_from_json, listed)),
    )
    if manifest.dtype == "int32" and manifest.n > 1 << 31:
        raise ValueError(f"ids of {manifest.n:,} vertices cannot be of type 'int32'")
    if len({part.file for part in manifest.parts}) < len(manifest.parts):
        raise ValueError("it names a file twice")
    rows = sum(part.rows for part in manifest.parts)
    if total != manifest.checksum or manifest.num_edges != rows:
        raise ValueError("its parts do not add up to its totals")
    return manifest


def _vertices_from_json(content: Any, n: int) -> VertexTable:
    """Parse the description of the vertices' files, or raise ValueError."""
    table = read_record(content, VertexTable, VERSION)
    if len(table.files) != len(table.rows) or sum(table.rows) != n:
        raise ValueError(f"its files of vertices do not hold {n:,} vertices")
    if not all(map(VERTICES_NAME.fullmatch, table.files)):
        raise ValueError("its files of vertices must be named _vertices-00000.parquet and so on")
    if len(set(table.files)) < len(table.files):
        raise ValueError("it names a file of vertices twice")
    return replace(table, attributes=tuple(map(untrusted.printable, table.attributes)))


def _forest_from_json(content: dict[str, Any]) -> dict[str, Any]:
    total = content.get("total_weight")
    if isinstance(total, bool) or not isinstance(total, int | float):
        raise ValueError(f"a forest's total_weight must be a number, and is {total!r:.60}")
    return content | {"of": untrusted.parse_text("of", content.get("of"))}
