"""``mgraph.open_dataset``: an edge-list dataset with a Dask view beside the Arrow one."""

import os
from typing import Any

from mgraph.core.edges import COLUMNS
from mgraph.io.dataset import EdgeDataset


class Dataset(EdgeDataset):
    """A dataset on disk, as a sequence of lazily read parts.

    ``dataset[i].read()`` is part i as NumPy arrays, ``to_arrow()`` a ``pyarrow.dataset.Dataset``,
    ``to_dask()`` a ``dask.dataframe`` whose partitions are the parts.
    """

    def to_dask(self) -> Any:
        """A lazy Dask DataFrame with columns ``src``, ``dst[, weight]``, a partition a part."""
        import dask.dataframe as dd
        import pandas as pd

        def named(columns: Any) -> pd.DataFrame:
            return pd.DataFrame(dict(zip(COLUMNS, columns, strict=False)), copy=False)

        def frame(index: int) -> pd.DataFrame:
            return named(self[index].read())

        empty = named([pd.Series(dtype=dtype) for dtype in self.dtypes])
        return dd.from_map(frame, range(len(self)), meta=empty, label="mgraph-read")


def open_dataset(location: str | os.PathLike[str]) -> Dataset:
    """Open the dataset in a folder or at an ``s3://`` address; reads its manifest alone.

    Raises DatasetError where there is none, or where its manifest is damaged.
    """
    return Dataset(location)
