"""The lines of a text file, perhaps compressed, in pieces of whole lines.

An uncompressed file is read by ranges of bytes: a range has the lines that begin in it. Quotes that
hide the end of a line are respected where a file is read from its beginning.
"""

import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import pyarrow as pa

from mgraph.core import cancellation
from mgraph.errors import DatasetError
from mgraph.io.folder import Folder
from mgraph.io.tables.ntriples import parse_triples
from mgraph.io.tables.text_layout import TextLayout
from mgraph.io.tables.text_rows import parse_rows
from mgraph.io.text import read_text

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4"}
_PIECE_BYTES = 1 << 24
_HEAD_BYTES = 1 << 20
_MAX_LINE = 1 << 26


def open_text(folder: Folder, name: str) -> Any:
    """Open a file as a stream of bytes, decompressed by its name's ending."""
    stream = folder.open(name)
    compression = COMPRESSIONS.get(PurePath(name).suffix.lower())
    if compression is None:
        return stream
    if compression == "xz":
        import lzma

        return lzma.open(io.BufferedReader(stream))
    return pa.CompressedInputStream(stream, compression)


def _read(folder: Folder, name: str, stream: Any, size: int) -> bytes:
    """Read up to so many bytes, less at the end alone."""
    import lzma

    pieces: list[bytes] = []
    missing = size

    def read_more() -> bytes:
        return bytes(stream.read(missing))

    try:
        while missing:
            piece = folder.call(read_more, missing)
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
        raise DatasetError(f"{folder}/{name} is truncated or damaged: {error}") from error
    return b"".join(pieces)


def _clean(content: bytes, at_start: bool) -> bytes:
    """Return text without a byte order mark and Windows' line ends. ValueError if it is none."""
    if at_start or b"\r" in content or b"\0" in content:
        return read_text(io.BytesIO(content))
    return content


class Head(NamedTuple):
    """A file's beginning in whole lines, as it is and cleaned, and its size if it has ranges.

    size: None for a file that is read from its beginning, since it is compressed, or its lines end
    in ``\\r`` alone.
    """

    content: bytes
    cleaned: bytes
    size: int | None

    def offset_of(self, line: int) -> int:
        """Return where a line begins in the file; the first is 1."""
        offset = 0
        for _ in range(line - 1):
            offset = self.content.find(b"\n", offset) + 1 or len(self.content)
        return offset


def read_head(folder: Folder, name: str) -> Head:
    """Read a file's beginning. Raises ValueError if it is no text."""
    with open_text(folder, name) as stream:
        content = _read(folder, name, stream, _HEAD_BYTES)
        while len(content) % _HEAD_BYTES == 0 and content and b"\n" not in content:
            more = _read(folder, name, stream, _HEAD_BYTES)
            content += more
            if not more or len(content) > _MAX_LINE:
                break
    is_compressed = PurePath(name).suffix.lower() in COMPRESSIONS
    if len(content) >= _HEAD_BYTES:
        content = content[: content.rfind(b"\n") + 1] or content
    has_ranges = not is_compressed and content.count(b"\r") == content.count(b"\r\n")
    return Head(content, _clean(content, True), folder.size(name) if has_ranges else None)


def blank_lines(content: bytes, count: int) -> bytes:
    """Return text whose first lines, the header and comments before it, are empty."""
    offset = 0
    for _ in range(count):
        offset = content.find(b"\n", offset) + 1 or len(content)
    return b"\n" * content.count(b"\n", 0, offset) + content[offset:]


