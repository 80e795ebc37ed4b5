"""Text files of numbers: whole files in memory, parsed by PyArrow, and each number as a whole.

A file that PyArrow does not take is parsed again line by line, which finds the line and the word
that is wrong, or accepts other spellings of the same numbers (``+5``, ``5.0`` and ``1e3`` are whole
numbers). So a good file costs a few nanoseconds per byte, and a rare one a microsecond per word.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO, Literal

import numpy as np

Kind = Literal["whole", "number"] | bytes  # bytes: a word that stands in every row
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BEYOND_FINITE = re.compile(rb"[+-]?(inf|infinity|nan)", re.I)
_TYPES = {"whole": "int64", "number": "double"}  # Arrow's names
_SHOWN = 60  # bytes of a line in a message
_MAX_DIGITS = 400  # of a whole number: no spelling of 64 bits is longer


def read_text(stream: BinaryIO, head: bytes = b"") -> bytes:
    """Read a text file: without a byte order mark, and with ``\\n`` at the end of lines.

    head: what has been read of it already. Raises ValueError if it is not text, or UTF-16.
    """
    content = head + stream.read()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is UTF-16 text; save it as UTF-8")
    if b"\0" in content:
        raise ValueError("it is binary, and no text")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def quote(text: bytes) -> str:
    """Return a file's text as a message shows it: in quotes, and short."""
    shown = text.strip()[:_SHOWN].decode(errors="replace")
    return repr(shown + "…" * (len(text.strip()) > _SHOWN))


def parse_whole(word: bytes) -> int | None:
    """Return the whole number that a word is in any spelling, or None."""
    if re.fullmatch(rb"-?[0-9]{1,18}", word):
        return int(word)
    if not _NUMBER.fullmatch(word) or len(word) > _MAX_DIGITS:
        return None
    try:
        number = Decimal(word.decode())
    except InvalidOperation:  # an exponent of more digits than any number needs
        return None
    if not number:
        return 0
    if number.adjusted() > _MAX_DIGITS or number != number.to_integral_value():
        return None
    return int(number)


def parse_number(word: bytes) -> float | None:
    """Return the number that a word is, perhaps infinite or NaN, or None."""
    is_number = _NUMBER.fullmatch(word) or _BEYOND_FINITE.fullmatch(word)
    return float(word) if is_number else None


def parse_rows(
    content: bytes, start: int, kinds: Sequence[Kind], comment: bytes, row: str
) -> list[np.ndarray]:
    """Parse the lines from an offset on as rows of words between white space.

    kinds: of the words of a row. comment: what begins a line that is passed over, as empty lines
    are. row: what a row is, for the ValueError that names the line which is none. Returns an int64
    or float64 array for each kind that is not a fixed word.
    """
    body = memoryview(content)[start:]
    if not len(body):
        return [np.empty(0, np.int64 if kind == "whole" else np.float64) for kind in _values(kinds)]
    columns = None
    if not has_hexadecimal(content, start) and is_utf8(content):
        columns = _parse_quickly(body, kinds, comment)
    if columns is None:
        columns = _parse_lines(content, start, kinds, comment, row)
    return columns


def has_hexadecimal(content: bytes, start: int = 0) -> bool:
    """Return whether a text may hold numbers such as 0x1f, which PyArrow takes for whole ones."""
    return any(content.find(prefix, start) >= 0 for prefix in (b"0x", b"0X"))


def is_utf8(content: bytes) -> bool:
    """Return whether bytes are UTF-8 text."""
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _values(kinds: Sequence[Kind]) -> list[Any]:
    return [kind for kind in kinds if isinstance(kind, str)]


def _parse_quickly(body: Any, kinds: Sequence[Kind], comment: bytes) -> list[np.ndarray] | None:
    """Return the columns of rows in which single spaces separate plain numbers, else None."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(number) for number in range(len(kinds))]
    types = [_TYPES[kind] if isinstance(kind, str) else "string" for kind in kinds]
    prefix = comment.decode()
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=" ",
                quote_char=False,
                invalid_row_handler=lambda row: "skip" if row.text.startswith(prefix) else "error",
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=True)), null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return None
    columns = []
    for column, kind in zip(table.columns, kinds, strict=True):
        if isinstance(kind, bytes):
            if column.unique().to_pylist() not in ([], [kind.decode()]):
                return None
        else:
            columns.append(column.to_numpy())
    return columns


def lines_of(content: bytes, start: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Yield the number, the text and the end of each line from an offset on."""
    number = content.count(b"\n", 0, start)
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        number += 1
        yield number, content[start:end], min(end + 1, len(content))
        start = end + 1


def _parse_lines(
    content: bytes, start: int, kinds: Sequence[Kind], comment: bytes, row: str
) -> list[np.ndarray]:
    """Do what ``parse_rows`` does, one line after another."""
    columns: list[list[Any]] = [[] for _ in kinds]
    for number, line, _ in lines_of(content, start):
        words = line.split()
        if not words or line.lstrip().startswith(comment):
            continue
        if len(words) != len(kinds):
            raise ValueError(f"line {number} must be {row} (got {quote(line)})")
        for column, kind, word in zip(columns, kinds, words, strict=True):
            if isinstance(kind, bytes):
                if word != kind:
                    raise ValueError(f"line {number} must be {row} (got {quote(line)})")
                continue
            value = parse_whole(word) if kind == "whole" else parse_number(word)
            if value is None:
                need = "a whole number" if kind == "whole" else "a number"
                raise ValueError(
                    f"line {number} must be {row}, and {quote(word)} is not {need} "
                    f"(got {quote(line)})"
                )
            if kind == "whole" and not -(1 << 63) <= value < 1 << 63:
                raise ValueError(f"line {number}: {quote(word)} does not fit 64 bits")
            column.append(value)
    types = {"whole": np.int64, "number": np.float64}
    return [
        np.array(column, types[kind])
        for column, kind in zip(columns, kinds, strict=True)
        if isinstance(kind, str)
    ]


def first_outside(columns: Sequence[np.ndarray], n: int) -> int | None:
    """Return a vertex of columns numbered from 1 that does not lie in [1, n], or None."""
    for column in columns:
        if column.size:
            for value in (int(column.min()), int(column.max())):
                if not 1 <= value <= n:
                    return value
    return None
