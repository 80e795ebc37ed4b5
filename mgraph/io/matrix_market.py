"""Matrix Market files (``.mtx``), read and written by SciPy.

Only coordinate matrices: an entry (u, v) is an arc, of a symmetric matrix an edge.
"""

import io
from typing import BinaryIO

import numpy as np

from mgraph.core.arrays import as_weights
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.io.listing import Listing, narrow


def read(stream: BinaryIO) -> Listing:
    """The entries of a file. Raises ValueError with a sentence for what is no such file."""
    from scipy.io import mminfo, mmread

    content = stream.read()
    if b"\0" in content:  # over which SciPy 1.17 crashes
        raise ValueError("it is no text")
    rows, columns, _, kind, field, symmetry = mminfo(io.BytesIO(content))
    if kind != "coordinate" or field == "complex" or symmetry not in ("general", "symmetric"):
        raise ValueError(
            "a graph is a real coordinate matrix, general or symmetric, and this is "
            f"{kind} {field} {symmetry}"
        )
    if rows != columns:
        raise ValueError(f"the matrix of a graph is square, and this is {rows} by {columns}")
    matrix = mmread(io.BytesIO(content), spmatrix=False)
    directed = symmetry == "general"
    entries = [matrix.row, matrix.col]
    if field != "pattern":
        entries.append(narrow(as_weights(matrix.data)))
    if not directed:  # SciPy has added the mirrors
        once = matrix.row >= matrix.col
        entries = [array[once] for array in entries]
    return Listing(EdgeList(*entries), rows, directed)


def write(graph: Graph, stream: BinaryIO) -> None:
    """Write the arcs, of an undirected graph each edge once, as a symmetric matrix."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    edges = graph.to_edges()
    pattern = edges.weight is None
    values = np.ones(len(edges), np.int8) if pattern else edges.weight
    content = io.BytesIO()  # SciPy wants to read what it writes to
    mmwrite(
        content,
        coo_array((values, (edges.src, edges.dst)), shape=(graph.n, graph.n)),
        field="pattern" if pattern else None,
        symmetry="general" if graph.directed else "symmetric",
    )
    stream.write(content.getbuffer())
