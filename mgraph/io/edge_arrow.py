"""Arrow files (Feather) of edges, as they are written; ``tables`` reads them."""

from typing import BinaryIO

import pyarrow as pa
from pyarrow import feather

from mgraph.core.graph import Graph
from mgraph.io.edge_text import label_column
from mgraph.io.listing import NO_ATTRIBUTES, Attributes
from mgraph.io.tables.arrow_files import DIRECTED


def write(graph: Graph, stream: BinaryIO, attributes: Attributes = NO_ATTRIBUTES) -> None:
    """Write columns src, dst[, weight][, attributes …]: every edge, or every arc.

    Vertices are named by their labels if they have any.
    """
    edges = graph.to_edges()
    columns = {"src": pa.array(edges.src), "dst": pa.array(edges.dst)}
    if graph.labels is not None:
        ids = label_column(graph.labels, is_table=True)
        columns = {name: ids.take(column) for name, column in columns.items()}
    if edges.weight is not None:
        columns["weight"] = pa.array(edges.weight)
    if attributes.edges is not None:
        columns |= dict(zip(attributes.edges.column_names, attributes.edges.columns, strict=True))
    table = pa.table(columns)
    if not graph.directed:
        table = table.replace_schema_metadata({DIRECTED: "false"})
    feather.write_feather(table, stream, compression="lz4")
