"""Steiner-tree instances: the files of SteinLib (``.stp``) and of PACE 2018 (``.gr``).

Sections stand between ``SECTION name`` and ``END``, in any order, and a # begins a comment. Graph
lists each edge once, ``E u v w``, and Terminals a vertex a line, ``T v``, numbered from 1; both say
how many there are. Files of related problems look much the same: those are refused by name.
"""

import os
import re
from functools import partial
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io import dimacs, formats
from mgraph.io.address import location_text
from mgraph.io.listing import Listing, narrow

_MARK = re.compile(rb"^[ \t]*(?:SECTION[ \t]+(\S[^\n#]*)|(END)|EOF)[ \t]*(?:#.*)?$", re.I | re.M)
_EDGE = re.compile(rb"E( \d{1,18}){2} -?(\d{1,18}|\d+\.\d*|\.\d+)(E[+-]?\d+)?", re.I)
_WEIGHTED_TERMINAL = re.compile(rb"^[ \t]*T[ \t]+\d+[ \t]+-?[.\d]", re.I | re.M)
_PROBLEM = re.compile(
    "|SPG|STPG?|(classical |minimum )?Steiner (tree )?problem( in (undirected )?graphs?)?", re.I
)
_VARIANTS = {  # by what only they have: names of sections, or words that begin a line
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
    """A Steiner tree problem: a cheapest tree of the graph that holds all terminals is sought.

    terminals: int64, ascending, each once, numbered from 0. name: as the file says, or its own.
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
    """The text of each section, by its name in small letters."""
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: dict[str, bytes] = {}
    name, start = "", 0
    for mark in _MARK.finditer(content):
        title = " ".join((mark[1] or b"").decode(errors="replace").lower().split())
        if name.startswith("comment") and title not in ("", "graph", "terminals"):
            continue  # a sentence that begins with the word
        if (name or not title) and not mark[2]:  # a second section, or the end of the file
            break
        if name:
            found[name] = found.get(name, b"") + content[start : mark.start()]
        name, start = title, mark.end()
    if name:
        raise ValueError(f"its section {name.capitalize()} has no END")
    return found


def _said(comment: bytes, keyword: bytes) -> str:
    """What stands after a keyword of the section Comment, in quotes or one word; empty if none."""
    line = rb'^[ \t]*%s[ \t]+(?:"([^"\n]*)|(\S+)[ \t]*$)' % keyword
    found = re.search(line, comment, re.I | re.M)
    return " ".join(b"".join(found.groups(b"")).decode(errors="replace").split()) if found else ""


def _refuse_variants(sections: dict[str, bytes], problem: str) -> None:
    terminals = sections.get("terminals", b"")
    lines = sections.get("graph", b"") + b"\n" + terminals
    words = re.findall(rb"^[ \t]*([a-z]+)", lines, re.I | re.M)
    marks = {word.decode().lower() for word in set(words)} | set(sections)
    if _WEIGHTED_TERMINAL.search(terminals):
        marks.add("weighted terminals")
    if "coordinates" in marks and not marks & {"edges", "e"}:
        marks.add("coordinates alone")
    found = [f"the {variant}" for variant, its in _VARIANTS.items() if marks & its]
    if found or not _PROBLEM.fullmatch(problem):
        raise ValueError(
            f"it is an instance of {found[0] if found else repr(problem)}, and only the Steiner "
            "tree problem in undirected graphs can be read"
        )


def _check(lines: list[bytes], form: re.Pattern[bytes], rule: str) -> None:
    wrong = next((line for line in lines if not form.fullmatch(line)), None)
    if wrong is not None:
        raise ValueError(f"{rule}, and one is '{wrong[:60].decode(errors='replace')}'")


def _rows(body: bytes, letter: bytes, *keywords: str) -> tuple[list[bytes], int]:
    """The lines that begin with a letter, a space between words; and the first keyword's number."""
    lines = [b" ".join(line.partition(b"#")[0].split()) for line in body.split(b"\n")]
    kinds = {kind + after for kind in (letter, letter.lower()) for after in (b" ", b"")}
    rest = [line for line in lines if line and line[:2] not in kinds]
    told = [f"'{keyword} NUMBER'" for keyword in keywords]
    form = re.compile(rf"(?:{'|'.join(keywords)}) \d+".encode(), re.I)
    _check(rest, form, f"a line must begin with {letter.decode()} or be {' or '.join(told)}")
    said = {line[:1].upper(): int(line.split()[1]) for line in rest}
    if not len(rest) == len(said) == len(keywords):
        raise ValueError(f"it must have one line {' and one '.join(told)}")
    numbers = [said[keyword[:1].encode()] for keyword in keywords]
    rows = [line for line in lines if line[:2] in kinds]
    if len(rows) != numbers[-1]:
        raise ValueError(f"its line {keywords[-1]} says {numbers[-1]:,}, and {len(rows):,} follow")
    return rows, numbers[0]


def _from_0(vertices: np.ndarray, n: int) -> np.ndarray:
    outside = vertices[(vertices < 1) | (vertices > n)]
    if outside.size:
        raise ValueError(f"vertices must lie in [1, {n:,}], and {outside[0]:,} does not")
    return vertices - 1


def _edges(rows: list[bytes], n: int) -> EdgeList:
    _check(rows, _EDGE, "an edge's line must be 'E VERTEX VERTEX WEIGHT', of 18 digits at most")
    if not rows:
        return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))
    table = dimacs.table_of(b"\n".join(rows), {})
    src, dst, weight = (table[name].to_numpy() for name in ("u", "v", "w"))
    if not np.isfinite(weight).all():
        raise ValueError("weights must be finite, and one is too large")
    return EdgeList(_from_0(src, n), _from_0(dst, n), narrow(weight))


