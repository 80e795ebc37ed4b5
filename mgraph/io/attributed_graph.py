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
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.errors import DatasetError, UsageError
from mgraph.io import graph_dataset
from mgraph.io.attributes import VERTEX_RESERVED, named_table
from mgraph.io.dataset import EdgeDataset
from mgraph.io.formats import reading_guard
from mgraph.io.graph_reader import ReadOptions, build_graph, open_source, warn_of
from mgraph.io.listing import Attributes, Listing
from mgraph.io.tables.arrow_files import explaining
from mgraph.io.tables.sparse_ids import is_sparse
from mgraph.io.tables.vertex_table import read_vertices


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
            listing = _join(listing, vertices, options.table.text_ids)
        of_edges = listing.attributes.edges
        if of_edges is None:
            return AttributedGraph(build_graph(location, listing, options), listing.attributes)
        edges, of_edges = _arrange(listing, options)
        arranged = listing._replace(edges=edges)
        graph = build_graph(location, arranged, ReadOptions(symmetrise=options.symmetrise))
        return AttributedGraph(graph, listing.attributes._replace(edges=of_edges))


def _read_dataset(dataset: EdgeDataset) -> Listing:
    """Read a dataset of mgraph with the columns that it keeps beside the edges'."""
    listing = graph_dataset.read(dataset, "cpu")
    of_edges = _read_columns(dataset, [part.file for part in dataset.manifest.parts], dataset.names)
    vertices = dataset.manifest.vertices
    of_vertices = None
    if vertices is not None and vertices.attributes:
        of_vertices = _read_columns(dataset, vertices.files, VERTEX_RESERVED)
    labels: Any = dataset.ids
    return listing._replace(labels=labels, attributes=Attributes(of_edges, of_vertices))


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
    """Add the columns of a table of vertices, and the vertices that only it has."""
    table, column = read_vertices(vertices.location, vertices.column, text_ids)
    ids = table[column].to_pylist()
    if len(set(ids)) < len(ids):
        raise DatasetError(f"{vertices.location}: its ids must differ (two are the same)")
    labels, n = listing.labels, listing.n
    if labels is None:
        rows = _numbers(ids, vertices.location)
        n = max([n, *(row + 1 for row in rows)])
        if is_sparse(n, max(len(listing.edges), len(ids))):
            raise DatasetError(
                f"{vertices.location}: its ids go up to {n - 1:,}, and the graph has "
                f"{listing.n:,} vertices, whose ids are their numbers"
            )
    else:
        numbers = {str(label): number for number, label in enumerate(labels)}
        added = [x for x in ids if str(x) not in numbers]
        numbers |= {str(label): n + i for i, label in enumerate(added)}
        labels = (*labels, *(_like(label, labels) for label in added))
        rows, n = [numbers[str(x)] for x in ids], len(labels)
    places = np.full(n, -1, np.int64)
    places[rows] = np.arange(len(rows))
    joined = table.drop_columns([column]).take(pa.array(places, mask=places < 0))
    columns = list(zip(joined.column_names, joined.columns, strict=True))
    if (present := listing.attributes.vertices) is not None:
        more = pa.concat_tables([present, present.schema.empty_table()])
        padded = more.take(pa.array([i if i < listing.n else None for i in range(n)], pa.int64()))
        columns = [*zip(padded.column_names, padded.columns, strict=True), *columns]
    attributes = Attributes(listing.attributes.edges, named_table(columns, VERTEX_RESERVED))
    return listing._replace(n=n, labels=labels, attributes=attributes)


def _numbers(ids: Sequence[Any], location: Any) -> list[int]:
    for value in ids:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise DatasetError(
                f"{location}: its ids must be the numbers of the graph's vertices (got "
                f"{value!r:.60})"
            )
    return list(ids)


def _like(value: Any, labels: Sequence[Any]) -> Any:
    return str(value) if any(isinstance(label, str) for label in labels[:1]) else value


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
