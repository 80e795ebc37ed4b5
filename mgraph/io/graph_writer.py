"""Writing graphs: to a file, whose name decides the format, or to a dataset."""

import importlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

import mgraph
from mgraph.core.arrays import checked_vertices
from mgraph.core.choices import Compression
from mgraph.core.formatting import pluralize
from mgraph.core.graph import Graph
from mgraph.errors import MgraphWarning, UsageError
from mgraph.io import graph_dataset, ownership
from mgraph.io import manifest as manifests
from mgraph.io.address import location_text
from mgraph.io.dataset import replaceable_parts
from mgraph.io.folder import Folder, check_file, writing_file
from mgraph.io.formats import FORMATS, Format, ending_of, format_of
from mgraph.io.listing import NO_ATTRIBUTES, TERMINAL, Attributes
from mgraph.io.tables.column_names import list_names

# Formats whose vertices are numbers.
_WITHOUT_LABELS = {
    "mgraph.io.dimacs",
    "mgraph.io.gr_files",
    "mgraph.io.graph500",
    "mgraph.io.matrix_market",
    "mgraph.io.metis",
    "mgraph.io.steinlib",
}


def check_name(location: str) -> None:
    """Raise UsageError for a name that is neither that of a graph file nor of a folder."""
    folder = Folder(location)
    suffix = PurePath(folder.address.name).suffix
    if format_of(location)[0] is None and suffix[1:].isalpha() and not folder.is_remote:
        raise UsageError(
            f"{location}: a graph file must end in one of {', '.join(FORMATS)}, perhaps "
            f"compressed; a folder of Parquet files should be given without {suffix}"
        )


def check_target(location: str, overwrite: bool, compression: Compression = "lz4") -> None:
    """Raise the UsageError or StorageError that ``write_graph`` would raise for any graph."""
    file_format, _ = format_of(location)
    if file_format is not None:
        if not file_format.is_writable:
            raise UsageError(
                f"{location}: files {ending_of(location)} are read but not written; write arcs "
                "with weights as .gr"
            )
        check_file(location, overwrite)
        return
    from mgraph.io.parquet import check_compression

    check_name(location)
    folder = Folder(location)
    check_compression(compression)
    folder.check_writable()
    ownership.check_unowned(folder)
    _replaced_parts(folder, overwrite)


def _replaced_parts(folder: Folder, overwrite: bool) -> list[str]:
    """Return the parts of a dataset to be replaced; raise UsageError if they must not be."""
    parts, complete = replaceable_parts(folder)
    if (parts or complete) and not overwrite:
        remedy = "pass `overwrite=True` to replace it"
        raise UsageError(
            f"{folder} already holds a dataset; {remedy}", parameter="overwrite", remedy=remedy
        )
    return parts


def _warn_of_isolated(graph: Graph, location: str) -> None:
    """Warn of vertices without edges, which a file of edges does not have."""
    has_edge = np.zeros(graph.n, bool)
    graph = graph.to_cpu()
    has_edge[graph.indices] = True
    has_edge |= np.diff(graph.indptr) > 0
    lost = int(graph.n - has_edge.sum())
    if lost:
        warnings.warn(
            f"{location}: {pluralize(lost, 'vertex', 'vertices')} without edges are not in the "
            "file, which lists edges",
            MgraphWarning,
            stacklevel=3,
        )


def write_graph(
    graph: Graph,
    location: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    compression: Compression = "lz4",
    terminals: Any = None,
    vertices_out: str | os.PathLike[str] | None = None,
    forest: dict[str, Any] | None = None,
) -> None:
    """Write a graph to a file, whose name decides the format, or to a dataset.

    Parameters
    ----------
    graph : Graph
        On either backend.
    location : str or path
        A file with a suffix that ``read_graph`` lists, perhaps followed by .gz, .bz2 or .xz; or a
        folder or ``s3://`` address for a dataset of Parquet files.
    overwrite : bool, default False
        Replace an existing file or dataset.
    compression : {"lz4", "zstd", "none"}
        Of a dataset.
    terminals : array_like of int, optional
        Vertices that GraphML, GEXF and SteinLib files mark. GraphML and GEXF files then hold only
        these and the vertices that have an edge.
    vertices_out : str or path, optional
        A .csv or .tsv file for a list of the vertices, with the columns Id and Label that Gephi
        imports: a list of edges alone lacks the vertices without edges.
    forest : dict, optional
        The description of a spanning forest, for a dataset's manifest.

    Raises
    ------
    UsageError
        If the target exists and ``overwrite`` is False, or the format cannot represent the graph.
    StorageError
        If the target cannot be written.

    Notes
    -----
    A file appears when it is complete, or not at all; of a dataset the manifest is written last.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2], [7, 9]), backend="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mgraph.write_graph(graph, pathlib.Path(folder, "roads"))
    ...     mgraph.read_graph(pathlib.Path(folder, "roads"), backend="cpu")
    Graph(n=3, num_arcs=2, directed, int64 weights, cpu)
    """
    write_attributed(
        graph,
        NO_ATTRIBUTES,
        location_text(location),
        overwrite=overwrite,
        compression=compression,
        terminals=terminals,
        vertices_out=None if vertices_out is None else location_text(vertices_out),
        forest=forest,
    )


