"""Reading and writing graphs, by the name of the file."""

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
from mgraph.core import backend as backends
from mgraph.core.arrays import checked_vertices
from mgraph.core.csr import from_edges
from mgraph.core.graph import MAX_N, Graph
from mgraph.core.memory import memory_guard
from mgraph.core.networkx_graph import RENUMBERED, parse_integer
from mgraph.errors import DatasetError, MgraphWarning, StorageError, UsageError
from mgraph.io import graph_dataset, ownership
from mgraph.io import manifest as manifests
from mgraph.io.address import local_path, location_text, missing_error, parse
from mgraph.io.dataset import EdgeDataset, is_parquet, standing
from mgraph.io.folder import Folder, check_file, folder_and_name, writing_file
from mgraph.io.listing import Listing


class Format(NamedTuple):
    """A file format: its name, and the functions ``read(stream)`` and ``write(graph, stream)``.

    terminals: whether ``write`` takes these, too.
    """

    name: str
    module: str
    read: str = "read"
    write: str = "write"
    terminals: bool = False


FORMATS = {
    ".gr": Format("DIMACS", "mgraph.io.gr_files"),
    ".mtx": Format("Matrix Market", "mgraph.io.matrix_market"),
    ".graph": Format("METIS", "mgraph.io.metis"),
    ".metis": Format("METIS", "mgraph.io.metis"),
    ".graphml": Format("GraphML", "mgraph.io.graph_xml", "read_graphml", "write_graphml", True),
    ".gexf": Format("GEXF", "mgraph.io.graph_xml", "read_gexf", "write_gexf", True),
    ".stp": Format("SteinLib", "mgraph.io.steinlib", terminals=True),
}
_ON_DISK = "be on this machine, as every graph file that is not Parquet"
COMPRESSIONS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def format_of(location: str) -> tuple[Format | None, Any]:
    """The format of a file by its name, None for a dataset; and what opens it."""
    address = parse(location)
    suffixes = PurePath(address.name).suffixes
    opener = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if opener:
        suffixes.pop()
    found = FORMATS.get(suffixes[-1].lower()) if suffixes else None
    is_file = address.is_local and os.path.isfile(address.path)
    if found is None and (opener or (is_file and not is_parquet(address.name))):
        known = ", ".join(FORMATS)
        raise UsageError(
            f"{location}: the end of a file's name tells its format, one of {known}, .parquet or a "
            "folder of Parquet files; .gz, .bz2 and .xz may follow"
        )
    return found, opener or open


class Identity(NamedTuple):
    """What tells one graph from another before it is read.

    name: the checksum of a dataset of ours; else the place, sizes and times of the files. edges:
    how many there are, as a manifest says; 0 for a file.
    """

    name: str
    edges: int


def identify(location: str) -> Identity:
    """The identity of a graph. Raises DatasetError where there is none."""
    if format_of(location)[0] is None:
        return identify_dataset(EdgeDataset(location))
    if not os.path.exists(local_path(location, _ON_DISK)):
        raise missing_error(parse(location))
    folder, name = folder_and_name(location)
    return Identity(_digest(location, [folder.stamp(name)]), 0)


def identify_dataset(dataset: EdgeDataset) -> Identity:
    """The identity of a graph whose dataset is open; warns of columns that are not read."""
    dataset.warn_of_unread()
    if dataset.has_manifest:
        return Identity(f"{dataset.manifest.checksum:016x}", dataset.num_edges)
    stamps = [dataset.folder.stamp(part.file) for part in dataset.manifest.parts]
    return Identity(_digest(dataset.folder.address.path, stamps), dataset.num_edges)


def _digest(location: str, stamps: Any) -> str:
    return hashlib.sha256(repr((location, stamps)).encode()).hexdigest()[:16]


def room(location: str) -> AbstractContextManager[None]:
    """For reading a graph: OutOfMemoryError where there is no room for it."""
    return memory_guard(f"the graph {location}", "use a machine with more memory")


def read_file(text: str, kind: Format, read: Callable[[Any], Any]) -> Any:
    """What ``read`` makes of a file. Raises DatasetError where it is damaged, cut short or none."""
    _, opener = format_of(text)
    path = local_path(text, _ON_DISK)
    try:
        with opener(path, "rb") as stream:
            found = read(stream)
        if found.n > MAX_N:
            raise ValueError(f"a graph has at most 2^40 vertices, and it says {found.n:,}")
    except FileNotFoundError:
        raise missing_error(parse(text)) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DatasetError(f"{text} is cut short or damaged: {error}") from error
    except (ValueError, OverflowError) as error:
        raise DatasetError(f"{text} cannot be read as a {kind.name} file: {error}") from error
    except OSError as error:
        raise StorageError(f"{text} could not be read: {error}") from error
    return found


def _listing(text: str) -> Listing:
    kind, _ = format_of(text)
    assert kind is not None
    listing: Listing = read_file(
        text, kind, getattr(importlib.import_module(kind.module), kind.read)
    )
    return listing


