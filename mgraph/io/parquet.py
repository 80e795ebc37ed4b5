"""Parts as Parquet files: how they are encoded, written in row groups, and read back.

Encodings, measured (PyArrow 26, one core of an AMD EPYC, 16 M edges, d = 8, million edges/s written
and read, bytes per edge; ``pytest tests/benchmarks -k encoding --benchmark-enable`` with
MGRAPH_BENCH_EDGES=16000000 repeats the writes):

| compression | src | dst | int32 | int64, ids near 2^33 |
|---|---|---|---|---|
| none | DELTA_BINARY_PACKED | PLAIN | 117 / 371, 4.2 B | 90 / 282, 8.2 B |
| lz4 (default) | BYTE_STREAM_SPLIT | BYTE_STREAM_SPLIT | 178 / 455, 3.2 B | 94 / 232, 4.6 B |
| zstd level 1 | BYTE_STREAM_SPLIT | BYTE_STREAM_SPLIT | 97 / 186, 3.1 B | 54 / 152, 4.4 B |

Splitting the bytes of a sorted column into streams leaves LZ4 almost nothing to store, at twice
DELTA's speed; of int64 ids it stores only the bytes in use. Columns are declared without
nulls, which alone saves a fifth of the time. Statistics are kept for ``src`` only, where they let
a reader skip row groups. A GPU decodes lz4 itself (``parquet_pages.cu``), faster than 16 cores, and
zstd not at all, which is the other reason for the default. Arrow, DuckDB 2.0 and Polars 2.1 read
all three (tried), cuDF since 24.06 by its release notes; Spark's vectorised reader and fastparquet
lack BYTE_STREAM_SPLIT, so write ``none`` for them.
"""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgraph import timings
from mgraph.core import cancellation, gauges
from mgraph.core.choices import Compression, check_choice
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import WEIGHT_DTYPES
from mgraph.errors import DatasetError, StorageError
from mgraph.io import store, untrusted
from mgraph.io.folder import Folder, explain

COMPRESSIONS = ("none", "lz4", "zstd")
METADATA_KEY = b"mgraph"
_BLOCK_ROWS = 1 << 20  # read at a time, into memory that Arrow reuses

# Narrow types that other programs write, and the types as which they are read.
_WEIGHTS = {"i1": "i4", "i2": "i4", "u1": "i4", "u2": "i4", "u4": "i8", "f2": "f4"}


class ForeignFileError(DatasetError):
    """A Parquet file is complete, but another program wrote it."""


def check_compression(compression: Compression) -> None:
    """Raise UsageError for an unknown compression."""
    check_choice("compression", compression, COMPRESSIONS)


class PartWriter:
    """Writes blocks of rows as row groups of one file; made by ``writing_part``."""

    def __init__(
        self, folder: Folder, sink: Any, columns: Mapping[str, Any], compression: Compression
    ) -> None:
        """Start a file of the folder on ``sink``. columns: names and types; the first ascends."""
        self._folder, self._sink, self._counted_bytes = folder, sink, 0
        check_compression(compression)
        self._schema = pa.schema(
            [
                pa.field(name, pa.from_numpy_dtype(dtype), nullable=False)
                for name, dtype in columns.items()
            ]
        )
        first, *others = self._schema.names
        if compression == "none":
            encodings = {first: "DELTA_BINARY_PACKED", **dict.fromkeys(others, "PLAIN")}
        else:
            encodings = dict.fromkeys(self._schema.names, "BYTE_STREAM_SPLIT")
        self._writer = pq.ParquetWriter(
            sink,
            self._schema,
            compression=compression,
            compression_level=1 if compression == "zstd" else None,
            use_dictionary=False,
            column_encoding=encodings,
            write_statistics=[first],
            write_batch_size=1 << 16,
        )

    def write(self, arrays: Iterable[Any]) -> None:
        """Append host arrays, one per column, as one row group; they may be reused afterwards."""
        arrays = list(arrays)
        rows = arrays[0].size
        # Not pa.array, which imports pandas to check for a Series.
        columns = [
            pa.Array.from_buffers(dtype, rows, [None, pa.py_buffer(array)])
            for dtype, array in zip(self._schema.types, arrays, strict=True)
        ]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        with timings.step(timings.WRITING):
            self._folder.call(
                lambda: self._writer.write_table(table, row_group_size=max(1, rows)), table.nbytes
            )
        self._count_bytes()

    def close(self, metadata: dict[str, Any]) -> None:
        """Write the footer, with a JSON object under the key ``mgraph``."""
        self._writer.add_key_value_metadata({METADATA_KEY: json.dumps(metadata)})
        with timings.step(timings.WRITING):
            self._folder.call(self._writer.close)
        self._count_bytes()

    def _count_bytes(self) -> None:
        """Count the bytes that were written since the last call."""
        written = self._sink.tell()
        gauges.add("bytes", written - self._counted_bytes)
        self._counted_bytes = written

    def abandon(self) -> None:
        """Close a file that will be removed: PyArrow complains of one left open."""
        with store.cleaning_up(), contextlib.suppress(Exception):
            self._folder.call(self._writer.close)


