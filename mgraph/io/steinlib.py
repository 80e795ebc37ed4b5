"""Steiner-tree instances: the files of SteinLib (``.stp``) and of PACE 2018 (``.gr``).

Sections lie between ``SECTION name`` and ``END``, in any order, and a # begins a comment. Graph
lists each edge once, ``E u v w``, and Terminals one vertex per line, ``T v``, numbered from 1; both
contain their counts; other lines of a word and a number, such as ``Optimal 82``, are passed over.
Files of related problems have the same form: they are refused by name.
"""

import os
import re
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph.core import backend as backends
from mgraph.core.choices import Backend
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io import dimacs, formats
from mgraph.io.address import location_text
from mgraph.io.listing import TERMINAL, Attributes, Listing, narrow
from mgraph.io.text import Kind, parse_number, parse_rows, quote, read_text

_MARK = re.compile(rb"^[ \t]*(?:SECTION[ \t]+(\S[^\n#]*)|(END)|EOF)[ \t]*(?:#.*)?$", re.I | re.M)
_EDGE = re.compile(rb"E( \d{1,18}){2} -?(\d{1,18}|\d+\.\d*|\.\d+)(E[+-]?\d+)?", re.I)
_WEIGHTED_TERMINAL = re.compile(rb"^[ \t]*T[ \t]+\d+[ \t]+-?[.\d]", re.I | re.M)
_NOTE = re.compile(rb'[a-z]{3,}:? (?:"[^"]*"|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)', re.I)
_PROBLEM = re.compile(
    "|SPG|STPG?|(classical |minimum )?Steiner (tree )?problem( in (undirected )?graphs?)?", re.I
)
_VARIANTS = {  # by names of sections, or first words of lines, that only they contain
    "Steiner arborescence problem (SAP)": {"a", "aa", "arcs", "root"},
    "prize-collecting Steiner tree problem (PCSTP)": {"tp", "rootp"},
    "node-weighted Steiner tree problem (NWSTP)": {"nodeweights", "nw", "n"},
    "maximum-weight connected subgraph problem (MWCS)": {"weighted terminals", "tr"},
    "group Steiner tree problem (GSTP)": {"tg", "groups"},
    "degree-constrained Steiner tree problem (DCSTP)": {"maximumdegrees", "md"},
    "hop-constrained directed Steiner tree problem (HCDSTP)": {"hoplimit", "hopconstraint"},
    "obstacle-avoiding rectilinear Steiner tree problem (OARSMT)": {"obstacles", "rr"},
    "rectilinear Steiner tree problem (RSMT)": {"coordinates alone"},
}


class Instance(NamedTuple):
    """A Steiner tree problem: to find a minimum-cost tree of the graph with all terminals.

    terminals: int64, ascending, each once, numbered from 0. name: from the file, or the file's.
    """

    graph: Graph
    terminals: np.ndarray
    name: str


class _Content(NamedTuple):
    edges: EdgeList
    n: int
    terminals: np.ndarray
    name: str


def _sections(content: bytes) -> dict[str, bytes]:
    """Return the text of each section, by its name in lower case."""
    sections: dict[str, bytes] = {}
    name, start = "", 0
    for mark in _MARK.finditer(content):
        title = " ".join((mark[1] or b"").decode(errors="replace").lower().split())
        if name.startswith("comment") and title not in ("", "graph", "terminals"):
            continue  # a sentence that begins with the word
        if (name or not title) and not mark[2]:  # a second section, or the end of the file
            break
        if name:
            sections[name] = sections.get(name, b"") + content[start : mark.start()]
        name, start = title, mark.end()
    if name:
        raise ValueError(f"its section {name.capitalize()} has no END")
    return sections


def _comment_value(comment: bytes, keyword: bytes) -> str:
    """Return the quoted text or the word after a keyword of the section Comment, or nothing."""
    line = rb'^[ \t]*%s[ \t]+(?:"([^"\n]*)|(\S+)[ \t]*$)' % keyword
    match = re.search(line, comment, re.I | re.M)
    return " ".join(b"".join(match.groups(b"")).decode(errors="replace").split()) if match else ""


