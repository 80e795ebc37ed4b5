"""Stage 2 of a conversion: the distinct ids of a range of all pieces, and their ranks."""

import itertools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph import timings
from mgraph.core import cancellation
from mgraph.io import untrusted
from mgraph.io.folder import Folder
from mgraph.io.renumbering.encode import Encoded
from mgraph.io.renumbering.pieces import (
    batch_range,
    choose_splitters,
    damaged,
    distinct_name,
    divide,
    done_name,
    ids_name,
    opening,
    ranks_name,
    read_batches,
    slice_rows,
    write_batches,
)
from mgraph.io.tables import id_columns
from mgraph.io.tables.id_columns import Ids, Kind


class IdRange(NamedTuple):
    """A range of ids: from ``low`` to below ``high``; None: no bound."""

    number: int
    low: Any
    high: Any


def plan_ranges(pieces: Sequence[Encoded], range_ids: int, kind: Kind) -> list[IdRange]:
    """Divide the ids of all pieces into ranges of about ``range_ids`` each."""
    total = sum(piece.distinct for piece in pieces)
    splitters = choose_splitters([piece.firsts for piece in pieces], -(-total // range_ids))
    bounds = [None, *splitters, None]
    return [IdRange(i, bounds[i], bounds[i + 1]) for i in range(len(bounds) - 1)]


def read_ids(folder: Folder, piece: Encoded, low: Any, high: Any, kind: Kind) -> Ids:
    """Return a piece's ids in a range, in the common kind of all pieces."""
    numbers = batch_range(piece.firsts, low, high)
    with opening(folder, ids_name(piece.piece)) as reader:
        columns = [batch.column(0) for batch in read_batches(folder, reader, numbers)]
        cut = []
        for number, column in zip(numbers, columns, strict=True):
            if number in (numbers[0], numbers[-1]):
                begin, end = slice_rows(len(column), lambda i: column[i].as_py(), low, high)  # noqa: B023
                column = column.slice(begin, end - begin)
            cut.append(column)
        if not cut:
            return id_columns.empty(kind)
        return id_columns.convert(Ids(pa.concat_arrays(cut), piece.kind), kind)


def rank_range(part: IdRange, pieces: Sequence[Encoded], folder: Folder, kind: Kind) -> int:
    """Rank the ids of a range; write the distinct ones, and the ranks of each piece's.

    Returns the number of distinct ids.
    """
    slices = []
    for piece in pieces:
        cancellation.raise_if_cancelled()
        slices.append(read_ids(folder, piece, part.low, part.high, kind))
    with timings.step(timings.COMPUTING):
        distinct, ranks = id_columns.rank(id_columns.concatenate(slices))
    bounds = np.cumsum([0, *map(len, slices)]).tolist()
    write_batches(
        folder,
        ranks_name(part.number),
        (
            pa.RecordBatch.from_arrays([pa.array(ranks[a:b])], names=["rank"])
            for a, b in itertools.pairwise(bounds)
        ),
    )
    column = pa.RecordBatch.from_arrays([distinct.values], names=["id"])
    write_batches(folder, distinct_name(part.number), divide(column))
    folder.write(done_name("rank", part.number), json.dumps({"distinct": len(distinct)}).encode())
    return len(distinct)


def read_record(folder: Folder, index: int) -> int:
    """Return the number of distinct ids of a range that an earlier run ranked."""
    name = done_name("rank", index)
    try:
        content = untrusted.parse_json_object(folder.read(name))
        return untrusted.parse_int("distinct", content.get("distinct"), 0, 1 << 48)
    except ValueError:
        raise damaged(folder, name) from None


def vertices_of_piece(
    folder: Folder, position: int, counts: Sequence[int], dtype: Any
) -> np.ndarray:
    """Return the vertex of each distinct id of a piece.

    position: of the piece among all. counts: the distinct ids of each range.
    """
    arrays, first = [], 0
    for index, count in enumerate(counts):
        with opening(folder, ranks_name(index)) as reader:
            (batch,) = read_batches(folder, reader, [position])
            ranks = batch.column(0).to_numpy(zero_copy_only=False)
            arrays.append(ranks.astype(dtype) + dtype(first))
        first += count
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
