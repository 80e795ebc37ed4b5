"""Graphs to and from edge-list datasets: Parquet files, read and copied to a GPU in parallel.

Cost of reading: each file once, by as many threads as there are cores; memory: the edges, on the
device where the graph will be.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.room import LARGER_GPU, room_for
from mgraph.io.dataset import EdgeDataset, part_name
from mgraph.io.folder import Folder
from mgraph.io.listing import Listing
from mgraph.io.manifest import Manifest, PartRecord

_PART_EDGES = 1 << 24
_BLOCK_EDGES = 1 << 20


def read(dataset: EdgeDataset, backend: str = "cpu") -> Listing:
    """All edges of a dataset, as NumPy arrays, or CuPy arrays for backend ``gpu``."""
    rows = [record.rows for record in dataset.manifest.parts]
    starts = np.cumsum([0, *rows]).tolist()
    arrays: list[Any]
    store: Callable[[Any, Any], None] = np.copyto
    if backends.resolve(backend) == "gpu":
        from mgraph.cuda.transfer import copy_to_device as store
        from mgraph.cuda.transfer import device_array

        with room_for(f"the {starts[-1]:,} edges of {dataset.location}", LARGER_GPU):
            arrays = [device_array(starts[-1], dtype) for dtype in dataset.dtypes]
    else:
        arrays = [np.empty(starts[-1], dtype) for dtype in dataset.dtypes]

    def fill(index: int) -> None:
        row = starts[index]
        for block in dataset[index].blocks():
            stop = row + len(block)
            for array, values in zip(arrays, block, strict=True):
                store(array[row:stop], values.astype(array.dtype, copy=False))
            row = stop

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(fill, range(len(dataset))))
    return Listing(EdgeList(*arrays), dataset.n, dataset.manifest.directed)


def write(graph: Graph, folder: Folder, *, compression: str = "lz4", created_by: str = "") -> None:
    """Write a graph's edges into a folder without a dataset, with a manifest; parts of 16 Mi edges.

    An undirected graph's edges stand there once, as (u, v) with u >= v.
    """
    from mgraph.core.edge_list_cpu import checksum
    from mgraph.io.parquet import writing_part

    graph = graph.to_cpu()
    edges = graph.to_edges()
    ids = np.dtype(np.int32 if graph.n < 1 << 31 else np.int64)
    columns = {"src": ids, "dst": ids}
    if edges.weight is not None:
        columns["weight"] = edges.weight.dtype
    # Parts begin where a vertex's edges do.
    cuts = edges.src[np.arange(_PART_EDGES, len(edges), _PART_EDGES)] + 1
    bounds = sorted({0, *cuts.tolist(), graph.n})
    folder.create()
    records = []
    for index, (first, stop) in enumerate(pairwise(bounds)):
        begin, end = np.searchsorted(edges.src, [first, stop]).tolist()
        part, name = edges.rows(begin, end), part_name(index)
        with writing_part(folder, name, columns, compression) as writer:
            for start in range(0, end - begin, _BLOCK_EDGES):
                block = part.rows(start, min(start + _BLOCK_EDGES, end - begin))
                writer.write(map(np.ascontiguousarray, block, columns.values()))
            writer.close({"part": index, "converted": True})
        size = folder.size(name)
        records.append(PartRecord(name, end - begin, first, stop, checksum(part), size))
    Manifest(
        model={},
        n=graph.n,
        m=len(edges),
        dtype=str(ids),
        compression=compression,
        parts=tuple(records),
        created_by=created_by,
        weight_dtype=None if edges.weight is None else str(edges.weight.dtype),
        directed=graph.directed,
    ).write(folder)