def _refuse_variants(sections: dict[str, bytes], problem: str) -> None:
    terminals = sections.get("terminals", b"")
    lines = sections.get("graph", b"") + b"\n" + terminals
    words = re.findall(rb"^[ \t]*([a-z]+)", lines, re.I | re.M)
    marks = {word.decode().lower() for word in set(words)} | set(sections)
    if _WEIGHTED_TERMINAL.search(terminals):
        marks.add("weighted terminals")
    if "coordinates" in marks and not marks & {"edges", "e"}:
        marks.add("coordinates alone")
    variants = [f"the {name}" for name, own_marks in _VARIANTS.items() if marks & own_marks]
    if variants or not _PROBLEM.fullmatch(problem):
        raise ValueError(
            f"it is an instance of {variants[0] if variants else repr(problem)}, and only the "
            "Steiner tree problem in undirected graphs can be read"
        )


def _check_lines(lines: list[bytes], form: re.Pattern[bytes], rule: str) -> None:
    wrong = next((line for line in lines if not form.fullmatch(line)), None)
    if wrong is not None:
        raise ValueError(f"{rule} (got '{wrong[:60].decode(errors='replace')}')")


def _rows(body: bytes, letter: bytes, *keywords: str) -> tuple[list[bytes], int]:
    """Return the lines that begin with a letter, and the number of the first keyword's line."""
    lines = [b" ".join(line.partition(b"#")[0].split()) for line in body.split(b"\n")]
    prefixes = {case + after for case in (letter, letter.lower()) for after in (b" ", b"")}
    rest = [line for line in lines if line and line[:2] not in prefixes]
    # What else some collections say of an instance, such as its optimum.
    known = {keyword.lower().encode() for keyword in keywords}
    rest = [line for line in rest if line.split()[0].lower() in known or not _NOTE.fullmatch(line)]
    forms = [f"'{keyword} NUMBER'" for keyword in keywords]
    form = re.compile(rf"(?:{'|'.join(keywords)}) \d+".encode(), re.I)
    _check_lines(rest, form, f"a line must begin with {letter.decode()} or be {' or '.join(forms)}")
    counts = {line[:1].upper(): int(line.split()[1]) for line in rest}
    if not len(rest) == len(counts) == len(keywords):
        raise ValueError(f"it must have one line {' and one '.join(forms)}")
    numbers = [counts[keyword[:1].encode()] for keyword in keywords]
    rows = [line for line in lines if line[:2] in prefixes]
    if len(rows) != numbers[-1]:
        raise ValueError(f"its line {keywords[-1]} says {numbers[-1]:,}, and {len(rows):,} follow")
    return rows, numbers[0]


def _from_0(vertices: np.ndarray, n: int) -> np.ndarray:
    outside = vertices[(vertices < 1) | (vertices > n)]
    if outside.size:
        raise ValueError(f"vertices must lie in [1, {n:,}] (got {outside[0]:,})")
    return vertices - 1


def _edges(rows: list[bytes], n: int) -> EdgeList:
    _check_lines(
        rows, _EDGE, "an edge's line must be 'E VERTEX VERTEX WEIGHT', of 18 digits at most"
    )
    if not rows:
        return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))
    body = b"\n".join(b"E" + row[1:] for row in rows)
    words = b"".join(row.rpartition(b" ")[2] for row in rows)
    weights: Kind = "number" if re.search(rb"[.E]", words, re.I) else "whole"
    src, dst, weight = parse_rows(body, 0, (b"E", "whole", "whole", weights), b"#", "an edge")
    if not np.isfinite(weight).all():
        raise ValueError("weights must be finite (one is too large)")
    return EdgeList(_from_0(src, n), _from_0(dst, n), narrow(weight))


def _parse(content: bytes, needs_terminals: bool = False) -> _Content:
    sections = _sections(content)
    comment = sections.get("comment", sections.get("comments", b""))
    _refuse_variants(sections, _comment_value(comment, b"Problem"))
    for name in ("graph", "terminals")[: 1 + needs_terminals]:
        if name not in sections:
            raise ValueError(f"it has no section {name.capitalize()}")
    rows, n = _rows(sections["graph"], b"E", "Nodes", "Edges")
    edges = _edges(rows, n)
    rows, _ = _rows(sections.get("terminals", b"Terminals 0"), b"T", "Terminals")
    _check_lines(rows, re.compile(rb"T \d{1,18}", re.I), "a terminal's line must be 'T VERTEX'")
    terminals = np.unique(np.array([int(row[2:]) for row in rows], np.int64))
    return _Content(edges, n, _from_0(terminals, n), _comment_value(comment, b"Name"))


def _read_instance(stream: BinaryIO) -> _Content:
    return _parse(read_text(stream), needs_terminals=True)


