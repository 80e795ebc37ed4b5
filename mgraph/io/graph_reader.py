"""Reading graphs: from a file, whose name decides the format, from a dataset, or from tables."""

import importlib
import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import Backend, Device, did_you_mean
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.host import available_memory
from mgraph.core.networkx_graph import RENUMBERED, parse_integer
from mgraph.errors import DatasetError, MgraphWarning, OutOfMemoryError, UsageError
from mgraph.io import graph_dataset
from mgraph.io.address import location_text
from mgraph.io.dataset import EdgeDataset
from mgraph.io.formats import Format, format_of, read_file, reading_guard
from mgraph.io.listing import Listing
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.sparse_ids import UnnumberedError
from mgraph.io.tables.table_files import TableOptions, has_pattern, holds_tables

_SURE_BYTES = 1 << 30  # that any machine has


@dataclass(frozen=True)
class ReadOptions:
    """How a graph is read: its columns, and what becomes of its edges; see ``read_graph``.

    attributes: whether a file's attributes are read, too.
    """

    symmetrise: bool = False
    drop_loops: bool = False
    merge: bool = False
    drop_infinite: bool = False
    renumber: bool = False
    attributes: bool = False
    table: TableOptions = field(default_factory=TableOptions)

    def refuse_columns(self, because: str) -> None:
        """Raise UsageError if columns are named, for a graph whose columns are known."""
        request = self.table.request
        for name in ("src", "dst", "weight", "columns"):
            if getattr(request, name) is not None:
                raise UsageError(f"{name} names columns of tables, and {because}", parameter=name)
        for name in ("delimiter", "text_ids"):
            if getattr(self.table, name):
                raise UsageError(f"{name} is for text tables, and {because}", parameter=name)


_DEFAULT = ReadOptions()


def read_options(
    *,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    drop_infinite: bool = False,
    renumber: bool = False,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    columns: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    text_ids: bool = False,
) -> ReadOptions:
    """Return options from the arguments of ``read_graph``. Raises UsageError."""
    request = ColumnRequest(src, dst, weight, _split_names(columns))
    table = TableOptions(request, delimiter, text_ids)
    return ReadOptions(symmetrise, drop_loops, merge, drop_infinite, renumber, table=table)


def reading_options(reading: Mapping[str, Any] | None, symmetrise: bool = False) -> ReadOptions:
    """Return the same from a user's dictionary of such arguments."""
    known = list(inspect.signature(read_options).parameters)[1:]  # without symmetrise
    if reading is not None and not isinstance(reading, Mapping):
        raise UsageError(
            f"reading must be a mapping of arguments (got {type(reading).__name__})",
            parameter="reading",
        )
    for name in reading or {}:
        if name not in known:
            raise UsageError(
                f"reading must have names among {', '.join(known)} (got {name!r:.60})"
                f"{did_you_mean(name, known)}",
                parameter="reading",
            )
    return read_options(symmetrise=symmetrise, **(reading or {}))


def summarize(location: str | os.PathLike[str], options: ReadOptions = _DEFAULT) -> Any:
    """Return the ``Summary`` of a file or dataset; a dataset's parts are read one by one."""
    from mgraph.core.summary_cpu import Summarizer

    text = location_text(location)
    with reading_guard(text):
        source = open_source(text, options)
        warn_of(text, source.notes)
        if isinstance(source, EdgeDataset):
            summarizer = Summarizer(source.n, source.manifest.directed)
            for part in source:
                for block in part.blocks():
                    summarizer.add(drop_infinite(block) if options.drop_infinite else block)
        else:
            edges, n, directed, *_ = source
            summarizer = Summarizer(n, directed)
            summarizer.add(drop_infinite(edges) if options.drop_infinite else edges)
        return summarizer.summary()


def open_source(location: Any, options: ReadOptions) -> EdgeDataset | Listing:
    """Open a dataset, or read the edges of a file or of tables.

    Raises DatasetError, StorageError, UsageError.
    """
    from mgraph.io.tables.table_listing import read_listing

    def read_tables() -> Listing:
        return read_listing(location, options.table, options.renumber, options.attributes)

    if isinstance(location, list | tuple) or has_pattern(location):
        return read_tables()
    file_format, _ = format_of(location)
    if file_format is not None and file_format.is_table:
        return read_tables()
    if file_format is not None:
        return _read_file(location, file_format, options)
    try:
        dataset = EdgeDataset(location, options.table.request)
        if not options.renumber:
            dataset.check_dense()
    except UnnumberedError as error:
        try:
            return read_tables()
        except DatasetError:
            raise error from None
    except DatasetError:
        if not holds_tables(location):
            raise
        return read_tables()
    if dataset.has_manifest:
        options.refuse_columns(f"{location} is a dataset of mgraph")
        return dataset
    table = options.table
    is_plain = not (options.renumber or options.attributes or table.text_ids)
    if is_plain and table.request.columns is None and table.delimiter is None:
        return dataset
    return read_tables()  # refuses what is for text


