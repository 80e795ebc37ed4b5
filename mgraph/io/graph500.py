"""Edge lists of the Graph500 benchmark (``.graph500``): binary tuples of two vertices.

The reference code writes 64-bit integers, or packed ones of 48 bits: the low 32 bits of both ends,
then the high 16 bits of each. A file has no header, so that the size and the values decide.
"""

from typing import BinaryIO

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.graph import MAX_N, Graph
from mgraph.errors import UsageError
from mgraph.io.listing import Listing
from mgraph.io.tables.sparse_ids import count_distinct, is_sparse

_WIDE, _PACKED = 16, 12  # bytes of a tuple


def read(stream: BinaryIO) -> Listing:
    """Read undirected edges; vertices are numbered up to the largest. Raises ValueError."""
    content = stream.read()
    columns = None
    if len(content) % _WIDE == 0:
        tuples = np.frombuffer(content, "<i8").reshape(-1, 2)
        if not tuples.size or (tuples.min() >= 0 and tuples.max() < MAX_N):
            columns = tuples.T
    if columns is None and len(content) % _PACKED == 0:
        words = np.frombuffer(content, "<u4").reshape(-1, 3)
        high = np.ascontiguousarray(words[:, 2]).view("<u2").reshape(-1, 2).astype(np.int64)
        columns = (words[:, :2].astype(np.int64) | high << 32).T
        if columns.max() >= MAX_N:
            columns = None
    if columns is None:
        raise ValueError(
            "it has no tuples of Graph500, of 16 or 12 bytes, with vertices below 2^40"
        )
    src, dst = (np.ascontiguousarray(column, np.int64) for column in columns)
    n = int(columns.max()) + 1 if columns.size else 0
    if is_sparse(n, len(src)):
        count, _ = count_distinct([(src, dst)])
        raise ValueError(
            f"its ids are sparse, {count:,} distinct ones up to {n - 1:,}; write them as a table, "
            "which mgraph convert numbers from 0"
        )
    notes = ("edges of Graph500 are undirected; its self-loops and repeated edges are kept",)
    return Listing(EdgeList(src, dst), n, False, None, notes)


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write tuples of 64-bit integers. Raises UsageError for arcs and for weights."""
    if graph.directed or graph.weights is not None:
        raise UsageError("a file of Graph500 has undirected edges without weights")
    edges = graph.to_edges()
    stream.write(np.stack([edges.src, edges.dst], axis=1).astype("<i8").tobytes())
