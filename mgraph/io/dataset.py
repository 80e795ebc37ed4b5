"""Reading an edge-list dataset: parts on demand, and an Arrow view of the whole.

A folder that mgraph wrote has a manifest. One that another program wrote (cuDF, DuckDB, Polars,
Spark) has none: then the Parquet files in it, or a single file, are surveyed, and what their
footers do not tell is read once.
"""

import errno
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.formatting import pluralize
from mgraph.core.graph import MAX_N
from mgraph.errors import DatasetError, MgraphWarning, StorageError, UsageError
from mgraph.io import manifest, ownership
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder, folder_and_name
from mgraph.io.manifest import Manifest, PartRecord
from mgraph.io.untrusted import printable

PART_NAME = re.compile(r"part-\d{5,}\.parquet")  # of our own; no other file is ours to replace


def part_name(index: int) -> str:
    """``part-00000.parquet`` and on."""
    return f"part-{index:05d}.parquet"


def packed(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Places of neighbours in groups of at most so much in all, each as full as it can be.

    One that is larger stands alone.
    """
    groups: list[list[int]] = []
    held = 0
    for place, size in enumerate(sizes):
        if not groups or held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(place)
        held += size
    return groups


class Part:
    """One part of a dataset, or a piece of one; nothing is read before ``read`` or ``blocks``."""

    def __init__(
        self, folder: Folder, record: PartRecord, dtypes: list[Any], groups: slice = slice(None)
    ) -> None:
        """Name the file; ``record`` is its line in the manifest. groups: of a piece, which rows."""
        self.folder, self.record, self.dtypes, self._groups = folder, record, dtypes, groups

    def __len__(self) -> int:
        """The number of edges."""
        return self.record.rows

    def group_rows(self) -> list[int]:
        """The rows of each of its row groups. Raises DatasetError where they are not its rows."""
        from mgraph.io.parquet import group_rows

        rows = group_rows(self.folder, self.record.file)[self._groups]
        self._check_rows(sum(rows))
        return rows

    def pieces(self, most: int) -> list["Part"]:
        """Itself, or where it has more edges, parts of at most so many, or of one row group."""
        if len(self) <= most:
            return [self]
        rows = self.group_rows()
        return [
            Part(
                self.folder,
                replace(self.record, rows=sum(rows[place] for place in places)),
                self.dtypes,
                slice(places[0], places[-1] + 1),
            )
            for places in packed(rows, most)
        ]

    def _check_rows(self, rows: int) -> None:
        if rows != self.record.rows:
            held = f"{rows:,}" if rows < self.record.rows else "more"
            raise DatasetError(
                f"{self.folder}/{self.record.file} should hold {self.record.rows:,} edges, and "
                f"holds {held}; it was replaced or damaged: mgraph verify tells more"
            )

    def blocks(self, group: int | None = None) -> Iterator[EdgeList]:
        """Its rows, or those of one row group, block by block, as NumPy arrays.

        Raises DatasetError where the file does not hold what its record says.
        """
        from mgraph.io.parquet import read_blocks

        where, rows = f"{self.folder}/{self.record.file}", 0
        ids, *weight = self.dtypes[1:]
        groups = self._groups
        if group is not None:
            first = (groups.start or 0) + group
            groups = slice(first, first + 1)
        for block in read_blocks(self.folder, self.record.file, groups=groups):
            found = [] if block.weight is None else [block.weight.dtype]
            if found != weight:
                there, said = (str(kind[0]) if kind else "none" for kind in (found, weight))
                raise DatasetError(f"{where} has weights of type {there}, its dataset of {said}")
            ends = [end for end in (block.src, block.dst) if end.itemsize > ids.itemsize]
            if any((end > np.iinfo(ids).max).any() for end in ends):
                raise DatasetError(f"{where} holds ids that are not {ids}, as its dataset's")
            rows += len(block)
            if rows > self.record.rows:
                break
            yield block
        if group is None:
            self._check_rows(rows)

    def read(self) -> EdgeList:
        """All its edges as NumPy arrays, in the file's order."""
        columns = list(zip(*self.blocks(), strict=True))
        if not columns:
            return EdgeList(*(np.empty(0, dtype) for dtype in self.dtypes))
        return EdgeList(
            *(
                np.concatenate(column, dtype=dtype)
                for column, dtype in zip(columns, self.dtypes, strict=True)
            )
        )


def survey(folder: Folder, files: list[str], unread: set[str]) -> Manifest:
    """A manifest for Parquet files of others: arcs as they are listed, vertices up to the largest.

    Reads footers, and the ids where those do not tell the largest. unread: to which the columns are
    added that are not read.
    """
    from mgraph.io.parquet import describe

    found = folder.call_each(lambda name: describe(folder, name), files)
    unread.update(*(part.others for part in found))
    named = list(zip(files, found, strict=True))
    kinds = {part.weight_dtype: name for name, part in reversed(named)}
    if len(kinds) > 1:
        types = ", ".join(f"{kind or 'none'} in {name}" for kind, name in list(kinds.items())[::-1])
        raise DatasetError(f"{folder} must have weights of one type in all files, and has {types}")
    for name, part in named:
        if part.least < 0:
            raise DatasetError(
                f"{folder}/{name}: vertices are numbered from 0, and an id is negative: "
                f"{part.least:,}"
            )
        if part.largest >= MAX_N:
            raise DatasetError(
                f"{folder}/{name}: a graph has at most 2^40 vertices, and an id is {part.largest:,}"
            )
    n = max((part.largest for part in found), default=-1) + 1
    return Manifest(
        model={},
        n=n,
        num_edges=sum(part.rows for part in found),
        dtype="int32" if n < 1 << 31 else "int64",
        compression=", ".join(sorted({part.compression for part in found})),
        parts=tuple(
            PartRecord(name, part.rows, 0, n, 0, folder.size(name))
            for name, part in zip(files, found, strict=True)
        ),
        created_by=printable(", ".join(sorted({part.created_by for part in found}))),
        weight_dtype=next(iter(kinds), None),
        directed=True,
    )


def standing(
    folder: Folder, kind: str = manifest.FORMAT, also: tuple[str, ...] = ()
) -> tuple[list[str], bool]:
    """The parts in a folder, and whether it has a manifest, where all may be replaced.

    kind: what the manifest would say it holds; also: files that belong to it. Raises UsageError
    where anything else stands there.
    """
    names = [
        name
        for name in folder.names() or []
        if not name.endswith(TEMPORARY_SUFFIX) and not ownership.is_owner_file(name)
    ]
    parts = [name for name in names if PART_NAME.fullmatch(name)]
    others = [name for name in names if name not in (*parts, manifest.NAME, *also)]
    if others:
        raise UsageError(
            f"{folder} holds other files ({others[0]}{', …' * (len(others) > 1)}); give an empty "
            "or a new folder"
        )
    complete = manifest.NAME in names
    if complete:
        manifest.check_replaceable(folder, kind)
    return parts, complete


def _described(folder: Folder, unread: set[str]) -> tuple[bool, Manifest, list[str]]:
    """Whether the folder has a manifest, it or what its files tell, and names that are not read.

    unread: to which columns are added that are not read. Raises DatasetError where Parquet files in
    the folder would be left out.
    """
    entries = folder.entries()
    if entries is None:
        return True, manifest.read(folder), []
    if "" in entries:
        raise DatasetError(
            f"{folder} holds objects whose names go on with a second /, which no file system has; "
            "rename them"
        )
    seen = {name: is_folder for name, is_folder in entries.items() if name[0] not in "._"}
    files = [name for name, is_folder in seen.items() if not is_folder and is_parquet(name)]
    others = [name for name in seen if name not in files]
    if manifest.NAME in entries:
        found = manifest.read(folder)
        if unlisted := sorted(set(files) - {part.file for part in found.parts}):
            more = f" and {pluralize(len(unlisted) - 1, 'other')}" * (len(unlisted) > 1)
            raise DatasetError(
                f"{folder} holds Parquet files that its {manifest.NAME} does not list: "
                f"{unlisted[0]}{more}; move them out, or remove {manifest.NAME} to have all read"
            )
        return True, found, others
    for name in others:
        if seen[name]:
            _check_no_parquet_below(folder, name)
        elif _begins_as_parquet(folder, name):
            raise DatasetError(
                f"{folder}/{name} is a Parquet file by its content and not by its name: let it end "
                "in .parquet to have it read, or move it out"
            )
    _check_finished(folder, files)
    if not files:
        return True, manifest.read(folder), others
    return False, survey(folder, files, unread), others


def is_parquet(name: str) -> bool:
    """Whether a file's name says that it is a Parquet file."""
    return name.lower().endswith((".parquet", ".parq", ".pq"))


def _check_no_parquet_below(folder: Folder, name: str) -> None:
    """Raise DatasetError where a folder in a dataset's holds Parquet files, but for a dataset."""
    found = {} if name == "lost+found" else folder.entries(name) or {}
    if manifest.NAME in found:
        return
    for path, is_folder in found.items():
        hidden = any(part[:1] in (".", "_") for part in path.split("/"))
        if not is_folder and not hidden and is_parquet(path):
            raise DatasetError(
                f"{folder} holds Parquet files in the folder {name} ({name}/{path}), and folders "
                "in a dataset are not read: put all files into one folder, or give "
                f"{folder}/{name} alone"
            )


def _begins_as_parquet(folder: Folder, name: str) -> bool:
    """Whether a file begins with the mark of Parquet; not of what is no regular file."""
    try:
        return folder.read(name, 4) == b"PAR1"
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EINVAL:
            return False
        raise


def _check_finished(folder: Folder, files: list[str]) -> None:
    """Raise DatasetError where files are parts of ours that no manifest vouches for."""
    ours = [name for name in files if PART_NAME.fullmatch(name)]
    if not ours:
        return
    from mgraph.io.parquet import read_metadata

    try:
        read_metadata(folder, ours[0])
    except DatasetError:
        return
    writer = ownership.writer_of(folder)
    raise DatasetError(
        f"{folder} holds {pluralize(len(ours), 'part')} of an unfinished dataset and no "
        f"{manifest.NAME}; "
        + (writer or "finish it with the call that began it, and `resume=True`")
    )


class EdgeDataset(Sequence[Part]):
    """A dataset on disk: a sequence of parts, with its manifest; or a Parquet file of another.

    ``dataset[i].read()`` gives part i as arrays; ``to_arrow()`` a ``pyarrow.dataset.Dataset``.
    location: the folder or the file. folder: where the files are. others: names in the folder that
    are no Parquet files, and are not read. unread: columns of the files that are not read.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Read the manifest alone, if there is one. Raises DatasetError where it is no dataset."""
        self.folder = Folder(location)
        self.location = self.folder.location
        self.others: list[str] = []
        self.unread: set[str] = set()
        if is_parquet(self.folder.address.name) and self.folder.is_file():
            self.folder, name = folder_and_name(location)
            self.manifest = survey(self.folder, [name], self.unread)
            self.has_manifest = False
        else:
            self.has_manifest, self.manifest, self.others = _described(self.folder, self.unread)

    @property
    def n(self) -> int:
        """Vertices."""
        return self.manifest.n

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return self.manifest.num_edges

    @property
    def dtypes(self) -> list[Any]:
        """The columns' types: of src, dst and, with weights, weight."""
        ids, weight = self.manifest.dtype, self.manifest.weight_dtype
        return [np.dtype(name) for name in (ids, ids, weight) if name]

    @property
    def files(self) -> list[str]:
        """The parts' paths in the folder's file system."""
        return [self.folder.path(part.file) for part in self.manifest.parts]

    def __len__(self) -> int:
        """The number of parts."""
        return len(self.manifest.parts)

    def __getitem__(self, index: Any) -> Any:
        """A part, or a list of parts for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Part(self.folder, self.manifest.parts[index], self.dtypes)

    def __repr__(self) -> str:
        """The folder or file, the numbers of vertices and edges, and that of parts."""
        name = type(self).__name__
        size = f"n={self.n}, num_edges={self.num_edges}, parts={len(self)}"
        return f"{name}({str(self.folder)!r}, {size})"

    def warn_of_unread(self) -> None:
        """Warn where files have columns that are passed over, as weights of another name are."""
        if not self.unread:
            return
        names = sorted(self.unread)
        columns = f"column{'s' * (len(names) > 1)} {', '.join(names)}"
        told = f"{self.location}: {columns} not read"
        if self.manifest.weight_dtype is None:
            told += (
                "; weights are read from a column called weight: if this is what holds them, "
                f"rename it (in PyArrow table.rename_columns({{{names[0]!r}: 'weight'}}))"
            )
        warnings.warn(told, MgraphWarning, stacklevel=3)

    def to_arrow(self) -> Any:
        """A lazy ``pyarrow.dataset.Dataset`` with columns ``src``, ``dst[, weight]``."""
        from pyarrow import dataset

        return dataset.dataset(self.files, filesystem=self.folder.filesystem, format="parquet")
