"""The formats of graph files: the name of a file decides its format."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import Any, NamedTuple

from mgraph import timings
from mgraph.core.graph import MAX_N
from mgraph.core.memory import memory_guard
from mgraph.errors import DatasetError, StorageError, UsageError
from mgraph.io.address import local_path, missing_error, parse
from mgraph.io.dataset import EdgeDataset
from mgraph.io.folder import folder_and_name
from mgraph.io.foreign_dataset import is_parquet
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.sparse_ids import UnnumberedError
from mgraph.io.tables.table_files import (
    ARROW_ENDINGS,
    TEXT_ENDINGS,
    TRIPLES_ENDINGS,
    find_files,
    has_pattern,
    holds_tables,
    kind_of,
)


class Format(NamedTuple):
    """A file format: its name, and a module with ``read(stream)`` and ``write(graph, stream)``.

    terminals: whether ``write`` takes terminals, too. weight: whether ``read`` takes the name of
    the edges' attribute that is their weight. endings: whether ``write`` takes the file's ending.
    attributes: of which things ``write`` takes attributes, as ``read`` does. reads_attributes:
    whether ``read`` alone does. is_writable: whether files are written. is_table: ``tables`` reads
    it, with the names of its columns.
    """

    name: str
    module: str
    terminals: bool = False
    weight: bool = False
    endings: bool = False
    attributes: tuple[str, ...] = ()
    reads_attributes: bool = False
    is_writable: bool = True
    is_table: bool = False


_EDGE_LIST = Format("edge list", "mgraph.io.edge_text", endings=True, is_table=True)
_BOTH = ("edges", "vertices")
FORMATS = {
    ".gr": Format("DIMACS", "mgraph.io.gr_files", weight=True, reads_attributes=True),
    **dict.fromkeys(
        (".col", ".clq"), Format("DIMACS", "mgraph.io.dimacs", weight=True, endings=True)
    ),
    **dict.fromkeys(
        (".max", ".min", ".asn"),
        Format("DIMACS", "mgraph.io.dimacs", weight=True, is_writable=False),
    ),
    ".mtx": Format("Matrix Market", "mgraph.io.matrix_market"),
    ".graph": Format("METIS", "mgraph.io.metis", reads_attributes=True),
    ".metis": Format("METIS", "mgraph.io.metis", reads_attributes=True),
    ".graphml": Format(
        "GraphML",
        "mgraph.io.graphml",
        terminals=True,
        weight=True,
        attributes=_BOTH,
    ),
    ".gexf": Format(
        "GEXF",
        "mgraph.io.gexf",
        terminals=True,
        weight=True,
        attributes=_BOTH,
    ),
    ".json": Format(
        "node-link JSON",
        "mgraph.io.node_link",
        weight=True,
        attributes=_BOTH,
    ),
    ".graph500": Format("Graph500", "mgraph.io.graph500"),
    ".stp": Format("SteinLib", "mgraph.io.steinlib", terminals=True, reads_attributes=True),
    **dict.fromkeys(TEXT_ENDINGS, _EDGE_LIST),
    **dict.fromkeys((".csv", ".tsv"), _EDGE_LIST._replace(attributes=("edges",))),
    **dict.fromkeys(
        TRIPLES_ENDINGS,
        Format("N-Triples", "mgraph.io.edge_text", is_writable=False, is_table=True),
    ),
    **dict.fromkeys(
        ARROW_ENDINGS, Format("Arrow", "mgraph.io.edge_arrow", attributes=("edges",), is_table=True)
    ),
}
_LOCAL_RULE = "be on this machine, as every graph file that is not Parquet"


class _Unclosed(io.RawIOBase):
    """A stream to another one, which stays open."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._stream.write(content)
        return len(content)


def _open_zstd(path: Any, mode: str) -> Any:
    import pyarrow as pa

    if "w" in mode:
        return pa.CompressedOutputStream(pa.PythonFile(_Unclosed(path), "w"), "zstd")
    return pa.CompressedInputStream(pa.OSFile(path), "zstd")


COMPRESSIONS: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstd,
}


def format_of(location: str) -> tuple[Format | None, Any]:
    """Return a file's format by its name, None for a dataset, and the function that opens it."""
    address = parse(location)
    suffixes = PurePath(address.name).suffixes
    opener = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if opener:
        suffixes.pop()
    file_format = FORMATS.get(suffixes[-1].lower()) if suffixes else None
    is_file = address.is_local and os.path.isfile(address.path)
    if file_format is None and is_file and kind_of(address.name) == "text":
        file_format = FORMATS[TEXT_ENDINGS[0]]  # KONECT's files are named out.NETWORK
    if file_format is None and (opener or (is_file and not is_parquet(address.name))):
        known = ", ".join(FORMATS)
        raise UsageError(
            f"{location}: a graph file's name must end in one of {known} or .parquet, perhaps "
            "followed by .gz, .bz2, .xz or .zst; for a dataset give the folder of Parquet files"
        )
    return file_format, opener or open


def ending_of(location: str) -> str:
    """Return the ending of a file's name that is its format, such as ``.csv`` of ``a.csv.gz``."""
    suffixes = [suffix.lower() for suffix in PurePath(parse(location).name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix in FORMATS), "")


class Identity(NamedTuple):
    """What identifies a graph before it is read.

    name: the checksum of a dataset with a manifest; else a hash of the files' path, sizes and
    modification times. edges: the number of edges in the manifest; 0 for a file.
    """

    name: str
    edges: int


def identify(location: str, request: ColumnRequest | None = None) -> Identity:
    """Return the identity of a graph; raise DatasetError if there is no graph.

    request: the names of columns in other programs' Parquet files.
    """
    if has_pattern(location):
        return _identify_tables(location)
    if format_of(location)[0] is None:
        try:
            dataset = EdgeDataset(location, request)
        except UnnumberedError:  # strings, which are numbered when they are read
            return _identify_tables(location)
        except DatasetError:
            if not holds_tables(location):
                raise
            return _identify_tables(location)
        return identify_dataset(dataset)
    if not os.path.exists(local_path(location, _LOCAL_RULE)):
        raise missing_error(parse(location))
    folder, name = folder_and_name(location)
    return Identity(_digest(location, [folder.stamp(name)]), 0)


def _identify_tables(location: str) -> Identity:
    stamps = [(file.path, file.folder.stamp(file.name)) for file in find_files(location)]
    return Identity(_digest(location, stamps), 0)


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
    except UsageError as error:
        raise UsageError(f"{text}: {error}", parameter=error.parameter) from None
    except (ValueError, OverflowError) as error:
        raise DatasetError(
            f"{text} cannot be read as a {file_format.name} file: {error}"
        ) from error
    except OSError as error:
        raise StorageError(f"{text} could not be read: {error}") from error
    return content
