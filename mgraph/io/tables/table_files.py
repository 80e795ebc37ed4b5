"""The files of edges that a location names, and the chunks by which they are read.

A location is a file, a folder with all folders below it (``key=value`` folders of Spark, DuckDB and
Polars add a column), a pattern, or a list of these. A chunk is a few row groups of a Parquet file,
a range of bytes of a text file, or all of a compressed one; it is small, and may be sent anywhere.
"""

import glob
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, NamedTuple

import pyarrow as pa

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.formatting import pluralize
from mgraph.errors import DatasetError, StorageError, UsageError
from mgraph.io.address import location_text, missing_error, parse
from mgraph.io.folder import Folder, folder_and_name
from mgraph.io.tables import arrow_files, column_names
from mgraph.io.tables.arrow_files import ArrowTable, ParquetTable
from mgraph.io.tables.column_names import ColumnRequest, Columns
from mgraph.io.tables.text_layout import TextLayout, find_layout
from mgraph.io.tables.text_pieces import COMPRESSIONS, Pieces, read_head

PARQUET_ENDINGS = (".parquet", ".parq", ".pq")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el", ".wel", ".ncol", ".snap")
_CHUNK_ROWS = 1 << 22
_CHUNK_BYTES = 1 << 26  # of text: some 2^22 rows


def kind_of(name: str) -> str | None:
    """Return "parquet", "arrow" or "text" by a file's name, or None if it is no table."""
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


@dataclass(frozen=True)
class Chunk:
    """Rows of a file, and how they are read.

    start, stop: row groups of an Arrow file; bytes of a text, from 0 to -1 for all of it. size: in
    rows or bytes. first: where the rows of a text begin.
    """

    file: TableFile
    start: int
    stop: int
    size: int
    columns: Columns
    attributes: tuple[str, ...]
    layout: TextLayout | None = None
    text_ids: bool = False
    first: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows: src, dst[, weight][, attributes …].

        Raises DatasetError, with the file and what is wrong.
        """
        try:
            for batch in self._batches():
                yield self._with_text_ids(self._with_partition(batch))
        except ValueError as error:
            raise DatasetError(f"{self.file.path}: {error}") from None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.layout is not None:
            pieces = Pieces(self.file.folder, self.file.name, self.layout, self.first)
            for batch in pieces.batches(self.start, self.stop):
                yield batch.select([x for x in batch.schema.names if self._is_read(x)])
            return
        table = _open(self.file)
        try:
            named = [name for name in self.columns[:3] if name is not None]
            given = [name for name, _ in self.file.partition]
            kept = [name for name in self.attributes if name not in given]
            selected = [name for name in table.names if name in {*named, *kept}]
            for batch in table.batches(range(self.start, self.stop), selected):
                yield arrow_files.as_batch(batch, self.columns)
        finally:
            table.close()

    def _is_read(self, name: str) -> bool:
        attributes = map(column_names.attribute_name, self.attributes)
        return name in ("src", "dst", "weight") or name in attributes

    def _with_partition(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, value in self.file.partition:
            if name in self.attributes:
                column = pa.repeat(pa.scalar(value), batch.num_rows)
                batch = batch.append_column(column_names.attribute_name(name), column)
        return batch

    def _with_text_ids(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.text_ids or self.layout is not None:
            return batch
        ends = [
            batch.column(i).cast(pa.string()) if pa.types.is_integer(batch.column(i).type)
            else batch.column(i)
            for i in range(2)
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays([*ends, *batch.columns[2:]], names=batch.schema.names)


def _open(file: TableFile) -> Any:
    return (ParquetTable if file.kind == "parquet" else ArrowTable)(file.folder, file.name)


def has_pattern(location: str) -> bool:
    """Return whether a location is a pattern of local files, and not a file itself."""
    address = parse(location)
    return address.is_local and glob.has_magic(address.path) and not os.path.exists(address.path)


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
            f"{_shown(location)} holds tables of several kinds ({shown}); give those of one kind"
        )
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise UsageError(f"{twice} is given twice", parameter="location")
    return files


def _shown(location: Any) -> str:
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
            endings = ", ".join((*TEXT_ENDINGS, *PARQUET_ENDINGS[:1], *ARROW_ENDINGS))
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


@dataclass(frozen=True)
class EdgeTables:
    """The chunks of all files of a location, and what a user should know of them.

    attributes: the columns beside the edges'. directed: whether rows are arcs. columns: of the
    first file. rows: None if they are not known before they are read.
    """

    location: str
    chunks: tuple[Chunk, ...]
    columns: Columns
    attributes: tuple[str, ...]
    directed: bool
    rows: int | None
    notes: tuple[str, ...]
    stamps: tuple[Any, ...]

    def without_attributes(self) -> "EdgeTables":
        """Return the same without the columns beside the edges'."""
        chunks = tuple(replace(chunk, attributes=()) for chunk in self.chunks)
        return replace(self, chunks=chunks, attributes=())