def _read_file(location: str, file_format: Format, options: ReadOptions) -> Listing:
    read = importlib.import_module(file_format.module).read
    if file_format.weight and options.table.request.weight is not None:
        read = partial(read, weight=options.table.request.weight)
        options = replace(options, table=TableOptions())
    if options.attributes and (file_format.attributes or file_format.reads_attributes):
        read = partial(read, attributes=True)
    options.refuse_columns(f"{location} is a {file_format.name} file")
    listing: Listing = read_file(location, file_format, read)
    return listing


def warn_of(location: Any, notes: Sequence[str]) -> None:
    """Warn the caller's caller of what a user should know of a source."""
    shown = location if isinstance(location, str) else ", ".join(map(str, location[:2]))
    for note in notes:
        warnings.warn(f"{shown}: {note}", MgraphWarning, stacklevel=4)


def _choose_backend(dataset: EdgeDataset, backend: Backend, symmetrise: bool) -> Device:
    """Return the backend of a dataset's graph: for ``auto`` a GPU only if its memory suffices."""
    resolved = backends.resolve(backend)
    if resolved == "cpu" or backend == "gpu":
        return resolved
    from mgraph.core import csr_gpu

    num_arcs = dataset.num_edges * (1 if dataset.manifest.directed and not symmetrise else 2)
    widths = [dtype.itemsize for dtype in dataset.dtypes]
    edge_bytes = dataset.num_edges * sum(widths)
    fits = csr_gpu.fits_in_memory(dataset.n, num_arcs, sum(widths[2:]), edge_bytes)
    return "gpu" if fits else "cpu"


def read_graph(
    location: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    drop_infinite: bool = False,
    renumber: bool = False,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    columns: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    text_ids: bool = False,
    backend: Backend = "auto",
) -> Graph:
    """Read a graph from a file, from several, or from a dataset.

    Parameters
    ----------
    location : str or path, or a sequence of them
        A folder or ``s3://`` address of Parquet files, written by mgraph or another program; a file
        whose name ends in .parquet, .arrow or .feather, in .csv, .tsv, .txt, .edges, .edgelist,
        .el, .wel, .ncol or .snap (text with an edge per line), .nt (N-Triples), .gr, .max, .min,
        .asn, .col or .clq (DIMACS; .gr also PACE), .mtx (Matrix Market), .graph or .metis (METIS),
        .graphml, .gexf, .json (node-link), .graph500 or .stp (SteinLib), perhaps followed by .gz,
        .bz2, .xz or .zst; a pattern such as ``"roads/*.csv"``; or a sequence of files of one kind.
    symmetrise : bool, default False
        Take each arc of a directed graph for both directions.
    drop_loops : bool, default False
        Leave self-loops out.
    merge : bool, default False
        Of parallel arcs keep the one of minimum weight.
    drop_infinite : bool, default False
        Leave out arcs of infinite weight, which mean closed ones.
    renumber : bool, default False
        Number the vertices of a table 0 to n - 1 in the ascending order of their ids, which become
        ``labels``. Ids that are strings always are; others are the vertices' numbers by default.
    src, dst, weight : str, optional
        The columns of a table that hold the ends of edges and the weight; by default src and dst,
        or source and target and other usual names, and weight. For GraphML, GEXF and JSON,
        ``weight`` is the name of the edges' attribute; for .min low, capacity or cost.
    columns : str or sequence of str, optional
        The names of all columns of a text file, in order, such as ``"src,dst,weight"``.
    delimiter : str, optional
        What separates the fields of a text file; by default it is found.
    text_ids : bool, default False
        Take ids for strings even if they are whole numbers.
    backend : {"auto", "cpu", "gpu"}
        Where the graph is built. ``auto``: on a GPU if there is one with enough free memory.

    Returns
    -------
    Graph
        Directed if the file says so: tables of other programs and DIMACS files list arcs;
        what ``generate`` wrote is undirected. GraphML and GEXF files name their nodes: the names
        are ``labels``, unless they are 0 to n - 1, which are the vertices.

    Raises
    ------
    DatasetError
        If there is no graph, or a file is damaged.
    StorageError
        If a file cannot be read.
    UsageError
        If the address or the file's suffix is wrong.
    OutOfMemoryError
        If the memory does not suffice.

    Warns
    -----
    MgraphWarning
        If columns are not read, such as weights under another name, or were recognised by unusual
        names; if the names of nodes are integers that are easily taken for vertices.

    Notes
    -----
    A dataset is read by one thread per core, straight into the memory of the backend.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "roads.gr")
    ...     _ = file.write_text("\\n".join(["p sp 3 2", "a 1 2 7", "a 2 3 9"]))
    ...     graph = mgraph.read_graph(file, backend="cpu")
    >>> graph
    Graph(n=3, num_arcs=2, directed, int32 weights, cpu)
    """
    backends.resolve(backend)
    checked = location_of(location)
    options = read_options(
        symmetrise=symmetrise, drop_loops=drop_loops, merge=merge, drop_infinite=drop_infinite,
        renumber=renumber, src=src, dst=dst, weight=weight, columns=columns, delimiter=delimiter,
        text_ids=text_ids,
    )  # fmt: skip
    graph = read_quietly(checked, options, backend, warn=True)
    names = graph.labels if isinstance(graph.labels, tuple) and not renumber else ()
    if names and all(_is_whole(name) for name in names):
        warnings.warn(f"{checked}: {RENUMBERED}", MgraphWarning, stacklevel=2)
    return graph


