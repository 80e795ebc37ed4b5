"""Graphs to and from edge-list datasets: Parquet files, read in parallel.

Cost of reading: each file once, by one thread per core; a GPU decodes what it reads itself, if that
is encoded as mgraph writes it. Memory: the edges, on the backend of the graph.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.arrays import on_gpu
from mgraph.core.choices import Backend, Compression
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.host import available_cores
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.cuda.transfer import stage_on_host
from mgraph.errors import StorageError
from mgraph.io.dataset import EdgeDataset, Part, group_by_size, part_name, read_row_groups
from mgraph.io.folder import Folder
from mgraph.io.listing import NO_ATTRIBUTES, Attributes, Listing
from mgraph.io.manifest import Manifest, PartRecord

if TYPE_CHECKING:
    from mgraph.io.parquet_groups import RowGroups

_MIN_PART_EDGES, _MAX_PART_EDGES = 1 << 20, 1 << 24
_BLOCK_EDGES = 1 << 20
_NEAR_ROWS = 64  # from where a part is expected to begin
# Row groups that a GPU decodes together, some 200 MB: a part of a generated dataset, since pages
# are decoded at a time, and the longest takes as long with few others as with many.
_MAX_JOB_ROWS = 1 << 25
_JOBS_PER_THREAD = 2  # at least
_STAGING_SHARE = 1 / 16  # of a GPU's free memory, for the bytes of all threads


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
    decodes = backends.resolve(backend) == "gpu"

    # Before any memory is allocated, since the records of parts may be wrong.
    all_groups = read_row_groups(parts, threads)
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    arrays: list[Any]
    decoder = None
    copy_columns: Callable[[list[Any], list[Any]], None] = _copy_on_host
    if decodes:
        from mgraph.cuda.transfer import copy_to_device as copy_columns
        from mgraph.cuda.transfer import device_array

        with memory_guard(f"the {starts[-1]:,} edges of {location}", LARGER_GPU):
            arrays = [device_array(starts[-1], dtype) for dtype in dtypes]
        from mgraph.io.parquet_pages_gpu import Decoder

        decoder = Decoder()
    else:
        arrays = [np.empty(starts[-1], dtype) for dtype in dtypes]

    def read_groups(job: _Job) -> None:
        cancellation.raise_if_cancelled()
        if decoder is not None:
            columns = [array[job.row : job.row + job.rows] for array in arrays]
            if _decode_on_gpu(decoder, job, columns):
                return
        row = job.row
        for index in range(job.some.start, job.some.stop):
            for block in job.part.blocks(index):
                stop = row + len(block)
                copy_columns([array[row:stop] for array in arrays], list(block))
                row = stop

    capacity = _job_rows(starts[-1], threads, dtypes) if decodes else 1
    jobs = []
    for part, start, groups in zip(parts, starts[:-1], all_groups, strict=True):
        firsts = np.cumsum([start, *groups.rows]).tolist()
        for indices in group_by_size(groups.rows, capacity):
            some = slice(indices[0], indices[-1] + 1)
            row, stop = firsts[some.start], firsts[some.stop]
            jobs.append(_Job(part, groups, some, row, stop - row))
    cancellation.map_in_threads(read_groups, jobs, threads)
    return EdgeList(*arrays)


def _job_rows(rows: int, threads: int, dtypes: Sequence[Any]) -> int:
    """Choose the rows that a GPU decodes together, of row groups that are not larger anyway."""
    from mgraph.cuda.memory import free_bytes

    row_bytes = 2 * sum(np.dtype(dtype).itemsize for dtype in dtypes)
    fitting = int(_STAGING_SHARE * free_bytes() / (threads * row_bytes))
    return max(1, min(_MAX_JOB_ROWS, fitting, rows // (_JOBS_PER_THREAD * threads)))


class _Job(NamedTuple):
    """Consecutive row groups of a part.

    row: of the columns, to which their first one belongs. rows: how many they have.
    """

    part: Part
    groups: "RowGroups"
    some: slice
    row: int
    rows: int


def _decode_on_gpu(decoder: Any, job: _Job, columns: list[Any]) -> bool:
    """Read row groups as they are in the file, and decode them there; False if Arrow has to."""
    import pyarrow as pa

    from mgraph.io.parquet_groups import reading_bytes

    # By the thread that reads them: while one is in the interpreter, others read.
    groups = job.part.locate(job.groups, job.some)
    if any(group.chunks is None for group in groups):
        return False
    try:
        with reading_bytes(job.part.folder, job.part.record.file) as file:
            return bool(decoder.decode(groups, columns, file))
    except (OSError, pa.ArrowException, StorageError, MemoryError):
        return False  # Arrow takes less memory, and says what is wrong


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
    attributes: Attributes = NO_ATTRIBUTES,
) -> None:
    """Write a graph's edges and a manifest into a folder that holds no dataset.

    Each edge of an undirected graph is written once, as (u, v) with u >= v. created_by, forest: for
    the manifest.
    """
    graph = graph.to_cpu()
    edges = graph.to_edges()
    folder.create()
    vertices = None
    if graph.labels is not None or attributes.vertices is not None:
        from mgraph.io.vertex_ids import labels_as_ids, write_ids

        labels = range(graph.n) if graph.labels is None else graph.labels
        vertices = write_ids(labels_as_ids(labels), folder, compression, attributes.vertices)
    records = write_parts(
        edges, graph.n, folder, compression=compression, attributes=attributes.edges
    )
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
        vertices=vertices,
    ).write(folder)


def _id_dtype(n: int) -> np.dtype:
    return np.dtype(np.int32 if n < 1 << 31 else np.int64)


def _slice(column: Any, start: int, stop: int) -> Any:
    """Return rows of an attribute as an array."""
    piece = column.slice(start, stop - start)
    return piece.chunk(0) if piece.num_chunks == 1 else piece.combine_chunks()


def cut_parts(
    edges: EdgeList, vertices: range, threads: int, part_edges: int | None = None
) -> list[int]:
    """Cut edges with ascending ``src`` into parts; return the bounds of their ranges of vertices.

    vertices: all that may be ``src``. part_edges: the approximate edges per part, by default one
    part per thread within 1 to 16 Mi edges. All edges with the same ``src`` are in one part.
    """
    share = -(-len(edges) // threads)
    part_edges = part_edges or max(_MIN_PART_EDGES, min(_MAX_PART_EDGES, share))
    rows = range(part_edges, len(edges), part_edges)
    last = stage_on_host([edges.src[row : row + 1] for row in rows], are_written=False)
    cuts = [int(vertex[0]) + 1 for vertex in last]
    return sorted({vertices.start, *cuts, vertices.stop})


def write_parts(
    edges: EdgeList,
    n: int,
    folder: Folder,
    *,
    compression: Compression = "lz4",
    bounds: Sequence[int] | None = None,
    first_part: int = 0,
    name: Callable[[int], str] = part_name,
    threads: int | None = None,
    attributes: Any = None,
) -> list[PartRecord]:
    """Write edges with ascending ``src`` as parts, several parts at a time.

    edges: NumPy or CuPy arrays. bounds: of the parts' ranges of vertices, by default as
    ``cut_parts`` cuts all n. first_part: the number of the first part. name: returns the file name
    of a part. threads: by default one per core. attributes: an Arrow table of further columns.
    """
    threads = threads or available_cores()
    if bounds is None:
        bounds = cut_parts(edges, range(n), threads)
    from mgraph.core.edge_list_cpu import checksum
    from mgraph.io.parquet import writing_part

    dtypes = {"src": _id_dtype(n), "dst": _id_dtype(n)}
    if edges.weight is not None:
        dtypes["weight"] = edges.weight.dtype
    columns: dict[str, Any] = dict(dtypes)
    kept = [] if attributes is None else attributes.combine_chunks().columns
    if attributes is not None:
        columns |= {field.name: field.type for field in attributes.schema}
    count = len(bounds) - 1
    cut_rows = _first_rows(edges.src, bounds)
    totals = [0] * count
    is_summed = on_gpu(edges.src)
    if is_summed:
        from mgraph.core.edge_list_gpu import checksums

        totals = checksums(edges, cut_rows)

    def write_part(index: int) -> PartRecord:
        begin, end, total = cut_rows[index], cut_rows[index + 1], totals[index]
        file = name(first_part + index)
        with writing_part(folder, file, columns, compression) as writer:
            for start in range(begin, end, _BLOCK_EDGES):
                cancellation.raise_if_cancelled()
                stop = min(start + _BLOCK_EDGES, end)
                arrays = stage_on_host(list(edges.rows(start, stop)))
                block = EdgeList(*map(np.ascontiguousarray, arrays, dtypes.values()))
                if not is_summed:
                    total += checksum(block)
                writer.write([*block, *(_slice(column, start, stop) for column in kept)])
            writer.close({"part": first_part + index, "converted": True})
        rows = end - begin, bounds[index], bounds[index + 1]
        return PartRecord(file, *rows, total % (1 << 64), folder.size(file))

    return cancellation.map_in_threads(write_part, range(count), threads)


def _first_rows(src: Any, bounds: Sequence[int]) -> list[int]:
    """Return the first row from which ``src``, which ascends, is not below each bound.

    The bounds divide the rows into about equal parts: of a device's array only what is near where
    they then lie is copied, at once.
    """
    parts = max(len(bounds) - 1, 1)
    near = [src.size * index // parts for index in range(len(bounds))]
    starts = [max(0, row - _NEAR_ROWS) for row in near]
    rows = [src[start : start + 2 * _NEAR_ROWS] for start in starts]
    pieces = stage_on_host(rows, are_written=False)
    found = [
        start + int(np.searchsorted(piece, bound))
        for bound, start, piece in zip(bounds, starts, pieces, strict=True)
    ]
    return [
        row
        if (row > start or not start) and (row < start + piece.size or row == src.size)
        else _first_row(src, bound, at)
        for row, start, piece, bound, at in zip(found, starts, pieces, bounds, near, strict=True)
    ]


def _first_row(src: Any, bound: int, near: int) -> int:
    """Return the first row from which ``src``, which ascends, is not below a bound.

    Looks from a row on at rows that are further and further away: each is a copy from the device.
    """
    low = high = near  # rows below low are below the bound; rows from high on, if any, are not
    step = 1
    while low > 0 and int(src[low - 1]) >= bound:
        low, high, step = max(0, low - step), low - 1, 2 * step
    while high < src.size and int(src[high]) < bound:
        low, high, step = high + 1, min(src.size, high + step), 2 * step
    return bisect_left(range(src.size), bound, low, high, key=lambda row: int(src[row]))
