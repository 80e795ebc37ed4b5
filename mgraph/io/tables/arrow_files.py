"""Edge tables in Parquet and Arrow files, of any column names, and in Arrow's memory.

``as_batch`` gives a table of any types the one schema ``src, dst[, weight][, attributes …]``.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mgraph.core import cancellation
from mgraph.errors import DatasetError, StorageError
from mgraph.io.folder import Folder, explain
from mgraph.io.tables.column_names import Columns, attribute_names
from mgraph.io.tables.id_columns import as_ids, to_column

DIRECTED = "mgraph.directed"  # the schema's key: "false" if rows are undirected edges
VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}  # few kernels take them
_BATCH_ROWS = 1 << 20


def as_weights(column: Any, name: str) -> Any:
    """Return weights as int32, int64, float or double. ValueError for other types and nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ValueError(f"{name} must not be missing (row {row + 1:,} has none)")
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        raise ValueError(f"{name} must be a number (got {column.type})")
    if pa.types.is_integer(column.type):
        if column.type.bit_width < 32 or column.type == pa.int32():
            return column.cast(pa.int32())
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            largest = pc.max(column).as_py()
            raise ValueError(f"{name} must lie below 2^63 (got {largest:,})") from None
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        if pa.types.is_decimal(column.type):
            return exact_decimals(column)
        if pc.any(pc.is_nan(column)).as_py():
            row = pc.index(pc.is_nan(column), True).as_py()
            raise ValueError(f"{name} must be a number (row {row + 1:,} has NaN)")
        return column.cast(pa.float32() if column.type.bit_width <= 32 else pa.float64())
    raise ValueError(f"{name} must be a number (got {column.type})")


def exact_decimals(column: Any) -> Any:
    """Return decimal numbers as the nearest doubles: Arrow's own cast rounds twice."""
    return column.cast(pa.string()).cast(pa.float64())


def as_batch(table: pa.RecordBatch, columns: Columns) -> pa.RecordBatch:
    """Return a table's rows in the one schema. Raises ValueError for types that do not fit."""
    arrays = {
        "src": to_column(as_ids(table.column(columns.src), columns.src)),
        "dst": to_column(as_ids(table.column(columns.dst), columns.dst)),
    }
    if columns.weight is not None:
        arrays["weight"] = as_weights(table.column(columns.weight), columns.weight)
    others = [name for name in table.schema.names if name not in columns[:3]]
    for name, kept in attribute_names(others).items():
        column = table.column(name)
        if pa.types.is_dictionary(column.type):  # each batch may have another dictionary
            column = column.dictionary_decode()
        if column.type in VIEWS:
            column = column.cast(VIEWS[column.type])
        arrays[kept] = column
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def names_of(schema: pa.Schema) -> list[str]:
    """Return a schema's columns but pandas' index."""
    return [name for name in schema.names if not name.startswith("__")]


@contextlib.contextmanager
def explaining(path: str, kind: str) -> Iterator[None]:
    """Turn an error of the block, which reads a file, into DatasetError or StorageError."""
    try:
        yield
    except FileNotFoundError:
        raise DatasetError(f"{path} does not exist") from None
    except (MemoryError, StorageError, DatasetError):
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise explain(error, path, "read") from error
        words = " ".join(str(error).split())
        raise DatasetError(f"{path} is damaged, or no {kind} file: {words}") from error
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is damaged: a name or a value is not UTF-8 text") from None


class ParquetTable:
    """A Parquet file: its schema, and its rows by row groups, which are arcs."""

    kind = "Parquet"
    directed = True

    def __init__(self, folder: Folder, name: str) -> None:
        """Read the footer. Raises DatasetError, StorageError."""
        self._folder, self._name = folder, name
        with explaining(f"{folder}/{name}", self.kind):
            stream = folder.open(name)
            self._file = folder.call(lambda: pq.ParquetFile(stream))

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        with explaining(f"{self._folder}/{self._name}", self.kind):
            return names_of(self._file.schema_arrow)

    def group_rows(self) -> list[int]:
        """Return the rows of each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def batches(self, groups: range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of row groups, some 2^20 at a time."""
        batches = self._file.iter_batches(_BATCH_ROWS, list(groups), list(columns), False)
        yield from _checked(self._folder, f"{self._folder}/{self._name}", self.kind, batches)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArrowTable:
    """An Arrow file (Feather): its schema, and its rows by record batches."""

    kind = "Arrow"

    def __init__(self, folder: Folder, name: str) -> None:
        """Read the footer, or all of a stream. Raises DatasetError, StorageError."""
        self._folder, self._name = folder, name
        with explaining(f"{folder}/{name}", self.kind):
            stream = folder.open(name)
            is_file = folder.read(name, 6) == b"ARROW1"
            if is_file:
                self._file = folder.call(lambda: pa.ipc.open_file(stream))
                self._batches = self._file.num_record_batches
            else:
                reader = folder.call(lambda: pa.ipc.open_stream(stream))
                self._stream = folder.call(reader.read_all).to_batches()
                self._file, self._batches = reader, len(self._stream)
        self._is_file = is_file

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        with explaining(f"{self._folder}/{self._name}", self.kind):
            return names_of(self._file.schema)

    @property
    def directed(self) -> bool:
        """Whether rows are arcs."""
        return (self._file.schema.metadata or {}).get(DIRECTED.encode()) != b"false"

    def _batch(self, index: int) -> pa.RecordBatch:
        return self._file.get_batch(index) if self._is_file else self._stream[index]

    def group_rows(self) -> list[int]:
        """Return the rows of each record batch."""
        with explaining(f"{self._folder}/{self._name}", self.kind):
            return [self._batch(i).num_rows for i in range(self._batches)]

    def batches(self, groups: range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of record batches."""
        batches = (_validated(self._batch(i).select(list(columns))) for i in groups)
        yield from _checked(self._folder, f"{self._folder}/{self._name}", self.kind, batches)

    def close(self) -> None:
        """Nothing is held open."""


def _validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose offsets and text are right: Arrow's kernels rely on that."""
    batch.validate(full=True)
    return batch


def _checked(
    folder: Folder, path: str, kind: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    while True:
        cancellation.raise_if_cancelled()
        with explaining(path, kind):
            batch = folder.call(lambda: next(batches, None))
        if batch is None:
            return
        yield batch