class Pieces:
    """A file's rows, piece by piece."""

    def __init__(self, folder: Folder, name: str, layout: TextLayout, first: int = 0) -> None:
        """Name the file. first: where its rows begin."""
        self._folder, self._name, self._layout, self._first = folder, name, layout, first

    def batches(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose lines begin in a range of bytes; from 0 to -1: all of the file.

        Raises ValueError that names the line which is wrong.
        """
        pieces = self._all() if stop < 0 else self._range(start, stop)
        lines: int | None = 1 if stop < 0 else None
        for content, offset in pieces:
            cancellation.raise_if_cancelled()
            first = 0 if lines is not None else offset
            try:
                batch = self._parse(content, lines or 1)
            except ValueError:
                if lines is None:
                    self._parse(content, self._lines_before(first) + 1)
                raise
            yield batch
            if lines is not None:
                lines += content.count(b"\n")

    def _parse(self, content: bytes, first_line: int) -> pa.RecordBatch:
        if self._layout.is_triples:
            return parse_triples(content, first_line)
        return parse_rows(content, self._layout, 0, first_line)

    def _all(self) -> Iterator[tuple[bytes, int]]:
        """Yield pieces from the beginning; the header and comments before are made empty lines."""
        with open_text(self._folder, self._name) as stream:
            rest, is_first = b"", True
            while True:
                read = _read(self._folder, self._name, stream, _PIECE_BYTES)
                content = rest + read
                if len(read) < _PIECE_BYTES:
                    cut = len(content)
                else:
                    cut = self._cut(content)
                    if not cut and len(content) > _MAX_LINE:
                        raise ValueError("a line, or a field in quotes, is longer than 64 MiB")
                piece, rest = content[:cut], content[cut:]
                if piece or is_first:
                    piece = _clean(piece, is_first)
                    if is_first and piece:
                        piece = blank_lines(piece, self._layout.first_line - 1)
                    if piece:
                        is_first = False
                        yield piece, 0
                if len(read) < _PIECE_BYTES:
                    return

    def _cut(self, content: bytes) -> int:
        """Return where the last whole line ends whose quotes match, 0 if there is none."""
        end = content.rfind(b"\n") + 1
        if self._layout.delimiter is None or b'"' not in content:
            return end
        while end and content.count(b'"', 0, end) % 2:
            end = content.rfind(b"\n", 0, end - 1) + 1
        return end

    def _range(self, start: int, stop: int) -> Iterator[tuple[bytes, int]]:
        """Yield pieces with the lines that begin in a range, and where each piece begins."""
        with self._folder.open(self._name) as stream:
            position = start
            if start > self._first:  # the line that is cut belongs to the range before
                position = self._line_end(stream, start - 1)
            while position < stop:
                size = min(_PIECE_BYTES, stop - position)
                content = self._read_at(stream, position, size)
                end = position + len(content)
                if end >= stop and not content.endswith(b"\n"):
                    line_end = self._line_end(stream, end)
                    content += self._read_at(stream, end, line_end - end)
                elif end < stop:
                    content = content[: content.rfind(b"\n") + 1]
                    if not content:
                        raise ValueError("a line is longer than 16 MiB")
                if not content:
                    return
                if self._layout.delimiter and content.count(b'"') % 2:
                    raise ValueError(
                        "a field in quotes contains the end of a line, far below the first such "
                        "field; write it without, or compress the file, which is then read in order"
                    )
                length = len(content)
                yield _clean(content, False), position
                position += length

    def _read_at(self, stream: Any, position: int, size: int) -> bytes:
        self._folder.call(lambda: stream.seek(position))
        return _read(self._folder, self._name, stream, size)

    def _line_end(self, stream: Any, position: int) -> int:
        """Return where the line that has a byte ends."""
        while True:
            content = self._read_at(stream, position, 1 << 16)
            found = content.find(b"\n")
            if found >= 0:
                return position + found + 1
            position += len(content)
            if not content:
                return position

    def _lines_before(self, offset: int) -> int:
        """Count the lines before an offset."""
        count = 0
        with self._folder.open(self._name) as stream:
            while offset > 0:
                content = _read(self._folder, self._name, stream, min(offset, _PIECE_BYTES))
                if not content:
                    break
                count += content.count(b"\n")
                offset -= len(content)
        return count
