"""DIMACS shortest-path files (``.gr``), as the 9th DIMACS challenge defines them.

Lines ``c …`` are comments, one line ``p sp n m`` comes first, and ``a u v w`` is an arc of whole
weight w; vertices are numbered from 1. Undirected networks list both arcs of an edge.
Steiner instances of the PACE challenge 2018 have the same suffix: see ``gr_files``.
"""

import re
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.listing import Listing, narrow
from mgraph.io.text import Kind, first_outside, parse_rows, read_text

_PROBLEM = re.compile(rb"^p[ \t]+sp[ \t]+(\d+)[ \t]+(\d+)[ \t]*$", re.MULTILINE)
_ARC: tuple[Kind, ...] = (b"a", "whole", "whole", "whole")


def _first_arc(content: bytes) -> int:
    """Return the offset of the first arc's line, or the length if there is none."""
    if content.startswith(b"a"):
        return 0
    return content.find(b"\na") + 1 or len(content)


def problem_line(content: bytes) -> re.Match[bytes] | None:
    """Match the line ``p sp n m`` before the arcs, with n and m as groups."""
    return _PROBLEM.search(content, 0, _first_arc(content))


def read(stream: BinaryIO) -> Listing:
    """Read the arcs of a file; raise ValueError if it is not such a file."""
    return parse(read_text(stream))


def parse(content: bytes) -> Listing:
    """Return the arcs of a file's content; see ``read``."""
    problem = problem_line(content)
    if problem is None:
        raise ValueError("it has no line 'p sp VERTICES ARCS' before its arcs")
    n, m = int(problem[1]), int(problem[2])
    row = "an arc 'a TAIL HEAD WEIGHT' of whole numbers"
    src, dst, weight = parse_rows(content, problem.end(), _ARC, b"c", row)
    if src.size != m:
        raise ValueError(f"its line p says {m:,} arcs, and {src.size:,} follow")
    if (outside := first_outside([src, dst], n)) is not None:
        raise ValueError(f"vertices must lie in [1, {n:,}] (got {outside:,})")
    return Listing(EdgeList(src - 1, dst - 1, narrow(weight)), n, True)


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write every arc, with weight 1 in an unweighted graph; UsageError for fractional weights."""
    if graph.weights is not None and graph.weights.dtype.kind != "i":
        raise UsageError(
            f"weights must be whole numbers in a DIMACS file (got {graph.weights.dtype})",
            parameter="graph",
        )
    stream.write(f"c written by mgraph\np sp {graph.n} {graph.num_arcs}\n".encode())
    write_lines(stream, "a", Graph.unchecked(graph.indptr, graph.indices, graph.weights).to_edges())


def write_lines(stream: BinaryIO, kind: str, edges: EdgeList) -> None:
    """Write one line per edge, which begins with ``kind``; the weight is 1 if there is none."""
    weight = np.ones(len(edges), np.int32) if edges.weight is None else edges.weight
    ends = [np.add(ids, 1, dtype=np.int64) for ids in (edges.src, edges.dst)]
    kinds = pa.DictionaryArray.from_arrays(np.zeros(len(edges), np.int8), [kind])
    csv.write_csv(
        pa.table([kinds.cast(pa.string()), *ends, weight], names=list("kuvw")),
        stream,
        csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"),
    )
