"""Graphs with the attributes of their edges and vertices, as ``convert`` passes them on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgraph.core import cancellation
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.formatting import pluralize
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.errors import DatasetError, UsageError
from mgraph.io import graph_dataset
from mgraph.io.attributes import VERTEX_RESERVED, named_table
from mgraph.io.dataset import EdgeDataset
from mgraph.io.formats import reading_guard
from mgraph.io.graph_reader import ReadOptions, build_graph, open_source, warn_of
from mgraph.io.listing import Attributes, Listing
from mgraph.io.tables import id_columns
from mgraph.io.tables.arrow_files import explaining
from mgraph.io.tables.sparse_ids import is_sparse
from mgraph.io.tables.vertex_table import read_vertices
from mgraph.io.vertex_ids import labels_as_ids


class AttributedGraph(NamedTuple):
    """A graph in the memory of the host, and its attributes."""

    graph: Graph
    attributes: Attributes


class VertexFile(NamedTuple):
    """A table of vertices: its location, and the column of ids if it is named."""

    location: Any
    column: str | None = None


def read_attributed(
    location: Any, options: ReadOptions, vertices: VertexFile | None = None
) -> AttributedGraph:
    """Read a graph with all attributes that its file or dataset has; warn of what else there is.

    vertices: a table with more attributes, and perhaps more vertices. Raises the errors of
    ``read_graph``.
    """
    with reading_guard(f"{location}"):
        source = open_source(location, replace(options, attributes=True))
        warn_of(location, source.notes)
        listing = _read_dataset(source) if isinstance(source, EdgeDataset) else source
        if vertices is not None:
            joined = _join(listing, vertices, options.table.text_ids)
            if added := joined.n - listing.n:
                note = f"{pluralize(added, 'vertex', 'vertices')} without edges added"
                warn_of(vertices.location, [note])
            listing = joined
        edge_attributes = listing.attributes.edges
        if edge_attributes is None:
            return AttributedGraph(build_graph(location, listing, options), listing.attributes)
        edges, edge_attributes = _arrange(listing, options)
        arranged = listing._replace(edges=edges)
        graph = build_graph(location, arranged, ReadOptions(symmetrise=options.symmetrise))
        return AttributedGraph(graph, listing.attributes._replace(edges=edge_attributes))


def _read_dataset(dataset: EdgeDataset) -> Listing:
    """Read a dataset of mgraph with the columns that it keeps beside the edges'."""
    listing = graph_dataset.read(dataset, "cpu")
    edge_attributes = _read_columns(
        dataset, [part.file for part in dataset.manifest.parts], dataset.names
    )
    vertices = dataset.manifest.vertices
    vertex_attributes = None
    if vertices is not None and vertices.attributes:
        vertex_attributes = _read_columns(dataset, vertices.files, VERTEX_RESERVED)
    labels: Any = dataset.ids
    return listing._replace(
        labels=labels, attributes=Attributes(edge_attributes, vertex_attributes)
    )


def _read_columns(dataset: EdgeDataset, files: Sequence[str], own: Sequence[str]) -> Any:
    """Return the columns of files except those of mgraph's own; None if there are none."""

    def read(name: str) -> pa.Table | None:
        with explaining(f"{dataset.folder}/{name}", "Parquet"), dataset.folder.open(name) as stream:
            file = pq.ParquetFile(stream)
            names = [column for column in file.schema_arrow.names if column not in own]
            return dataset.folder.call(lambda: file.read(columns=names)) if names else None

    tables = cancellation.map_in_threads(read, files, available_cores())
    if not tables or any(table is None for table in tables):
        return None
    return pa.concat_tables(tables)


def _arrange(listing: Listing, options: ReadOptions) -> tuple[EdgeList, pa.Table]:
    """Return the edges by the options, in the order in which a graph lists them, and attributes."""
    from mgraph.io.renumbering.merge import sort_rows
    from mgraph.io.renumbering.order import EdgeRules, order_edges

    src, dst, *weight = listing.edges
    attributes = listing.attributes.edges
    assert attributes is not None
    columns = [pa.array(column) for column in weight]
    columns += [column.combine_chunks() for column in attributes.columns]
    names = [*("weight" for _ in weight), *attributes.column_names]
    fields = [pa.field(name, x.type) for name, x in zip(names, columns, strict=True)]
    rules = EdgeRules(
        directed=listing.directed and not options.symmetrise,
        drop_loops=options.drop_loops,
        merge=options.merge,
        drop_infinite=options.drop_infinite,
        columns=pa.schema(fields),
    )
    rows = sort_rows(order_edges([src, dst], names, columns, rules), rules)
    ends = [rows.column(name).to_numpy() for name in ("src", "dst", *names[: len(weight)])]
    return EdgeList(*ends), pa.Table.from_batches([rows]).select(names[len(weight) :])


