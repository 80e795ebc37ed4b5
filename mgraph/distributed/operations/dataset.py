"""``mgraph.open_dataset``: an edge-list dataset with a Dask view beside the Arrow one."""

import os
from typing import Any

from mgraph.core.edges import COLUMNS
from mgraph.io.dataset import EdgeDataset


class Dataset(EdgeDataset):
    """A dataset on disk, as a sequence of parts that are read on demand.

    Attributes
    ----------
    n, num_edges : int
        Vertices and edges, as the manifest has them.
    manifest : Manifest
        The description: model, types, and for each part its file, rows, vertices and checksum.
    location : str
        The folder.

    Examples
    --------
    >>> run = mgraph.generate("graph", mgraph.CopyModel(1000, 2), parts=2)
    >>> dataset = mgraph.Dataset("graph")
    >>> len(dataset), dataset.num_edges
    (2, 1997)
    >>> dataset[0].read().src.dtype
    dtype('int32')
    >>> dataset.to_arrow().count_rows()
    1997
    """

    def to_dask(self) -> Any:
        """A lazy ``dask.dataframe`` of ``src``, ``dst[, weight]`` with one partition per part."""
        import dask.dataframe as dd
        import pandas as pd

        def to_frame(columns: Any) -> pd.DataFrame:
            return pd.DataFrame(dict(zip(COLUMNS, columns, strict=False)), copy=False)

        def read_part(index: int) -> pd.DataFrame:
            return to_frame(self[index].read())

        empty = to_frame([pd.Series(dtype=dtype) for dtype in self.dtypes])
        return dd.from_map(read_part, range(len(self)), meta=empty, label="mgraph-read")


def open_dataset(location: str | os.PathLike[str]) -> Dataset:
    """Open a dataset; reads its manifest alone.

    Parameters
    ----------
    location : path or ``s3://`` address
        A folder of Parquet files with columns ``src``, ``dst`` and perhaps ``weight``, or one file.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If there is no dataset, or its manifest is damaged.

    Examples
    --------
    >>> run = mgraph.generate("graph", mgraph.CopyModel(1000, 2), parts=3)
    >>> len(mgraph.open_dataset("graph"))
    3
    """
    return Dataset(location)