def open_tables(location: Any, options: TableOptions) -> EdgeTables:
    """Find the files of a location, and divide them into chunks.

    Raises DatasetError, UsageError, StorageError.
    """
    files = find_files(location)
    with timings.step(timings.READING):
        opened = cancellation.map_in_threads(lambda file: _survey(file, options), files, 8)
    first = opened[0]
    for other in opened[1:]:
        _check_alike(first, other)
    rows = [one.rows for one in opened if one.rows is not None]
    return EdgeTables(
        location=_shown(location),
        chunks=tuple(chunk for one in opened for chunk in one.chunks),
        columns=first.columns,
        attributes=first.attributes,
        directed=first.directed,
        rows=sum(rows) if len(rows) == len(opened) else None,
        notes=tuple(dict.fromkeys(note for one in opened for note in one.notes)),
        stamps=tuple((file.path, *file.folder.stamp(file.name)) for file in files),
    )


class _Surveyed(NamedTuple):
    file: TableFile
    columns: Columns
    attributes: tuple[str, ...]
    directed: bool
    rows: int | None
    chunks: list[Chunk]
    notes: list[str]


def _check_alike(one: _Surveyed, other: _Surveyed) -> None:
    """Raise DatasetError unless two files have the same columns and direction."""
    differ: tuple[str, Sequence[str], Sequence[str]]
    if one.columns[:2] != other.columns[:2] and one.file.kind != "text":
        differ = "ends", one.columns[:2], other.columns[:2]
    elif (one.columns.weight is None) != (other.columns.weight is None):
        differ = "weights", [one.columns.weight or "none"], [other.columns.weight or "none"]
    elif set(one.attributes) != set(other.attributes):
        differ = "columns", one.attributes or ["none"], other.attributes or ["none"]
    elif one.directed != other.directed:
        names = {True: ["arcs"], False: ["undirected edges"]}
        differ = "edges", names[one.directed], names[other.directed]
    else:
        return
    what, ours, theirs = differ
    raise DatasetError(
        f"{other.file.path} must have the same {what} as {one.file.path} (got "
        f"{', '.join(theirs)}, and {', '.join(ours)} there)"
    )


def _survey(file: TableFile, options: TableOptions) -> _Surveyed:
    try:
        if file.kind == "text":
            return _survey_text(file, options)
        return _survey_arrow(file, options)
    except UsageError as error:
        raise UsageError(f"{file.path}: {error}", parameter=error.parameter) from None
    except ValueError as error:
        raise DatasetError(f"{file.path}: {error}") from None


def _survey_text(file: TableFile, options: TableOptions) -> _Surveyed:
    head = read_head(file.folder, file.name)
    layout = find_layout(head.cleaned, options.request, options.delimiter, options.text_ids)
    size, first = head.size, head.offset_of(layout.first_line)
    names = layout.names
    weight = None if layout.weight is None else names[layout.weight]
    src, dst = (names[i] for i in layout.ends)
    columns = Columns(src, dst, weight)
    attributes = (*(names[i] for i in layout.attributes), *(x for x, _ in file.partition))
    bounds = [(0, -1)]
    if size is not None and b'"' not in head.content:  # quotes may hide the ends of lines
        count = max(1, size // _CHUNK_BYTES)
        cuts = [first, *(max(first, size * i // count) for i in range(1, count)), size]
        bounds = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
    chunks = [
        Chunk(file, start, stop, stop - start, columns, attributes, layout, first=first)
        for start, stop in bounds
    ]
    return _Surveyed(file, columns, attributes, layout.directed, None, chunks, list(layout.notes))


def _survey_arrow(file: TableFile, options: TableOptions) -> _Surveyed:
    if options.request.columns is not None:
        raise UsageError(
            "columns names those of text files; name src, dst and weight", parameter="columns"
        )
    table = _open(file)
    try:
        columns = column_names.resolve(table.names, options.request)
        rows = table.group_rows()
        attributes = tuple(name for name in table.names if name not in columns[:3])
    finally:
        table.close()
    attributes = (*attributes, *(x for x, _ in file.partition if x not in table.names))
    chunks, start, total = [], 0, 0
    for index, count in enumerate(rows):
        if total and total + count > _CHUNK_ROWS:
            chunks.append((start, index, total))
            start, total = index, 0
        total += count
    chunks.append((start, len(rows), total))
    made = [
        Chunk(file, start, stop, size, columns, attributes, None, options.text_ids)
        for start, stop, size in chunks
    ]
    return _Surveyed(file, columns, attributes, True, sum(rows), made, columns.note())


def describe_size(tables: EdgeTables) -> str:
    """Return how much there is to read, for messages."""
    if tables.rows is not None:
        return pluralize(tables.rows, "edge")
    return pluralize(len(tables.stamps), "file")
