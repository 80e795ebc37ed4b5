"""Graphs to and from edge-list datasets: Parquet files, read and copied to a GPU in parallel.

Cost of reading: each file once, by one thread per core. Memory: the edges, on the backend of the
graph.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.choices import Backend, Compression
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph, on_gpu
from mgraph.core.host import available_cores
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.io.dataset import EdgeDataset, Part, part_name
from mgraph.io.folder import Folder
from mgraph.io.listing import Listing
from mgraph.io.manifest import Manifest, PartRecord

_MIN_PART_EDGES, _MAX_PART_EDGES = 1 << 20, 1 << 24
_BLOCK_EDGES = 1 << 20


def read(dataset: EdgeDataset, backend: Backend = "cpu") -> Listing:
    """Read all edges of a dataset as NumPy arrays, or as CuPy arrays for backend ``gpu``."""
    edges = read_parts(list(dataset), dataset.dtypes, dataset.location, backend)
    return Listing(edges, dataset.n, dataset.manifest.directed)


def read_parts(
    parts: Sequence[Part],
    dtypes: Sequence[Any],
    location: str,
    backend: Backend = "cpu",
    threads: int | None = None,
) -> EdgeList:
    """Read the edges of several parts into columns of these types; see ``read``.

    location: for messages. threads: by default one per core.
    """
    threads = threads or available_cores()
    # Before any memory is allocated, since the records of parts may be wrong.
    group_rows = cancellation.map_in_threads(Part.group_rows, parts, threads)
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    arrays: list[Any]
    copy_columns: Callable[[list[Any], list[Any]], None] = _copy_on_host
    if backends.resolve(backend) == "gpu":
        from mgraph.cuda.transfer import copy_to_device as copy_columns
        from mgraph.cuda.transfer import device_array

        with memory_guard(f"the {starts[-1]:,} edges of {location}", LARGER_GPU):
            arrays = [device_array(starts[-1], dtype) for dtype in dtypes]
    else:
        arrays = [np.empty(starts[-1], dtype) for dtype in dtypes]

    def read_group(job: tuple[Part, int, int]) -> None:
        part, group, row = job
        for block in part.blocks(group):
            stop = row + len(block)
            copy_columns([array[row:stop] for array in arrays], list(block))
            row = stop

    jobs = []
    for part, start, rows in zip(parts, starts[:-1], group_rows, strict=True):
        firsts = np.cumsum([start, *rows]).tolist()
        jobs += [(part, group, first) for group, first in enumerate(firsts[:-1])]
    cancellation.map_in_threads(read_group, jobs, threads)
    return EdgeList(*arrays)


def _copy_on_host(targets: list[Any], columns: list[Any]) -> None:
    for target, values in zip(targets, columns, strict=True):
        np.copyto(target, values)


def write(
    graph: Graph,
    folder: Folder,
    *,
    compression: Compression = "lz4",
    created_by: str = "",
    forest: dict[str, Any] | None = None,
) -> None:
    """Write a graph's edges and a manifest into a folder that holds no dataset.

    Each edge of an undirected graph is written once, as (u, v) with u >= v. created_by, forest: for
    the manifest.
    """
    graph = graph.to_cpu()
    edges = graph.to_edges()
    folder.create()
    records = write_parts(edges, graph.n, folder, compression=compression)
    Manifest(
        model={},
        n=graph.n,
        num_edges=len(edges),
        dtype=str(_id_dtype(graph.n)),
        compression=compression,
        parts=tuple(records),
        created_by=created_by,
        weight_dtype=None if edges.weight is None else str(edges.weight.dtype),
        directed=graph.directed,
        forest=forest,
    ).write(folder)


def _id_dtype(n: int) -> np.dtype:
    return np.dtype(np.int32 if n < 1 << 31 else np.int64)


def write_parts(
    edges: EdgeList,
    n: int,
    folder: Folder,
    *,
    compression: Compression = "lz4",
    part_edges: int | None = None,
    name: Callable[[int], str] = part_name,
    threads: int | None = None,
) -> list[PartRecord]:
    """Write edges with ascending ``src`` as parts, several parts at a time.

    edges: NumPy or CuPy arrays. part_edges: the approximate edges per part, by default one part per
    thread within 1 to 16 Mi edges. name: returns the file name of a part. threads: by default one
    per core. All edges with the same ``src`` are in one part.
    """
    threads = threads or available_cores()
    share = -(-len(edges) // threads)
    part_edges = part_edges or max(_MIN_PART_EDGES, min(_MAX_PART_EDGES, share))
    from mgraph.core.edge_list_cpu import checksum
    from mgraph.cuda.transfer import stage_on_host
    from mgraph.io.parquet import writing_part

    columns = {"src": _id_dtype(n), "dst": _id_dtype(n)}
    if edges.weight is not None:
        columns["weight"] = edges.weight.dtype
    cuts = edges.src[part_edges::part_edges].tolist()
    bounds = sorted({0, *(cut + 1 for cut in cuts), n})
    if on_gpu(edges.src):
        cut_rows = [int((edges.src < bound).sum()) for bound in bounds]
    else:
        cut_rows = np.searchsorted(edges.src, bounds).tolist()

    def write_part(index: int) -> PartRecord:
        begin, end, total = cut_rows[index], cut_rows[index + 1], 0
        with writing_part(folder, name(index), columns, compression) as writer:
            for start in range(begin, end, _BLOCK_EDGES):
                cancellation.raise_if_cancelled()
                arrays = stage_on_host(list(edges.rows(start, min(start + _BLOCK_EDGES, end))))
                block = EdgeList(*map(np.ascontiguousarray, arrays, columns.values()))
                total += checksum(block)
                writer.write(block)
            writer.close({"part": index, "converted": True})
        size = folder.size(name(index))
        rows = end - begin, bounds[index], bounds[index + 1]
        return PartRecord(name(index), *rows, total % (1 << 64), size)

    return cancellation.map_in_threads(write_part, range(len(bounds) - 1), threads)
