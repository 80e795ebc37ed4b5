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
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mgraph.core.edges import EdgeList
from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder

COMPRESSIONS = ("none", "lz4", "zstd")
METADATA_KEY = b"mgraph"
_SPLIT = {"src": "BYTE_STREAM_SPLIT", "dst": "BYTE_STREAM_SPLIT"}
_DELTA = {"src": "DELTA_BINARY_PACKED", "dst": "PLAIN"}


def check_compression(compression: str) -> None:
    """Raise UsageError for a word that is no compression."""
    if compression not in COMPRESSIONS:
        raise UsageError(
            f"compression must be one of {', '.join(COMPRESSIONS)}, and is {compression!r}"
        )


class PartWriter:
    """Writes blocks of edges as row groups of one file; made by ``writing_part``."""

    def __init__(self, sink: Any, dtype: Any, compression: str) -> None:
        """Open the file on ``sink``; dtype: that of the ids."""
        check_compression(compression)
        self._ids = pa.from_numpy_dtype(dtype)
        fields = [pa.field(name, self._ids, nullable=False) for name in ("src", "dst")]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(
            sink,
            self._schema,
            compression=compression,
            compression_level=1 if compression == "zstd" else None,
            use_dictionary=False,
            column_encoding=_DELTA if compression == "none" else _SPLIT,
            write_statistics=["src"],
            write_batch_size=1 << 16,
        )

    def write(self, edges: EdgeList) -> None:
        """Append host arrays as one row group; they may be overwritten afterwards."""
        rows = edges.src.size
        # Not pa.array, which imports pandas to see whether it was given a Series.
        columns = [
            pa.Array.from_buffers(self._ids, rows, [None, pa.py_buffer(ids)]) for ids in edges
        ]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, rows))

    def close(self, metadata: dict[str, Any]) -> None:
        """Write the footer, with a JSON object under the key ``mgraph``."""
        self._writer.add_key_value_metadata({METADATA_KEY: json.dumps(metadata)})
        self._writer.close()

    def abandon(self) -> None:
        """Let go of a file that will be removed: PyArrow would complain of one left open."""
        with contextlib.suppress(Exception):
            self._writer.close()


@contextlib.contextmanager
def writing_part(folder: Folder, name: str, dtype: Any, compression: str) -> Iterator[PartWriter]:
    """A ``PartWriter`` whose file appears when the block ends, after ``close``, or not at all."""
    with folder.writing(name) as sink:
        writer = PartWriter(sink, dtype, compression)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise


def _open(folder: Folder, name: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(folder.open(name))
    except FileNotFoundError:
        raise DatasetError(f"{name} is missing from {folder}") from None
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{folder}/{name} is not a whole Parquet file: {error}") from error


def read_metadata(folder: Folder, name: str) -> dict[str, Any]:
    """The JSON object that ``PartWriter.close`` stored, with the file's ``rows`` added."""
    with _open(folder, name) as file:
        stored = (file.metadata.metadata or {}).get(METADATA_KEY)
        rows = file.metadata.num_rows
    try:
        return json.loads(stored or b"") | {"rows": rows}
    except ValueError:
        raise DatasetError(f"{folder}/{name} was not written by mgraph") from None


def read_blocks(folder: Folder, name: str, columns: tuple[str, ...] = ()) -> Iterator[EdgeList]:
    """A part's row groups, one at a time, as NumPy arrays; ``columns`` () means both.

    Raises DatasetError where the file is missing, damaged, or has other columns.
    """
    wanted = columns or ("src", "dst")
    with _open(folder, name) as file:
        if file.schema_arrow.names[:2] != ["src", "dst"]:
            found = ", ".join(file.schema_arrow.names)
            raise DatasetError(f"{folder}/{name} must have columns src, dst, and has {found}")
        for group in range(file.num_row_groups):
            try:
                table = file.read_row_group(group, columns=list(wanted), use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise DatasetError(f"{folder}/{name} is damaged: {error}") from error
            ids = {name: table[name].to_numpy() for name in wanted}
            yield EdgeList(ids.get("src"), ids.get("dst"))
