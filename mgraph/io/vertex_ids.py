"""The vertices' own ids beside a dataset: ``_vertices-*.parquet``, ``vertex, id[, attributes]``.

Row v of all files together is vertex v. Ids mostly ascend (``tables.id_columns`` has the rule), so
that the vertex of an id is found by the statistics of row groups and one row group that is read.
"""

import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mgraph import timings
from mgraph.core.choices import Compression
from mgraph.core.graph_checks import LazyLabels
from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder
from mgraph.io.manifest import VertexTable, vertices_name
from mgraph.io.parquet import statistics_of
from mgraph.io.tables import id_columns
from mgraph.io.tables.arrow_files import explaining
from mgraph.io.tables.id_columns import Ids, Kind

GROUP_ROWS = 1 << 16
_FILE_ROWS = 1 << 24
_CACHED_GROUPS = 8


class _Group(NamedTuple):
    """A row group: its file, its place there, its first vertex, its rows, and its smallest id."""

    file: str
    place: int
    first: int
    rows: int
    smallest: Any


class VertexIds(LazyLabels):
    """The ids of a dataset's vertices, read when they are needed: a sequence, as labels are.

    Ids are int, str, bytes or ``uuid.UUID``. Cheap to send to workers.
    """

    def __init__(self, folder: Folder, table: VertexTable) -> None:
        """Name the files. table: their description in the manifest."""
        self.folder, self.table = folder, table
        self._cache: dict[int, Any] = {}
        self._all: Ids | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where the ids are, not the ids."""
        return VertexIds, (self.folder, self.table)

    def __len__(self) -> int:
        """The number of vertices."""
        return sum(self.table.rows)

    def __repr__(self) -> str:
        """Return the number of ids and their type."""
        return f"VertexIds({len(self):,} ids, {self.table.kind}, in {self.folder})"

    @property
    def kind(self) -> Kind:
        """What ids are: int64, uint64, string, binary or uuid."""
        return self.table.kind

    @cached_property
    def _groups(self) -> list[_Group]:
        groups, first = [], 0
        for name, rows in zip(self.table.files, self.table.rows, strict=True):
            with self._open(name) as file, explaining(f"{self.folder}/{name}", "Parquet"):
                metadata = file.metadata
                in_file = 0
                for index in range(metadata.num_row_groups):
                    group = metadata.row_group(index)
                    statistics, _ = statistics_of(file, index, "id", is_trusted=True)
                    smallest = statistics.min if statistics and statistics.has_min_max else None
                    groups.append(_Group(name, index, first, group.num_rows, smallest))
                    first += group.num_rows
                    in_file += group.num_rows
            if in_file != rows:
                raise DatasetError(
                    f"{self.folder}/{name} should hold {rows:,} vertices, and holds {in_file:,}"
                )
        return groups

    def _open(self, name: str) -> Any:
        with explaining(f"{self.folder}/{name}", "Parquet"):
            stream = self.folder.open(name)
            file = self.folder.call(lambda: pq.ParquetFile(stream))
            if "id" not in file.schema_arrow.names:
                raise DatasetError(f"{self.folder}/{name} has no column id")
            return file

    def _read(self, number: int) -> Any:
        """Return the ids of a row group: int64, uint64 or large_binary values."""
        if number not in self._cache:
            group = self._groups[number]
            with self._open(group.file) as file, explaining(group.file, "Parquet"):
                read = self.folder.call(lambda: file.read_row_group(group.place, columns=["id"]))
            try:
                ids = id_columns.as_ids(read.column("id"))
                values = id_columns.convert(ids, self.kind).values
            except (ValueError, KeyError) as error:
                raise DatasetError(f"{self.folder}/{group.file}: {error}") from None
            while len(self._cache) >= _CACHED_GROUPS:
                self._cache.pop(next(iter(self._cache)), None)
            self._cache[number] = values
        return self._cache[number]

    @cached_property
    def _firsts(self) -> np.ndarray:
        return np.array([group.first for group in self._groups], np.int64)

    @overload
    def __getitem__(self, vertex: int) -> Any: ...

    @overload
    def __getitem__(self, vertex: slice) -> list[Any]: ...

    def __getitem__(self, vertex: Any) -> Any:
        """Return the id of a vertex, or a list of ids for a slice."""
        if isinstance(vertex, slice):
            return id_columns.to_python(self.take(np.arange(len(self))[vertex]))
        number = int(vertex)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self):,} vertices (got {vertex})")
        return id_columns.to_python(self.take(np.array([number])))[0]

    def __iter__(self) -> Iterator[Any]:
        """Yield all ids in order."""
        for number in range(len(self._groups)):
            yield from id_columns.to_python(Ids(self._read(number), self.kind))

    def all(self) -> Ids:
        """Return all ids in order, which are kept in memory then."""
        with self._lock:
            if self._all is None:
                pieces = [self._read(number) for number in range(len(self._groups))]
                values = pa.concat_arrays(pieces) if pieces else id_columns.empty(self.kind).values
                self._all = Ids(values, self.kind)
                self._cache.clear()
            return self._all

    def take(self, vertices: np.ndarray) -> Ids:
        """Return the ids of vertices, in their order."""
        vertices = np.asarray(vertices, np.int64)
        if not vertices.size:
            return id_columns.empty(self.kind)
        groups = np.searchsorted(self._firsts, vertices, "right") - 1
        order = np.argsort(groups, kind="stable")
        pieces, sorted_groups = [], groups[order]
        for number in np.unique(sorted_groups).tolist():
            begin, end = np.searchsorted(sorted_groups, [number, number + 1])
            rows = vertices[order[begin:end]] - self._firsts[number]
            pieces.append(self._read(number).take(pa.array(rows)))
        inverse = np.empty(vertices.size, np.int64)
        inverse[order] = np.arange(vertices.size)
        return Ids(pa.concat_arrays(pieces).take(pa.array(inverse)), self.kind)

    def parse(self, text: str) -> Any:
        """Return the id that a text of the command line or a file stands for, or None."""
        if self.kind in ("int64", "uint64"):
            digits = text[1:] if text[:1] == "-" else text
            return int(text) if digits.isascii() and digits.isdigit() else None
        if self.kind == "uuid":
            try:
                return uuid.UUID(text)
            except ValueError:
                return None
        return text.encode() if self.kind == "binary" else text

    def find(self, identifier: Any) -> int | None:
        """Return the vertex with an id, or None."""
        value = self._stored(identifier)
        if value is None or not len(self):
            return None
        if self.table.ascending:
            smallest = [group.smallest for group in self._groups]
            if None not in smallest:
                keys = [x.encode() if isinstance(x, str) else x for x in smallest]
                number = _last_at_most(keys, value)
                return None if number < 0 else self._search(number, value)
        for number in range(len(self._groups)):
            if (found := self._search(number, value)) is not None:
                return found
        return None

    def _stored(self, identifier: Any) -> Any:
        """Return an id as it is stored, or None if none is like it."""
        if self.kind in ("int64", "uint64"):
            if isinstance(identifier, bool) or not isinstance(identifier, int | np.integer):
                return None
            low, high = (0, 1 << 64) if self.kind == "uint64" else (-(1 << 63), 1 << 63)
            return int(identifier) if low <= identifier < high else None
        if self.kind == "uuid":
            return identifier.bytes if isinstance(identifier, uuid.UUID) else None
        if self.kind == "string":
            return identifier.encode() if isinstance(identifier, str) else None
        return identifier if isinstance(identifier, bytes) else None

    def _search(self, number: int, value: Any) -> int | None:
        values = self._read(number)
        row = pc.index(values, pa.scalar(value, values.type)).as_py()
        return None if row < 0 else self._groups[number].first + int(row)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the vertex with an id; raise ValueError if there is none in the range."""
        found = self.find(value)
        if found is None or not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"no vertex is {value!r:.60}")
        return found

    def __contains__(self, value: object) -> bool:
        """Return whether a vertex has this id."""
        return self.find(value) is not None


