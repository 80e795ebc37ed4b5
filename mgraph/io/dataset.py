"""Reading an edge-list dataset: parts on demand, and an Arrow view of all of it.

A folder that mgraph wrote has a manifest; for one that another program wrote, ``foreign_dataset``
makes one.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.html import html_table
from mgraph.errors import DatasetError, MgraphWarning, UsageError
from mgraph.io import manifest, ownership
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder, folder_and_name
from mgraph.io.foreign_dataset import describe_folder, is_parquet, survey
from mgraph.io.manifest import PART_NAME, PartRecord
from mgraph.io.manifest import part_name as part_name
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.sparse_ids import UnnumberedError, explain_unnumbered, is_sparse

if TYPE_CHECKING:
    from mgraph.io.parquet_groups import RowGroup, RowGroups
    from mgraph.io.vertex_ids import VertexIds

_FOOTER_THREADS = 4


def group_by_size(sizes: Sequence[int], capacity: int) -> list[list[int]]:
    """Divide consecutive items into groups of total size at most ``capacity``, as full as possible.

    Returns the indices of each group. An item larger than ``capacity`` is a group of its own.
    """
    groups: list[list[int]] = []
    total = 0
    for index, size in enumerate(sizes):
        if not groups or total + size > capacity:
            groups.append([])
            total = 0
        groups[-1].append(index)
        total += size
    return groups


def read_row_groups(parts: Sequence["Part"], threads: int) -> list["RowGroups"]:
    """Return the row groups of parts, by at most so many threads.

    A footer takes 50 µs, most of them in the interpreter, so that few threads are faster, unless
    they wait for a store. Raises DatasetError as ``Part.row_groups``.
    """
    is_remote = any(part.folder.is_remote for part in parts)
    threads = threads if is_remote else min(threads, _FOOTER_THREADS)
    return cancellation.map_in_threads(Part.row_groups, parts, threads)


class Part:
    """A part of a dataset, or a piece of one; its file is read by the methods that need it."""

    def __init__(
        self,
        folder: Folder,
        record: PartRecord,
        dtypes: list[Any],
        groups: slice = slice(None),
        names: tuple[str, ...] = COLUMNS,
    ) -> None:
        """Name the file.

        record: its record in the manifest. groups: the row groups of a piece. names: of the columns
        src, dst and weight in the file.
        """
        self.folder, self.record, self.dtypes, self._groups = folder, record, dtypes, groups
        self._names = names

    def __len__(self) -> int:
        """The number of edges."""
        return self.record.rows

    def without_weights(self) -> "Part":
        """Return the part without its weights, which are not read then."""
        return Part(self.folder, self.record, self.dtypes[:2], self._groups, self._names[:2])

    def row_groups(self) -> "RowGroups":
        """Return the row groups; DatasetError if their rows do not add up to the record's."""
        from mgraph.io.parquet_groups import RowGroups

        groups = RowGroups(self.folder, self.record.file, self._groups)
        self._check_rows(sum(groups.rows))
        return groups

    def locate(self, row_groups: "RowGroups", some: slice) -> list["RowGroup"]:
        """Return some of the row groups, with the places of the part's columns."""
        return row_groups.locate(self.dtypes, self._names, some)

    def pieces(self, max_edges: int) -> list["Part"]:
        """Divide a part of more than ``max_edges`` edges, into single row groups at the finest."""
        if len(self) <= max_edges:
            return [self]
        rows = self.row_groups().rows
        return [
            Part(
                self.folder,
                replace(self.record, rows=sum(rows[index] for index in indices)),
                self.dtypes,
                slice(indices[0], indices[-1] + 1),
                self._names,
            )
            for indices in group_by_size(rows, max_edges)
        ]

    def _check_rows(self, rows: int) -> None:
        if rows != self.record.rows:
            actual = f"{rows:,}" if rows < self.record.rows else "more"
            raise DatasetError(
                f"{self.folder}/{self.record.file} should hold {self.record.rows:,} edges, and "
                f"holds {actual}; it was replaced or damaged: mgraph verify checks all files"
            )

    def blocks(self, group: int | None = None) -> Iterator[EdgeList]:
        """Yield the rows, or those of one row group, block by block, as NumPy arrays.

        Raises DatasetError if the file contradicts its record.
        """
        from mgraph.io.parquet import read_blocks

        path, rows = f"{self.folder}/{self.record.file}", 0
        id_dtype, *weight_dtypes = self.dtypes[1:]
        groups = self._groups
        if group is not None:
            first = (groups.start or 0) + group
            groups = slice(first, first + 1)
        names, file = self._names, self.record.file
        for block in read_blocks(self.folder, file, groups=groups, names=names):
            block_dtypes = [] if block.weight is None else [block.weight.dtype]
            if block_dtypes != weight_dtypes:
                actual, expected = (
                    str(dtypes[0]) if dtypes else "none" for dtypes in (block_dtypes, weight_dtypes)
                )
                raise DatasetError(
                    f"{path} has weights of type {actual}, its dataset of type {expected}"
                )
            wide = [ids for ids in (block.src, block.dst) if ids.itemsize > id_dtype.itemsize]
            if any((ids > np.iinfo(id_dtype).max).any() for ids in wide):
                raise DatasetError(f"{path} holds ids that are not {id_dtype}, as its dataset's")
            rows += len(block)
            if rows > self.record.rows:
                break
            yield block
        if group is None:
            self._check_rows(rows)

    def read(self) -> EdgeList:
        """Read all edges as NumPy arrays, in the file's order."""
        columns = list(zip(*self.blocks(), strict=True))
        if not columns:
            return EdgeList(*(np.empty(0, dtype) for dtype in self.dtypes))
        return EdgeList(
            *(
                np.concatenate(column, dtype=dtype)
                for column, dtype in zip(columns, self.dtypes, strict=True)
            )
        )


