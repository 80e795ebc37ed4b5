"""METIS graph files (``.graph``, ``.metis``): undirected, one line of neighbours per vertex.

The first line is ``n m [fmt [ncon]]``; the digits of fmt say whether there are vertex sizes, vertex
weights (ncon per vertex; sizes and vertex weights are ignored here) and edge weights. Vertices are
numbered from 1, an edge stands in the lines of both its vertices, and a line that begins with % is
a comment.
"""

from itertools import pairwise
from typing import BinaryIO

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError
from mgraph.io.listing import Listing, narrow


def _lines(content: bytes) -> list[bytes]:
    """Return the lines that are not comments; an empty line is a vertex without edges."""
    lines = content.removesuffix(b"\n").split(b"\n")
    return [line for line in lines if not line.lstrip().startswith(b"%")]


def _header(line: bytes) -> tuple[int, int, bool, int]:
    """Return n, m, whether edges have weights, and how many numbers of a line precede them."""
    try:
        n, m, *rest = (int(word) for word in line.split())
        fmt, ncon = [*rest, 0, 1][:2] if len(rest) < 2 else rest
    except ValueError:
        raise ValueError("its first line must be 'VERTICES EDGES [FORMAT [WEIGHTS]]'") from None
    digits = f"{fmt:03d}"
    if len(rest) > 2 or not set(digits) <= {"0", "1"} or len(digits) > 3:
        raise ValueError(f"its first line ends in {rest}, which is not a METIS format")
    has_sizes, has_vertex_weights, has_edge_weights = (digit == "1" for digit in digits)
    vertex_weights = ncon if len(rest) > 1 else 1
    return n, m, has_edge_weights, has_sizes + has_vertex_weights * vertex_weights


def read(stream: BinaryIO) -> Listing:
    """Read the edges of a file; raise ValueError if it is not such a file."""
    first, *lines = _lines(stream.read())
    n, m, weighted, skip = _header(first)
    while len(lines) > n and not lines[-1].strip():
        lines.pop()
    if len(lines) != n:
        raise ValueError(f"its first line says {n:,} vertices, and {len(lines):,} lines follow")
    counts = np.array([len(line.split()) for line in lines], np.int64)
    try:
        numbers = np.array(b" ".join(lines).split()).astype(np.int64)
    except ValueError as error:
        raise ValueError(f"all its lines must hold whole numbers: {error}") from None
    if (counts < skip).any():
        raise ValueError(f"each line must begin with {skip} weights (one is shorter)")
    ends = np.cumsum(counts)
    position = np.arange(numbers.size) - np.repeat(ends - counts, counts)
    src = np.repeat(np.arange(n), counts)
    is_of_edge = position >= skip
    numbers, src = numbers[is_of_edge], src[is_of_edge]
    step = 2 if weighted else 1
    if ((counts - skip) % step).any() or numbers.size != 2 * m * step:
        raise ValueError(
            f"its first line says {m:,} edges, so {2 * m * step:,} numbers, and {numbers.size:,} "
            "follow"
        )
    dst, src, weight = numbers[::step] - 1, src[::step], numbers[1::2]
    if dst.size and not 0 <= dst.min() <= dst.max() < n:
        raise ValueError(f"vertices must lie in [1, {n:,}] (one does not)")
    arcs = np.stack([src, dst, *([weight] if weighted else [])])
    lower, upper = arcs[:, src > dst], arcs[:, src < dst]
    upper[[0, 1]] = upper[[1, 0]]
    lower, upper = (half[:, np.lexsort(half[::-1])] for half in (lower, upper))
    if not np.array_equal(lower, upper):
        raise ValueError("an edge must stand in the lines of both its vertices (one does not)")
    edges = EdgeList(lower[0], lower[1], narrow(lower[2]) if weighted else None)
    return Listing(edges, n, False)


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write an undirected graph; raise UsageError for one that the format cannot represent."""
    if graph.directed:
        remedy = "read or convert it with `symmetrise=True`"
        raise UsageError(
            f"graph must be undirected in a METIS file (this one is directed); {remedy}",
            parameter="graph",
            remedy=remedy,
        )
    check_symmetric(graph)
    if graph.weights is not None and graph.weights.dtype.kind != "i":
        raise UsageError(
            f"weights must be whole numbers in a METIS file (got {graph.weights.dtype})",
            parameter="graph",
        )
    arcs = Graph.unchecked(graph.indptr, graph.indices, graph.weights).to_edges()
    if (arcs.src == arcs.dst).any():
        remedy = "read or convert it with `drop_loops=True`"
        raise UsageError(
            f"graph must have no self-loops in a METIS file (this one has some); {remedy}",
            parameter="graph",
            remedy=remedy,
        )
    words = (graph.indices + 1).astype(str)
    if graph.weights is not None:
        words = np.char.add(np.char.add(words, " "), graph.weights.astype(str))
    bounds = graph.indptr.tolist()
    fmt = "" if graph.weights is None else " 001"
    stream.write(f"{graph.n} {graph.num_arcs // 2}{fmt}\n".encode())
    for begin, end in pairwise(bounds):
        stream.write((" ".join(words[begin:end]) + "\n").encode())
