"""The rows of a text edge list as record batches: ids, weights and attributes.

Rows are parsed by PyArrow's CSV reader. What it does not take is parsed again line by line, which
finds the line and the field that is wrong, or reads what is right in another spelling.
"""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from mgraph.io.tables.column_names import attribute_names
from mgraph.io.tables.text_layout import TextLayout, parse_id, rows_of, split_line
from mgraph.io.text import has_hexadecimal, parse_number, parse_whole, quote

_COMMENT_LINE = re.compile(rb"^[ \t]*[#%][^\n]*(\n|\Z)", re.M)
_EXACT = 1 << 53  # beyond it a double does not hold every whole number


def parse_rows(
    content: bytes, layout: TextLayout, start: int = 0, first_line: int = 1
) -> pa.RecordBatch:
    """Parse lines from an offset on, as rows.

    The batch has columns src, dst (int64, uint64 or string), weight (int64 or double) if there is
    one, and the attributes as strings. first_line: the number of the line at the offset. Raises
    ValueError that names the line which is wrong.
    """
    body: Any = memoryview(content)[start:] if start else content
    if any(content.find(mark, start) >= 0 for mark in (b"#", b"%")):
        body = _COMMENT_LINE.sub(b"", body)
    columns = None
    if len(body) and (layout.ids == "text" or not has_hexadecimal(content, start)):
        columns = _parse_quickly(body, layout, content.find(b'"', start) >= 0)
    if columns is None:
        columns = _parse_lines(content, layout, start, first_line)
    return _direct(columns, layout)


def _types(layout: TextLayout, weight: str, ids: str) -> dict[str, Any]:
    id_type = {"text": "string", "decimal": "double", "whole": ids}[layout.ids]
    types: dict[str, Any] = dict.fromkeys(map(str, range(len(layout.names))), "string")
    types |= {str(end): id_type for end in layout.ends}
    if layout.weight is not None:
        types[str(layout.weight)] = weight
    return types


