"""Reading an edge-list dataset: parts on demand, and an Arrow view of the whole.

A folder that mgraph wrote has a manifest. One that another program wrote (cuDF, DuckDB, Polars,
Spark) has none: then the Parquet files in it, or a single file, are surveyed, and what their
footers do not tell is read once.
"""

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.graph import MAX_N
from mgraph.core.wording import counted
from mgraph.errors import DatasetError, MgraphWarning, UsageError
from mgraph.io import manifest
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder
from mgraph.io.manifest import Manifest, PartRecord
from mgraph.io.untrusted import shown

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

    found = [describe(folder, name) for name in files]
    unread.update(*(part.others for part in found))
    kinds = {part.weight_dtype for part in found}
    if len(kinds) > 1:
        types = ", ".join(sorted(kind or "none" for kind in kinds))
        raise DatasetError(f"{folder} must have weights of one type in all files, and has {types}")
    n = max((part.largest for part in found), default=-1) + 1
    if n > MAX_N:
        raise DatasetError(f"{folder}: a graph has at most 2^40 vertices, and an id is {n - 1:,}")
    if min((part.least for part in found), default=0) < 0:
        raise DatasetError(f"{folder}: vertices are numbered from 0, and an id is negative")
    return Manifest(
        model={},
        n=n,
        m=sum(part.rows for part in found),
        dtype="int32" if n < 1 << 31 else "int64",
        compression=", ".join(sorted({part.compression for part in found})),
        parts=tuple(
            PartRecord(name, part.rows, 0, n, 0, folder.size(name))
            for name, part in zip(files, found, strict=True)
        ),
        created_by=shown(", ".join(sorted({part.created_by for part in found}))),
        weight_dtype=kinds.pop() if kinds else None,
        directed=True,
    )


def standing(
    folder: Folder, kind: str = manifest.FORMAT, also: tuple[str, ...] = ()
) -> tuple[list[str], bool]:
    """The parts in a folder, and whether it has a manifest, where all may be replaced.

    kind: what the manifest would say it holds; also: files that belong to it. Raises UsageError
    where anything else stands there.
    """
    names = [name for name in folder.names() or [] if not name.endswith(TEMPORARY_SUFFIX)]
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


def _described(folder: Folder, unread: set[str]) -> tuple[bool, Manifest]:
    """Whether the folder has a manifest, and it, or what its files tell."""
    names = folder.names()
    if names is None or manifest.NAME in names:
        return True, manifest.read(folder)
    files = [name for name in names if name.endswith(".parquet") and name[0] not in "._"]
    ours = [name for name in files if PART_NAME.fullmatch(name)]
    if ours:
        from mgraph.io.parquet import read_metadata

        try:
            read_metadata(folder, ours[0])
        except DatasetError:
            ours = []
    if ours:
        raise DatasetError(
            f"{folder} holds {counted(len(ours), 'part')} of an unfinished dataset and no "
            f"{manifest.NAME}; "
            "finish it with the command that began it, and --resume"
        )
    return (False, survey(folder, files, unread)) if files else (True, manifest.read(folder))


class EdgeDataset(Sequence[Part]):
    """A dataset on disk: a sequence of parts, with its manifest; or a Parquet file of another.

    ``dataset[i].read()`` gives part i as arrays; ``to_arrow()`` a ``pyarrow.dataset.Dataset``.
    location: the folder or the file. folder: where the files are. unread: columns of the files that
    are passed over.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Read the manifest alone, if there is one. Raises DatasetError where it is no dataset."""
        text = os.fspath(location)
        self.unread: set[str] = set()
        if text.endswith(".parquet") and os.path.isfile(text):
            self.location = os.path.abspath(text)
            self.folder = Folder(os.path.dirname(self.location))
            self.manifest = survey(self.folder, [os.path.basename(text)], self.unread)
            self.has_manifest = False
        else:
            self.folder = Folder(text)
            self.location = str(self.folder)
            self.has_manifest, self.manifest = _described(self.folder, self.unread)

    @property
    def n(self) -> int:
        """Vertices."""
        return self.manifest.n

    @property
    def m(self) -> int:
        """Edges."""
        return self.manifest.m

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
        """The folder or file, n, m and the number of parts."""
        name = type(self).__name__
        return f"{name}({self.location!r}, n={self.n}, m={self.m}, parts={len(self)})"

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
