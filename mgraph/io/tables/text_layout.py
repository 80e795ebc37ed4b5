"""What a text edge list looks like, by its beginning: delimiter, header, columns and types.

A row per line, in fields between one delimiter: a tab, comma, semicolon or bar, or any white space.
Lines that begin with # or % are comments (SNAP, KONECT). A first line of names is a header. The
third column of a file without a header holds weights if it holds numbers.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from mgraph.io.tables import column_names
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.text_notes import comment_notes, find_doubts, is_numeric
from mgraph.io.text import lines_of, parse_whole, quote

COMMENTS = (b"#", b"%")
IdKind = Literal["whole", "decimal", "text"]
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_QUOTED = re.compile('"(?:[^"]|"")*"')
_PLAIN_ID = re.compile(rb"-?(0|[1-9][0-9]*)")
_DECIMAL_ID = re.compile(rb"-?(0|[1-9][0-9]*)(\.0*)?")
_LIKE_NUMBER = re.compile(rb"[+-]?[.,]?[0-9]")
_SAMPLED_ROWS = 2000
_MAX_QUOTED = 1 << 16  # bytes of a row that goes on after the end of a line
_TYPES = {"directed", "undirected"}


class TextLayout(NamedTuple):
    """The layout of a text edge list.

    delimiter: None for any white space. single: the one byte that seems to separate fields, if so.
    names: of all columns. ends, weight, direction: indices of columns; direction: Gephi's column
    Type. ids: ``decimal`` for whole numbers that are written as 1.0. first_line: the number of the
    first row's line. notes: what a user should know. is_triples: ``ntriples`` parses the lines.
    """

    delimiter: str | None
    single: str | None
    names: tuple[str, ...]
    ends: tuple[int, int]
    weight: int | None
    direction: int | None
    ids: IdKind
    directed: bool
    first_line: int
    notes: tuple[str, ...] = ()
    is_triples: bool = False

    @property
    def attributes(self) -> list[int]:
        """The indices of the columns that are neither ends nor weight nor direction."""
        used = {*self.ends, self.weight, self.direction}
        return [i for i in range(len(self.names)) if i not in used]

    @property
    def row(self) -> str:
        """What a row is, for messages."""
        separator = f"between {_DELIMITERS[self.delimiter]}" if self.delimiter else "of words"
        return f"a row of {len(self.names)} fields {separator}"


def is_comment(line: bytes) -> bool:
    """Return whether a line is a comment."""
    return line.lstrip().startswith(COMMENTS)


def split_line(line: bytes, delimiter: str | None) -> list[bytes]:
    """Return a line's fields, without the blanks around those that are not in quotes.

    Raises ValueError for quotes that do not match.
    """
    if delimiter is None:
        return line.split()
    if b'"' not in line:
        return [field.strip() for field in line.split(delimiter.encode())]
    text = line.decode("utf-8", "surrogateescape")
    try:
        (fields,) = csv.reader([text], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{quote(line)} has quotes that do not match") from error
    whole, begin = [], 0
    for field in fields:
        quoted = _QUOTED.match(text, begin)
        whole.append(field if quoted else field.strip())
        end = text.find(delimiter, quoted.end() if quoted else begin)
        begin = len(text) if end < 0 else end + 1
    return [field.encode("utf-8", "surrogateescape") for field in whole]


def rows_of(content: bytes, start: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Yield the number of the first line, the text and the offset of each row or header.

    A row goes on after the end of a line that is within quotes.
    """
    begin, waiting = start, None
    for number, line, end in lines_of(content, start):
        if waiting is not None:
            first, offset = waiting
            text = content[offset : begin + len(line)]
            if text.count(b'"') % 2 and end < len(content) and len(text) < _MAX_QUOTED:
                begin = end
                continue
            waiting = None
            if text.count(b'"') % 2 == 0:
                yield first, text, offset
                begin = end
                continue
            yield from _unquoted(content, first, offset, end)
            begin = end
            continue
        if line.strip() and not is_comment(line):
            if line.count(b'"') % 2 and end < len(content):
                waiting = number, begin
            else:
                yield number, line, begin
        begin = end


def _unquoted(
    content: bytes, first: int, start: int, stop: int
) -> Iterator[tuple[int, bytes, int]]:
    """Yield the lines of a text whose quotes do not match, each as a row."""
    begin = start
    for count, (_, line, end) in enumerate(lines_of(content[:stop], start)):
        if line.strip() and not is_comment(line):
            yield first + count, line, begin
        begin = end


def _sample(content: bytes) -> list[tuple[int, bytes, int]]:
    rows = []
    for row in rows_of(content):
        rows.append(row)
        if len(rows) > _SAMPLED_ROWS:
            break
    if len(rows) > 1 and rows[-1][1].count(b'"') % 2:  # its end may not be in the sample
        rows.pop()
    return rows