@contextlib.contextmanager
def writing_part(
    folder: Folder, name: str, columns: Mapping[str, Any], compression: Compression
) -> Iterator[PartWriter]:
    """Yield a ``PartWriter`` whose file appears when the block ends, after ``close``, or never."""
    with folder.writing(name) as sink:
        writer = PartWriter(folder, sink, columns, compression)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise


def _open(folder: Folder, name: str) -> pq.ParquetFile:
    try:
        stream = folder.open(name)
        return folder.call(lambda: pq.ParquetFile(stream))
    except FileNotFoundError:
        raise DatasetError(f"{name} is missing from {folder}") from None
    except StorageError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and _is_storage_failure(error):
            raise explain(error, f"{folder}/{name}", "read") from error
        raise DatasetError(f"{folder}/{name} is not a complete Parquet file: {error}") from error


def _is_storage_failure(error: OSError) -> bool:
    """Return whether reading failed, rather than parsing: a disk, a store, too many open files.

    Arrow raises OSError for truncated files, too, but without an error number.
    """
    if error.errno is None:
        return "AWS Error" in str(error)
    return error.errno not in (errno.EINVAL, errno.EISDIR)  # not a regular file


def read_metadata(folder: Folder, name: str) -> dict[str, Any]:
    """Return the JSON object that ``PartWriter.close`` stored, with the file's ``rows`` added."""
    with _open(folder, name) as file:
        stored = (file.metadata.metadata or {}).get(METADATA_KEY)
        rows = file.metadata.num_rows
    try:
        return untrusted.parse_json_object(stored or b"") | {"rows": rows}
    except ValueError:
        raise ForeignFileError(f"{folder}/{name} was not written by mgraph") from None


class Description(NamedTuple):
    """The content of a file: rows, ids, types, and the program that wrote it.

    min_id, max_id: 0 and -1 without rows. unread_columns: the columns that are not read.
    """

    rows: int
    min_id: int
    max_id: int
    weight_dtype: str | None
    compression: str
    created_by: str
    unread_columns: tuple[str, ...]


def describe(folder: Folder, name: str) -> Description:
    """Describe a file by its footer; ids are read if the footer does not contain their range.

    Raises DatasetError as ``read_blocks`` does.
    """
    with _open(folder, name) as file:
        footer, names = file.metadata, file.schema_arrow.names
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        statistics = [
            column.statistics
            for column in columns
            if column.path_in_schema in ("src", "dst") and column.num_values
        ]
        compression = columns[0].compression.lower() if columns else "none"
        created_by = (footer.created_by or "").split(" (")[0]
        weight = file.schema_arrow.field("weight").type if "weight" in names else None
    has_ranges = all(x and x.has_min_max and isinstance(x.min, int) for x in statistics)
    if has_ranges and "dst" in names:
        ranges = [(x.min, x.max) for x in statistics]
    else:
        ranges = [
            (int(ids.min()), int(ids.max()))
            for block in read_blocks(folder, name, ("src", "dst"))
            for ids in block
            if ids.size
        ]
    min_id = min((low for low, _ in ranges), default=0)
    max_id = max((high for _, high in ranges), default=-1)
    if weight is not None:
        weight = str(_to_numpy(pa.array([], weight), "weight", f"{folder}/{name}").dtype)
    unread = tuple(x for x in names if x not in COLUMNS and not x.startswith("__"))  # pandas' index
    return Description(footer.num_rows, min_id, max_id, weight, compression, created_by, unread)