def read(stream: BinaryIO, attributes: bool = False) -> Listing:
    """Read the graph of an instance; raise ValueError if it is not such a file.

    attributes: whether to read which vertices are terminals, and coordinates.
    """
    return parse(read_text(stream), attributes)


def parse(content: bytes, attributes: bool = False) -> Listing:
    """Return the graph of an instance's content; see ``read``."""
    parsed = _parse(content)
    if not attributes:
        return Listing(parsed.edges, parsed.n, False)
    columns: dict[str, Any] = {TERMINAL: np.isin(np.arange(parsed.n), parsed.terminals)}
    columns |= _coordinates(_sections(content).get("coordinates", b""), parsed.n)
    return Listing(parsed.edges, parsed.n, False, attributes=Attributes(None, pa.table(columns)))


def _coordinates(body: bytes, n: int) -> dict[str, Any]:
    """Return the columns x, y, … of lines such as ``DD VERTEX X Y``; null for other vertices."""
    lines = [line.partition(b"#")[0].split() for line in body.split(b"\n")]
    rows = [line for line in lines if line]
    if not rows:
        return {}
    size = min(len(rows[0][0]), 3)
    columns: list[list[float | None]] = [[None] * n for _ in range(size)]
    for row in rows:
        vertex, *values = (parse_number(word) for word in row[1:]) if row[1:] else (None,)
        is_right = row[0].upper() == b"D" * size and len(values) == size
        if not is_right or None in values or vertex is None or vertex not in range(1, n + 1):
            raise ValueError(
                f"a line of coordinates must be {'D' * size}, a vertex and {size} numbers (got "
                f"{quote(b' '.join(row))})"
            )
        for column, value in zip(columns, values, strict=True):
            column[int(vertex) - 1] = value
    return {name: pa.array(column) for name, column in zip("xyz", columns, strict=False)}


def read_steinlib(location: str | os.PathLike[str], *, backend: Backend = "auto") -> Instance:
    """Read a Steiner tree problem from a ``.stp`` file, or from a ``.gr`` file of PACE.

    Parameters
    ----------
    location : str or path
        The file, perhaps compressed (.gz, .bz2, .xz).
    backend : {"auto", "cpu", "gpu"}
        Where the graph is built. ``auto``: on a GPU if there is one with enough free memory.

    Returns
    -------
    Instance
        A named tuple: ``graph``, ``terminals`` and ``name``.

    Raises
    ------
    DatasetError
        If the file is missing or damaged, or holds one of the related problems.
    UsageError
        If the file's suffix is another.
    """
    text = location_text(location)
    backends.resolve(backend)
    file_format, _ = formats.format_of(text)
    steinlib = formats.FORMATS[".stp"]
    if file_format not in (steinlib, formats.FORMATS[".gr"]):
        raise UsageError(f"{text}: the name of a Steiner instance must end in .stp or .gr")
    with formats.reading_guard(text):
        content = formats.read_file(text, steinlib, _read_instance)
        graph = from_edges(content.edges, content.n, directed=False, backend=backend)
    return Instance(graph, content.terminals, content.name or PurePath(text).name.split(".")[0])


def write(graph: Graph, stream: BinaryIO, terminals: Any = ()) -> None:
    """Write an undirected graph and terminals; the weight is 1 in an unweighted graph."""
    if graph.directed:
        remedy = "read or convert it with `symmetrise=True`"
        raise UsageError(
            f"graph must be undirected in a SteinLib file (this one is directed); {remedy}",
            parameter="graph",
            remedy=remedy,
        )
    edges = graph.to_edges()
    if graph.weights is not None and graph.weights.dtype.kind == "f":
        if not np.isfinite(graph.weights).all():
            raise UsageError(
                "weights must be finite in a SteinLib file (one is not)", parameter="graph"
            )
        assert edges.weight is not None
        edges = EdgeList(edges.src, edges.dst, edges.weight.astype(np.float64))  # all digits
    begin = f"SECTION Graph\nNodes {graph.n}\nEdges {len(edges)}\n"
    stream.write(f"33D32945 STP File, STP Format Version 1.0\n\n{begin}".encode())
    dimacs.write_lines(stream, "E", edges)
    stream.write(f"END\n\nSECTION Terminals\nTerminals {len(terminals)}\n".encode())
    stream.write("".join(f"T {terminal + 1}\n" for terminal in terminals).encode())
    stream.write(b"END\n\nEOF\n")
