"""Edge tables and the chunks by which they are read.

A chunk is a few row groups of a Parquet file, a range of bytes of a text file, or all of a
compressed one; it is small, and may be sent anywhere.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.edges import COLUMNS
from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest
from mgraph.io.tables import arrow_files, column_names, ntriples
from mgraph.io.tables.arrow_files import ArrowTable, ParquetTable
from mgraph.io.tables.column_names import Columns
from mgraph.io.tables.table_files import (
    TableFile,
    TableOptions,
    find_files,
    manifest_of,
    shown_location,
)
from mgraph.io.tables.text_layout import TextLayout, find_layout
from mgraph.io.tables.text_pieces import Pieces, read_head

_CHUNK_ROWS = 1 << 22
_CHUNK_BYTES = 1 << 26  # of text: some 2^22 rows


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
        return name in COLUMNS or (bool(self.attributes) and name not in dict(self.file.partition))

    def _with_partition(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, value in self.file.partition:
            if name in self.attributes:
                column = pa.repeat(pa.scalar(value), batch.num_rows)
                taken = (*COLUMNS, *batch.schema.names)
                batch = batch.append_column(column_names.unique_name(name, taken), column)
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


@dataclass(frozen=True)
class EdgeTables:
    """The chunks of all files of a location, and what a user should know of them.

    attributes: the columns beside the edges'. directed: whether rows are arcs. columns: of the
    first file. rows: None if they are not known before they are read. manifest, folder: of a
    dataset of mgraph, whose vertices have numbers already.
    """

    location: str
    chunks: tuple[Chunk, ...]
    columns: Columns
    attributes: tuple[str, ...]
    directed: bool
    rows: int | None
    notes: tuple[str, ...]
    stamps: tuple[Any, ...]
    manifest: Manifest | None = None
    folder: Folder | None = None

    def without_attributes(self) -> "EdgeTables":
        """Return the same without the columns beside the edges'."""
        chunks = tuple(replace(chunk, attributes=()) for chunk in self.chunks)
        return replace(self, chunks=chunks, attributes=())


def open_tables(location: Any, options: TableOptions) -> EdgeTables:
    """Find the files of a location, and divide them into chunks.

    Raises DatasetError, UsageError, StorageError.
    """
    manifest, folder = manifest_of(location)
    if manifest is not None and folder is not None:
        files = [TableFile(folder, part.file, "parquet") for part in manifest.parts]
    else:
        files = find_files(location)
    with timings.step(timings.READING):
        opened = cancellation.map_in_threads(lambda file: _survey(file, options), files, 8)
    if not opened:
        return _no_rows(shown_location(location), manifest, folder)
    first = opened[0]
    for other in opened[1:]:
        _check_alike(first, other)
    rows = [one.rows for one in opened if one.rows is not None]
    return EdgeTables(
        location=shown_location(location),
        chunks=tuple(chunk for one in opened for chunk in one.chunks),
        columns=first.columns,
        attributes=first.attributes,
        directed=first.directed if manifest is None else manifest.directed,
        rows=sum(rows) if len(rows) == len(opened) else None,
        notes=tuple(dict.fromkeys(note for one in opened for note in one.notes)),
        stamps=tuple((file.path, *file.folder.stamp(file.name)) for file in files),
        manifest=manifest,
        folder=folder,
    )


def _no_rows(location: str, manifest: Manifest | None, folder: Folder | None) -> EdgeTables:
    """Return a dataset without parts."""
    directed = manifest is None or manifest.directed
    columns = Columns("src", "dst", None)
    return EdgeTables(location, (), columns, (), directed, 0, (), (), manifest, folder)


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
    if one.columns[:2] != other.columns[:2] and one.file.kind not in ("text", "triples"):
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
        if file.kind in ("text", "triples"):
            return _survey_text(file, options)
        return _survey_arrow(file, options)
    except UsageError as error:
        raise UsageError(f"{file.path}: {error}", parameter=error.parameter) from None
    except ValueError as error:
        raise DatasetError(f"{file.path}: {error}") from None


def _survey_text(file: TableFile, options: TableOptions) -> _Surveyed:
    head = read_head(file.folder, file.name)
    if file.kind == "triples":
        layout = ntriples.find_layout(head.cleaned, options.request, options.delimiter)
    else:
        layout = find_layout(head.cleaned, options.request, options.delimiter, options.text_ids)
    size, first = head.size, head.offset_of(layout.first_line)
    names = layout.names
    weight = None if layout.weight is None else names[layout.weight]
    src, dst = (names[i] for i in layout.ends)
    columns = Columns(src, dst, weight)
    attributes = (*(names[i] for i in layout.attributes), *(x for x, _ in file.partition))
    bounds = [(0, -1)]
    has_quotes = b'"' in head.content and not layout.is_triples
    if size is not None and not has_quotes:  # which may hide the ends of lines
        count = max(1, size // _CHUNK_BYTES)
        cuts = [first, *(max(first, size * i // count) for i in range(1, count)), size]
        bounds = [(a, b) for a, b in itertools.pairwise(cuts) if a < b] or [(size, size)]
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
        rows, directed = table.group_rows(), table.directed
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
    return _Surveyed(file, columns, attributes, directed, sum(rows), made, columns.note())
