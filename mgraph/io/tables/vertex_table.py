"""Tables of vertices: a row per vertex, with its id and attributes such as coordinates."""

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv, feather

from mgraph.core.choices import did_you_mean
from mgraph.errors import DatasetError, UsageError
from mgraph.io.address import location_text
from mgraph.io.attributes import VERTEX_RESERVED
from mgraph.io.tables.arrow_files import VIEWS, explaining
from mgraph.io.tables.column_names import list_names, unique_name
from mgraph.io.tables.table_files import find_files
from mgraph.io.tables.text_pieces import open_text
from mgraph.io.untrusted import printable

_IDS = ("id", "vertex", "node", "nodeid", "vertexid", "osmid", "name", "key")
_WHOLE = "-?(0|[1-9][0-9]*)"
_FRACTION = rf"{_WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_NUMBER = re.compile(_FRACTION)


def read_vertices(location: Any, column: str | None, text_ids: bool) -> tuple[pa.Table, str]:
    """Read a table of vertices; return it, and the column of ids.

    column: that column, by default one with a usual name, or the first. text_ids: ids are text even
    if they look like numbers, as those of the edges are. Raises DatasetError, UsageError.
    """
    text = location_text(location)
    tables = [_read_file(file, column, text_ids) for file in find_files(text)]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DatasetError(f"{text}: its files have columns of different types: {error}") from None
    name = find_id_column(table.column_names, column, text)
    if len(set(table.column_names)) < len(table.column_names):
        twice = next(x for x in table.column_names if table.column_names.count(x) > 1)
        raise DatasetError(f"{text}: it has two columns {printable(twice)}")
    renamed: list[str] = []
    for other in table.column_names:
        if other != name:
            given = "label" if other.lower() == "label" else other  # as Gephi writes it
            taken = [
                *VERTEX_RESERVED,
                name,
                *renamed,
                *(x for x in table.column_names if x != other),
            ]
            other = unique_name(given, taken)
        renamed.append(other)
    ids = table.column(table.column_names.index(name))
    if pa.types.is_string(ids.type) and pc.any(pc.equal(ids, "")).as_py():
        row = pc.index(ids, "").as_py()
        raise DatasetError(f"{text}: {name} must not be missing (row {row + 1:,} has none)")
    return table.rename_columns(renamed), name


def find_id_column(names: Sequence[str], column: str | None, location: str) -> str:
    """Return the column of ids among these, or raise UsageError."""
    if column is not None:
        if column in names:
            return column
        raise UsageError(
            f"{location} has no column {column}; its columns are {list_names(names)}"
            f"{did_you_mean(column, list(names))}",
            parameter="vertex_id",
        )
    plain = {name.lower().replace("_", "").replace(":", ""): name for name in reversed(names)}
    return next((plain[name] for name in _IDS if name in plain), names[0])


def _read_file(file: Any, column: str | None, text_ids: bool) -> pa.Table:
    with explaining(file.path, file.kind):
        if file.kind == "parquet":
            with file.folder.open(file.name) as stream:
                table = pq.read_table(stream)
        elif file.kind == "arrow":
            with file.folder.open(file.name) as stream:
                table = feather.read_table(stream)
                table.validate(full=True)
        else:
            table = _read_text(file, column, text_ids)
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            decoded = table.column(i).cast(field.type.value_type)
            table = table.set_column(i, field.name, decoded)
        elif field.type in VIEWS:
            table = table.set_column(i, field.name, table.column(i).cast(VIEWS[field.type]))
    kept = [i for i, name in enumerate(table.column_names) if not name.startswith("__")]
    return table.select(kept)


def _read_text(file: Any, column: str | None, text_ids: bool) -> pa.Table:
    """Read a CSV or TSV file whose first line names the columns."""
    with open_text(file.folder, file.name) as stream:
        content = bytes(stream.read())
    content = content.removeprefix(b"\xef\xbb\xbf")
    head = content.partition(b"\n")[0]
    delimiter = max("\t,;|", key=lambda x: head.count(x.encode()))
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names = csv.open_csv(pa.BufferReader(content), parse_options=parse).schema.names
    if any(map(_NUMBER.fullmatch, names)):
        raise DatasetError(
            f"{file.path}: its first line must name the columns (got {list_names(names)})"
        )
    convert = csv.ConvertOptions(
        strings_can_be_null=False, column_types=dict.fromkeys(names, pa.string())
    )
    table = csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=convert)
    as_text = {find_id_column(names, column, file.path)} if text_ids else set()
    columns = [
        table.column(i) if name in as_text else _numbers_or_text(table.column(i))
        for i, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=names)


def _numbers_or_text(column: Any) -> Any:
    """Return text as numbers if each is written as numbers are: 00501 and +49 are text."""
    for arrow_type, pattern in ((pa.int64(), _WHOLE), (pa.float64(), _FRACTION)):
        is_missing = pc.equal(column, "")
        is_number = pc.or_(is_missing, pc.match_substring_regex(column, f"^{pattern}$"))
        if pc.all(is_number).as_py() and not pc.all(is_missing).as_py():
            try:
                return pc.if_else(is_missing, None, column).cast(arrow_type)
            except pa.ArrowInvalid:  # it does not fit
                continue
    return column
