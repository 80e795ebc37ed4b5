"""What a user should know of a text file of edges: what its comments say, and what is in doubt."""

import re
from collections.abc import Sequence

from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.text import parse_number, quote


def is_numeric(word: bytes) -> bool:
    """Return whether a field is a number."""
    return parse_number(word) is not None


def comment_notes(content: bytes, end: int, notes: list[str]) -> bool:
    """Read what SNAP and KONECT say in comments; return whether edges are arcs."""
    head = content[:end].lower()
    konect = re.search(rb"^%\s*(sym|asym|bip)\b", head, re.M)
    if konect and konect[1] == b"bip":
        raise ValueError(
            "it is a bipartite network of KONECT, whose two columns number different vertices; "
            "give them different ids first"
        )
    if konect and konect[1] == b"sym":
        notes.append("its first line says sym: edges are undirected")
        return False
    undirected = re.search(rb"^[#%].*\bundirected\b", head, re.M)
    if undirected and not re.search(rb"(?<!un)directed graph", head):
        notes.append(
            "a comment says that it is undirected, and its rows are read as arcs; to have an edge "
            "for each, pass `symmetrise=True`"
        )
    return True


def find_doubts(
    fields: Sequence[tuple[int, list[bytes]]],
    has_header: bool,
    rows: Sequence[tuple[int, bytes, int]],
    content: bytes,
    request: ColumnRequest,
) -> list[str]:
    """Return what a user should know where a table may mean something else."""
    doubts = []
    number, first = fields[0]
    ends = {word for _, row in fields[1:] for word in row[:2]}
    is_text = not any(is_numeric(word) for word in first)
    if not has_header and is_text and request.columns is None and not ends & set(first[:2]):
        shown = " and ".join(quote(word) for word in first[:2])
        if len(fields) > 1:
            doubts.append(
                f"line {number} is read as an edge between {shown}; if it names the columns, pass "
                "`src='NAME'` and `dst='NAME'`"
            )
    if has_header and re.search(rb"^[#%]", content[rows[0][2] :], re.MULTILINE):
        doubts.append("lines that begin with # or % are comments; put such ids in quotes")
    return doubts
