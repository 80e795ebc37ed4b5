"""Matrix Market files (``.mtx``), written by SciPy.

Only coordinate matrices are read: an entry (u, v) is an arc, or an edge if the matrix is symmetric.
SciPy's reader takes the longest number that a word begins with and passes over the rest of the
line, so that ``1,5`` is 1: files are parsed here.
"""

import io
from typing import BinaryIO

import numpy as np

from mgraph.core.arrays import as_weights
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.io.listing import Listing, narrow
from mgraph.io.text import Kind, first_outside, lines_of, parse_rows, parse_whole, quote, read_text

_BANNER = b"%%matrixmarket"
_FIELDS: dict[str, list[Kind]] = {
    "pattern": [], "integer": ["whole"], "unsigned-integer": ["whole"], "real": ["number"],
    "double": ["number"],
}  # fmt: skip


def read(stream: BinaryIO) -> Listing:
    """Read the entries of a file; raise ValueError if it is not such a file."""
    content = read_text(stream)
    field, symmetry = _read_banner(content)
    n, entries, body = _read_size(content)
    kinds: list[Kind] = ["whole", "whole", *_FIELDS[field]]
    row = f"an entry ROW COLUMN{' VALUE' if _FIELDS[field] else ''} of a {field} matrix"
    columns = parse_rows(content, body, kinds, b"%", row)
    if columns[0].size != entries:
        raise ValueError(f"its size line says {entries:,} entries, and {columns[0].size:,} follow")
    if (outside := first_outside(columns[:2], n)) is not None:
        raise ValueError(f"rows and columns must lie in [1, {n:,}] (got {outside:,})")
    src, dst = (column - 1 for column in columns[:2])
    weights = [narrow(as_weights(column)) for column in columns[2:]]
    if symmetry == "symmetric":
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    return Listing(EdgeList(src, dst, *weights), n, symmetry == "general")


def _read_banner(content: bytes) -> tuple[str, str]:
    """Return the field and the symmetry."""
    line = content.partition(b"\n")[0]
    words = line.lower().split()
    if not words or words[0] != _BANNER or len(words) != 5:
        raise ValueError(
            "its first line must be the banner '%%MatrixMarket matrix coordinate FIELD SYMMETRY' "
            f"(got {quote(line)})"
        )
    kind, layout, field, symmetry = (word.decode(errors="replace") for word in words[1:])
    if (
        (kind, layout) != ("matrix", "coordinate")
        or field not in _FIELDS
        or symmetry not in ("general", "symmetric")
    ):
        raise ValueError(
            "the matrix of a graph must be a real coordinate matrix, general or symmetric (got "
            f"{kind} {layout} {field} {symmetry})"
        )
    return field, symmetry


def _read_size(content: bytes) -> tuple[int, int, int]:
    """Return the rows, the entries, and the offset of the line after the size line."""
    for number, line, end in lines_of(content):
        if not line.strip() or line.startswith(b"%"):
            continue
        sizes = [parse_whole(word) for word in line.split()]
        if len(sizes) != 3 or any(size is None or size < 0 for size in sizes):
            raise ValueError(
                f"line {number} must be the size line ROWS COLUMNS ENTRIES (got {quote(line)})"
            )
        rows, columns, entries = (size or 0 for size in sizes)
        if rows != columns:
            raise ValueError(f"the matrix of a graph must be square (got {rows} by {columns})")
        return rows, entries, end
    raise ValueError("it has no size line ROWS COLUMNS ENTRIES")


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write the arcs; an undirected graph's edges, each once, as a symmetric matrix."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    edges = graph.to_edges()
    is_pattern = edges.weight is None
    values = np.ones(len(edges), np.int8) if is_pattern else edges.weight
    content = io.BytesIO()  # SciPy needs a stream that can be read as well
    mmwrite(
        content,
        coo_array((values, (edges.src, edges.dst)), shape=(graph.n, graph.n)),
        field="pattern" if is_pattern else None,
        symmetry="general" if graph.directed else "symmetric",
    )
    stream.write(content.getbuffer())
