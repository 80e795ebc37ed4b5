"""Attributes: what edges and vertices have beside ends, weights and ids, as Arrow tables."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mgraph.errors import UsageError
from mgraph.io.tables.column_names import unique_name

VERTEX_RESERVED = ("vertex", "id")


def named_table(columns: Iterable[tuple[str, Any]], reserved: Sequence[str]) -> pa.Table | None:
    """Return columns as a table; None if there are none.

    reserved: names that a dataset's own columns have: an attribute of that name is called
    ``NAME_given``.
    """
    named: dict[str, Any] = {}
    for given, column in columns:
        named[unique_name(given, [*reserved, *named])] = column
    return pa.table(named) if named else None


def object_column(values: Sequence[Any]) -> pa.Array:
    """Return Python values as a column; as JSON text if they have no common type."""
    if not any(isinstance(value, dict | list | tuple) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in values
    ]
    return pa.array(texts, pa.string())


def list_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the values of each row that are not null: numbers, booleans and text."""
    columns = [(name, text_or_number(table[name], name).to_pylist()) for name in table.column_names]
    return [
        {name: values[row] for name, values in columns if values[row] is not None}
        for row in range(table.num_rows)
    ]


def xml_type(arrow_type: pa.DataType) -> str:
    """Return GraphML's type of the values that ``list_rows`` returns for a column."""
    if pa.types.is_boolean(arrow_type):
        return "boolean"
    if pa.types.is_integer(arrow_type) and arrow_type != pa.uint64():
        return "int" if arrow_type.bit_width <= 32 and arrow_type != pa.uint32() else "long"
    if pa.types.is_floating(arrow_type):
        return "double" if arrow_type == pa.float64() else "float"
    return "string"


def text_or_number(column: Any, name: str) -> Any:
    """Return a column as it is if it holds numbers, booleans or text, else as text.

    Raises UsageError, with its name, for values that have no text.
    """
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, _is_text)
    if any(check(column.type) for check in checks):
        return column
    try:
        if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type):
            return column.cast(pa.string())
        values = [None if value is None else _as_text(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    except (pa.ArrowException, OverflowError, ValueError):
        raise UsageError(
            f"the attribute {name!r:.60} has values of {column.type} that cannot be text"
        ) from None


def _is_text(arrow_type: Any) -> bool:
    return pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)


def _as_text(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.hex() if isinstance(value, bytes) else str(value)


def check_density(names: int, rows: int, values: int) -> None:
    """Raise ValueError for attributes that are nearly all missing: a table takes far more memory.

    Some programs make an attribute of each value.
    """
    if names * rows > max(_MOST_CELLS, 1000 * values):
        raise ValueError(
            f"its {rows:,} nodes or edges have {names:,} attributes, and only {values:,} values of "
            "them; make fewer attributes"
        )


class AttributeTexts:
    """The attributes of nodes or edges as a text file has them: names, types, and some values."""

    def __init__(self, reserved: Sequence[str]) -> None:
        """Begin without attributes. reserved: as for ``named_table``."""
        self._reserved = reserved
        self._types: dict[str, set[str]] = {}
        self._defaults: dict[str, str] = {}
        self._values: dict[str, dict[int, str]] = {}

    def declare(self, name: str, kind: str) -> None:
        """Declare an attribute, perhaps again, of a type that the file names."""
        self._types.setdefault(name, set()).add(kind.lower())

    def set_default(self, name: str, text: str) -> None:
        """Set the value of those that have none."""
        self._defaults[name] = text

    def set(self, name: str, row: int, text: str) -> bool:
        """Set a value; return whether there was none."""
        values = self._values.setdefault(name, {})
        is_first = row not in values
        values[row] = text
        return is_first

    def table(self, rows: int) -> pa.Table | None:
        """Return the attributes that have a value anywhere, of so many nodes or edges."""
        columns = []
        check_density(len(self._values), rows, sum(map(len, self._values.values())))
        for name in dict.fromkeys([*self._types, *self._values]):
            values, default = self._values.get(name, {}), self._defaults.get(name)
            if rows and (values or default is not None):
                texts = [values.get(row, default) for row in range(rows)]
                columns.append((name, _typed(texts, self._types.get(name, set()))))
        return named_table(columns, self._reserved)


_WHOLE = {"int", "long", "integer", "short", "byte", "biginteger"}
_NUMBER = _WHOLE | {"float", "double"}
_MOST_CELLS = 1 << 24


def _typed(texts: Sequence[str | None], kinds: set[str]) -> pa.Array:
    """Return texts as a column of the type that a file declares, if all are of it; else as text."""
    column = pa.array(texts, pa.string())
    if not kinds or not (kinds <= _NUMBER or kinds == {"boolean"}):
        return column
    arrow_type = pa.int64() if kinds <= _WHOLE else pa.float64()
    if kinds == {"boolean"}:
        arrow_type = pa.bool_()
    if any("x" in text.lower() for text in texts if text is not None):
        return column  # Arrow takes 0x10 for a whole number
    words = pc.utf8_trim_whitespace(column)
    try:
        return pc.if_else(pc.equal(words, ""), None, words).cast(arrow_type)
    except pa.ArrowInvalid:
        return column
