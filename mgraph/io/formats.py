"""Reading and writing graphs: the file name decides the format."""

import bz2
import gzip
import hashlib
import importlib
import lzma
import os
import warnings
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

import mgraph
from mgraph import timings
from mgraph.core import backend as backends
from mgraph.core.arrays import checked_vertices
from mgraph.core.choices import Backend, Compression, Device
from mgraph.core.csr import from_edges
from mgraph.core.graph import MAX_N, Graph
from mgraph.core.memory import memory_guard
from mgraph.core.networkx_graph import RENUMBERED, parse_integer
from mgraph.errors import DatasetError, MgraphWarning, StorageError, UsageError
from mgraph.io import graph_dataset, ownership
from mgraph.io import manifest as manifests
from mgraph.io.address import local_path, location_text, missing_error, parse
from mgraph.io.dataset import EdgeDataset, is_parquet, replaceable_parts
from mgraph.io.folder import Folder, check_file, folder_and_name, writing_file
from mgraph.io.listing import Listing


class Format(NamedTuple):
    """A file format: its name, and a module with ``read(stream)`` and ``write(graph, stream)``.

    terminals: whether ``write`` takes terminals, too.
    """

    name: str
    module: str
    terminals: bool = False


FORMATS = {
    ".gr": Format("DIMACS", "mgraph.io.gr_files"),
    ".mtx": Format("Matrix Market", "mgraph.io.matrix_market"),
    ".graph": Format("METIS", "mgraph.io.metis"),
    ".metis": Format("METIS", "mgraph.io.metis"),
    ".graphml": Format("GraphML", "mgraph.io.graphml", terminals=True),
    ".gexf": Format("GEXF", "mgraph.io.gexf", terminals=True),
    ".stp": Format("SteinLib", "mgraph.io.steinlib", terminals=True),
}
_LOCAL_RULE = "be on this machine, as every graph file that is not Parquet"
COMPRESSIONS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def format_of(location: str) -> tuple[Format | None, Any]:
    """Return a file's format by its name, None for a dataset, and the function that opens it."""
    address = parse(location)
    suffixes = PurePath(address.name).suffixes
    opener = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if opener:
        suffixes.pop()
    file_format = FORMATS.get(suffixes[-1].lower()) if suffixes else None
    is_file = address.is_local and os.path.isfile(address.path)
    if file_format is None and (opener or (is_file and not is_parquet(address.name))):
        known = ", ".join(FORMATS)
        raise UsageError(
            f"{location}: a graph file's name must end in one of {known} or .parquet, perhaps "
            "followed by .gz, .bz2 or .xz; for a dataset give the folder of Parquet files"
        )
    return file_format, opener or open


class Identity(NamedTuple):
    """What identifies a graph before it is read.

    name: the checksum of a dataset with a manifest; else a hash of the files' path, sizes and
    modification times. edges: the number of edges in the manifest; 0 for a file.
    """

    name: str
    edges: int


def identify(location: str) -> Identity:
    """Return the identity of a graph; raise DatasetError if there is no graph."""
    if format_of(location)[0] is None:
        return identify_dataset(EdgeDataset(location))
    if not os.path.exists(local_path(location, _LOCAL_RULE)):
        raise missing_error(parse(location))
    folder, name = folder_and_name(location)
    return Identity(_digest(location, [folder.stamp(name)]), 0)


def identify_dataset(dataset: EdgeDataset) -> Identity:
    """Return the identity of an open dataset; warn of columns that are not read."""
    dataset.warn_of_unread()
    if dataset.has_manifest:
        return Identity(f"{dataset.manifest.checksum:016x}", dataset.num_edges)
    stamps = [dataset.folder.stamp(part.file) for part in dataset.manifest.parts]
    return Identity(_digest(dataset.folder.address.path, stamps), dataset.num_edges)


def _digest(location: str, stamps: Any) -> str:
    return hashlib.sha256(repr((location, stamps)).encode()).hexdigest()[:16]


def reading_guard(location: str) -> AbstractContextManager[None]:
    """Turn a MemoryError of a block that reads a graph into OutOfMemoryError with a remedy."""
    return memory_guard(f"the graph {location}", "use a machine with more memory")


def read_file(text: str, file_format: Format, read: Callable[[Any], Any]) -> Any:
    """Return ``read(stream)`` of a file; raise DatasetError if it is missing or damaged."""
    _, opener = format_of(text)
    path = local_path(text, _LOCAL_RULE)
    try:
        with timings.step(timings.READING), opener(path, "rb") as stream:
            content = read(stream)
        if content.n > MAX_N:
            raise ValueError(f"a graph has at most 2^40 vertices (got {content.n:,})")
    except FileNotFoundError:
        raise missing_error(parse(text)) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DatasetError(f"{text} is truncated or damaged: {error}") from error
    except (ValueError, OverflowError) as error:
        raise DatasetError(
            f"{text} cannot be read as a {file_format.name} file: {error}"
        ) from error
    except OSError as error:
        raise StorageError(f"{text} could not be read: {error}") from error
    return content