def _last_at_most(keys: Sequence[Any], value: Any) -> int:
    """Return the index of the last of ascending keys that is at most a value, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


def labels_as_ids(labels: Iterable[Any]) -> Ids:
    """Return labels as ids: whole numbers or UUIDs if all are, else their text."""
    values = list(labels)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        try:
            return Ids(pa.array(values, pa.int64()), "int64")
        except OverflowError:
            if min(values) >= 0 and max(values) < 1 << 64:
                return Ids(pa.array(values, pa.uint64()), "uint64")
    if values and all(isinstance(value, uuid.UUID) for value in values):
        return Ids(pa.array([value.bytes for value in values], pa.large_binary()), "uuid")
    words = [value if isinstance(value, str) else str(value) for value in values]
    if len(set(words)) < len(words):
        raise UsageError(
            "labels must differ as text in a dataset: two labels of the graph are the same text"
        )
    return Ids(pa.array(words, pa.large_string()).cast(pa.large_binary()), "string")


def _ascend(ids: Ids) -> bool:
    later, earlier = ids.values.slice(1), ids.values.slice(0, max(0, len(ids) - 1))
    return bool(pc.all(pc.greater(later, earlier)).as_py() is not False)


def write_ids(
    ids: Ids, folder: Folder, compression: Compression, attributes: Any = None
) -> VertexTable:
    """Write the ids of all vertices of a graph. attributes: a table with a row per vertex."""
    names = [] if attributes is None else list(attributes.column_names)
    files, rows = [], []
    for index, start in enumerate(range(0, max(len(ids), 1), _FILE_ROWS)):
        piece = Ids(ids.values.slice(start, _FILE_ROWS), ids.kind)
        more = None if attributes is None else attributes.slice(start, _FILE_ROWS)
        files.append(vertices_name(index))
        rows.append(len(piece))
        write_file(folder, files[-1], start, piece, compression, more)
    return VertexTable(ids.kind, _ascend(ids), tuple(files), tuple(rows), tuple(names))


def write_file(
    folder: Folder,
    name: str,
    first: int,
    ids: Ids,
    compression: Compression,
    attributes: Any = None,
) -> None:
    """Write one file: the vertices from ``first`` on."""
    dtype = np.int32 if first + len(ids) <= 1 << 31 else np.int64
    columns = {
        "vertex": pa.array(np.arange(first, first + len(ids), dtype=dtype)),
        "id": id_columns.to_column(ids),
    }
    if attributes is not None:
        columns |= dict(zip(attributes.column_names, attributes.columns, strict=True))
    table = pa.table(columns)
    level = 1 if compression == "zstd" else None
    with folder.writing(name) as sink, timings.step(timings.WRITING):
        folder.call(
            lambda: pq.write_table(
                table,
                sink,
                row_group_size=GROUP_ROWS,
                compression=compression,
                compression_level=level,
            ),
            table.nbytes,
        )
