"""Edge tables as a whole in memory: their edges, with the vertices numbered."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.core.graph import MAX_N
from mgraph.core.host import available_cores
from mgraph.errors import DatasetError
from mgraph.io.listing import Attributes, Listing, narrow
from mgraph.io.tables import column_names, id_columns
from mgraph.io.tables.edge_tables import open_tables
from mgraph.io.tables.id_columns import Ids, Kind
from mgraph.io.tables.sparse_ids import (
    SparseIdsError,
    UnnumberedError,
    explain_unnumbered,
    is_sparse,
)
from mgraph.io.tables.table_files import TableOptions


def read_listing(
    location: Any, options: TableOptions, renumber: bool = False, attributes: bool = False
) -> Listing:
    """Read all edges of the tables at a location.

    renumber: number the vertices in the ascending order of their ids, as is done anyway for ids
    that are strings. attributes: whether to read the other columns. Raises DatasetError,
    StorageError, UsageError.
    """
    tables = open_tables(location, options)
    notes = [*tables.notes]
    if not attributes:
        has_none = any(chunk.layout and chunk.layout.is_triples for chunk in tables.chunks)
        has_weight = tables.columns.weight is not None or has_none  # none that could be named
        notes += column_names.unread_note(tables.attributes, has_weight)
        tables = tables.without_attributes()
    read = cancellation.map_in_threads(
        lambda chunk: list(chunk.batches()), tables.chunks, available_cores()
    )
    batches = [batch for chunk in read for batch in chunk]
    try:
        edges, n, labels = number_batches(batches, tables.location, renumber)
    except SparseIdsError as error:
        raise UnnumberedError(f"{tables.location}: {error}") from None
    except ValueError as error:
        raise DatasetError(f"{tables.location}: {error}") from None
    kept = Attributes(_attribute_columns(batches, tables.location))
    return Listing(edges, n, tables.directed, labels, tuple(notes), kept)


def _attribute_columns(batches: Sequence[pa.RecordBatch], location: str) -> pa.Table | None:
    """Return the columns beside the edges'; None if there are none."""
    own = [name for name in ("src", "dst", "weight") if batches and name in batches[0].schema.names]
    tables = [pa.Table.from_batches([batch]).drop_columns(own) for batch in batches]
    if not tables or not any(table.num_columns for table in tables):
        return None
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise DatasetError(
            f"{location}: columns must have types that go together in all files"
        ) from None


def number_batches(
    batches: Sequence[pa.RecordBatch], location: str | None, renumber: bool
) -> tuple[EdgeList, int, tuple[Any, ...] | None]:
    """Return the edges of batches, the number of vertices, and their labels if they have any.

    Raises ValueError for ids and weights that do not go together.
    """
    src, dst = (id_column(batch.column(side) for batch in batches) for side in (0, 1))
    kind = common_kind_of([src, dst])
    src, dst = id_columns.convert(src, kind), id_columns.convert(dst, kind)
    weight = weight_column(
        batch.column("weight") for batch in batches if "weight" in batch.schema.names
    )
    if kind in ("int64", "uint64") and not renumber:
        ends = [id_columns.to_numpy(ids) for ids in (src, dst)]
        low = min((int(ids.min()) for ids in ends if ids.size), default=0)
        high = max((int(ids.max()) for ids in ends if ids.size), default=-1)
        if low < 0 or high >= MAX_N or is_sparse(high + 1, len(src)):
            raise SparseIdsError(explain_unnumbered(location, low, high, [ends]))
        numbers = [ids.astype(np.int64, copy=False) for ids in ends]
        return EdgeList(numbers[0], numbers[1], weight), high + 1, None
    distinct, ranks = id_columns.rank(id_columns.concatenate([src, dst]))
    vertices = ranks.astype(np.int32 if len(distinct) < 1 << 31 else np.int64)
    edges = EdgeList(vertices[: len(src)], vertices[len(src) :], weight)
    labels = tuple(id_columns.to_python(distinct))
    if labels == tuple(range(len(labels))):
        return edges, len(labels), None
    return edges, len(labels), labels


def common_kind_of(columns: Sequence[Ids]) -> Kind:
    """Return the kind of all ids of columns. Raises ValueError if there is none."""
    ranges = [id_columns.bounds(ids) for ids in columns] or [(0, -1)]
    lowest, highest = min(low for low, _ in ranges), max(high for _, high in ranges)
    return id_columns.common_kind([ids.kind for ids in columns if len(ids)], lowest, highest)


def id_column(columns: Iterable[Any]) -> Ids:
    """Return the ids of batches below each other, in their common kind."""
    ids = [id_columns.as_ids(column) for column in columns if len(column)]
    if not ids:
        return Ids(pa.array([], pa.int64()), "int64")
    kind = common_kind_of(ids)
    return id_columns.concatenate([id_columns.convert(column, kind) for column in ids])


def weight_column(columns: Iterable[Any]) -> np.ndarray | None:
    """Return the weights of batches below each other; int32 if all are whole and fit."""
    arrays = list(columns)
    if not arrays:
        return None
    common = common_weight_type([array.type for array in arrays])
    joined = pa.concat_arrays([cast_weights(array, common) for array in arrays])
    array: np.ndarray = narrow(joined.to_numpy(zero_copy_only=False))
    return array


def common_weight_type(types: Iterable[Any]) -> Any:
    """Return the Arrow type that holds weights of all these types."""
    distinct = set(types)
    if len(distinct) == 1:
        return distinct.pop()
    if all(map(pa.types.is_integer, distinct)):
        return pa.int64()
    return pa.float64()


def cast_weights(array: Any, weight_type: Any) -> Any:
    """Return weights in their common type. Raises ValueError if that rounds one."""
    if pa.types.is_floating(weight_type) and pa.types.is_integer(array.type):
        return exact_double(array)
    return array.cast(weight_type)


def exact_double(array: Any) -> Any:
    """Return whole numbers as doubles. Raises ValueError if a double does not hold one."""
    if pa.types.is_floating(array.type):
        return array
    try:
        return array.cast(pa.float64())
    except pa.ArrowInvalid:
        raise ValueError(
            "weights must be whole numbers in all rows or at most 2^53, since other rows have "
            "fractions"
        ) from None
