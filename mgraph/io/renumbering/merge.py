"""Stage 4 of a conversion: parts of a dataset from sorted pieces, and the files of vertices."""

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.choices import Compression
from mgraph.core.edge_list_cpu import checksum, draw_weights
from mgraph.core.edges import EdgeList
from mgraph.core.ranking_cpu import sort_pairs
from mgraph.io.folder import Folder
from mgraph.io.manifest import PartRecord, part_name, vertices_name
from mgraph.io.renumbering.encode import Encoded
from mgraph.io.renumbering.order import EdgeRules, Ordered
from mgraph.io.renumbering.pieces import (
    batch_range,
    choose_splitters,
    distinct_name,
    opening,
    ranks_name,
    read_batches,
    rows_name,
    slice_rows,
    sorted_name,
)
from mgraph.io.renumbering.rank import IdRange
from mgraph.io.tables.id_columns import Ids, Kind
from mgraph.io.vertex_ids import write_file

_GROUP_ROWS = 1 << 20
Pair = tuple[int, int]


class PartPlan(NamedTuple):
    """A part: its number, its range of src, and the pairs (src, dst) at which it is cut.

    A part is merged a range of pairs at a time.
    """

    number: int
    first: int
    stop: int
    cuts: tuple[Pair, ...]
    rows: int


