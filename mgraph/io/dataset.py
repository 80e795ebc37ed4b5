"""Reading an edge-list dataset: parts on demand, and an Arrow view of the whole."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.io import manifest
from mgraph.io.folder import Folder
from mgraph.io.manifest import PartRecord


class Part:
    """One part of a dataset; nothing is read before ``read`` or ``blocks``."""

    def __init__(self, folder: Folder, record: PartRecord, dtype: Any) -> None:
        """Name the file; ``record`` is its line in the manifest."""
        self.folder, self.record, self.dtype = folder, record, dtype

    def __len__(self) -> int:
        """The number of edges."""
        return self.record.rows

    def blocks(self) -> Iterator[EdgeList]:
        """Its row groups, in order, as NumPy arrays; about 2^20 edges each."""
        from mgraph.io.parquet import read_blocks

        return read_blocks(self.folder, self.record.file)

    def read(self) -> EdgeList:
        """All its edges as NumPy arrays, ``src`` ascending."""
        blocks = list(self.blocks())
        if not blocks:
            return EdgeList(np.empty(0, self.dtype), np.empty(0, self.dtype))
        return EdgeList(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


class EdgeDataset(Sequence[Part]):
    """A dataset on disk: a sequence of parts, with its manifest.

    ``dataset[i].read()`` gives part i as arrays; ``to_arrow()`` a ``pyarrow.dataset.Dataset``.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Read the manifest alone. Raises DatasetError where the folder is no dataset."""
        self.folder = Folder(location)
        self.manifest = manifest.read(self.folder)

    @property
    def n(self) -> int:
        """Vertices."""
        return self.manifest.n

    @property
    def m(self) -> int:
        """Edges."""
        return self.manifest.m

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
        return Part(self.folder, self.manifest.parts[index], np.dtype(self.manifest.dtype))

    def __repr__(self) -> str:
        """The folder, n, m and the number of parts."""
        name = type(self).__name__
        return f"{name}({str(self.folder)!r}, n={self.n}, m={self.m}, parts={len(self)})"

    def to_arrow(self) -> Any:
        """A lazy ``pyarrow.dataset.Dataset`` with columns ``src`` and ``dst``."""
        from pyarrow import dataset

        return dataset.dataset(self.files, filesystem=self.folder.filesystem, format="parquet")
