"""DIMACS files: a line ``p PROBLEM n m``, then a line per arc or edge, of vertices from 1.

======================  ============  ===================  ==========================
Problem                 Endings       Line p               Lines
======================  ============  ===================  ==========================
shortest paths          .gr           ``p sp n m``         ``a u v weight``
maximum flow            .max          ``p max n m``        ``a u v capacity``
minimum-cost flow       .min          ``p min n m``        ``a u v low capacity cost``
assignment              .asn          ``p asn n m``        ``a u v cost``
colouring and cliques   .col, .clq    ``p edge n m``       ``e u v [weight]``
======================  ============  ===================  ==========================

Numbers are whole. Lines ``c …`` are comments; lines ``n …`` (sources, supplies, weights of
vertices) are not read. Arcs are directed, so that undirected networks list both arcs of an edge;
edges are not. The 9th, 1st and 2nd DIMACS challenges define these formats. Steiner instances of the
PACE challenge 2018 are named ``.gr``, too: see ``gr_files``.
"""

import re
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mgraph.core.edges import EdgeList
from mgraph.core.formatting import pluralize
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.listing import Attributes, Listing, narrow
from mgraph.io.text import Kind, first_outside, lines_of, parse_rows, read_text

_EDGE_ENDINGS = (".col", ".clq")


class _Family(NamedTuple):
    """The lines of a problem.

    letter: begins an arc's or an edge's. numbers: what follows the ends; the last is the weight by
    default. others: begin lines that are not read.
    """

    letter: bytes
    numbers: tuple[str, ...] = ()
    others: tuple[bytes, ...] = (b"n",)


_EDGES = _Family(b"e", others=(b"n", b"d", b"v", b"x"))
_FAMILIES = {
    b"sp": _Family(b"a", ("weight",), ()),
    b"max": _Family(b"a", ("capacity",)),
    b"min": _Family(b"a", ("low", "capacity", "cost")),
    b"asn": _Family(b"a", ("cost",)),
    **dict.fromkeys((b"edge", b"edges", b"col", b"clq"), _EDGES),
}
_PROBLEM = re.compile(
    rb"^p[ \t]+(%s)[ \t]+(\d+)[ \t]+(\d+)[ \t]*$" % b"|".join(_FAMILIES), re.MULTILINE
)
_FIRST_ROW = re.compile(rb"^[ae][ \t]", re.MULTILINE)


def problem_line(content: bytes) -> re.Match[bytes] | None:
    """Match the line p before the arcs or edges, with the problem, n and m as groups."""
    row = _FIRST_ROW.search(content)
    return _PROBLEM.search(content, 0, row.start() if row else len(content))


def read(stream: BinaryIO, weight: str | None = None) -> Listing:
    """Read the arcs or edges of a file; raise ValueError if it is not such a file.

    weight: the name of the number that is the weight, where there are several.
    """
    return parse(read_text(stream), weight)


def parse(content: bytes, weight: str | None = None) -> Listing:
    """Return the arcs or edges of a file's content; see ``read``."""
    problem = problem_line(content)
    if problem is None:
        known = ", ".join(name.decode() for name in _FAMILIES if name != b"sp")
        raise ValueError(
            f"it has no line 'p sp VERTICES ARCS' before its arcs, nor one with {known} for sp"
        )
    family, n, m = _FAMILIES[problem[1]], int(problem[2]), int(problem[3])
    start, notes = _pass_over(content, problem.end(), family.others)
    is_arc = family.letter == b"a"
    if not is_arc and len(content[start:].partition(b"\n")[0].split()) == 4:
        family = family._replace(numbers=("weight",))
    ends = "TAIL HEAD" if is_arc else "VERTEX VERTEX"
    words = " ".join([family.letter.decode(), ends, *map(str.upper, family.numbers)])
    whole: list[Kind] = ["whole"] * (2 + len(family.numbers))
    row = f"an {'arc' if is_arc else 'edge'} '{words}' of whole numbers"
    src, dst, *numbers = parse_rows(content, start, [family.letter, *whole], b"c", row)
    if src.size != m and (is_arc or 2 * src.size != m):  # some count an edge for each direction
        raise ValueError(
            f"its line p says {m:,} {'arcs' if is_arc else 'edges'}, and {src.size:,} follow"
        )
    if (outside := first_outside([src, dst], n)) is not None:
        raise ValueError(f"vertices must lie in [1, {n:,}] (got {outside:,})")
    named = dict(zip(family.numbers, map(narrow, numbers), strict=True))
    chosen = _choose_weight(family.numbers, weight)
    edges = EdgeList(src - 1, dst - 1, named.pop(chosen) if chosen else None)
    if chosen is not None and chosen != "weight":
        notes.append(f"the weight of an arc is its {chosen}")
    if not is_arc and _are_symmetric(edges):
        edges = EdgeList(*(column[edges.src > edges.dst] for column in edges))
        notes.append("it lists each edge in both directions, which is read once")
    others = pa.table(named) if named else None
    return Listing(edges, n, is_arc, None, tuple(notes), Attributes(others))


