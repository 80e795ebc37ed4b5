"""Reading an edge-list dataset: parts on demand, and an Arrow view of all of it.

A folder that mgraph wrote has a manifest. One that another program wrote (cuDF, DuckDB, Polars,
Spark) has none: then the manifest is made from the footers of the Parquet files in the folder, or
of a single file, and ids whose range the footers do not contain are read once.
"""

import errno
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.formatting import pluralize
from mgraph.core.graph import MAX_N
from mgraph.errors import DatasetError, MgraphWarning, StorageError, UsageError
from mgraph.io import manifest, ownership
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder, folder_and_name
from mgraph.io.manifest import Manifest, PartRecord
from mgraph.io.untrusted import printable

if TYPE_CHECKING:
    from mgraph.io.parquet import RowGroup

PART_NAME = re.compile(r"part-\d{5,}\.parquet")  # of mgraph; no other file may be replaced


def part_name(index: int) -> str:
    """Return the file name of a part: ``part-00000.parquet`` is the first."""
    return f"part-{index:05d}.parquet"


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


class Part:
    """A part of a dataset, or a piece of one; its file is read by the methods that need it."""

    def __init__(
        self, folder: Folder, record: PartRecord, dtypes: list[Any], groups: slice = slice(None)
    ) -> None:
        """Name the file. record: its record in the manifest. groups: the row groups of a piece."""
        self.folder, self.record, self.dtypes, self._groups = folder, record, dtypes, groups

    def __len__(self) -> int:
        """The number of edges."""
        return self.record.rows

    def group_rows(self) -> list[int]:
        """Return the rows of each row group; DatasetError if they do not add up to the record's."""
        return [group.rows for group in self.row_groups()]

    def row_groups(self, *, with_chunks: bool = False) -> list["RowGroup"]:
        """Return the row groups, as ``group_rows``. with_chunks: and where their columns are."""
        from mgraph.io.parquet import row_groups

        dtypes = self.dtypes if with_chunks else ()
        groups = row_groups(self.folder, self.record.file, dtypes)[self._groups]
        self._check_rows(sum(group.rows for group in groups))
        return groups

    def pieces(self, max_edges: int) -> list["Part"]:
        """Divide a part of more than ``max_edges`` edges, into single row groups at the finest."""
        if len(self) <= max_edges:
            return [self]
        rows = self.group_rows()
        return [
            Part(
                self.folder,
                replace(self.record, rows=sum(rows[index] for index in indices)),
                self.dtypes,
                slice(indices[0], indices[-1] + 1),
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
        for block in read_blocks(self.folder, self.record.file, groups=groups):
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


def survey(folder: Folder, files: list[str], unread_columns: set[str]) -> Manifest:
    """Make a manifest for another program's Parquet files: arcs, vertices up to the maximum id.

    Reads the footers, and the ids if a footer does not contain their range. unread_columns: the
    columns that are not read are added to this set.
    """
    from mgraph.io.parquet import describe

    descriptions = folder.call_each(lambda name: describe(folder, name), files)
    unread_columns.update(*(part.unread_columns for part in descriptions))
    named = list(zip(files, descriptions, strict=True))
    dtypes = {part.weight_dtype: name for name, part in reversed(named)}
    if len(dtypes) > 1:
        pairs = list(dtypes.items())[::-1]
        types = ", ".join(f"{dtype or 'none'} in {name}" for dtype, name in pairs)
        raise DatasetError(f"{folder} must have weights of one type in all files (got {types})")
    for name, part in named:
        if part.min_id < 0:
            raise DatasetError(
                f"{folder}/{name}: vertices must be numbered from 0 (got {part.min_id:,})"
            )
        if part.max_id >= MAX_N:
            raise DatasetError(f"{folder}/{name}: ids must lie below 2^40 (got {part.max_id:,})")
    n = max((part.max_id for part in descriptions), default=-1) + 1
    return Manifest(
        model={},
        n=n,
        num_edges=sum(part.rows for part in descriptions),
        dtype="int32" if n < 1 << 31 else "int64",
        compression=", ".join(sorted({part.compression for part in descriptions})),
        parts=tuple(
            PartRecord(name, part.rows, 0, n, 0, folder.size(name)) for name, part in named
        ),
        created_by=printable(", ".join(sorted({part.created_by for part in descriptions}))),
        weight_dtype=next(iter(dtypes), None),
        directed=True,
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
    others = [name for name in names if name not in (*parts, manifest.NAME, *related_files)]
    if others:
        raise UsageError(
            f"{folder} holds other files ({others[0]}{', …' * (len(others) > 1)}); give an empty "
            "or a new folder"
        )
    complete = manifest.NAME in names
    if complete:
        manifest.check_replaceable(folder, format_name)
    return parts, complete


def _describe_folder(folder: Folder, unread_columns: set[str]) -> tuple[bool, Manifest, list[str]]:
    """Return whether a folder has a manifest, the manifest or a survey, and the ignored names.

    unread_columns: see ``survey``. Raises DatasetError if Parquet files in the folder would be
    ignored.
    """
    entries = folder.entries()
    if entries is None:
        return True, manifest.read(folder), []
    if "" in entries:
        raise DatasetError(
            f"{folder} holds objects whose names continue with a second /, which no file system "
            "allows; rename them"
        )
    visible = {name: is_folder for name, is_folder in entries.items() if name[0] not in "._"}
    files = [name for name, is_folder in visible.items() if not is_folder and is_parquet(name)]
    others = [name for name in visible if name not in files]
    if manifest.NAME in entries:
        existing = manifest.read(folder)
        if unlisted := sorted(set(files) - {part.file for part in existing.parts}):
            more = f" and {pluralize(len(unlisted) - 1, 'other')}" * (len(unlisted) > 1)
            raise DatasetError(
                f"{folder} holds Parquet files that its {manifest.NAME} does not list: "
                f"{unlisted[0]}{more}; move them out, or remove {manifest.NAME} to have all read"
            )
        return True, existing, others
    for name in others:
        if visible[name]:
            _check_no_parquet_below(folder, name)
        elif _begins_as_parquet(folder, name):
            raise DatasetError(
                f"{folder}/{name} is a Parquet file by its content but not by its name: rename it "
                "to end in .parquet, or move it out"
            )
    _check_finished(folder, files)
    if not files:
        return True, manifest.read(folder), others
    return False, survey(folder, files, unread_columns), others


def is_parquet(name: str) -> bool:
    """Return whether a file's name is that of a Parquet file."""
    return name.lower().endswith((".parquet", ".parq", ".pq"))


def _check_no_parquet_below(folder: Folder, name: str) -> None:
    """Raise DatasetError if a subfolder holds Parquet files and is not a dataset of its own."""
    entries = {} if name == "lost+found" else folder.entries(name) or {}
    if manifest.NAME in entries:
        return
    for path, is_folder in entries.items():
        hidden = any(part[:1] in (".", "_") for part in path.split("/"))
        if not is_folder and not hidden and is_parquet(path):
            raise DatasetError(
                f"{folder} holds Parquet files in the folder {name} ({name}/{path}), and folders "
                "in a dataset are not read: put all files into one folder, or give "
                f"{folder}/{name} alone"
            )


def _begins_as_parquet(folder: Folder, name: str) -> bool:
    """Return whether a regular file begins with the magic number of Parquet."""
    try:
        return folder.read(name, 4) == b"PAR1"
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EINVAL:
            return False
        raise


def _check_finished(folder: Folder, files: list[str]) -> None:
    """Raise DatasetError if there are parts that mgraph wrote and no manifest lists."""
    parts = [name for name in files if PART_NAME.fullmatch(name)]
    if not parts:
        return
    from mgraph.io.parquet import read_metadata

    try:
        read_metadata(folder, parts[0])
    except DatasetError:
        return
    writer = ownership.writer_of(folder)
    raise DatasetError(
        f"{folder} holds {pluralize(len(parts), 'part')} of an unfinished dataset and no "
        f"{manifest.NAME}; "
        + (writer or "finish it with the call that began it, and `resume=True`")
    )


class EdgeDataset(Sequence[Part]):
    """A dataset on disk: a sequence of parts with a manifest, or another program's Parquet file.

    ``dataset[i].read()`` reads part i; ``to_arrow()`` returns a ``pyarrow.dataset.Dataset``.
    location: the folder or the file. folder: where the files are. ignored_names: names in the
    folder that are not read. unread_columns: columns of the files that are not read.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Read the manifest alone, if there is one; raise DatasetError if it is not a dataset."""
        self.folder = Folder(location)
        self.location = self.folder.location
        self.ignored_names: list[str] = []
        self.unread_columns: set[str] = set()
        if is_parquet(self.folder.address.name) and self.folder.is_file():
            self.folder, name = folder_and_name(location)
            self.manifest = survey(self.folder, [name], self.unread_columns)
            self.has_manifest = False
        else:
            described = _describe_folder(self.folder, self.unread_columns)
            self.has_manifest, self.manifest, self.ignored_names = described

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.manifest.n

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return self.manifest.num_edges

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
        return Part(self.folder, self.manifest.parts[index], self.dtypes)

    def __repr__(self) -> str:
        """Return the folder or file, and the numbers of vertices, edges and parts."""
        name = type(self).__name__
        size = f"n={self.n}, num_edges={self.num_edges}, parts={len(self)}"
        return f"{name}({str(self.folder)!r}, {size})"

    def warn_of_unread(self) -> None:
        """Warn if files have columns that are not read, such as weights of another name."""
        if not self.unread_columns:
            return
        names = sorted(self.unread_columns)
        columns = f"column{'s' * (len(names) > 1)} {', '.join(names)}"
        message = f"{self.location}: {columns} not read"
        if self.manifest.weight_dtype is None:
            message += (
                "; weights are read from a column called weight: if this column holds them, "
                f"rename it (in PyArrow table.rename_columns({{{names[0]!r}: 'weight'}}))"
            )
        warnings.warn(message, MgraphWarning, stacklevel=3)

    def to_arrow(self) -> Any:
        """Return a lazy ``pyarrow.dataset.Dataset`` with columns ``src``, ``dst[, weight]``."""
        from pyarrow import dataset

        return dataset.dataset(self.files, filesystem=self.folder.filesystem, format="parquet")
