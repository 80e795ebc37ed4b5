"""Edges to compressed sparse rows on a GPU: count, scatter, and sort each row.

Arcs are counted and scattered into their rows by atomics, in any order. Then each row is sorted by
destination, and parallel arcs by weight: by a warp in registers, by a block in shared memory, or,
if it is too long for that, in chunks by blocks, which are merged by pairs. So the result depends
neither on the order of the edges nor on that of the atomics.

Cost: 20 to 40 bytes per arc for the scatter, most of it in random sectors of 32 bytes; one read and
one write per arc for the sort, and one more for each time that a long row's runs double. Device
memory: the edges and the graph, then the graph and a batch of long rows or of merged ones.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, primitives_gpu
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import row_pieces
from mgraph.cuda.memory import copy, copy_into, free_bytes
from mgraph.cuda.source import C_TYPES, Source
from mgraph.errors import DeviceError

_BATCH_ARCS = 1 << 26  # of long rows that are sorted at a time, and of rows that are merged
MAX_VERTICES = (1 << 31) - 1
_SORT_BYTES = 12  # per arc of a batch
_MIN_LONG_ARCS = 2048  # no shorter row is too long for a block's shared memory
_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # by size in bytes, whatever the type

KERNELS = Source(
    __package__,
    "csr.cu",
    check=tuple(
        (("MGRAPH_VERTEX_T", vertex_t), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex_t in _WORDS.values()
        for weight_t in _WORDS.values()
    ),
)


def fits_in_memory(n: int, num_arcs: int, weight_bytes: int, edge_bytes: int) -> bool:
    """Return whether the current device can build a graph of n vertices and that many arcs.

    weight_bytes: per arc. edge_bytes: of the whole edge list, which is copied to the device first.
    """
    graph_bytes = 16 * n + (4 + weight_bytes) * num_arcs
    batch_bytes = _SORT_BYTES * min(num_arcs, _BATCH_ARCS)
    needed = 1.1 * (edge_bytes + graph_bytes + batch_bytes)
    return n <= MAX_VERTICES and needed < free_bytes()


def build(edges: EdgeList, n: int, *, directed: bool, drop_loops: bool, merge: bool) -> Graph:
    """Build a graph from checked edges; the options are those of ``from_edges``.

    edges: NumPy or CuPy arrays. Raises DeviceError if n is 2^31 or more.
    """
    import cupy

    if n > MAX_VERTICES:
        remedy = 'pass `backend="cpu"`'
        raise DeviceError(
            f"n must be below 2^31 for a graph on a GPU (got {n:,}); {remedy}",
            parameter="n",
            remedy=remedy,
        )
    src, dst = cupy.asarray(edges.src), cupy.asarray(edges.dst)
    weight = None if edges.weight is None else cupy.asarray(edges.weight)
    del edges
    indptr = cupy.zeros(n + 1, np.int64)
    kernels = _Kernels(src.dtype, None if weight is None else weight.dtype)
    count = np.int64(src.size)
    options = np.int32(not directed), np.int32(drop_loops)
    kernels.launch("csr_count", src, dst, count, *options, indptr[1:])
    primitives_gpu.accumulate(indptr)
    num_arcs = int(indptr[-1])
    cursor = copy(indptr[:-1])
    indices = cupy.empty(num_arcs, np.int32)
    weights = None if weight is None else cupy.empty(num_arcs, weight.dtype)
    inputs = src, dst, 0 if weight is None else weight, count
    outputs = cursor, indices, 0 if weights is None else weights
    kernels.launch("csr_scatter", *inputs, *options, *outputs)
    del src, dst, weight, inputs, cursor, outputs
    _sort_rows(kernels, indptr, indices, weights)
    if merge:
        indptr, indices, weights = _merge_parallel_arcs(kernels, indptr, indices, weights)
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(indptr, indices, weights, directed, **known)


def sort_rows(indptr: Any, indices: Any, weights: Any) -> None:
    """Sort each row in place, by destination and then by weight. indices: int32, as if unsigned."""
    weight_dtype = None if weights is None else weights.dtype
    _sort_rows(_Kernels(indices.dtype, weight_dtype), indptr, indices, weights)


def sort_rows_by_weight(indptr: Any, indices: Any, weights: Any) -> None:
    """Sort each row in place, by weight and then by destination. indices: int32, as
    if unsigned.
    """
    kernels = _Kernels(indices.dtype, weights.dtype, by_weight=True)
    _sort_rows(kernels, indptr, indices, weights)


class _Kernels:
    """The kernels for edges of these types."""

    def __init__(self, vertex_dtype: Any, weight_dtype: Any, *, by_weight: bool = False) -> None:
        """weight_dtype: None for edges without weights. by_weight: how rows are sorted."""
        self._defines = {
            "MGRAPH_VERTEX_T": _WORDS[vertex_dtype.itemsize],
            "MGRAPH_WEIGHT_T": _WORDS[4 if weight_dtype is None else weight_dtype.itemsize],
        }
        weight_bytes = 0 if weight_dtype is None else weight_dtype.itemsize
        self.key_bytes = {0: 4, 4: 8, 8: 16}[weight_bytes]  # of an arc, to sort by
        is_float = weight_dtype is not None and weight_dtype.kind == "f"
        flags = self.constant("float_weights") * is_float + self.constant("by_weight") * by_weight
        self.order = np.int32(flags)

    def constant(self, name: str) -> int:
        """Return a constant of the kernels' source."""
        return KERNELS.constant(name, **self._defines)

    def launch(self, name: str, *arguments: Any) -> None:
        """Launch a kernel, with enough threads to fill the device."""
        KERNELS.launch(name, arguments, **self._defines)


