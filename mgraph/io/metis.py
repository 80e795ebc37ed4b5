"""METIS graph files (``.graph``, ``.metis``): undirected, one line of neighbours per vertex.

The first line is ``n m [fmt [ncon]]``; the digits of fmt say whether there are vertex sizes, vertex
weights (ncon per vertex) and edge weights. Sizes and weights of vertices are attributes. Vertices
are numbered from 1, an edge stands in the lines of both its vertices, and a line that begins with %
is a comment.
"""

from itertools import pairwise
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError
from mgraph.io.listing import Attributes, Listing, narrow
from mgraph.io.tables.column_names import list_names
from mgraph.io.text import lines_of, parse_whole, quote, read_text


def _header(number: int, line: bytes) -> tuple[int, int, bool, bool, int]:
    """Return n, m, whether edges have weights and vertices have sizes, and weights per vertex."""
    words = [parse_whole(word) for word in line.split()]
    sizes = [word for word in words if word is not None and word >= 0]
    if len(sizes) < len(words) or not 2 <= len(words) <= 4:
        raise ValueError(
            f"its first line must be 'VERTICES EDGES [FORMAT [WEIGHTS]]' (line {number} is "
            f"{quote(line)})"
        )
    n, m, fmt, ncon = [*sizes, 0, 1][:4] if len(sizes) != 3 else [*sizes, 1]
    digits = f"{fmt:03d}"
    if not set(digits) <= {"0", "1"} or len(digits) > 3:
        raise ValueError(f"its first line has the format {fmt}, which METIS does not know")
    has_sizes, has_vertex_weights, has_edge_weights = (digit == "1" for digit in digits)
    vertex_weights = ncon if len(sizes) == 4 else 1
    return n, m, has_edge_weights, has_sizes, vertex_weights * has_vertex_weights


class _Vertices(NamedTuple):
    """The lines of the vertices, and their numbers in the file."""

    lines: list[bytes]
    numbers: list[int]

    def where(self, vertex: int) -> str:
        """Return where a vertex, numbered from 0, stands."""
        return f"line {self.numbers[vertex]}, of vertex {vertex + 1:,}"


def _parse_numbers(vertices: _Vertices) -> np.ndarray:
    """Return all numbers of the lines."""
    words = b" ".join(vertices.lines).split()
    try:
        numbers: np.ndarray = pa.array(words, pa.string()).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return _parse_words(vertices)
    return numbers


def _parse_words(vertices: _Vertices) -> np.ndarray:
    """Do the same word by word; raise ValueError for the first that is no whole number."""
    numbers = []
    for vertex, line in enumerate(vertices.lines):
        for word in line.split():
            number = parse_whole(word)
            if number is None:
                raise ValueError(
                    f"{vertices.where(vertex)}, must hold whole numbers, and {quote(word)} is none"
                )
            if not -(1 << 63) <= number < 1 << 63:
                raise ValueError(f"{vertices.where(vertex)}: {quote(word)} does not fit 64 bits")
            numbers.append(number)
    return np.array(numbers, np.int64)


def read(stream: BinaryIO, attributes: bool = False) -> Listing:
    """Read the edges of a file; raise ValueError if it is not such a file.

    attributes: whether to read the sizes and the weights of vertices.
    """
    numbered = [
        (number, line)
        for number, line, _ in lines_of(read_text(stream))
        if not line.lstrip().startswith(b"%")
    ]
    n, m, weighted, has_sizes, weights = _header(*(numbered[0] if numbered else (1, b"")))
    skip = has_sizes + weights  # numbers of a line before its neighbours
    while len(numbered) - 1 > n and not numbered[-1][1].strip():
        numbered.pop()
    vertices = _Vertices([line for _, line in numbered[1:]], [number for number, _ in numbered[1:]])
    if len(vertices.lines) != n:
        raise ValueError(
            f"its first line says {n:,} vertices, and {len(vertices.lines):,} lines follow"
        )
    counts = np.array([len(line.split()) for line in vertices.lines], np.int64)
    numbers = _parse_numbers(vertices)
    if (short := np.flatnonzero(counts < skip)).size:
        raise ValueError(f"{vertices.where(short[0])}, must begin with {skip} weights")
    ends = np.cumsum(counts)
    position = np.arange(numbers.size) - np.repeat(ends - counts, counts)
    src = np.repeat(np.arange(n), counts)
    is_of_edge = position >= skip
    before = numbers[~is_of_edge].reshape(n, -1) if n else numbers.reshape(0, 0)
    numbers, src = numbers[is_of_edge], src[is_of_edge]
    step = 2 if weighted else 1
    if (odd := np.flatnonzero((counts - skip) % step)).size:
        raise ValueError(f"{vertices.where(odd[0])}, must have a weight after each neighbour")
    dst, src, weight = numbers[::step] - 1, src[::step], numbers[1::2]
    if (wrong := np.flatnonzero((dst < 0) | (dst >= n))).size:
        vertex = src[wrong[0]]
        raise ValueError(
            f"vertices must lie in [1, {n:,}] ({vertices.where(vertex)}, has {dst[wrong[0]] + 1:,})"
        )
    if (loops := np.flatnonzero(src == dst)).size:
        raise ValueError(
            f"METIS files have no self-loops, and {vertices.where(src[loops[0]])}, lists itself"
        )
    if numbers.size != 2 * m * step:
        raise ValueError(
            f"its first line says {m:,} edges, so {2 * m * step:,} numbers, and {numbers.size:,} "
            "follow"
        )
    arcs = np.stack([src, dst, *([weight] if weighted else [])])
    lower, upper = arcs[:, src > dst], arcs[:, src < dst]
    upper[[0, 1]] = upper[[1, 0]]
    lower, upper = (half[:, np.lexsort(half[::-1])] for half in (lower, upper))
    if not np.array_equal(lower, upper):
        raise ValueError("an edge must stand in the lines of both its vertices (one does not)")
    edges = EdgeList(lower[0], lower[1], narrow(lower[2]) if weighted else None)
    if not before.size:
        return Listing(edges, n, False)
    names = ["size"] * has_sizes
    names += ["weight"] if weights == 1 else [f"weight_{i + 1}" for i in range(weights)]
    if not attributes:
        return Listing(edges, n, False, notes=(f"of vertices not read: {list_names(names)}",))
    vertex_attributes = dict(zip(names, np.ascontiguousarray(before.T), strict=True))
    return Listing(edges, n, False, attributes=Attributes(None, pa.table(vertex_attributes)))


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
