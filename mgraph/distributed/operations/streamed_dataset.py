"""Datasets whose edges are read over a cluster: of mgraph, or of other programs' Parquet files."""

import hashlib
import os
from collections.abc import Collection, Mapping
from typing import Any

from mgraph.errors import UsageError
from mgraph.io.dataset import EdgeDataset
from mgraph.io.formats import identify_dataset
from mgraph.io.graph_reader import ReadOptions, reading_options


def open_streamed(
    location: str | os.PathLike[str],
    reading: Mapping[str, Any] | None,
    symmetrise: bool,
    allowed: Collection[str],
    result: str,
) -> tuple[EdgeDataset, ReadOptions]:
    """Open a dataset with the arguments of ``mgraph.read_graph`` that can be applied to its edges.

    allowed: the names of such arguments. result: what is computed, for messages. Raises UsageError,
    DatasetError.
    """
    options = reading_options(reading, symmetrise)
    for name in reading or {}:
        if name not in allowed:
            raise UsageError(
                f"{name} does not apply to the {result} of a dataset; convert it first",
                parameter=name,
            )
    dataset = EdgeDataset(location, options.table.request)
    if dataset.has_manifest:
        options.refuse_columns(f"{dataset.location} is a dataset of mgraph")
    dataset.check_dense()
    return dataset, options


def hash_identity(dataset: EdgeDataset, reading: Any = None) -> str:
    """Return a hash of what a dataset's forest depends on: its edges, n, and its parts.

    reading: how the dataset is read, if not by default.
    """
    parts = [(part.file, part.rows, part.bytes) for part in dataset.manifest.parts]
    content = [identify_dataset(dataset).name, dataset.n, parts, *([reading] if reading else [])]
    return hashlib.sha256(repr(tuple(content)).encode()).hexdigest()[:16]
