"""The files of edges that a location names.

A location is a file, a folder with all folders below it (``key=value`` folders of Spark, DuckDB and
Polars add a column), a pattern, or a list of these.
"""

import glob
import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from mgraph.errors import DatasetError, StorageError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io.address import location_text, missing_error, parse
from mgraph.io.folder import Folder, folder_and_name
from mgraph.io.manifest import Manifest
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.text_pieces import COMPRESSIONS

PARQUET_ENDINGS = (".parquet", ".parq", ".pq")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el", ".wel", ".ncol", ".snap")
TRIPLES_ENDINGS = (".nt",)


def kind_of(name: str) -> str | None:
    """Return "parquet", "arrow", "text" or "triples" by a name, or None if it is no table's."""
    path = PurePath(name.lower())
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
        if suffixes and suffixes[-1] in (*PARQUET_ENDINGS, *ARROW_ENDINGS):
            return None
    suffix = suffixes[-1] if suffixes else ""
    if suffix in PARQUET_ENDINGS:
        return "parquet"
    if suffix in ARROW_ENDINGS:
        return "arrow"
    if suffix in TRIPLES_ENDINGS:
        return "triples"
    is_konect = path.name.startswith("out.") and not path.name.endswith(".log")
    return "text" if suffix in TEXT_ENDINGS or is_konect else None


class TableFile(NamedTuple):
    """A file: its folder and relative name, its kind, and the columns that folders' names add."""

    folder: Folder
    name: str
    kind: str
    partition: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        """The file's address, for messages."""
        return f"{self.folder}/{self.name}"


@dataclass(frozen=True)
class TableOptions:
    """How tables are read.

    request: the columns. delimiter: of text. text_ids: ids are strings even if they are numbers.
    """

    request: ColumnRequest = field(default_factory=ColumnRequest)
    delimiter: str | None = None
    text_ids: bool = False

    def __post_init__(self) -> None:
        """Check the delimiter."""
        if self.delimiter is not None and self.delimiter not in ("\t", ",", ";", "|", " ", ":"):
            raise UsageError(
                "delimiter must be a tab, comma, semicolon, bar, colon or space (got "
                f"{self.delimiter!r:.60})",
                parameter="delimiter",
            )


def has_pattern(location: str) -> bool:
    """Return whether a location is a pattern of local files, and not a file itself."""
    address = parse(location)
    return address.is_local and glob.has_magic(address.path) and not os.path.exists(address.path)


def is_table(location: Any) -> bool:
    """Return whether a location is tables of edges, among them a dataset of mgraph.

    Raises DatasetError or UsageError if there are none.
    """
    if isinstance(location, list | tuple) or has_pattern(location):
        return True
    name = parse(location).name
    if Folder(location).is_file():
        return kind_of(name) is not None or folder_and_name(location)[0].read(name, 4) == b"PAR1"
    return bool(manifest_of(location)[0] or find_files(location))


def holds_tables(location: str) -> bool:
    """Return whether a location is a folder with text or Arrow files of edges."""
    try:
        return find_files(location)[0].kind != "parquet"
    except (DatasetError, UsageError, StorageError):
        return False


def find_files(location: Any) -> list[TableFile]:
    """Return the tables that a location names, in the order of their names.

    Raises DatasetError if there are none, or not of one kind.
    """
    locations = location if isinstance(location, list | tuple) else [location]
    if not locations:
        raise UsageError("give at least one file of edges", parameter="location")
    files = [file for one in locations for file in _find(location_text(one))]
    kinds = {file.kind for file in files}
    if len(kinds) > 1:
        shown = ", ".join(next(x.name for x in files if x.kind == kind) for kind in sorted(kinds))
        raise DatasetError(
            f"{shown_location(location)} holds tables of several kinds ({shown}); give those of "
            "one kind"
        )
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise UsageError(f"{twice} is given twice", parameter="location")
    return files


def shown_location(location: Any) -> str:
    """Return a location, or the first of several, for messages."""
    if isinstance(location, list | tuple):
        return ", ".join(map(str, location[:3])) + ", …" * (len(location) > 3)
    return str(location)


def _find(location: str) -> list[TableFile]:
    if has_pattern(location):
        paths = sorted(glob.glob(parse(location).path, recursive=True))
        if not paths:
            raise DatasetError(f"no file matches {location}")
        return [file for path in paths for file in _find(path)]
    folder, name = folder_and_name(location)
    whole = Folder(location)
    if whole.is_file():
        kind = kind_of(name)
        if kind is None and folder.read(name, 4) == b"PAR1":
            kind = "parquet"
        if kind is None:
            endings = ", ".join(
                (*TEXT_ENDINGS, *TRIPLES_ENDINGS, *PARQUET_ENDINGS[:1], *ARROW_ENDINGS)
            )
            raise UsageError(
                f"{location}: the name of a file of edges must end in one of {endings}, text also "
                "with .gz, .bz2, .xz, .zst or .lz4 after that"
            )
        return [TableFile(folder, name, kind)]
    names = whole.files_below()
    if names is None:
        raise missing_error(whole.address)
    found = [TableFile(whole, x, kind, partition_of(x)) for x in names if (kind := kind_of(x))]
    if not found:
        raise DatasetError(f"{location} holds no files of edges, such as .parquet or .csv")
    return found


def partition_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return the columns that the folders of a relative name add, as in ``year=2024/a.parquet``."""
    pairs = [part.partition("=") for part in name.split("/")[:-1] if "=" in part]
    return tuple((key, value) for key, _, value in pairs)


def manifest_of(location: Any) -> tuple[Manifest | None, Folder | None]:
    """Return the manifest of a dataset of mgraph, and its folder."""
    if isinstance(location, list | tuple) or has_pattern(location):
        return None, None
    folder = Folder(location)
    if folder.is_file() or manifests.NAME not in (folder.names() or []):
        return None, None
    return manifests.read(folder), folder
