"""Parts as Parquet files: how they are encoded, written in row groups, and read back.

Encodings, measured (PyArrow 26, one core of an AMD EPYC, 16 M edges, d = 8, million edges/s written
and read, bytes an edge; ``pytest tests/benchmarks -k encoding --benchmark-enable`` with
MGRAPH_BENCH_EDGES=16000000 repeats the writing):

| compression | src | dst | int32 | int64, ids near 2^33 |
|---|---|---|---|---|
| none | DELTA_BINARY_PACKED | PLAIN | 117 / 371, 4.2 B | 90 / 282, 8.2 B |
| lz4 (default) | BYTE_STREAM_SPLIT | BYTE_STREAM_SPLIT | 178 / 455, 3.2 B | 94 / 232, 4.6 B |
| zstd level 1 | BYTE_STREAM_SPLIT | BYTE_STREAM_SPLIT | 97 / 186, 3.1 B | 54 / 152, 4.4 B |

Splitting the bytes of a sorted column into streams leaves LZ4 almost nothing to store, at twice
DELTA's speed; for int64 ids it stores the bytes that are in use. Columns are declared without
nulls, which alone saves a fifth of the time. Statistics are kept for ``src`` only, where they let
a reader skip row groups. Arrow, DuckDB 2.0 and Polars 2.1 read all three (tried), cuDF since 24.06
by its release notes; Spark's vectorised reader and fastparquet lack BYTE_STREAM_SPLIT, so write
``none`` for them.
"""

import contextlib
import errno
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgraph.core import cancellation, gauges
from mgraph.core.choices import check_choice
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import WEIGHT_DTYPES
from mgraph.errors import DatasetError, StorageError
from mgraph.io import store, untrusted
from mgraph.io.folder import Folder, explain

COMPRESSIONS = ("none", "lz4", "zstd")
METADATA_KEY = b"mgraph"
_BLOCK_ROWS = 1 << 20  # read at a time: memory that Arrow uses again, instead of asking for more

# Narrow types that others write, and what they are read as.
_WEIGHTS = {"i1": "i4", "i2": "i4", "u1": "i4", "u2": "i4", "u4": "i8", "f2": "f4"}


class ForeignFileError(DatasetError):
    """A Parquet file is whole, and another program wrote it."""


def check_compression(compression: str) -> None:
    """Raise UsageError for a word that is no compression."""
    check_choice("compression", compression, COMPRESSIONS)


class PartWriter:
    """Writes blocks of rows as row groups of one file; made by ``writing_part``."""

    def __init__(
        self, folder: Folder, sink: Any, columns: Mapping[str, Any], compression: str
    ) -> None:
        """Open a file of the folder on ``sink``. columns: names and types; the first ascends."""
        self._folder, self._sink, self._told = folder, sink, 0
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
        """Append host arrays, a column each, as one row group; they may be overwritten later."""
        arrays = list(arrays)
        rows = arrays[0].size
        # Not pa.array, which imports pandas to see whether it was given a Series.
        columns = [
            pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(array)])
            for kind, array in zip(self._schema.types, arrays, strict=True)
        ]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._folder.call(
            lambda: self._writer.write_table(table, row_group_size=max(1, rows)), table.nbytes
        )
        self._tell()

    def close(self, metadata: dict[str, Any]) -> None:
        """Write the footer, with a JSON object under the key ``mgraph``."""
        self._writer.add_key_value_metadata({METADATA_KEY: json.dumps(metadata)})
        self._folder.call(self._writer.close)
        self._tell()

    def _tell(self) -> None:
        """Count the bytes that were written since the last call."""
        written = self._sink.tell()
        gauges.add("bytes", written - self._told)
        self._told = written

    def abandon(self) -> None:
        """Let go of a file that will be removed: PyArrow would complain of one left open."""
        with store.cleaning_up(), contextlib.suppress(Exception):
            self._folder.call(self._writer.close)


@contextlib.contextmanager
def writing_part(
    folder: Folder, name: str, columns: Mapping[str, Any], compression: str
) -> Iterator[PartWriter]:
    """A ``PartWriter`` whose file appears when the block ends, after ``close``, or not at all."""
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
        if isinstance(error, OSError) and _is_of_storage(error):
            raise explain(error, f"{folder}/{name}", "read") from error
        raise DatasetError(f"{folder}/{name} is not a whole Parquet file: {error}") from error


def _is_of_storage(error: OSError) -> bool:
    """Whether a file could not be read, rather than understood: a disk, a store, too many files.

    Arrow has OSErrors for files that are cut off, too; those have no number of the system's.
    """
    if error.errno is None:
        return "AWS Error" in str(error)
    return error.errno not in (errno.EINVAL, errno.EISDIR)  # no regular file


