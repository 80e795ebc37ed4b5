"""Edges to compressed sparse rows on a GPU: count, scatter, and sort each row.

Arcs are counted and scattered into their rows by atomics, in any order. Then the rows are sorted,
one batch of rows at a time, by CuPy's radix sort of (row, destination), and parallel arcs by
weight. So the result depends neither on the order of the edges nor on that of the atomics.
Cost: 20 to 40 bytes per arc for the scatter, most of it in random sectors of 32 bytes, and eight
passes of the radix sort. Device memory: the edges and the graph, then the graph and one batch.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import row_pieces
from mgraph.core.rows_gpu import tails
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import C_TYPES, Source
from mgraph.errors import DeviceError

_BATCH_ARCS = 1 << 26  # sorted at a time
MAX_VERTICES = (1 << 31) - 1
_SORT_BYTES = 40  # per arc of the batch that is being sorted
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
    defines = {
        "MGRAPH_VERTEX_T": _WORDS[src.itemsize],
        "MGRAPH_WEIGHT_T": _WORDS[4 if weight is None else weight.itemsize],
    }
    count = np.int64(src.size)
    options = np.int32(not directed), np.int32(drop_loops)
    KERNELS.launch("csr_count", (src, dst, count, *options, indptr[1:]), **defines)
    cupy.cumsum(indptr, out=indptr)
    num_arcs = int(indptr[-1])
    cursor = indptr[:-1].copy()
    indices = cupy.empty(num_arcs, np.int32)
    weights = None if weight is None else cupy.empty(num_arcs, weight.dtype)
    inputs = src, dst, 0 if weight is None else weight, count
    outputs = cursor, indices, 0 if weights is None else weights
    KERNELS.launch("csr_scatter", (*inputs, *options, *outputs), **defines)
    del src, dst, weight, inputs, cursor, outputs
    kept = _sort_rows(indptr, indices, weights, merge)
    if kept < num_arcs:
        indices = indices[:kept].copy()
        weights = None if weights is None else weights[:kept].copy()
    arrays = indptr, indices, weights
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(*arrays, directed, **known)


def _sort_rows(indptr: Any, indices: Any, weights: Any, merge: bool) -> int:
    """Sort each row in place, and merge parallel arcs if asked; return the number of arcs kept."""
    import cupy

    kept = 0
    for first, stop, begin, end in row_pieces(indptr, _BATCH_ARCS):
        cancellation.raise_if_cancelled()
        starts = indptr[first : stop + 1] - begin
        key = tails(starts, end - begin).astype(np.int64) << 32 | indices[begin:end]
        weight = None if weights is None else weights[begin:end]
        key, weight = _sort_keys(key, weight)
        if merge:
            is_first = cupy.ones(key.size, bool)  # of parallel arcs
            is_first[1:] = key[1:] != key[:-1]
            ends = cupy.zeros(key.size + 1, np.int64)
            cupy.cumsum(is_first, out=ends[1:])
            indptr[first + 1 : stop + 1] = kept + ends[starts[1:]]
            key = key[is_first]
            weight = None if weight is None else weight[is_first]
        indices[kept : kept + key.size] = key & 0xFFFFFFFF
        if weight is not None:
            weights[kept : kept + key.size] = weight
        kept += int(key.size)
    return kept


def _sort_keys(key: Any, weight: Any) -> tuple[Any, Any]:
    """Return the keys in ascending order, equal keys by weight, and their weights."""
    import cupy

    if weight is None:
        key.sort()
        return key, None
    order = cupy.argsort(key)
    ordered = key[order]
    if not bool((ordered[1:] == ordered[:-1]).any()):
        return ordered, weight[order]
    rank = cupy.argsort(weight)  # both sorts are stable: equal keys stay in order of weight
    order = rank[cupy.argsort(key[rank])]
    return key[order], weight[order]