def _widths(lines: Sequence[bytes], delimiter: str | None) -> set[int]:
    """Return the numbers of fields that lines have; empty if quotes do not match."""
    try:
        return {len(split_line(line, delimiter)) for line in lines}
    except ValueError:
        return set()


def _find_delimiter(lines: Sequence[bytes], requested: str | None) -> str | None:
    """Return the delimiter of the lines; None: white space. Raises ValueError if there is none."""
    if requested is not None:
        return None if requested == " " else requested
    tabbed = _widths(lines, "\t")
    if len(tabbed) == 1 and min(tabbed) >= 2:
        return "\t"
    body = lines[1:] or lines  # the first may be a header
    split = [line.split() for line in body]
    if all(len(words) >= 2 and all(map(_PLAIN_ID.fullmatch, words[:2])) for words in split):
        return None
    for delimiter in _DELIMITERS:
        widths = _widths(lines, delimiter)
        if len(widths) == 1 and min(widths) >= 2:
            return delimiter
    if all(len(words) >= 2 for words in split) and len({len(words) for words in split}) == 1:
        return None
    # Most lines decide; a row that has other fields is named when rows are parsed.
    most = max(_DELIMITERS, key=lambda x: sum(x.encode() in line for line in lines))
    if sum(most.encode() in line for line in lines) * 2 >= len(lines):
        return most
    if sum(len(words) >= 2 for words in split) * 2 >= len(body):
        return None
    raise ValueError(
        "it is no list of edges: its lines have no two fields between tabs, commas, semicolons, "
        f"bars or white space (got {quote(lines[0])})"
    )


def _single_separator(lines: Sequence[bytes]) -> str | None:
    """Return the one byte that separates all words of all lines, or None."""
    for separator in (" ", "\t"):
        if all(line == separator.encode().join(line.split()) for line in lines):
            return separator
    return None


def _has_header(rows: Sequence[Sequence[bytes]], request: ColumnRequest) -> bool:
    first, rest = rows[0], rows[1:]
    names = [field.decode(errors="replace") for field in first]
    if any(is_numeric(field) for field in first):
        return False
    if request.columns is None and (request.src in names or request.dst in names):
        return True
    try:
        if column_names.usual_ends(names) is not None:
            return True
    except ValueError:
        return True
    numeric = [i for i in range(len(first)) if rest and all(_is_number_at(row, i) for row in rest)]
    return {0, 1} <= set(numeric) or 2 in numeric


def _is_number_at(row: Sequence[bytes], index: int) -> bool:
    return index < len(row) and is_numeric(row[index])


def _id_kind(words: Sequence[tuple[int, bytes]]) -> IdKind:
    """Return what the ids in a sample are, each with its line's number.

    Where more than half of them are whole numbers, all must be, as is checked when rows are parsed.
    """
    present = [(number, word) for number, word in words if word]
    others = [(number, word) for number, word in present if not _PLAIN_ID.fullmatch(word)]
    if not others:
        return "whole"
    if all(map(_DECIMAL_ID.fullmatch, (word for _, word in present))):
        return "decimal"
    if len(others) * 2 < len(present):
        return "whole"
    if all(is_numeric(word) and not word.isdigit() for _, word in others):
        number, word = others[0]
        raise ValueError(
            f"line {number}: ids must be whole numbers or names (got {quote(word)}); "
            "`text_ids=True` reads them as text"
        )
    return "text"


def _find_weight(
    fields: Sequence[tuple[int, list[bytes]]], width: int, notes: list[str]
) -> int | None:
    """Return the index of the third column if it holds numbers. Raises ValueError if some are."""
    if width < 3:
        return None
    numeric = [_is_number_at(row, 2) for _, row in fields]
    if all(numeric):
        notes.append("weights are read from the third column")
        return 2
    like_numbers = any(len(row) > 2 and _LIKE_NUMBER.match(row[2]) for _, row in fields)
    attributes = next((n for n, row in fields if len(row) > 2 and row[2].startswith(b"{'")), None)
    if attributes is not None:
        raise ValueError(
            f"line {attributes} has attributes as NetworkX's write_edgelist writes them; write it "
            "with data=['weight'], or as GraphML"
        )
    first = fields[0][1]
    if any(numeric[1:]) and len(first) == width and re.match(rb"[A-Za-z_]", first[2]):
        names = [word.decode(errors="replace") for word in first[:3]]
        options = zip(("src", "dst", "weight"), names, strict=True)
        raise ValueError(
            f"line {fields[0][0]} seems to name the columns, by other names than usual; say which "
            f"are meant, as in {', '.join(f'`{option}={name!r}`' for option, name in options)}"
        )
    if any(numeric) or like_numbers:
        number, row = fields[numeric.index(False)]
        found = quote(row[2]) if len(row) > 2 else "nothing"
        raise ValueError(
            f"line {number} must have a weight, a number, in its third column (got {found}); if "
            "that column is no weight, name the columns, as in `columns='src,dst,label'`"
        )
    return None