def _parse(stream: BinaryIO, needs_terminals: bool = False) -> _Content:
    sections = _sections(stream.read())
    comment = sections.get("comment", sections.get("comments", b""))
    _refuse_variants(sections, _said(comment, b"Problem"))
    for name in ("graph", "terminals")[: 1 + needs_terminals]:
        if name not in sections:
            raise ValueError(f"it has no section {name.capitalize()}")
    rows, n = _rows(sections["graph"], b"E", "Nodes", "Edges")
    edges = _edges(rows, n)
    rows, _ = _rows(sections.get("terminals", b"Terminals 0"), b"T", "Terminals")
    _check(rows, re.compile(rb"T \d{1,18}", re.I), "a terminal's line must be 'T VERTEX'")
    terminals = np.unique(np.array([int(row[2:]) for row in rows], np.int64))
    return _Content(edges, n, _from_0(terminals, n), _said(comment, b"Name"))


def read(stream: BinaryIO) -> Listing:
    """The graph of an instance. Raises ValueError with a sentence for what is no such file."""
    content = _parse(stream)
    return Listing(content.edges, content.n, False)


def read_steinlib(location: str | os.PathLike[str], *, backend: str = "auto") -> Instance:
    """A Steiner tree problem from a ``.stp`` file, or a ``.gr`` file of PACE, perhaps compressed.

    backend: where the graph is built: cpu, gpu, or auto: a GPU where there is one with room.
    Raises DatasetError for a file that is damaged, or holds one of the related problems.
    """
    text = location_text(location)
    backends.resolve(backend)
    kind, _ = formats.format_of(text)
    steinlib = formats.FORMATS[".stp"]
    if kind not in (steinlib, formats.FORMATS[".gr"]):
        raise UsageError(f"{text}: the name of a Steiner instance ends in .stp or .gr")
    with formats.room(text):
        found = formats.read_file(text, steinlib, partial(_parse, needs_terminals=True))
        graph = from_edges(found.edges, found.n, directed=False, backend=backend)
    return Instance(graph, found.terminals, found.name or PurePath(text).name.split(".")[0])


def write(graph: Graph, stream: BinaryIO, terminals: Any = ()) -> None:
    """Write an undirected graph and terminals; without weights each edge counts 1."""
    if graph.directed:
        raise UsageError(
            "a SteinLib file holds undirected graphs, and this is directed: symmetrise it"
        )
    edges = graph.to_edges()
    if graph.weights is not None and graph.weights.dtype.kind == "f":
        if not np.isfinite(graph.weights).all():
            raise UsageError("a SteinLib file holds finite weights, and one is not")
        edges = EdgeList(edges.src, edges.dst, edges.weight.astype(np.float64))  # all digits
    begin = f"SECTION Graph\nNodes {graph.n}\nEdges {len(edges)}\n"
    stream.write(f"33D32945 STP File, STP Format Version 1.0\n\n{begin}".encode())
    dimacs.write_lines(stream, "E", edges)
    stream.write(f"END\n\nSECTION Terminals\nTerminals {len(terminals)}\n".encode())
    stream.write("".join(f"T {terminal + 1}\n" for terminal in terminals).encode())
    stream.write(b"END\n\nEOF\n")
