"""Whatever users hold as a graph: the front doors of algorithms take it as it is."""

import os
from typing import Any

from mgraph.core.arrays import is_edge_index
from mgraph.core.choices import Backend
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.networkx_graph import from_networkx
from mgraph.core.sparse_matrix import from_sparse
from mgraph.errors import UsageError


def as_graph(value: Any, *, directed: bool = True, backend: Backend = "auto") -> Graph:
    """Return a value as a graph.

    value: a graph, a path or address, a dataset, a NetworkX graph, a sparse matrix, a table with
    usual names of columns, edges, or an edge index of shape (2, m). directed: whether edges are
    arcs, of values that do not say it. Raises UsageError for anything else.
    """
    if isinstance(value, Graph):
        return value
    if isinstance(value, str | os.PathLike):
        from mgraph.io.graph_reader import read_graph

        return read_graph(value, backend=backend, symmetrise=not directed)
    if hasattr(value, "manifest") and hasattr(value, "location"):  # a dataset
        return as_graph(value.location, directed=directed, backend=backend)
    if isinstance(value, EdgeList) or is_edge_index(value):
        return from_edges(value, directed=directed, backend=backend)
    if all(hasattr(value, name) for name in ("nodes", "edges", "is_directed")):
        return from_networkx(value)
    if all(hasattr(value, name) for name in ("tocoo", "shape", "nnz")):
        return from_sparse(value, directed=directed)
    from mgraph.io.dataframes import from_dataframe, is_dataframe

    if is_dataframe(value):
        return from_dataframe(value, directed=directed, backend=backend)
    raise UsageError(
        "graph must be a Graph, a path, a Dataset, a NetworkX graph, a sparse matrix, a data frame "
        f"or edges (got {type(value).__name__})",
        parameter="graph",
    )