def _read_listing(text: str) -> Listing:
    file_format, _ = format_of(text)
    assert file_format is not None
    read = importlib.import_module(file_format.module).read
    listing: Listing = read_file(text, file_format, read)
    return listing


def summarize(location: str | os.PathLike[str]) -> Any:
    """Return the ``Summary`` of a file or dataset; a dataset's parts are read one by one."""
    from mgraph.core.summary_cpu import Summarizer

    text = location_text(location)
    with reading_guard(text):
        if format_of(text)[0] is None:
            dataset = EdgeDataset(text)
            dataset.warn_of_unread()
            summarizer = Summarizer(dataset.n, dataset.manifest.directed)
            for part in dataset:
                for block in part.blocks():
                    summarizer.add(block)
        else:
            edges, n, directed, *_ = _read_listing(text)
            summarizer = Summarizer(n, directed)
            summarizer.add(edges)
        return summarizer.summary()


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
    location: str | os.PathLike[str],
    *,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    backend: Backend = "auto",
) -> Graph:
    """Read a graph from a file or a dataset.

    Parameters
    ----------
    location : str or path
        A folder or ``s3://`` address of Parquet files with columns ``src``, ``dst`` and perhaps
        ``weight``, written by mgraph or another program; one such file; or a file whose name ends
        in .gr (DIMACS, PACE), .mtx (Matrix Market), .graph or .metis (METIS), .graphml, .gexf or
        .stp (SteinLib), perhaps followed by .gz, .bz2 or .xz.
    symmetrise : bool, default False
        Take each arc of a directed graph for both directions.
    drop_loops : bool, default False
        Leave self-loops out.
    merge : bool, default False
        Of parallel arcs keep the one of minimum weight.
    backend : {"auto", "cpu", "gpu"}
        Where the graph is built. ``auto``: on a GPU if there is one with enough free memory.

    Returns
    -------
    Graph
        Directed if the file says so: Parquet files of other programs and DIMACS files list arcs;
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
        If Parquet files have columns that are not read, such as weights under another name, or if
        the names of nodes are integers that are easily taken for vertices.

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
    text = location_text(location)
    graph = read_quietly(text, symmetrise, drop_loops, merge, backend, warn=True)
    names = graph.labels or ()
    if names and all(parse_integer(name, textual=True) is not None for name in names):
        warnings.warn(f"{text}: {RENUMBERED}", MgraphWarning, stacklevel=2)
    return graph


def read_quietly(
    text: str,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    backend: Backend = "auto",
    warn: bool = False,
) -> Graph:
    """Read a graph without warnings: for processes whose warnings would be lost or repeated."""
    backends.resolve(backend)
    with reading_guard(text):
        if format_of(text)[0] is None:
            dataset = EdgeDataset(text)
            if warn:
                dataset.warn_of_unread()
            backend = _choose_backend(dataset, backend, symmetrise)
            listing = graph_dataset.read(dataset, backend)
        else:
            listing = _read_listing(text)
        if warn:
            for note in listing.notes:
                warnings.warn(f"{text}: {note}", MgraphWarning, stacklevel=3)
        edges, n, directed, labels, _ = listing
        try:
            graph = from_edges(
                edges,
                n,
                directed=directed and not symmetrise,
                drop_loops=drop_loops,
                merge=merge,
                backend=backend,
            )
            return graph if labels is None else graph.with_labels(labels)
        except UsageError as error:  # the file's content is wrong, not a parameter
            raise DatasetError(f"{text}: {error}") from error


def check_target(location: str, overwrite: bool, compression: Compression = "lz4") -> None:
    """Raise the UsageError or StorageError that ``write_graph`` would raise for any graph."""
    file_format, _ = format_of(location)
    if file_format is not None:
        check_file(location, overwrite)
        return
    from mgraph.io.parquet import check_compression

    folder = Folder(location)
    suffix = PurePath(folder.address.name).suffix
    if suffix[1:].isalpha() and not folder.is_remote:
        raise UsageError(
            f"{location}: a graph file must end in one of {', '.join(FORMATS)}, perhaps "
            f"compressed; a folder of Parquet files should be given without {suffix}"
        )
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


def write_graph(
    graph: Graph,
    location: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    compression: Compression = "lz4",
    terminals: Any = None,
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
    text = location_text(location)
    check_target(text, overwrite, compression)
    file_format, opener = format_of(text)
    if file_format is None:
        folder = Folder(text)
        with ownership.owning(folder, "write_graph"):
            parts = _replaced_parts(folder, overwrite)
            folder.remove(manifests.NAME)  # first: a half-removed dataset must not look complete
            folder.remove(*parts)
            created_by = f"mgraph {mgraph.__version__}"
            graph_dataset.write(
                graph, folder, compression=compression, created_by=created_by, forest=forest
            )
        return
    write = importlib.import_module(file_format.module).write
    compress = nullcontext if opener is open else partial(opener, mode="wb")
    marks = {}
    if file_format.terminals and terminals is not None:
        marks["terminals"] = checked_vertices("terminals", terminals, graph.n)
    with writing_file(text) as stream, compress(stream) as target:
        write(graph.to_cpu(), target, **marks)
