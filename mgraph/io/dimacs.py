"""DIMACS shortest-path files (``.gr``), as the 9th DIMACS challenge defines them.

Lines ``c …`` are comments, one line ``p sp n m`` comes first, and ``a u v w`` is an arc of whole
weight w; vertices are numbered from 1. Undirected networks list both arcs of an edge.
Steiner instances of the PACE challenge 2018 have the same suffix: see ``gr_files``.
"""

import re
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.listing import Listing, narrow

_PROBLEM = re.compile(rb"^p[ \t]+sp[ \t]+(\d+)[ \t]+(\d+)[ \t\r]*$", re.MULTILINE)
_COLUMNS = {"kind": pa.string(), "u": pa.int64(), "v": pa.int64(), "w": pa.int64()}


def table_of(body: bytes, types: dict[str, Any] = _COLUMNS) -> Any:
    """Parse the lines of arcs into columns, whose types are inferred unless ``types`` has them.

    Raises ValueError for a line that is not an arc's.
    """
    return csv.read_csv(
        pa.BufferReader(body),
        read_options=csv.ReadOptions(column_names=list(_COLUMNS)),
        parse_options=csv.ParseOptions(
            delimiter=" ",
            quote_char=False,
            invalid_row_handler=lambda row: "skip" if row.text.startswith("c") else "error",
        ),
        convert_options=csv.ConvertOptions(column_types=types),
    )


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
    content = stream.read()
    problem = problem_line(content)
    if problem is None:
        raise ValueError("it has no line 'p sp VERTICES ARCS' before its arcs")
    n, m = int(problem[1]), int(problem[2])
    body = content[_first_arc(content) :]
    try:
        table = table_of(body) if body else None
    except pa.ArrowInvalid:  # perhaps because of other white space
        lines = re.sub(rb"^c.*\n?", b"", body, flags=re.MULTILINE)
        table = table_of(re.sub(rb"[ \t\r]*\n", b"\n", re.sub(rb"[ \t]+", b" ", lines)))
    if table is not None and table.num_rows != m:  # a comment of three numbers reads as an arc
        table = table.filter(compute.invert(compute.starts_with(table["kind"], "c")))
    num_arcs = 0 if table is None else table.num_rows
    if num_arcs != m:
        raise ValueError(f"its line p says {m:,} arcs, and {num_arcs:,} follow")
    if table is None:
        table = pa.table({name: pa.array([], dtype) for name, dtype in _COLUMNS.items()})
    if m and not compute.all(compute.equal(table["kind"], "a")).as_py():
        raise ValueError("every arc's line must begin with 'a'")
    src, dst, weight = (table[name].to_numpy() for name in ("u", "v", "w"))
    if m and not (min(src.min(), dst.min()) >= 1 and max(src.max(), dst.max()) <= n):
        raise ValueError(f"vertices must lie in [1, {n:,}] (one does not)")
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
        pa.table([kinds.cast(pa.string()), *ends, weight], names=list(_COLUMNS)),
        stream,
        csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"),
    )
