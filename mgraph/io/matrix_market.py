"""Matrix Market files (``.mtx``), read and written by SciPy.

Only coordinate matrices are read: an entry (u, v) is an arc, or an edge if the matrix is symmetric.
"""

import io
from typing import BinaryIO

import numpy as np

from mgraph.core.arrays import as_weights
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.io.listing import Listing, narrow


def read(stream: BinaryIO) -> Listing:
    """Read the entries of a file; raise ValueError if it is not such a file."""
    from scipy.io import mminfo, mmread

    content = stream.read()
    if b"\0" in content:  # on which SciPy 1.17 crashes
        raise ValueError("it is no text")
    rows, columns, _, layout, field, symmetry = mminfo(io.BytesIO(content))
    if layout != "coordinate" or field == "complex" or symmetry not in ("general", "symmetric"):
        raise ValueError(
            "the matrix of a graph must be a real coordinate matrix, general or symmetric (got "
            f"{layout} {field} {symmetry})"
        )
    if rows != columns:
        raise ValueError(f"the matrix of a graph must be square (got {rows} by {columns})")
    matrix = mmread(io.BytesIO(content), spmatrix=False)
    directed = symmetry == "general"
    entries = [matrix.row, matrix.col]
    if field != "pattern":
        entries.append(narrow(as_weights(matrix.data)))
    if not directed:  # SciPy has added the mirrors
        is_listed = matrix.row >= matrix.col
        entries = [array[is_listed] for array in entries]
    return Listing(EdgeList(*entries), rows, directed)


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
