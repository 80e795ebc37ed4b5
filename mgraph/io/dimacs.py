"""DIMACS shortest-path files (``.gr``), as the 9th DIMACS challenge defines them.

Lines ``c …`` are comments, one line ``p sp n m`` comes first, and ``a u v w`` is an arc of whole
weight w; vertices are numbered from 1. Undirected networks list both arcs of an edge.
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

_COLUMNS = {"kind": pa.string(), "u": pa.int64(), "v": pa.int64(), "w": pa.int64()}


def _table(body: bytes) -> Any:
    """The lines of arcs as columns. Raises ValueError for a line that is none."""
    return csv.read_csv(
        pa.BufferReader(body),
        read_options=csv.ReadOptions(column_names=list(_COLUMNS)),
        parse_options=csv.ParseOptions(
            delimiter=" ",
            quote_char=False,
            invalid_row_handler=lambda row: "skip" if row.text.startswith("c") else "error",
        ),
        convert_options=csv.ConvertOptions(column_types=_COLUMNS),
    )


def read(stream: BinaryIO) -> Listing:
    """The arcs of a file. Raises ValueError with a sentence for what is no such file."""
    content = stream.read()
    start = 0 if content.startswith(b"a") else content.find(b"\na") + 1
    header = content[:start] if start or content.startswith(b"a") else content
    problem = re.search(rb"^p[ \t]+sp[ \t]+(\d+)[ \t]+(\d+)[ \t\r]*$", header, re.MULTILINE)
    if problem is None:
        raise ValueError("it has no line 'p sp VERTICES ARCS' before its arcs")
    n, m = int(problem[1]), int(problem[2])
    body = content[start:] if start else b""
    try:
        table = _table(body) if body else None
    except pa.ArrowInvalid:  # perhaps only spaced in another way
        lines = re.sub(rb"^c.*\n?", b"", body, flags=re.MULTILINE)
        table = _table(re.sub(rb"[ \t\r]*\n", b"\n", re.sub(rb"[ \t]+", b" ", lines)))
    if table is not None and table.num_rows != m:  # a comment of three numbers reads as an arc
        table = table.filter(compute.invert(compute.starts_with(table["kind"], "c")))
    found = 0 if table is None else table.num_rows
    if found != m:
        raise ValueError(f"its line p says {m:,} arcs, and {found:,} follow")
    if table is None:
        table = pa.table({name: pa.array([], kind) for name, kind in _COLUMNS.items()})
    if m and not compute.all(compute.equal(table["kind"], "a")).as_py():
        raise ValueError("an arc's line must begin with 'a', and one does not")
    src, dst, weight = (table[name].to_numpy() for name in ("u", "v", "w"))
    if m and not (min(src.min(), dst.min()) >= 1 and max(src.max(), dst.max()) <= n):
        raise ValueError(f"vertices must lie in [1, {n:,}], and one does not")
    return Listing(EdgeList(src - 1, dst - 1, narrow(weight)), n, True)


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write every arc; without weights each counts 1. Raises UsageError for fractional weights."""
    if graph.weights is not None and graph.weights.dtype.kind != "i":
        raise UsageError(f"a DIMACS file holds whole weights, not {graph.weights.dtype}")
    stream.write(f"c written by mgraph\np sp {graph.n} {graph.m}\n".encode())
    arcs = Graph.unchecked(graph.indptr, graph.indices, graph.weights).to_edges()
    weight = np.ones(graph.m, np.int32) if arcs.weight is None else arcs.weight
    columns = [np.add(arcs.src, 1, dtype=np.int64), np.add(arcs.dst, 1, dtype=np.int64), weight]
    kind = pa.DictionaryArray.from_arrays(np.zeros(graph.m, np.int8), ["a"])
    csv.write_csv(
        pa.table([kind.cast(pa.string()), *columns], names=list(_COLUMNS)),
        stream,
        csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"),
    )