def _to_numpy(column: Any, name: str, path: str) -> Any:
    """Convert a column to a NumPy array: ids to int32 or int64, weights to a weight type."""
    if column.null_count:
        raise DatasetError(f"{path}: column {name} must not contain nulls (it does)")
    if name == "weight" and pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        array = np.from_dlpack(column)  # unlike to_numpy, does not release the GIL
    else:
        array = column.to_numpy(zero_copy_only=False)
    if name == "weight":
        array = array.astype(_WEIGHTS.get(array.dtype.str[1:], array.dtype), copy=False)
        if str(array.dtype) in WEIGHT_DTYPES:
            return array
        raise DatasetError(f"{path}: weight must be a number of 32 or 64 bits (got {column.type})")
    if array.dtype.kind not in "iu":
        raise DatasetError(f"{path}: {name} must be integers (got {column.type})")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise DatasetError(f"{path}: {name} must lie below 2^63 (got {array.max()})")
    return array.astype(np.int64)


class ColumnChunk(NamedTuple):
    """Where a column's values of one row group are, in bytes from the file's beginning."""

    begin: int
    size: int
    is_compressed: bool


class RowGroup(NamedTuple):
    """A row group: its rows, and its chunks, unless their encoding is not as ``PartWriter``'s."""

    rows: int
    chunks: tuple[ColumnChunk, ...] | None = None


def row_groups(folder: Folder, name: str, dtypes: Sequence[Any] = ()) -> list[RowGroup]:
    """Return the row groups of a file.

    dtypes: of the columns src, dst and weight, if their chunks are to be located. A row group has
    chunks if the columns have these types, no nulls, and only encodings that ``parquet_pages.cu``
    decodes.
    """
    with _open(folder, name) as file:
        metadata = file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        indices = _plain_columns(file, dtypes) if dtypes else None
        if indices is None:
            return [RowGroup(group.num_rows) for group in groups]
        return [RowGroup(group.num_rows, _chunks(group, indices)) for group in groups]


def _plain_columns(file: pq.ParquetFile, dtypes: Sequence[Any]) -> list[int] | None:
    """Return the indices of columns that hold these types without nulls, or None."""
    schema, names = file.schema_arrow, file.schema_arrow.names
    indices = []
    for name, dtype in zip(COLUMNS, dtypes, strict=False):
        if names.count(name) != 1 or len(file.schema.names) != len(names):
            return None
        index = names.index(name)
        column = file.schema.column(index)
        has_levels = column.max_definition_level or column.max_repetition_level
        if schema.field(index).type != pa.from_numpy_dtype(dtype) or has_levels:
            return None
        indices.append(index)
    has_more_weights = len(dtypes) < len(COLUMNS) and "weight" in names
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
            and 0 < column.total_compressed_size <= 16 * group.num_rows + _BLOCK_ROWS
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
def reading_bytes(folder: Folder, name: str) -> Iterator[Callable[[int, Any], None]]:
    """Yield ``read_into(begin, memory)``, which fills a buffer with a file's bytes.

    Raises OSError if there are fewer.
    """
    if not folder.is_remote:
        file = os.open(folder.path(name), os.O_RDONLY)
        try:
            yield lambda begin, memory: _read_fully(file, begin, memory)
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

        yield read_into


def read_blocks(
    folder: Folder, name: str, columns: Sequence[str] = COLUMNS, groups: slice = slice(None)
) -> Iterator[EdgeList]:
    """Yield a file's rows as NumPy arrays in blocks of 2^20; of ``columns`` those that exist.

    groups: the row groups to read. Files of other programs may have columns in any order, ids of
    any integer type, and more columns. Raises DatasetError if the file is missing or damaged, or
    has no src and dst.
    """
    path = f"{folder}/{name}"
    with _open(folder, name) as file:
        existing = file.schema_arrow.names
        if not {"src", "dst"} <= set(existing):
            raise DatasetError(f"{path} must have columns src, dst (got {', '.join(existing)})")
        selected = [column for column in columns if column in existing]
        indices = range(file.num_row_groups)[groups]
        sizes = [file.metadata.row_group(i).total_byte_size for i in indices]
        batches = file.iter_batches(_BLOCK_ROWS, indices, selected, use_threads=False)
        while True:
            cancellation.raise_if_cancelled()
            try:
                with timings.step(timings.READING):
                    batch = folder.call(lambda: next(batches, None), max(sizes, default=0))
            except (MemoryError, StorageError):  # Arrow's MemoryError is an ArrowException, too
                raise
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and _is_storage_failure(error):
                    raise explain(error, path, "read") from error
                raise DatasetError(f"{path} is damaged: {error}") from error
            if batch is None:
                return
            arrays = {column: _to_numpy(batch[column], column, path) for column in selected}
            yield EdgeList(arrays["src"], arrays["dst"], arrays.get("weight"))
