"""Where the columns of a Parquet file's row groups are, for a GPU that decodes them itself."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from mgraph.core.edges import COLUMNS
from mgraph.cuda.transfer import FileBytes
from mgraph.io.folder import Folder
from mgraph.io.parquet import BLOCK_ROWS, open_file


class ColumnChunk(NamedTuple):
    """Where a column's values of one row group are, in bytes from the file's beginning."""

    begin: int
    size: int
    is_compressed: bool


class RowGroup(NamedTuple):
    """A row group: its rows, and its chunks, unless their encoding is not as ``PartWriter``'s."""

    rows: int
    chunks: tuple[ColumnChunk, ...] | None = None


class RowGroups:
    """The row groups of a file, or some consecutive ones, as its footer describes them.

    rows: of each row group.
    """

    def __init__(self, folder: Folder, name: str, groups: slice = slice(None)) -> None:
        """Read the footer; raise as ``open_file``."""
        with open_file(folder, name) as file:
            self._metadata, self._schemas = file.metadata, (file.schema, file.schema_arrow)
        self._indices = range(self._metadata.num_row_groups)[groups]
        self.rows = [self._metadata.row_group(index).num_rows for index in self._indices]

    def locate(
        self, dtypes: Sequence[Any], names: Sequence[str] = COLUMNS, groups: slice = slice(None)
    ) -> list[RowGroup]:
        """Return some of them, with their chunks if a GPU can decode these.

        dtypes: of the columns src, dst and weight. It can if the columns have these types, no
        nulls, and only encodings that ``parquet_pages.cu`` decodes. names: of the columns in the
        file. Costs some 10 µs per chunk, in the interpreter.
        """
        columns = _plain_columns(*self._schemas, dtypes, names)
        located = []
        for index, rows in zip(self._indices[groups], self.rows[groups], strict=True):
            group = self._metadata.row_group(index)
            located.append(RowGroup(rows, None if columns is None else _chunks(group, columns)))
        return located


def _plain_columns(
    file_schema: Any, schema: pa.Schema, dtypes: Sequence[Any], names: Sequence[str]
) -> list[int] | None:
    """Return the indices of columns that hold these types without nulls, or None.

    file_schema, schema: the file's own, and Arrow's of it.
    """
    existing = schema.names
    indices = []
    for name, dtype in zip(names, dtypes, strict=False):
        if existing.count(name) != 1 or len(file_schema.names) != len(existing):
            return None
        index = existing.index(name)
        column = file_schema.column(index)
        has_levels = column.max_definition_level or column.max_repetition_level
        if schema.field(index).type != pa.from_numpy_dtype(dtype) or has_levels:
            return None
        indices.append(index)
    has_more_weights = len(dtypes) < len(names) and names[-1] in existing
    return None if has_more_weights else indices


def _chunks(group: Any, indices: Sequence[int]) -> tuple[ColumnChunk, ...] | None:
    columns = [group.column(index) for index in indices]
    for column in columns:
        encodings = set(column.encodings) - {"RLE"}  # of levels, of which there are none
        if not (
            column.compression in ("LZ4", "UNCOMPRESSED")
            and encodings <= {"PLAIN", "BYTE_STREAM_SPLIT"}
            and not column.has_dictionary_page
            and column.num_values == group.num_rows
            and 0 < column.total_compressed_size <= 16 * group.num_rows + BLOCK_ROWS
        ):
            return None
    return tuple(
        ColumnChunk(
            column.data_page_offset, column.total_compressed_size, column.compression == "LZ4"
        )
        for column in columns
    )


def _read_fully(file: int, begin: int, memory: Any) -> None:
    done = 0
    while done < len(memory):
        count = os.preadv(file, [memory[done:]], begin + done)
        if not count:
            raise OSError("a file ends too early")
        done += count


@contextlib.contextmanager
def reading_bytes(folder: Folder, name: str) -> Iterator[FileBytes]:
    """Open a file of a folder, local or remote, for its bytes."""
    if not folder.is_remote:
        file = os.open(folder.path(name), os.O_RDONLY)

        def copy_pieces(*arguments: Any) -> bool:
            from mgraph.core.file_pieces import copy_pieces

            return copy_pieces(file, *arguments)

        try:
            yield FileBytes(lambda begin, memory: _read_fully(file, begin, memory), copy_pieces)
        finally:
            os.close(file)
        return
    with folder.open(name) as stream:

        def read_into(begin: int, memory: Any) -> None:
            def read() -> int:
                stream.seek(begin)
                return int(stream.readinto(memory))

            if folder.call(read, len(memory)) < len(memory):
                raise OSError(f"{folder}/{name} ends too early")

        yield FileBytes(read_into)