def summarize(location: str | os.PathLike[str]) -> Any:
    """A ``Summary`` of a file or dataset; a dataset's parts are read one by one, and not kept."""
    from mgraph.core.summary_cpu import Summarizer

    text = location_text(location)
    with room(text):
        if format_of(text)[0] is None:
            dataset = EdgeDataset(text)
            dataset.warn_of_unread()
            told = Summarizer(dataset.n, dataset.manifest.directed)
            for part in dataset:
                for block in part.blocks():
                    told.add(block)
        else:
            edges, n, directed, _ = _listing(text)
            told = Summarizer(n, directed)
            told.add(edges)
        return told.summary()


def _backend_for(dataset: EdgeDataset, backend: str, symmetrise: bool) -> str:
    """The backend for a dataset's graph: of ``auto`` the GPU only where it has room."""
    where = backends.resolve(backend)
    if where == "cpu" or backend == "gpu":
        return where
    from mgraph.core import csr_gpu

    arcs = dataset.num_edges * (1 if dataset.manifest.directed and not symmetrise else 2)
    widths = [dtype.itemsize for dtype in dataset.dtypes]
    fits = csr_gpu.fits_in_memory(dataset.n, arcs, sum(widths[2:]), dataset.num_edges * sum(widths))
    return "gpu" if fits else "cpu"


def read_graph(
    location: str | os.PathLike[str],
    *,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    backend: str = "auto",
) -> Graph:
    """A graph from a file or a dataset, on the CPU or the GPU.

    location: a folder or ``s3://`` address of Parquet files with ``src``, ``dst[, weight]``, ours
    or of another program, one such file, or a file in one of ``FORMATS`` by its name, perhaps
    compressed. Files say whether a graph is directed: Parquet files of other programs and DIMACS
    list arcs; what ``mgraph generate`` wrote is undirected. GraphML and GEXF files name their
    nodes: the names are ``graph.labels``, unless they are 0 to n - 1, which are the vertices.
    symmetrise: take each arc for both directions. drop_loops, merge: as ``from_edges``. backend:
    cpu, gpu, or auto: a GPU where there is one with room. Raises DatasetError for a file that is
    damaged. Warns (MgraphWarning) of columns of Parquet files that are not read, such as weights
    under another name, and of names of nodes that are easily taken for vertices.
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
    backend: str = "auto",
    warn: bool = False,
) -> Graph:
    """``read_graph`` for processes whose warnings the user does not see, or sees several times."""
    backends.resolve(backend)
    with room(text):
        if format_of(text)[0] is None:
            dataset = EdgeDataset(text)
            if warn:
                dataset.warn_of_unread()
            backend = _backend_for(dataset, backend, symmetrise)
            edges, n, directed, labels = graph_dataset.read(dataset, backend)
        else:
            edges, n, directed, labels = _listing(text)
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
        except UsageError as error:  # of what the file holds
            raise DatasetError(f"{text}: {error}") from error


def check_target(location: str, overwrite: bool, compression: str = "lz4") -> None:
    """Raise UsageError or StorageError where ``write_graph`` would, whatever the graph."""
    kind, _ = format_of(location)
    if kind is not None:
        check_file(location, overwrite)
        return
    from mgraph.io.parquet import check_compression

    folder = Folder(location)
    ending = PurePath(folder.address.name).suffix
    if ending[1:].isalpha() and not folder.is_remote:
        raise UsageError(
            f"{location}: a graph file ends in one of {', '.join(FORMATS)}, perhaps compressed; a "
            f"folder of Parquet files should be given without {ending}"
        )
    check_compression(compression)
    folder.check_writable()
    ownership.check_unowned(folder)
    _replaced_parts(folder, overwrite)


def _replaced_parts(folder: Folder, overwrite: bool) -> list[str]:
    """The parts of a dataset that must go. Raises UsageError where they must not."""
    parts, complete = standing(folder)
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
    compression: str = "lz4",
    terminals: Any = None,
    forest: dict[str, Any] | None = None,
) -> None:
    """Write a graph to a file in one of ``FORMATS``, by its name, or else as a dataset.

    compression: of a dataset: none, lz4 or zstd. terminals: vertices that GraphML, GEXF and
    SteinLib files mark; of the others the first two then hold those with an edge alone. forest:
    what a dataset's manifest tells of a spanning forest. A file appears whole or not at all.
    Raises UsageError where something is there already, or the format cannot hold the graph.
    """
    text = location_text(location)
    check_target(text, overwrite, compression)
    kind, opener = format_of(text)
    if kind is None:
        folder = Folder(text)
        with ownership.owning(folder, "write_graph"):
            parts = _replaced_parts(folder, overwrite)
            folder.remove(manifests.NAME)  # first: what is half removed must not look whole
            folder.remove(*parts)
            made_by = f"mgraph {mgraph.__version__}"
            graph_dataset.write(
                graph, folder, compression=compression, created_by=made_by, forest=forest
            )
        return
    write = getattr(importlib.import_module(kind.module), kind.write)
    compress = nullcontext if opener is open else partial(opener, mode="wb")
    marked = {}
    if kind.terminals and terminals is not None:
        marked["terminals"] = checked_vertices("terminals", terminals, graph.n)
    with writing_file(text) as stream, compress(stream) as target:
        write(graph.to_cpu(), target, **marked)
