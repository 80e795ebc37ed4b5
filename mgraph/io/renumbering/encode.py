"""Stage 1 of a conversion: the distinct ids of each piece, and its rows by indices into them."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph import timings
from mgraph.errors import DatasetError
from mgraph.io import untrusted
from mgraph.io.folder import Folder
from mgraph.io.renumbering.pieces import (
    BATCH_ROWS,
    damaged,
    divide,
    done_name,
    ids_name,
    rows_name,
    write_batches,
)
from mgraph.io.tables import id_columns
from mgraph.io.tables.edge_tables import Chunk
from mgraph.io.tables.id_columns import Ids, Kind
from mgraph.io.tables.table_listing import cast_weights, common_kind_of, common_weight_type

MAX_PIECES = 1 << 12  # of one chunk, such as a compressed file
_ROWS_BATCH = 1 << 20


class Encoded(NamedTuple):
    """A piece of encoded rows.

    piece: its number. rows: its edges, or vertices. kind: of its ids. low, high: the smallest and
    the largest id that is a whole number. distinct: its distinct ids. firsts: the first of each
    batch of them. schema: of the rows, serialized, in hexadecimal digits.
    """

    piece: int
    rows: int
    kind: Kind
    low: int
    high: int
    distinct: int
    firsts: tuple[Any, ...]
    schema: str

    def columns(self) -> pa.Schema:
        """Return the schema of the rows without their ends."""
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self.schema)))
        return pa.schema([field for field in schema if field.name not in ("src", "dst")])


def encode_chunk(
    chunk: Chunk, index: int, folder: Folder, piece_rows: int, count_rows: Callable[[int], None]
) -> list[Encoded]:
    """Encode the rows of a chunk; return its pieces, at least one.

    Raises DatasetError for ids or weights of types that do not go together.
    """
    pieces: list[Encoded] = []
    for table in gather(chunk.batches(), piece_rows):
        piece = index * MAX_PIECES + len(pieces)
        if len(pieces) == MAX_PIECES:
            raise DatasetError(f"{chunk.file.path} is too large for one file; divide it")
        try:
            with timings.step(timings.COMPUTING):
                ids, rows = _encode_rows(table)
        except ValueError as error:
            raise DatasetError(f"{chunk.file.path}: {error}") from None
        pieces.append(_write_piece(folder, piece, ids, rows, rows.num_rows))
        count_rows(rows.num_rows)
    _write_record(folder, index, pieces)
    return pieces


def encode_vertices(
    table: pa.Table, name: str, index: int, folder: Folder, text_ids: bool
) -> list[Encoded]:
    """Encode a table of vertices: the column ``name`` has their ids, others are attributes.

    text_ids: ids are text, though they may be numbers here. Raises ValueError for ids that are not
    one per row.
    """
    column = table.column(name)
    if text_ids and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    ids = id_columns.as_ids(column, name)
    distinct, ranks = id_columns.rank(ids)
    if len(distinct) < len(ids):
        counts = np.bincount(ranks)
        twice = id_columns.to_python(Ids(distinct.values.take([int(counts.argmax())]), ids.kind))
        raise ValueError(f"{name} must name each vertex once (got {twice[0]!r:.60} twice)")
    order = np.empty(len(ids), np.int64)
    order[ranks] = np.arange(len(ids))
    attributes = table.drop_columns([name]).take(pa.array(order)).combine_chunks()
    batches = attributes.to_batches() if attributes.num_columns else []
    rows = batches[0] if batches else pa.RecordBatch.from_arrays([], names=[])
    pieces = [_write_piece(folder, index * MAX_PIECES, distinct, rows, 0, BATCH_ROWS)]
    _write_record(folder, index, pieces)
    return pieces


def gather(batches: Iterator[pa.RecordBatch], piece_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield rows that make a piece; at least one, which may be empty."""
    waiting: list[pa.RecordBatch] = []
    yielded = False

    def joined() -> pa.RecordBatch:
        kinds = {name: [batch.schema.field(name).type for batch in waiting] for name in names}
        if any(len(set(types)) > 1 for types in kinds.values()):
            return _unify(waiting)
        return pa.concat_batches(waiting)

    names: list[str] = []
    for batch in batches:
        names = batch.schema.names
        for part in divide(batch, piece_rows):
            if waiting and sum(map(len, waiting)) + len(part) > piece_rows:
                yield joined()
                waiting, yielded = [], True
            waiting.append(part)
    if waiting:
        yield joined()
    elif not yielded:
        empty = pa.array([], pa.int64())
        yield pa.RecordBatch.from_arrays([empty, empty], names=["src", "dst"])


def _unify(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches below each other whose ids or weights have different types."""
    columns: dict[str, Any] = {}
    for name in batches[0].schema.names:
        arrays = [batch.column(name) for batch in batches]
        if name in ("src", "dst"):
            ids = [id_columns.as_ids(array, name) for array in arrays if len(array)]
            kind = common_kind_of(ids)
            converted = [id_columns.convert(each, kind) for each in ids]
            columns[name] = id_columns.to_column(id_columns.concatenate(converted))
        elif name == "weight":
            common = common_weight_type([array.type for array in arrays])
            columns[name] = pa.concat_arrays([cast_weights(array, common) for array in arrays])
        else:
            columns[name] = pa.concat_arrays(arrays)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _encode_rows(table: pa.RecordBatch) -> tuple[Ids, pa.RecordBatch]:
    """Return the distinct ids of rows, and the rows with indices into them."""
    ends = [id_columns.as_ids(table.column(side)) for side in (0, 1)]
    kind = common_kind_of([ids for ids in ends if len(ids)])
    ends = [id_columns.convert(ids, kind) for ids in ends]
    distinct, ranks = id_columns.rank(id_columns.concatenate(ends))
    size = table.num_rows
    codes = [pa.array(ranks[:size]), pa.array(ranks[size:])]
    rows = pa.RecordBatch.from_arrays([*codes, *table.columns[2:]], names=table.schema.names)
    return distinct, rows


def _write_piece(
    folder: Folder,
    piece: int,
    ids: Ids,
    rows: pa.RecordBatch,
    edges: int,
    rows_batch: int = _ROWS_BATCH,
) -> Encoded:
    column = pa.RecordBatch.from_arrays([ids.values], names=["id"])
    write_batches(folder, ids_name(piece), divide(column))
    if rows.num_columns:
        write_batches(folder, rows_name(piece), divide(rows, rows_batch))
    firsts = ids.values.take(pa.array(np.arange(0, len(ids), BATCH_ROWS))).to_pylist()
    low, high = id_columns.bounds(ids)
    schema = rows.schema.serialize().to_pybytes().hex()
    return Encoded(piece, edges, ids.kind, low, high, len(ids), tuple(firsts), schema)


def _write_record(folder: Folder, index: int, pieces: Sequence[Encoded]) -> None:
    content = [
        piece._asdict()
        | {
            "firsts": [
                key.decode("latin-1") if isinstance(key, bytes) else key for key in piece.firsts
            ]
        }
        for piece in pieces
    ]
    folder.write(done_name("encode", index), json.dumps(content).encode())


def read_record(folder: Folder, index: int) -> list[Encoded]:
    """Return the pieces of a chunk that an earlier run encoded. Raises DatasetError."""
    name = done_name("encode", index)
    try:
        content = untrusted.parse_json(folder.read(name))
        return [
            Encoded(**piece)._replace(
                firsts=tuple(
                    key.encode("latin-1") if isinstance(key, str) else key
                    for key in piece["firsts"]
                )
            )
            for piece in content
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise damaged(folder, name) from None