def read_metadata(folder: Folder, name: str) -> dict[str, Any]:
    """The JSON object that ``PartWriter.close`` stored, with the file's ``rows`` added."""
    with _open(folder, name) as file:
        stored = (file.metadata.metadata or {}).get(METADATA_KEY)
        rows = file.metadata.num_rows
    try:
        return untrusted.parse_json_object(stored or b"") | {"rows": rows}
    except ValueError:
        raise ForeignFileError(f"{folder}/{name} was not written by mgraph") from None


class Description(NamedTuple):
    """What a file holds: rows, the least and largest id (0 and -1 without rows), types, maker.

    others: the columns that are not read.
    """

    rows: int
    least: int
    largest: int
    weight_dtype: str | None
    compression: str
    created_by: str
    others: tuple[str, ...]


def describe(folder: Folder, name: str) -> Description:
    """Describe a file by its footer; ids whose range it does not tell are read.

    Raises DatasetError as ``read_blocks`` does.
    """
    with _open(folder, name) as file:
        footer, names = file.metadata, file.schema_arrow.names
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        told = [
            column.statistics
            for column in columns
            if column.path_in_schema in ("src", "dst") and column.num_values
        ]
        compression = columns[0].compression.lower() if columns else "none"
        created_by = (footer.created_by or "").split(" (")[0]
        weight = file.schema_arrow.field("weight").type if "weight" in names else None
    if all(x and x.has_min_max and isinstance(x.min, int) for x in told) and "dst" in names:
        ranges = [(x.min, x.max) for x in told]
    else:
        ranges = [
            (int(ids.min()), int(ids.max()))
            for block in read_blocks(folder, name, ("src", "dst"))
            for ids in block
            if ids.size
        ]
    least = min((low for low, _ in ranges), default=0)
    largest = max((high for _, high in ranges), default=-1)
    if weight is not None:
        weight = str(_array(pa.array([], weight), "weight", f"{folder}/{name}").dtype)
    others = tuple(x for x in names if x not in COLUMNS and not x.startswith("__"))  # pandas' index
    return Description(footer.num_rows, least, largest, weight, compression, created_by, others)


def _array(column: Any, name: str, where: str) -> Any:
    """A column as a NumPy array: ids as int32 or int64, weights as they are."""
    if column.null_count:
        raise DatasetError(f"{where}: column {name} must hold no nulls, and holds some")
    if name == "weight" and pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        array = np.from_dlpack(column)  # unlike to_numpy, does not hand the interpreter round
    else:
        array = column.to_numpy(zero_copy_only=False)
    if name == "weight":
        array = array.astype(_WEIGHTS.get(array.dtype.str[1:], array.dtype), copy=False)
        if str(array.dtype) in WEIGHT_DTYPES:
            return array
        raise DatasetError(f"{where}: weight must be a number of 32 or 64 bits, not {column.type}")
    if array.dtype.kind not in "iu":
        raise DatasetError(f"{where}: {name} must be integers, and is {column.type}")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise DatasetError(f"{where}: {name} must lie below 2^63, and holds {array.max()}")
    return array.astype(np.int64)


def group_rows(folder: Folder, name: str) -> list[int]:
    """The rows of each row group of a file."""
    with _open(folder, name) as file:
        return [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]


def read_blocks(
    folder: Folder, name: str, columns: Sequence[str] = COLUMNS, groups: slice = slice(None)
) -> Iterator[EdgeList]:
    """A file's rows as NumPy arrays, a block of 2^20 at a time; of ``columns`` those there are.

    groups: the row groups to read. Files of others read as well: columns in any order, ids of any
    integer type, more columns. Raises DatasetError where the file is missing, damaged, or has no
    src and dst.
    """
    where = f"{folder}/{name}"
    with _open(folder, name) as file:
        there = file.schema_arrow.names
        if not {"src", "dst"} <= set(there):
            found = ", ".join(there)
            raise DatasetError(f"{where} must have columns src, dst, and has {found}")
        wanted = [column for column in columns if column in there]
        chosen = range(file.num_row_groups)[groups]
        sizes = [file.metadata.row_group(i).total_byte_size for i in chosen]
        batches = file.iter_batches(_BLOCK_ROWS, chosen, wanted, use_threads=False)
        while True:
            cancellation.raise_if_cancelled()
            try:
                batch = folder.call(lambda: next(batches, None), max(sizes, default=0))
            except (MemoryError, StorageError):  # Arrow's MemoryError is an ArrowException, too
                raise
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and _is_of_storage(error):
                    raise explain(error, where, "read") from error
                raise DatasetError(f"{where} is damaged: {error}") from error
            if batch is None:
                return
            arrays = {column: _array(batch[column], column, where) for column in wanted}
            yield EdgeList(*(arrays.get(column) for column in COLUMNS))