def location_of(location: Any) -> Any:
    """Return checked addresses as the user wrote them: a text, or a list of texts."""
    if isinstance(location, list | tuple):
        return list(map(location_text, location))
    return location_text(location)


def _split_names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names of columns, which may be given as one text with commas."""
    if isinstance(columns, str):
        columns = [name.strip() for name in columns.split(",")]
    return None if columns is None else tuple(columns)


def _is_whole(name: Any) -> bool:
    return parse_integer(name, textual=isinstance(name, str)) is not None


def read_quietly(
    location: Any, options: ReadOptions, backend: Backend = "auto", warn: bool = False
) -> Graph:
    """Read a graph without warnings: for processes whose warnings would be lost or repeated."""
    backends.resolve(backend)
    with reading_guard(f"{location}"):
        source = open_source(location, options)
        if warn:
            warn_of(location, source.notes)
        labels: Any = None
        if isinstance(source, EdgeDataset):
            backend = _choose_backend(source, backend, options.symmetrise)
            labels = source.ids
            source = graph_dataset.read(source, backend)
        graph = build_graph(location, source, options, backend)
        return graph if labels is None else graph.with_labels(labels)


def build_graph(
    location: Any, listing: Listing, options: ReadOptions, backend: Backend = "cpu"
) -> Graph:
    """Build the graph of what was read from a location. Raises DatasetError."""
    edges, n, directed, labels, *_ = listing
    _check_vertices_fit(location, n)
    if options.drop_infinite:
        edges = drop_infinite(edges)
    try:
        graph = from_edges(
            edges,
            n,
            directed=directed and not options.symmetrise,
            drop_loops=options.drop_loops,
            merge=options.merge,
            backend=backend,
        )
    except UsageError as error:  # the file's content is wrong, not a parameter
        raise DatasetError(f"{location}: {error}") from error
    return graph.with_labels(labels)


def _check_vertices_fit(location: Any, n: int) -> None:
    """Raise OutOfMemoryError if a graph's rows need more memory than there is.

    They are zeros at first, which takes no memory yet, so that no allocation would fail.
    """
    needed = 8 * (n + 1)
    if needed > _SURE_BYTES and needed > (free := available_memory()):
        raise OutOfMemoryError(
            f"{location} has {n:,} vertices, whose rows take {needed / 2**30:,.1f} GiB, and this "
            f"process has {free / 2**30:,.1f} GiB of memory; use a machine with more memory"
        )


def drop_infinite(edges: EdgeList) -> EdgeList:
    """Return the edges whose weight is not infinite: infinite weights mean closed arcs."""
    if edges.weight is None or edges.weight.dtype.kind != "f":
        return edges
    is_open = edges.weight != np.inf
    return EdgeList(*(column[is_open] for column in edges))
