"""Ids of vertices as columns: their types, and the order in which they number the vertices.

Rule: vertices are numbered in the ascending order of their ids. Whole numbers are compared as
numbers, whatever their types; strings by their UTF-8 bytes, and other ids of bytes, such as UUIDs,
by these. So the numbers do not depend on the order of the edges, nor on files or workers.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgraph.core.ranking_cpu import rank_numbers, rank_strings

Kind = Literal["int64", "uint64", "string", "binary", "uuid"]
_ARROW = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "string": pa.large_string(),
    "binary": pa.large_binary(),
    "uuid": pa.large_binary(),
}
_EXACT = 1 << 53
_UUID_BYTES = 16


class Ids(NamedTuple):
    """A column of ids: int64, uint64 or large_binary values, and what they stand for."""

    values: Any
    kind: Kind

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.values)


def id_type(kind: Kind) -> Any:
    """Return the Arrow type of a column of such ids."""
    return pa.binary(_UUID_BYTES) if kind == "uuid" else _ARROW[kind]


def as_ids(column: Any, name: str = "id") -> Ids:
    """Return a column of any Arrow type as ids. Raises ValueError for other types and nulls."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise ValueError(f"{name} must not be missing (row {row + 1:,} has none)")
    arrow_type = column.type
    if pa.types.is_integer(arrow_type):
        kind: Kind = "uint64" if arrow_type == pa.uint64() else "int64"
        return Ids(column.cast(_ARROW[kind]), kind)
    if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        return Ids(_whole(column, name), "int64")
    if arrow_type in (pa.string(), pa.large_string(), pa.string_view()):
        return Ids(column.cast(pa.large_string()).cast(pa.large_binary()), "string")
    if pa.types.is_fixed_size_binary(arrow_type) and arrow_type.byte_width == _UUID_BYTES:
        return Ids(column.cast(pa.large_binary()), "uuid")
    if arrow_type in (pa.binary(), pa.large_binary(), pa.binary_view()) or (
        pa.types.is_fixed_size_binary(arrow_type)
    ):
        return Ids(column.cast(pa.large_binary()), "binary")
    if pa.types.is_null(arrow_type) and not len(column):
        return Ids(pa.array([], pa.int64()), "int64")
    raise ValueError(f"{name} must be whole numbers or strings (got {arrow_type})")


def _whole(column: Any, name: str) -> Any:
    """Return numbers that may have fractions as whole ones, or raise ValueError if some do."""
    try:
        whole = column.cast(pa.int64())
        if pa.types.is_decimal(column.type):
            return whole
        too_large = pc.greater_equal(pc.abs(column), float(_EXACT))
        if not pc.any(too_large).as_py():
            return whole
        bad = column.filter(too_large)[0]
    except pa.ArrowInvalid:
        values = column.cast(pa.float64())
        is_whole = pc.and_(pc.is_finite(values), pc.equal(pc.floor(values), values))
        fractions = column.filter(pc.invert(is_whole))
        bad = fractions[0] if len(fractions) else column[0]
    raise ValueError(f"{name} must be whole numbers or strings (got {bad} as {column.type})")


def common_kind(kinds: Sequence[Kind], lowest: int, highest: int) -> Kind:
    """Return the kind of all ids of a graph. Raises ValueError if there is none.

    lowest, highest: of all ids that are whole numbers.
    """
    distinct = set(kinds) or {"int64"}
    if distinct == {"int64", "uint64"}:
        if lowest < 0 and highest >= 1 << 63:
            raise ValueError(
                f"ids must fit 64 bits together (got {lowest:,} and {highest:,}); text holds both"
            )
        return "uint64" if highest >= 1 << 63 else "int64"
    if len(distinct) > 1:
        raise ValueError(
            f"ids must be of one type, of edges and of vertices (got "
            f"{' and '.join(sorted(distinct))}); `text_ids=True` reads numbers as text"
        )
    return distinct.pop()


def bounds(ids: Ids) -> tuple[int, int]:
    """Return the smallest and the largest whole number; (0, -1) for strings and without rows."""
    if ids.kind not in ("int64", "uint64") or not len(ids):
        return 0, -1
    values = to_numpy(ids)
    return int(values.min()), int(values.max())


def to_numpy(ids: Ids) -> np.ndarray:
    """Return whole numbers as a NumPy array."""
    values: np.ndarray = ids.values.to_numpy(zero_copy_only=False)
    return values


def convert(ids: Ids, kind: Kind) -> Ids:
    """Return ids in the common kind of their graph."""
    if not len(ids):
        return empty(kind)
    return ids if ids.kind == kind else Ids(ids.values.cast(_ARROW[kind]), kind)


def empty(kind: Kind) -> Ids:
    """Return no ids."""
    stored = _ARROW[kind]
    return Ids(pa.array([], pa.large_binary() if kind == "string" else stored), kind)


def concatenate(columns: Sequence[Ids]) -> Ids:
    """Return columns of one kind below each other."""
    return Ids(pa.concat_arrays([ids.values for ids in columns]), columns[0].kind)


def string_buffers(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets and the bytes of large_binary values, without a copy."""
    if not len(values):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return ends, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def rank(ids: Ids) -> tuple[Ids, np.ndarray]:
    """Return the distinct ids in ascending order, and each row's index among them, uint32."""
    if ids.kind in ("int64", "uint64"):
        distinct, ranks = rank_numbers(to_numpy(ids))
        return Ids(pa.array(distinct), ids.kind), ranks
    rows, ranks = rank_strings(*string_buffers(ids.values))
    return Ids(ids.values.take(pa.array(rows)), ids.kind), ranks


def to_column(ids: Ids) -> Any:
    """Return ids as a column whose type tells what they are."""
    return ids.values.cast(id_type(ids.kind))


def to_python(ids: Ids) -> list[Any]:
    """Return ids as Python's int, str, bytes or UUID."""
    import uuid

    if ids.kind == "string":
        return list(ids.values.cast(pa.large_string()).to_pylist())
    values = ids.values.to_pylist()
    return [uuid.UUID(bytes=value) for value in values] if ids.kind == "uuid" else list(values)