def _sort_rows(kernels: _Kernels, indptr: Any, indices: Any, weights: Any) -> None:
    """Sort each row in place."""
    import cupy

    if not indices.size:
        return
    arcs = indices, 0 if weights is None else weights, kernels.order
    n = np.int64(indptr.size - 1)
    kernels.launch("csr_sort_short", indptr, n, *arcs)
    longer_count = cupy.zeros(1, np.int64)
    longer = cupy.empty((2, indices.size // _MIN_LONG_ARCS + 1), np.int64)
    kernels.launch("csr_sort_long", indptr, n, *arcs, longer_count, longer[0], longer[1])
    if count := int(longer_count[0]):
        rows, lengths = longer.get()[:, :count]
        order = np.argsort(rows)
        _sort_longest_rows(kernels, indptr, indices, weights, rows[order], lengths[order])


def _sort_longest_rows(
    kernels: _Kernels,
    indptr: Any,
    indices: Any,
    weights: Any,
    rows: np.ndarray,
    lengths: np.ndarray,
) -> None:
    """Sort the given rows in place, as many at a time as a batch has arcs for."""
    import cupy

    run = kernels.constant("shared_bytes") // kernels.key_bytes
    batches = np.unique(np.cumsum(lengths) // _BATCH_ARCS, return_index=True)[1].tolist()
    for first, stop in zip(batches, [*batches[1:], rows.size], strict=True):
        cancellation.raise_if_cancelled()
        starts = np.zeros(stop - first + 1, np.int64)
        np.cumsum(lengths[first:stop], out=starts[1:])
        arcs = (
            indptr, indices, 0 if weights is None else weights, kernels.order,
            cupy.asarray(rows[first:stop]), cupy.asarray(starts), np.int64(stop - first),
        )  # fmt: skip
        kernels.launch("csr_sort_chunks", *arcs)
        spare = cupy.empty(int(starts[-1]), indices.dtype)
        spare_weights = 0 if weights is None else cupy.empty(spare.size, weights.dtype)
        longest = int(lengths[first:stop].max())
        merges = [run << k for k in range((-(-longest // run) - 1).bit_length())]
        if len(merges) % 2:
            merges.append(longest)  # back into the graph's arrays
        for k, length in enumerate(merges):
            arguments = spare, spare_weights, np.int32(k % 2), np.int64(length)
            kernels.launch("csr_merge_runs", *arcs, *arguments)


def _merge_parallel_arcs(
    kernels: _Kernels, indptr: Any, indices: Any, weights: Any
) -> tuple[Any, Any, Any]:
    """Return sorted rows with the first arc to each destination alone; the arrays are reused."""
    import cupy

    n = np.int64(indptr.size - 1)
    merged = cupy.zeros(indptr.size, np.int64)
    kernels.launch("csr_count_distinct", indptr, n, indices, merged[1:])
    kept = int(primitives_gpu.accumulate(merged)[-1])
    if kept == indices.size:
        return indptr, indices, weights
    for first, stop, begin, end in row_pieces(indptr, _BATCH_ARCS):
        cancellation.raise_if_cancelled()
        # Copied by way of other memory, since the rows move towards the beginning.
        piece = cupy.empty(end - begin, indices.dtype)
        piece_weights: Any = None if weights is None else cupy.empty(end - begin, weights.dtype)
        kernels.launch(
            "csr_compact", indptr, np.int64(first), np.int64(stop), indices,
            0 if weights is None else weights, merged, piece,
            0 if weights is None else piece_weights,
        )  # fmt: skip
        begin, end = int(merged[first]), int(merged[stop])
        copy_into(indices[begin:end], piece[: end - begin])
        if weights is not None:
            copy_into(weights[begin:end], piece_weights[: end - begin])
    return merged, copy(indices[:kept]), None if weights is None else copy(weights[:kept])
