"""Stage 3 of a conversion: a piece's edges between vertices, in the order of (src, dst)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgraph import timings
from mgraph.core.graph import MAX_N
from mgraph.core.ranking_cpu import sort_pairs
from mgraph.errors import DatasetError
from mgraph.io import untrusted
from mgraph.io.folder import Folder
from mgraph.io.renumbering.encode import MAX_PIECES, gather
from mgraph.io.renumbering.pieces import (
    BATCH_ROWS,
    damaged,
    divide,
    done_name,
    opening,
    read_batches,
    rows_name,
    sorted_name,
    write_batches,
)
from mgraph.io.tables import id_columns
from mgraph.io.tables.edge_tables import Chunk
from mgraph.io.tables.table_listing import cast_weights


@dataclass(frozen=True)
class EdgeRules:
    """What becomes of the edges.

    directed: whether rows are arcs; else each is an edge, src >= dst. drop_loops, merge,
    drop_infinite: as for ``read_graph``. columns: the names and types of weights and attributes in
    all pieces. draw: the bounds and the seed of weights that are drawn for edges without.
    """

    directed: bool
    drop_loops: bool = False
    merge: bool = False
    drop_infinite: bool = False
    columns: Any = None
    draw: tuple[int, int, int] | None = None


class Ordered(NamedTuple):
    """A piece of sorted edges: its number, its rows, and (src, dst) of the first row per batch.

    highest: the largest vertex. weights: the smallest and the largest weight if they are whole.
    """

    piece: int
    rows: int
    firsts: tuple[tuple[int, int], ...]
    highest: int
    weights: tuple[int, int] | None = None


def order_chunk(
    chunk: Chunk,
    index: int,
    folder: Folder,
    rules: EdgeRules,
    piece_rows: int,
    count_rows: Callable[[int], None],
) -> list[Ordered]:
    """Sort the edges of a chunk of tables whose ids are the numbers of vertices.

    Raises DatasetError for ids that are not.
    """
    made: list[Ordered] = []
    for rows in gather(chunk.batches(), piece_rows):
        try:
            ends = [as_vertices(rows.column(side)) for side in (0, 1)]
            with timings.step(timings.COMPUTING):
                ordered = order_edges(ends, rows.schema.names[2:], rows.columns[2:], rules)
        except ValueError as error:
            raise DatasetError(f"{chunk.file.path}: {error}") from None
        made.append(_write_sorted(folder, index * MAX_PIECES + len(made), ordered))
        count_rows(rows.num_rows)
    folder.write(done_name("order", index), json.dumps(made).encode())
    return made


def as_vertices(column: Any) -> np.ndarray:
    """Return ids that are the numbers of vertices. Raises ValueError if one is not."""
    ids = id_columns.as_ids(column)
    if ids.kind not in ("int64", "uint64"):
        raise ValueError(f"vertices must be whole numbers to keep them (got {column.type})")
    low, high = id_columns.bounds(ids)
    if low < 0 or high >= MAX_N:
        bad = low if low < 0 else high
        raise ValueError(f"vertices must lie in [0, 2^40) to keep their numbers (got {bad:,})")
    return id_columns.to_numpy(ids).astype(np.int64, copy=False)


def order_piece(
    piece: int, vertices: np.ndarray | None, folder: Folder, rules: EdgeRules
) -> Ordered:
    """Sort the edges of an encoded piece. vertices: of its indices. Raises ValueError."""
    with opening(folder, rows_name(piece)) as reader:
        batches = read_batches(folder, reader, range(reader.num_record_batches))
        rows = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        with timings.step(timings.COMPUTING):
            ends = [rows.column(side).to_numpy(zero_copy_only=False) for side in (0, 1)]
            if vertices is not None:
                ends = [vertices[codes] for codes in ends]
            ordered = order_edges(ends, rows.schema.names[2:], rows.columns[2:], rules)
        result = _write_sorted(folder, piece, ordered)
    folder.write(done_name("order", piece), json.dumps([result]).encode())
    return result


def _write_sorted(folder: Folder, piece: int, ordered: pa.RecordBatch) -> Ordered:
    write_batches(folder, sorted_name(piece), divide(ordered))
    picked = np.arange(0, ordered.num_rows, BATCH_ROWS)
    ends = [ordered.column(side).to_numpy() for side in (0, 1)]
    firsts = zip(*(column[picked].tolist() for column in ends), strict=True)
    highest = max((int(column.max()) for column in ends if column.size), default=-1)
    weights = None
    if "weight" in ordered.schema.names and ordered.num_rows:
        column = ordered.column("weight")
        if pa.types.is_integer(column.type):
            extremes = pc.min_max(column).as_py()
            weights = extremes["min"], extremes["max"]
    return Ordered(piece, ordered.num_rows, tuple(firsts), highest, weights)


def order_edges(
    ends: Sequence[np.ndarray], names: Sequence[str], columns: Sequence[Any], rules: EdgeRules
) -> pa.RecordBatch:
    """Return edges by the rules, sorted by (src, dst), with their other columns."""
    src, dst = ends
    if not rules.directed:
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    others = dict(zip(names, columns, strict=True))
    for field in rules.columns:
        if field.name == "weight":
            others["weight"] = cast_weights(others["weight"], field.type)
        elif others[field.name].type != field.type:
            others[field.name] = others[field.name].cast(field.type)
    others = {field.name: others[field.name] for field in rules.columns}
    keep = None
    if rules.drop_loops:
        keep = src != dst
    if rules.drop_infinite and "weight" in others and pa.types.is_floating(others["weight"].type):
        is_open = pc.not_equal(others["weight"], float("inf")).to_numpy(zero_copy_only=False)
        keep = is_open if keep is None else keep & is_open
    if keep is not None and not keep.all():
        kept = np.flatnonzero(keep)
        src, dst = src[kept], dst[kept]
        others = {name: column.take(pa.array(kept)) for name, column in others.items()}
    order = sort_pairs(src, dst)
    sorted_columns = {"src": pa.array(src[order]), "dst": pa.array(dst[order])}
    rows = pa.array(order)
    sorted_columns |= {name: column.take(rows) for name, column in others.items()}
    return pa.RecordBatch.from_arrays(list(sorted_columns.values()), names=list(sorted_columns))


def read_record(folder: Folder, index: int) -> list[Ordered]:
    """Return what an earlier run wrote of a piece or a chunk. Raises DatasetError."""
    name = done_name("order", index)
    try:
        return [
            Ordered(piece, rows, tuple((int(a), int(b)) for a, b in firsts), highest, weights)
            for piece, rows, firsts, highest, weights in untrusted.parse_json(folder.read(name))
        ]
    except (ValueError, TypeError):
        raise damaged(folder, name) from None
