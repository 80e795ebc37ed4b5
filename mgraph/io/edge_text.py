"""Text edge lists as they are written: CSV with the columns that Gephi imports, or words in lines.

``.csv`` and ``.tsv`` have a header Source, Target, Type and, for weights, Weight, which Gephi's
import of spreadsheets takes as it is. Other endings are SNAP's and NetworkX's: the ends of an edge
and its weight, separated by spaces. Vertices are named by their labels if they have any.
``tables`` reads these files.
"""

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.attributes import text_or_number
from mgraph.io.listing import NO_ATTRIBUTES, Attributes

_BLOCK_EDGES = 1 << 20


def write(
    graph: Graph,
    stream: BinaryIO,
    ending: str = ".csv",
    attributes: Attributes = NO_ATTRIBUTES,
) -> None:
    """Write every edge, or every arc of a directed graph; of a table with its attributes.

    Raises UsageError for vertices without edges, which such a file cannot have, if there are no
    labels to tell them apart from vertices that do not exist; or for labels with white space in a
    file of words.
    """
    edges = graph.to_edges()
    is_table = ending in (".csv", ".tsv")
    labels = None if graph.labels is None else label_column(graph.labels, is_table)
    delimiter = {".csv": ",", ".tsv": "\t"}.get(ending, " ")
    if is_table:
        header = ["Source", "Target", "Type", *([] if edges.weight is None else ["Weight"])]
        others = attribute_columns(attributes.edges, header)
        stream.write(join_names([*header, *others], delimiter))
    else:
        others = {}
        kind = "directed" if graph.directed else "undirected"
        size = f"{graph.n} vertices, {len(edges)} edges"
        stream.write(f"# {kind} graph, {size}, written by mgraph\n".encode())
    for start in range(0, len(edges), _BLOCK_EDGES):
        block = edges.rows(start, min(start + _BLOCK_EDGES, len(edges)))
        columns: list[Any] = [pa.array(ids) for ids in (block.src, block.dst)]
        if labels is not None:
            columns = [labels.take(column) for column in columns]
        if is_table:
            kinds = pa.array(["Directed" if graph.directed else "Undirected"])
            codes = pa.array(np.zeros(len(block), np.int8))
            columns.append(pa.DictionaryArray.from_arrays(codes, kinds).cast(pa.string()))
        if block.weight is not None:
            columns.append(pa.array(block.weight))
        columns += [column.slice(start, len(block)) for column in others.values()]
        quoting = "needed" if is_table and (others or labels is not None) else "none"
        csv.write_csv(
            pa.table(columns, names=[str(i) for i in range(len(columns))]),
            stream,
            csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting),
        )


def attribute_columns(table: Any, own: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a table by the names that they get beside a file's own columns."""
    named: dict[str, Any] = {}
    for given in [] if table is None else table.column_names:
        name = given
        while name.lower() in {other.lower() for other in (*own, *named)}:  # as Gephi compares
            name += "_given"
        named[name] = text_or_number(table[given], given)
    return named


def join_names(names: Sequence[str], delimiter: str) -> bytes:
    """Return the header of a table."""
    quoted = [
        '"' + name.replace('"', '""') + '"' if {*name} & {delimiter, '"', "\n", "\r"} else name
        for name in names
    ]
    return delimiter.join(quoted).encode() + b"\n"


def label_text(label: Any) -> str:
    """Return a label as text files have it. Raises UsageError for bytes that are no text."""
    if not isinstance(label, bytes):
        return str(label)
    try:
        return label.decode()
    except UnicodeDecodeError:
        raise UsageError(f"the id {label!r:.60} is not UTF-8 text") from None


def label_column(labels: Any, is_table: bool) -> Any:
    """Return the labels as an Arrow column of whole numbers or strings."""
    values = list(labels)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        try:
            return pa.array(values)
        except OverflowError:
            return pa.array(values, pa.uint64())
    words = [label_text(value) for value in values]
    if len(set(words)) < len(words):
        raise UsageError(
            "labels must differ as text in this format: two labels of the graph are the same text"
        )
    for word in words:
        is_comment = not is_table and word[:1] in ("#", "%")
        if is_comment:
            raise UsageError(
                f"lines that begin with {word[:1]} are comments in this format (got {word!r:.60}); "
                "write .csv or .tsv"
            )
        if not word or "\n" in word or "\r" in word or (not is_table and len(word.split()) != 1):
            where = "a line" if is_table else "a word"
            raise UsageError(f"a label must be {where} in this format (got {word!r:.60})")
    return pa.array(words, pa.string())