def replaceable_parts(
    folder: Folder, format_name: str = manifest.FORMAT, related_files: tuple[str, ...] = ()
) -> tuple[list[str], bool]:
    """List the parts in a folder, and return whether it has a manifest, if all may be replaced.

    format_name: of a manifest that may be replaced. related_files: names that may be replaced, too.
    Raises UsageError if the folder holds anything else.
    """
    names = [
        name
        for name in folder.names() or []
        if not name.endswith(TEMPORARY_SUFFIX) and not ownership.is_owner_file(name)
    ]
    parts = [name for name in names if PART_NAME.fullmatch(name)]
    related = {manifest.NAME, *related_files, *filter(manifest.VERTICES_NAME.fullmatch, names)}
    others = [name for name in names if name not in related.union(parts)]
    if others:
        raise UsageError(
            f"{folder} holds other files ({others[0]}{', …' * (len(others) > 1)}); give an empty "
            "or a new folder"
        )
    complete = manifest.NAME in names
    if complete:
        manifest.check_replaceable(folder, format_name)
    return parts, complete


class EdgeDataset(Sequence[Part]):
    """A dataset on disk: a sequence of parts with a manifest, or another program's Parquet file.

    ``dataset[i].read()`` reads part i; ``to_arrow()`` returns a ``pyarrow.dataset.Dataset``.
    location: the folder or the file. folder: where the files are. ignored_names: names in the
    folder that are not read. unread_columns: columns of the files that are not read.
    """

    def __init__(
        self, location: str | os.PathLike[str], request: ColumnRequest | None = None
    ) -> None:
        """Read the manifest alone, if there is one; raise DatasetError if it is not a dataset.

        request: the names of the columns in another program's files.
        """
        self.folder = Folder(location)
        self.location = self.folder.location
        request = request or ColumnRequest()
        if is_parquet(self.folder.address.name) and self.folder.is_file():
            self.folder, name = folder_and_name(location)
            described = survey(self.folder, [name], request)
        else:
            described = describe_folder(self.folder, request)
        self.has_manifest, self.manifest = described.has_manifest, described.manifest
        self.names, self.notes = described.names, described.notes
        self.ignored_names, self.unread_columns = list(described.ignored), set(described.unread)

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.manifest.n

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return self.manifest.num_edges

    @property
    def ids(self) -> "VertexIds | None":
        """The vertices' own ids, a lazy sequence; None if they are the vertices' numbers."""
        if self.manifest.vertices is None:
            return None
        from mgraph.io.vertex_ids import VertexIds

        return VertexIds(self.folder, self.manifest.vertices)

    @property
    def dtypes(self) -> list[Any]:
        """The types of the columns src, dst and, if there are weights, weight."""
        id_dtype, weight_dtype = self.manifest.dtype, self.manifest.weight_dtype
        return [np.dtype(name) for name in (id_dtype, id_dtype, weight_dtype) if name]

    @property
    def files(self) -> list[str]:
        """The parts' paths in the folder's file system."""
        return [self.folder.path(part.file) for part in self.manifest.parts]

    def __len__(self) -> int:
        """The number of parts."""
        return len(self.manifest.parts)

    def __getitem__(self, index: Any) -> Any:
        """Return a part, or a list of parts for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Part(self.folder, self.manifest.parts[index], self.dtypes, names=self.names)

    def __repr__(self) -> str:
        """Return the folder or file, and the numbers of vertices, edges and parts."""
        name = type(self).__name__
        size = f"n={self.n}, num_edges={self.num_edges}, parts={len(self)}"
        return f"{name}({str(self.folder)!r}, {size})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        facts = {
            "folder": self.folder, "vertices": self.n, "edges": self.num_edges,
            "parts": len(self), "weights": str(self.dtypes[2]) if len(self.dtypes) > 2 else "none",
        }  # fmt: skip
        return html_table(type(self).__name__, facts)

    def check_dense(self) -> None:
        """Raise UnnumberedError if the vertices are far too many for the edges of foreign files.

        Called before memory is allocated for all vertices; the ids are read for the message.
        """
        if self.has_manifest or not is_sparse(self.n, self.num_edges):
            return
        blocks = (tuple(block)[:2] for part in self for block in part.blocks())
        text = explain_unnumbered(self.location, 0, self.n - 1, blocks)
        raise UnnumberedError(f"{self.location}: {text}")

    def warn_of_unread(self) -> None:
        """Warn of what a user should know, such as columns that are not read."""
        for note in self.notes:
            warnings.warn(f"{self.location}: {note}", MgraphWarning, stacklevel=3)

    def to_arrow(self) -> Any:
        """Return a lazy ``pyarrow.dataset.Dataset`` of the files with all their columns."""
        from pyarrow import dataset

        return dataset.dataset(self.files, filesystem=self.folder.filesystem, format="parquet")