def _join(listing: Listing, vertices: VertexFile, text_ids: bool) -> Listing:
    """Add the columns of a table of vertices, and the vertices that only it has.

    These come last, or in the order of ids if the graph's ids ascend, as those of tables do.
    """
    known = labels_as_ids(range(listing.n) if listing.labels is None else listing.labels)
    is_text = text_ids or known.kind == "string"
    table, column = read_vertices(vertices.location, vertices.column, is_text)
    try:
        ids = id_columns.as_ids(table[column], column)
        if is_text and ids.kind in ("int64", "uint64"):
            ids = id_columns.as_ids(ids.values.cast(pa.string()), column)
        common = id_columns.common_kind([known.kind, ids.kind], *id_columns.bounds(ids))
        both = [id_columns.convert(each, common) for each in (known, ids)]
    except ValueError as error:
        raise DatasetError(f"{vertices.location}: {error}") from None
    distinct, ranks = id_columns.rank(id_columns.concatenate(both))
    of_known, of_table = np.split(ranks.astype(np.int64), [listing.n])
    if np.unique(of_table).size < of_table.size:
        raise DatasetError(f"{vertices.location}: its ids must differ (two are the same)")
    if listing.labels is None:
        n = int(distinct.values[-1].as_py()) + 1 if len(distinct) else 0
        if int(distinct.values[0].as_py() if n else 0) < 0 or is_sparse(n, len(distinct)):
            raise DatasetError(
                f"{vertices.location}: its ids must be the numbers of the graph's vertices, of "
                f"which there are {listing.n:,}"
            )
        numbers = id_columns.to_numpy(distinct).astype(np.int64)  # of the vertices, by rank
    else:
        n = len(distinct)
        numbers = np.arange(n)
        if not (np.diff(of_known) > 0).all():
            numbers[:] = -1
            numbers[of_known] = np.arange(listing.n)
            numbers[numbers < 0] = np.arange(listing.n, n)
    place, rows = numbers[of_known], numbers[of_table]
    src, dst, *weight = listing.edges
    labels = listing.labels
    if labels is not None:
        named: list[Any] = [None] * n
        for values, to in ((labels, place), (id_columns.to_python(both[1]), rows)):
            for label, number in zip(values, to.tolist(), strict=True):
                named[number] = label if named[number] is None else named[number]
        labels = tuple(named)
    columns = [
        *_placed(listing.attributes.vertices, place, n),
        *_placed(table.drop_columns([column]), rows, n),
    ]
    attributes = Attributes(listing.attributes.edges, named_table(columns, VERTEX_RESERVED))
    edges = EdgeList(place[src], place[dst], *weight)
    return listing._replace(edges=edges, n=n, labels=labels, attributes=attributes)


def _placed(table: Any, rows: np.ndarray, n: int) -> list[tuple[str, Any]]:
    """Return the columns of a table, whose rows are vertices, for n vertices."""
    if table is None:
        return []
    places = np.full(n, -1, np.int64)
    places[rows] = np.arange(len(rows))
    placed = table.take(pa.array(places, mask=places < 0))
    return list(zip(placed.column_names, placed.columns, strict=True))


def draw_missing_weights(
    read: AttributedGraph, draw: tuple[int, int, int], location: Any
) -> AttributedGraph:
    """Return a graph with weights that are drawn, between two bounds with a seed.

    Raises UsageError if it has weights.
    """
    from mgraph.core.edge_list_cpu import draw_weights

    graph = read.graph
    if graph.weights is not None:
        raise UsageError(
            f"weights are drawn for edges without, and {location} has weights", parameter="weights"
        )
    src, dst = graph.to_edges()
    drawn = EdgeList(src, dst, draw_weights(src, dst, *draw))
    made = from_edges(drawn, graph.n, directed=graph.directed, backend="cpu")
    return read._replace(graph=made.with_labels(graph.labels))