def _parse_quickly(body: Any, layout: TextLayout, has_quotes: bool) -> dict[str, Any] | None:
    """Return the columns by name as PyArrow parses them, or None if it does not."""
    delimiter = layout.single
    if delimiter is None:
        body, delimiter = re.sub(rb"[ \t]+", b" ", bytes(body)), " "
        body = re.sub(rb"^ | $", b"", body, flags=re.M)
    attempts = [("int64", "int64"), ("double", "int64"), ("int64", "uint64"), ("double", "uint64")]
    if layout.weight is None:
        attempts = [attempts[0], attempts[2]]
    if layout.ids != "whole":
        attempts = attempts[:2]
    for weight, ids in attempts:
        try:
            table = csv.read_csv(
                pa.BufferReader(body),
                read_options=csv.ReadOptions(
                    column_names=[str(i) for i in range(len(layout.names))],
                    block_size=len(body) + 1,
                    use_threads=False,
                ),
                parse_options=csv.ParseOptions(
                    delimiter=delimiter,
                    quote_char=False if layout.delimiter is None else '"',
                    newlines_in_values=layout.delimiter is not None,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=_types(layout, weight, ids),
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            continue
        return _check_quickly(table, layout, has_quotes)
    return None


def _check_quickly(table: pa.Table, layout: TextLayout, has_quotes: bool) -> dict[str, Any] | None:
    """Return the columns by name, with ids trimmed and whole, or None if lines must be checked.

    has_quotes: whether the text has quotes, in which blanks around ids belong to them.
    """
    columns = {name: table.column(str(i)) for i, name in enumerate(layout.names)}
    for index in layout.ends:
        name = layout.names[index]
        ids = columns[name].combine_chunks()
        if layout.ids == "text":
            trimmed = pc.utf8_trim_whitespace(ids)
            if has_quotes and not trimmed.equals(ids):
                return None
            ids = trimmed
            if pc.any(pc.equal(pc.binary_length(ids), 0)).as_py():
                return None
        elif layout.ids == "decimal":
            if pc.any(pc.greater_equal(pc.abs(ids), float(_EXACT))).as_py():
                return None
            try:
                ids = ids.cast(pa.int64())  # checked: no fraction is lost
            except pa.ArrowInvalid:
                return None
        columns[name] = ids
    if layout.weight is not None:
        weight = columns[layout.names[layout.weight]]
        if pa.types.is_floating(weight.type) and pc.any(pc.is_nan(weight)).as_py():
            return None
    return columns


def _parse_lines(content: bytes, layout: TextLayout, start: int, first_line: int) -> dict[str, Any]:
    """Parse one line after another; raise ValueError for the first that is wrong."""
    fields: list[list[Any]] = [[] for _ in layout.names]
    before = content.count(b"\n", 0, start) + 1
    for counted, line, _ in rows_of(content, start):
        number = counted - before + first_line
        try:
            words = split_line(line, layout.delimiter)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if len(words) != len(layout.names):
            raise ValueError(
                f"line {number} must be {layout.row}, as the others (got {len(words)}: "
                f"{quote(line)})"
            )
        for index, (column, word) in enumerate(zip(fields, words, strict=True)):
            column.append(_parse_field(word, index, layout, number, line))
    return {
        name: _as_column(values, index, layout)
        for index, (name, values) in enumerate(zip(layout.names, fields, strict=True))
    }


def _parse_field(word: bytes, index: int, layout: TextLayout, number: int, line: bytes) -> Any:
    if index in layout.ends:
        value = parse_id(word, layout.ids)
        if value is None:
            need = "a vertex" if layout.ids == "text" else "a whole number, as other ids are"
            hint = "" if layout.ids == "text" or not word else "; `text_ids=True` reads ids as text"
            name = layout.names[index]
            raise ValueError(
                f"line {number}: {name} must be {need} (got {quote(word)} in {quote(line)}){hint}"
            )
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 64:
                raise ValueError(
                    f"line {number}: the id {quote(word)} does not fit 64 bits; `text_ids=True` "
                    "reads ids as text"
                )
            return value
    elif index == layout.weight:
        word = word.strip()
        whole = parse_whole(word)
        if whole is not None and -(1 << 63) <= whole < 1 << 63:
            return whole
        number_value = parse_number(word)
        if number_value is None or number_value != number_value:
            raise ValueError(
                f"line {number}: {layout.names[index]} must be a number (got {quote(word)} in "
                f"{quote(line)})"
            )
        return number_value
    else:
        value = word
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"line {number} is not UTF-8 text (got {quote(line)}); save the file as UTF-8"
            ) from None
    return value


def _as_column(values: list[Any], index: int, layout: TextLayout) -> Any:
    if index == layout.weight:
        if all(isinstance(value, int) for value in values):
            return pa.array(values, pa.int64())
        return pa.array(list(map(float, values)), pa.float64())
    if index in layout.ends and layout.ids != "text":
        if all(value < 1 << 63 for value in values):
            return pa.array(values, pa.int64())
        if min(values) < 0:
            raise ValueError(
                f"its ids must fit 64 bits together (got {min(values)} and {max(values)})"
            )
        return pa.array(values, pa.uint64())
    return pa.array(values, pa.string())


def _direct(columns: dict[str, Any], layout: TextLayout) -> pa.RecordBatch:
    """Return the batch: ends, weight, attributes; of an undirected edge among arcs both arcs."""
    names = [layout.names[index] for index in layout.ends]
    renamed = dict(zip(("src", "dst"), (columns[name] for name in names), strict=True))
    if layout.weight is not None:
        renamed["weight"] = columns[layout.names[layout.weight]]
    kept = attribute_names([layout.names[i] for i in layout.attributes])
    renamed |= {new: columns[name] for name, new in kept.items()}
    arrays = [
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        for column in renamed.values()
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(renamed))
    if layout.direction is None:
        return batch
    words = pc.utf8_lower(columns[layout.names[layout.direction]])
    if isinstance(words, pa.ChunkedArray):
        words = words.combine_chunks()
    both = pc.equal(words, "undirected")
    known = pc.or_(both, pc.equal(words, "directed"))
    if not pc.all(known).as_py():
        bad = words.filter(pc.invert(known))[0].as_py()
        raise ValueError(f"its column Type must say Directed or Undirected (got {bad!r:.60})")
    if not layout.directed:
        if not pc.all(both).as_py():
            raise ValueError(
                "its column Type says Directed after many rows that are Undirected; sort the rows, "
                "or drop that column"
            )
        return batch
    mirrored = batch.filter(both)
    ends = [mirrored.column("dst"), mirrored.column("src"), *mirrored.columns[2:]]
    mirrored = pa.RecordBatch.from_arrays(ends, names=batch.schema.names)
    mirrored = mirrored.filter(pc.not_equal(mirrored.column("src"), mirrored.column("dst")))
    (table,) = pa.Table.from_batches([batch, mirrored]).combine_chunks().to_batches() or [batch]
    return table
