"""Pieces of a conversion: Arrow files of sorted rows, read by slices.

A piece's record batches have 2^16 rows or fewer. The first key of each batch is noted, so that the
batches of a range of keys are known before a file is opened.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from mgraph import timings
from mgraph.errors import DatasetError
from mgraph.io.folder import Folder
from mgraph.io.tables.arrow_files import explaining

PREFIX = "_convert-"
BATCH_ROWS = 1 << 16


def ids_name(piece: int) -> str:
    """Return the name of the file with a piece's distinct ids."""
    return f"{PREFIX}ids-{piece:06d}.arrow"


def rows_name(piece: int) -> str:
    """Return the name of the file with a piece's rows, or the attributes of its vertices."""
    return f"{PREFIX}rows-{piece:06d}.arrow"


def ranks_name(part: int) -> str:
    """Return the name of the file with the ranks of a range of ids, a batch per piece."""
    return f"{PREFIX}ranks-{part:06d}.arrow"


def distinct_name(part: int) -> str:
    """Return the name of the file with the distinct ids of a range."""
    return f"{PREFIX}distinct-{part:06d}.arrow"


def sorted_name(piece: int) -> str:
    """Return the name of the file with a piece's edges in order."""
    return f"{PREFIX}sorted-{piece:06d}.arrow"


def done_name(stage: str, index: int) -> str:
    """Return the name of the record that a task of a stage is finished."""
    return f"{PREFIX}{stage}-{index:06d}.json"


def write_batches(folder: Folder, name: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Write record batches, of which there is at least one, as an Arrow file."""
    iterator = iter(batches)
    first = next(iterator)
    with (
        folder.writing(name) as sink,
        timings.step(timings.WRITING),
        pa.ipc.new_file(sink, first.schema) as writer,
    ):
        _write(folder, writer, first)
        for batch in iterator:
            _write(folder, writer, batch)


def _write(folder: Folder, writer: Any, batch: pa.RecordBatch) -> None:
    folder.call(lambda: writer.write_batch(batch), batch.nbytes)


def divide(batch: pa.RecordBatch, rows: int | None = None) -> list[pa.RecordBatch]:
    """Return a batch in slices, of 2^16 rows by default; at least one."""
    rows = rows or BATCH_ROWS
    return [batch.slice(start, rows) for start in range(0, max(1, batch.num_rows), rows)]


@contextmanager
def opening(folder: Folder, name: str) -> Iterator[Any]:
    """Open an Arrow file of a piece for a block: mapped into memory if it is local."""
    path = f"{folder}/{name}"
    with explaining(path, "Arrow"):
        source = folder.open(name) if folder.is_remote else pa.memory_map(folder.path(name))
        with source:
            yield folder.call(lambda: pa.ipc.open_file(source))


def read_batches(folder: Folder, reader: Any, numbers: Iterable[int]) -> list[pa.RecordBatch]:
    """Return record batches of an open file."""
    with timings.step(timings.READING):
        return [folder.call(lambda at=number: reader.get_batch(at)) for number in numbers]  # type: ignore[misc]


def batch_range(firsts: Sequence[Any], low: Any, high: Any) -> range:
    """Return the batches that may have keys in [low, high). None: no bound."""
    begin = 0 if low is None else max(0, bisect_left(firsts, low) - 1)
    end = len(firsts) if high is None else bisect_left(firsts, high)
    return range(begin, max(begin, end))


def slice_rows(count: int, key: Callable[[int], Any], low: Any, high: Any) -> tuple[int, int]:
    """Return the first and the last row but one whose ascending keys are in [low, high)."""
    rows = range(count)
    begin = 0 if low is None else bisect_left(rows, low, key=key)
    end = count if high is None else bisect_left(rows, high, key=key)
    return begin, max(begin, end)


def choose_splitters(firsts: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """Choose up to ``count - 1`` keys that divide batches into ranges of about equal size.

    firsts: the first key of each batch of each piece.
    """
    keys = sorted(key for piece in firsts for key in piece)
    chosen = [keys[len(keys) * i // count] for i in range(1, count)] if keys else []
    return sorted(set(chosen))


def damaged(folder: Folder, name: str) -> DatasetError:
    """Return the error for a file of a conversion that was changed."""
    return DatasetError(
        f"{folder}/{name} is damaged; pass `overwrite=True` to convert from the beginning"
    )