def plan_parts(
    pieces: Sequence[Ordered], n: int, part_rows: int, merge_rows: int
) -> list[PartPlan]:
    """Divide all edges into parts of about ``part_rows``, of whole vertices.

    merge_rows: about how many are merged at a time.
    """
    firsts = [piece.firsts for piece in pieces]
    total = sum(piece.rows for piece in pieces)
    pairs: list[Pair] = choose_splitters(firsts, max(1, -(-total // merge_rows)))
    starts: list[Pair] = choose_splitters(firsts, max(1, -(-total // part_rows)))
    bounds = sorted({0, *(src for src, _ in starts), n})
    plans = []
    for index, (first, stop) in enumerate(itertools.pairwise(bounds)):
        cuts = pairs[bisect_left(pairs, (first, 1)) : bisect_left(pairs, (stop, 0))]
        rows = total // max(1, len(bounds) - 1)
        plans.append(PartPlan(index, first, stop, tuple(cuts), rows))
    return plans


def _pair_at(batch: pa.RecordBatch) -> Callable[[int], Pair]:
    src, dst = batch.column(0).to_numpy(), batch.column(1).to_numpy()
    return lambda row: (int(src[row]), int(dst[row]))


def _read_slice(folder: Folder, piece: Ordered, low: Pair, high: Pair) -> list[pa.RecordBatch]:
    """Return a piece's edges whose (src, dst) is in [low, high)."""
    numbers = batch_range(piece.firsts, low, high)
    if not numbers:
        return []
    with opening(folder, sorted_name(piece.piece)) as reader:
        slices = []
        for number, batch in zip(numbers, read_batches(folder, reader, numbers), strict=True):
            if number in (numbers[0], numbers[-1]):
                begin, end = slice_rows(batch.num_rows, _pair_at(batch), low, high)
                batch = batch.slice(begin, end - begin)
            if batch.num_rows:
                slices.append(batch)
        return slices


def merged(
    plan: PartPlan, pieces: Sequence[Ordered], folder: Folder, rules: EdgeRules
) -> Iterator[pa.RecordBatch]:
    """Yield the edges of a part in order, a range of pairs at a time."""
    bounds = [(plan.first, 0), *plan.cuts, (plan.stop, 0)]
    for low, high in itertools.pairwise(bounds):
        cancellation.raise_if_cancelled()
        if low == high:
            continue
        slices = [batch for piece in pieces for batch in _read_slice(folder, piece, low, high)]
        if not slices:
            continue
        with timings.step(timings.COMPUTING):
            rows = pa.concat_batches(slices) if len(slices) > 1 else slices[0]
            yield sort_rows(rows, rules, is_sorted=len(slices) == 1)


def sort_rows(rows: pa.RecordBatch, rules: EdgeRules, is_sorted: bool = True) -> pa.RecordBatch:
    """Sort rows by src, dst and weight; keep the first of parallel edges if they are merged.

    is_sorted: whether they are sorted by src and dst.
    """
    src, dst = (rows.column(side).to_numpy() for side in (0, 1))
    order = np.arange(src.size) if is_sorted else sort_pairs(src, dst)
    a, b = (src, dst) if is_sorted else (src[order], dst[order])
    repeats = np.zeros(a.size, bool)
    repeats[1:] = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    if repeats.any() and "weight" in rows.schema.names:
        begins = ~repeats
        group = np.cumsum(begins)
        parallel = np.flatnonzero(repeats | np.append(repeats[1:], False))
        weight = rows.column("weight").to_numpy()[order[parallel]]
        order[parallel] = order[parallel][np.lexsort((weight, group[parallel]))]
    if rules.merge:
        order = order[~repeats]
    elif is_sorted and not repeats.any():
        return rows
    return rows.take(pa.array(order))


def write_part(
    plan: PartPlan,
    pieces: Sequence[Ordered],
    folder: Folder,
    rules: EdgeRules,
    columns: dict[str, Any],
    compression: Compression,
    footer: dict[str, Any],
    count_rows: Callable[[int], None],
) -> PartRecord:
    """Merge and write a part; return its entry in the manifest.

    columns: by name, with the types in which they are written: NumPy's of ends and weights, Arrow's
    of attributes. footer: what tells the part's output.
    """
    from mgraph.io.parquet import writing_part

    name, total, written = part_name(plan.number), 0, 0
    with writing_part(folder, name, columns, compression) as writer:
        for rows in merged(plan, pieces, folder, rules):
            for start in range(0, rows.num_rows, _GROUP_ROWS):
                group = rows.slice(start, _GROUP_ROWS)
                arrays = _arrays(group, columns, rules)
                block = EdgeList(*(x for x in arrays if isinstance(x, np.ndarray)))
                total += checksum(block)
                writer.write(arrays)
                written += group.num_rows
                count_rows(group.num_rows)
        writer.close(footer | {"part": plan.number, "checksum": f"{total % (1 << 64):016x}"})
    size = folder.size(name)
    return PartRecord(name, written, plan.first, plan.stop, total % (1 << 64), size)


def _arrays(rows: pa.RecordBatch, columns: dict[str, Any], rules: EdgeRules) -> list[Any]:
    """Return rows as the arrays that are written: NumPy's of ends and weights, else Arrow's."""
    arrays: list[Any] = []
    for name, dtype in columns.items():
        if name == "weight" and rules.draw is not None:
            arrays.append(draw_weights(arrays[0], arrays[1], *rules.draw))
        elif isinstance(dtype, pa.DataType):
            arrays.append(rows.column(name))
        else:
            arrays.append(np.ascontiguousarray(rows.column(name).to_numpy(), dtype))
    return arrays


def write_vertices(
    part: IdRange,
    first: int,
    folder: Folder,
    kind: Kind,
    tables: Sequence[tuple[int, Encoded]],
    compression: Compression,
) -> int:
    """Write the file of the vertices of a range of ids; return their number.

    first: the first vertex. tables: the pieces that are tables of vertices, with their positions.
    """
    with opening(folder, distinct_name(part.number)) as reader:
        batches = read_batches(folder, reader, range(reader.num_record_batches))
        values = pa.concat_arrays([batch.column(0) for batch in batches])
        ids = Ids(values, kind)
        attributes = _attributes(part, folder, tables, len(ids)) if tables else None
        write_file(folder, vertices_name(part.number), first, ids, compression, attributes)
        return len(ids)


def _attributes(
    part: IdRange, folder: Folder, tables: Sequence[tuple[int, Encoded]], count: int
) -> pa.Table:
    """Return the attributes of the vertices of a range, null for those that no table has."""
    found, rows_of = [], []
    for position, piece in tables:
        numbers = batch_range(piece.firsts, part.low, part.high)
        with opening(folder, ranks_name(part.number)) as reader:
            (ranks,) = read_batches(folder, reader, [position])
            ranks = ranks.column(0).to_numpy().astype(np.int64)
        with opening(folder, rows_name(piece.piece)) as reader:
            rows = pa.Table.from_batches(
                read_batches(folder, reader, numbers), reader.schema
            ).combine_chunks()
            begin = _slice_begin(folder, piece, numbers, part)
            found.append(rows.slice(begin, ranks.size))
            rows_of.append(ranks)
    table = pa.concat_tables(found, promote_options="default").combine_chunks()
    places = np.full(count, -1, np.int64)
    places[np.concatenate(rows_of)] = np.arange(len(table))
    return table.take(pa.array(places, mask=places < 0))


def _slice_begin(folder: Folder, piece: Encoded, numbers: range, part: IdRange) -> int:
    """Return the row, from that of the first batch on, at which a range begins in a piece."""
    from mgraph.io.renumbering.pieces import ids_name

    if not numbers:
        return 0
    with opening(folder, ids_name(piece.piece)) as reader:
        (batch,) = read_batches(folder, reader, numbers[:1])
        column = batch.column(0)
        return slice_rows(len(column), lambda i: column[i].as_py(), part.low, part.high)[0]
