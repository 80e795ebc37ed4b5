"""Node lists (``.csv``, ``.tsv``): the columns Id and Label that Gephi imports, and attributes."""

from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.attributes import text_or_number
from mgraph.io.edge_text import attribute_columns, join_names, label_column
from mgraph.io.listing import Attributes

ENDINGS = {".csv": ",", ".tsv": "\t"}
_OWN = ("Id", "Label")


def check_ending(ending: str) -> None:
    """Raise UsageError unless a file with this ending can be a node list."""
    if ending not in ENDINGS:
        raise UsageError(
            "a list of vertices must be a file .csv or .tsv, perhaps compressed",
            parameter="vertices_out",
        )


def write(graph: Graph, stream: BinaryIO, ending: str, attributes: Attributes) -> None:
    """Write a row per vertex; the label is its attribute ``label``, or its id."""
    delimiter = ENDINGS[ending]
    ids = pa.array(np.arange(graph.n))
    if graph.labels is not None:
        ids = label_column(graph.labels, is_table=True)
    table = attributes.vertices
    label = ids
    if table is not None and "label" in table.column_names:
        label = text_or_number(table["label"], "label").cast(pa.string())
        label = label.combine_chunks().fill_null(ids.cast(pa.string()))
        table = table.drop_columns(["label"])
    others = attribute_columns(table, _OWN)
    stream.write(join_names([*_OWN, *others], delimiter))
    columns = [ids, label, *others.values()]
    csv.write_csv(
        pa.table(columns, names=[str(i) for i in range(len(columns))]),
        stream,
        csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="needed"),
    )