def write_attributed(
    graph: Graph,
    attributes: Attributes,
    text: str,
    *,
    overwrite: bool,
    compression: Compression = "lz4",
    terminals: Any = None,
    vertices_out: str | None = None,
    forest: dict[str, Any] | None = None,
) -> None:
    """Write a graph with attributes; see ``write_graph``. Warns of what a format cannot hold."""
    check_target(text, overwrite, compression)
    if vertices_out is not None:
        check_vertices_target(text, vertices_out, overwrite)
    file_format, _ = format_of(text)
    graph = graph.to_cpu()
    if file_format is None:
        folder = Folder(text)
        with ownership.owning(folder, "write_graph"):
            parts = _replaced_parts(folder, overwrite)
            folder.remove(manifests.NAME)  # first: a half-removed dataset must not look complete
            folder.remove(*parts, *filter(manifests.VERTICES_NAME.fullmatch, folder.names() or []))
            created_by = f"mgraph {mgraph.__version__}"
            graph_dataset.write(
                graph,
                folder,
                compression=compression,
                created_by=created_by,
                forest=forest,
                attributes=attributes,
            )
    else:
        marks: dict[str, Any] = {}
        if file_format is FORMATS[".stp"] and terminals is None:
            terminals, attributes = _take_terminals(attributes)
        if file_format.terminals and terminals is not None:
            marks["terminals"] = checked_vertices("terminals", terminals, graph.n)
        if file_format.endings:
            marks["ending"] = ending_of(text)
        if file_format.attributes:
            marks["attributes"] = attributes
        _warn_of_losses(graph, attributes, text, file_format, vertices_out is not None)
        if file_format.is_table and terminals is None and vertices_out is None:
            _warn_of_isolated(graph, text)
        with ExitStack() as stack:  # both files appear, or none
            target = stack.enter_context(_writing(text))
            importlib.import_module(file_format.module).write(graph, target, **marks)
            if vertices_out is not None:
                from mgraph.io import node_list

                target = stack.enter_context(_writing(vertices_out))
                node_list.write(graph, target, ending_of(vertices_out), attributes)


def check_vertices_target(
    text: str, vertices_out: str, overwrite: bool, inputs: Sequence[str] = ()
) -> None:
    """Raise the UsageError or StorageError that writing a list of vertices would raise.

    inputs: files and folders that are read, which the list must not replace.
    """
    from mgraph.io import node_list

    if format_of(text)[0] is None:
        raise UsageError(
            "vertices_out applies to files; a dataset has its vertices in _vertices-*.parquet",
            parameter="vertices_out",
        )
    node_list.check_ending(ending_of(vertices_out))
    path = os.path.realpath(vertices_out)
    if any(path == os.path.realpath(other) for other in (text, *inputs)):
        raise UsageError("vertices_out must be another file", parameter="vertices_out")
    check_file(vertices_out, overwrite)


def _take_terminals(attributes: Attributes) -> tuple[Any, Attributes]:
    """Return the vertices that an attribute marks as terminals, or None, and the others."""
    import pyarrow as pa

    table = attributes.vertices
    if table is None or TERMINAL not in table.column_names:
        return None, attributes
    if not pa.types.is_boolean(table[TERMINAL].type):
        return None, attributes
    marked = np.flatnonzero(table[TERMINAL].fill_null(False).to_numpy())
    others = table.drop_columns([TERMINAL])
    return marked, attributes._replace(vertices=others if others.num_columns else None)


@contextmanager
def _writing(text: str) -> Iterator[Any]:
    """Yield a stream to a file, which is compressed as its name says."""
    _, opener = format_of(text)
    compress = nullcontext if opener is open else partial(opener, mode="wb")
    with writing_file(text) as stream, compress(stream) as target:
        yield target


def _warn_of_losses(
    graph: Graph, attributes: Attributes, text: str, file_format: Format, lists_vertices: bool
) -> None:
    """Warn of labels and attributes that a file of a format does not have."""
    if graph.labels is not None and file_format.module in _WITHOUT_LABELS:
        warnings.warn(
            f"{text}: {file_format.name} files have no names of vertices, which are numbered in "
            "the order of the graph's labels",
            MgraphWarning,
            stacklevel=3,
        )
    for what, table in attributes._asdict().items():
        is_written = what in file_format.attributes or (what == "vertices" and lists_vertices)
        if table is not None and not is_written:
            hint = "; `vertices_out=FILE` writes them" if what == "vertices" else ""
            if what == "edges" and graph.weights is None:
                hint = "; if one holds weights, name it by `weight='NAME'`"
            warnings.warn(
                f"{text}: attributes of {what} are not written to {file_format.name} files: "
                f"{list_names(table.column_names)}{hint}",
                MgraphWarning,
                stacklevel=3,
            )