def find_layout(
    content: bytes,
    request: ColumnRequest,
    delimiter: str | None = None,
    text_ids: bool = False,
) -> TextLayout:
    """Return the layout of a text whose beginning is given, in whole lines.

    delimiter, text_ids: if the user says so.
    Raises ValueError if it is no edge list.
    """
    rows = _sample(content)
    notes: list[str] = []
    if not rows:
        notes.append("it has no edges")
        comment_notes(content, len(content), notes)
        names = request.columns or ("src", "dst")
        ends = names[0], names[1]
        return _layout(content, delimiter, None, tuple(names), request, ends, "whole", notes)
    directed = comment_notes(content, rows[0][2], notes)
    lines = [line for _, line, _ in rows]
    delimiter = _find_delimiter(lines, delimiter)
    fields = [(number, split_line(line, delimiter)) for number, line, _ in rows]
    has_header = _has_header([row for _, row in fields], request)
    body, body_rows = (fields[1:], rows[1:]) if has_header else (fields, rows)
    width = len(fields[0][1])
    if width < 2:
        raise ValueError(
            f"line {fields[0][0]} must have two fields or more (got {quote(lines[0])})"
        )
    names = _names(fields[0][1], has_header, request)
    notes += find_doubts(fields, has_header, rows, content, request)
    weight = None
    if has_header or request.columns is not None or request.src or request.weight:
        found = column_names.resolve(names, request)
        ends, weight = (found.src, found.dst), found.weight
        notes += found.note()
    else:
        ends = names[0], names[1]
        if (index := _find_weight(body, width, notes)) is not None:
            names = (*names[:2], "weight", *names[3:])
            weight = names[index]
    indices = names.index(ends[0]), names.index(ends[1])
    ids = [(n, row[i]) for n, row in body for i in indices if i < len(row)]
    kind = _id_kind(ids) if ids and not text_ids else "whole"
    direction = _direction(names, body, has_header)
    if direction is not None:
        kinds = [row[direction].lower() for _, row in body if direction < len(row)]
        directed = b"directed" in kinds
    if not body_rows:
        notes.append("it has no edges")
    if text_ids:
        kind = "text"
    first_line = body_rows[0][0] if body_rows else content.count(b"\n") + 1
    single = _single_separator(lines) if delimiter is None else delimiter
    return TextLayout(
        delimiter, single, names, indices, None if weight is None else names.index(weight),
        direction, kind, directed, first_line, tuple(notes),
    )  # fmt: skip


def _layout(
    content: bytes,
    delimiter: str | None,
    single: str | None,
    names: tuple[str, ...],
    request: ColumnRequest,
    ends: tuple[str, str],
    kind: IdKind,
    notes: Sequence[str],
) -> TextLayout:
    """Return the layout of a file without rows."""
    indices = names.index(ends[0]), names.index(ends[1])
    first_line = content.count(b"\n") + 1
    return TextLayout(
        delimiter, single, names, indices, None, None, kind, True, first_line, tuple(notes)
    )


def _names(first: Sequence[bytes], has_header: bool, request: ColumnRequest) -> tuple[str, ...]:
    """Return the columns' names: from the request, the header, or src, dst, column_3 and on."""
    if request.columns is not None:
        if len(request.columns) != len(first):
            raise ValueError(
                f"it has {len(first)} columns, and the columns given are {len(request.columns)}"
            )
        names = [name or f"column_{i + 1}" for i, name in enumerate(request.columns)]
    elif has_header:
        try:
            names = [name.decode() for name in first]
        except UnicodeDecodeError:
            raise ValueError("its first line is not UTF-8 text; save it as UTF-8") from None
        names = [name or f"column_{i + 1}" for i, name in enumerate(names)]
    else:
        names = ["src", "dst", *(f"column_{i + 1}" for i in range(2, len(first)))]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"its header must name each column differently (got {repeated[0]} twice)")
    return tuple(names)


def _direction(
    names: Sequence[str], body: Sequence[tuple[int, list[bytes]]], has_header: bool
) -> int | None:
    """Return the index of Gephi's column Type, whose words say whether each edge is directed."""
    if not has_header or "Type" not in names or not body:
        return None
    index = names.index("Type")
    words = {row[index].decode(errors="replace").lower() for _, row in body if index < len(row)}
    return index if words <= _TYPES else None


def parse_id(word: bytes, kind: IdKind) -> int | bytes | None:
    """Return the id that a field is, or None."""
    if kind == "text":
        return word if word.strip() else None
    word = word.strip()
    if kind == "whole" and not _PLAIN_ID.fullmatch(word):
        return None
    return parse_whole(word)
