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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgraph import timings
from mgraph.core import cancellation, gauges
from mgraph.core.choices import Compression, check_choice
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import WEIGHT_DTYPES
from mgraph.errors import DatasetError, StorageError, UsageError
from mgraph.io import store, untrusted
from mgraph.io.folder import Folder, explain
from mgraph.io.tables.arrow_files import exact_decimals, explaining
from mgraph.io.tables.column_names import ColumnRequest, Columns, list_names, resolve
from mgraph.io.tables.sparse_ids import UnnumberedError

COMPRESSIONS = ("none", "lz4", "zstd")
METADATA_KEY = b"mgraph"
BLOCK_ROWS = 1 << 20  # read at a time, into memory that Arrow reuses

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
        """Start a file of the folder on ``sink``.

        columns: names, with NumPy's types, or Arrow's for columns that are no numbers; the first
        ascends.
        """
        self._folder, self._sink, self._counted_bytes = folder, sink, 0
        check_compression(compression)
        self._schema = pa.schema(
            [
                pa.field(name, dtype)
                if isinstance(dtype, pa.DataType)
                else pa.field(name, pa.from_numpy_dtype(dtype), nullable=False)
                for name, dtype in columns.items()
            ]
        )
        numeric = [name for name, dtype in columns.items() if not isinstance(dtype, pa.DataType)]
        first = self._schema.names[0]
        if compression == "none":
            encodings = dict.fromkeys(numeric, "PLAIN")
            if first in numeric:
                encodings[first] = "DELTA_BINARY_PACKED"
        else:
            encodings = dict.fromkeys(numeric, "BYTE_STREAM_SPLIT")
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
        rows = len(arrays[0])
        # Not pa.array, which imports pandas to check for a Series.
        columns = [
            array
            if isinstance(array, pa.Array)
            else pa.Array.from_buffers(dtype, rows, [None, pa.py_buffer(array)])
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


def open_file(folder: Folder, name: str) -> pq.ParquetFile:
    """Open a file; raise DatasetError, or StorageError if it cannot be read."""
    try:
        stream = folder.open(name)
        return folder.call(lambda: pq.ParquetFile(stream))
    except FileNotFoundError:
        raise DatasetError(f"{name} is missing from {folder}") from None
    except StorageError:
        raise
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and _is_storage_failure(error):
            raise explain(error, f"{folder}/{name}", "read") from error
        words = " ".join(str(error).split())
        raise DatasetError(f"{folder}/{name} is not a complete Parquet file: {words}") from error


def _is_storage_failure(error: OSError) -> bool:
    """Return whether reading failed, rather than parsing: a disk, a store, too many open files.

    Arrow raises OSError for truncated files, too, but without an error number.
    """
    if error.errno is None:
        return "AWS Error" in str(error)
    return error.errno not in (errno.EINVAL, errno.EISDIR)  # not a regular file


def read_metadata(folder: Folder, name: str) -> dict[str, Any]:
    """Return the JSON object that ``PartWriter.close`` stored, with the file's ``rows`` added."""
    with open_file(folder, name) as file:
        stored = (file.metadata.metadata or {}).get(METADATA_KEY)
        rows = file.metadata.num_rows
    try:
        return untrusted.parse_json_object(stored or b"") | {"rows": rows}
    except ValueError:
        raise ForeignFileError(f"{folder}/{name} was not written by mgraph") from None


class Description(NamedTuple):
    """The content of a file: rows, ids, types, and the program that wrote it.

    min_id, max_id: 0 and -1 without rows. unread_columns: the columns that are not read. columns:
    those that are.
    """

    rows: int
    min_id: int
    max_id: int
    weight_dtype: str | None
    compression: str
    created_by: str
    unread_columns: tuple[str, ...]
    columns: Columns


def statistics_of(file: pq.ParquetFile, group: int, name: str, is_trusted: bool) -> Any:
    """Return the statistics and the compression of a column in a row group.

    Raises pa.ArrowInvalid or OSError if the footer contradicts itself. Arrow's properties would end
    the process then, and its reading does not: so a row is read first, unless the file is trusted,
    which saves a request to a store and the decoding of a page.
    """
    if not is_trusted:
        next(file.iter_batches(1, [group], [name], use_threads=False), None)
    row_group, paths = file.metadata.row_group(group), [column.path for column in file.schema]
    if name not in paths:  # it is nested
        return None, "none"
    index = paths.index(name)
    if row_group.num_columns != file.metadata.num_columns:
        raise pa.ArrowInvalid("a row group has other columns than the schema")
    chunk = row_group.column(index)
    if chunk.physical_type != file.schema.column(index).physical_type:
        raise pa.ArrowInvalid("a row group has a column of another type than the schema")
    return chunk.statistics, chunk.compression


def describe(folder: Folder, name: str, request: ColumnRequest) -> Description:
    """Describe a file by its footer; ids are read if the footer does not contain their range.

    Raises DatasetError as ``read_blocks`` does.
    """
    with open_file(folder, name) as file, explaining(f"{folder}/{name}", "Parquet"):
        footer, existing = file.metadata, file.schema_arrow.names
        try:
            columns = resolve([x for x in existing if not x.startswith("__")], request)
        except UsageError as error:
            raise UsageError(f"{folder}/{name}: {error}", parameter=error.parameter) from None
        except ValueError as error:
            raise DatasetError(f"{folder}/{name}: {error}") from None
        ends, names = columns[:2], [x for x in columns[:3] if x is not None]
        known = [
            statistics_of(file, group, name, is_trusted=folder.is_remote)
            for group in range(footer.num_row_groups)
            for name in ends
            if footer.row_group(group).num_rows
        ]
        statistics = [x for x, _ in known]
        compression = known[0][1].lower() if known else "none"
        created_by = (footer.created_by or "").split(" (")[0]
        weight = file.schema_arrow.field(columns.weight).type if columns.weight else None
    has_ranges = all(x and x.has_min_max and isinstance(x.min, int) for x in statistics)
    if has_ranges:
        ranges = [(x.min, x.max) for x in statistics]
    else:
        ranges = [
            (int(ids.min()), int(ids.max()))
            for block in read_blocks(folder, name, names=ends)
            for ids in block
            if ids.size
        ]
    min_id = min((low for low, _ in ranges), default=0)
    max_id = max((high for _, high in ranges), default=-1)
    if weight is not None:
        weight = str(_to_numpy(pa.array([], weight), "weight", f"{folder}/{name}", True).dtype)
    unread = tuple(x for x in existing if x not in names and not x.startswith("__"))
    return Description(
        footer.num_rows, min_id, max_id, weight, compression, created_by, unread, columns
    )


def _to_numpy(column: Any, name: str, path: str, is_weight: bool) -> Any:
    """Convert a column to a NumPy array: ids to int32 or int64, weights to a weight type."""
    if column.null_count:
        raise DatasetError(f"{path}: column {name} must not contain nulls (it does)")
    if is_weight and pa.types.is_decimal(column.type):
        column = exact_decimals(column)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        array = np.from_dlpack(column)  # unlike to_numpy, does not release the GIL
    else:
        array = column.to_numpy(zero_copy_only=False)
    if is_weight:
        array = array.astype(_WEIGHTS.get(array.dtype.str[1:], array.dtype), copy=False)
        if str(array.dtype) in WEIGHT_DTYPES:
            return array
        raise DatasetError(f"{path}: {name} must be a number of 32 or 64 bits (got {column.type})")
    if array.dtype.kind not in "iu":
        raise UnnumberedError(f"{path}: {name} must be integers (got {column.type})")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise UnnumberedError(f"{path}: {name} must lie below 2^63 (got {array.max()})")
    return array.astype(np.int64)


def read_blocks(
    folder: Folder, name: str, groups: slice = slice(None), names: Sequence[str] = COLUMNS
) -> Iterator[EdgeList]:
    """Yield a file's rows as NumPy arrays in blocks of 2^20.

    groups: the row groups to read. names: of the columns src, dst and, if it exists, weight in the
    file; files of other programs may have columns in any order, ids of any integer type, and more
    columns. Raises DatasetError if the file is missing or damaged, or lacks src or dst.
    """
    path = f"{folder}/{name}"
    with open_file(folder, name) as file:
        existing = file.schema_arrow.names
        if not set(names[:2]) <= set(existing):
            raise DatasetError(
                f"{path} must have columns {', '.join(names[:2])} (got {list_names(existing)})"
            )
        selected = [column for column in names if column in existing]
        indices = range(file.num_row_groups)[groups]
        sizes = [file.metadata.row_group(i).total_byte_size for i in indices]
        batches = file.iter_batches(BLOCK_ROWS, indices, selected, use_threads=False)
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
                words = " ".join(str(error).split())
                raise DatasetError(f"{path} is damaged: {words}") from error
            if batch is None:
                return
            yield EdgeList(
                *(
                    _to_numpy(batch[column], column, path, is_weight=i == 2)
                    for i, column in enumerate(selected)
                )
            )