def _pass_over(content: bytes, start: int, letters: tuple[bytes, ...]) -> tuple[int, list[str]]:
    """Return where the first arc or edge begins, and what to say of the lines before it."""
    counts: dict[bytes, int] = {}
    if letters:
        for _, line, end in lines_of(content, start):
            word = line.split(None, 1)[:1]
            if word and word[0] in letters:
                counts[word[0]] = counts.get(word[0], 0) + 1
            elif word and not word[0].startswith(b"c"):
                break
            start = end
    return start, [
        f"{pluralize(count, 'line')} {letter.decode()} not read" for letter, count in counts.items()
    ]


def _choose_weight(numbers: tuple[str, ...], weight: str | None) -> str | None:
    """Return which of an arc's numbers is its weight. Raises UsageError."""
    if weight is None or (weight == "weight" and numbers):
        return numbers[-1] if numbers else None
    if weight not in numbers:
        known = ", ".join(numbers) or "none"
        raise UsageError(
            f"its lines have no number {weight!r:.60} (they have {known})", parameter="weight"
        )
    return weight


def _are_symmetric(edges: EdgeList) -> bool:
    """Return whether the list has each edge, none of them a self-loop, in both directions."""
    down, up = edges.src > edges.dst, edges.src < edges.dst
    if not len(edges) or not 2 * int(down.sum()) == 2 * int(up.sum()) == len(edges):
        return False
    src, dst, *weight = edges
    falling = np.array([column[down] for column in (src, dst, *weight)])
    rising = np.array([column[up] for column in (dst, src, *weight)])
    one, other = (half[:, np.lexsort(half)] for half in (falling, rising))
    return np.array_equal(one, other)


def write(graph: Graph, stream: BinaryIO, ending: str = ".gr") -> None:
    """Write every arc, with weight 1 in an unweighted graph, or for .col and .clq every edge.

    Raises UsageError for fractional weights.
    """
    if ending in _EDGE_ENDINGS and graph.directed:
        remedy = "read or convert it with `symmetrise=True`"
        raise UsageError(
            f"graph must be undirected in a DIMACS file of edges (this one is directed); {remedy}",
            parameter="graph",
            remedy=remedy,
        )
    if graph.weights is not None and graph.weights.dtype.kind != "i":
        raise UsageError(
            f"weights must be whole numbers in a DIMACS file (got {graph.weights.dtype})",
            parameter="graph",
        )
    if ending in _EDGE_ENDINGS:
        edges = graph.to_edges()
        stream.write(f"c written by mgraph\np edge {graph.n} {len(edges)}\n".encode())
        write_lines(stream, "e", edges, with_weight=edges.weight is not None)
        return
    arcs = Graph.unchecked(graph.indptr, graph.indices, graph.weights).to_edges()
    stream.write(f"c written by mgraph\np sp {graph.n} {len(arcs)}\n".encode())
    write_lines(stream, "a", arcs)


def write_lines(stream: BinaryIO, kind: str, edges: EdgeList, with_weight: bool = True) -> None:
    """Write one line per edge, which begins with ``kind``; the weight is 1 if there is none."""
    columns = [np.add(ids, 1, dtype=np.int64) for ids in (edges.src, edges.dst)]
    if with_weight:
        columns.append(np.ones(len(edges), np.int32) if edges.weight is None else edges.weight)
    kinds = pa.DictionaryArray.from_arrays(np.zeros(len(edges), np.int8), [kind])
    csv.write_csv(
        pa.table([kinds.cast(pa.string()), *columns], names=list("kuvw")[: 1 + len(columns)]),
        stream,
        csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"),
    )
