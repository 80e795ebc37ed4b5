"""Edges to compressed sparse rows on a GPU: count, scatter, and sort each row.

Arcs are counted and scattered into their rows by atomics, in any order; then rows are sorted, a
batch of them at a time, by CuPy's radix sort of (row, destination), and parallel arcs by weight. So
the result does not depend on the order of anything.
Cost: 20 to 40 bytes an arc for the scatter, most of it in random sectors of 32 bytes, and eight
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
MOST_VERTICES = (1 << 31) - 1
_BYTES_SORTED = 40  # an arc of a batch, while it is sorted
_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # whatever they mean

KERNELS = Source(
    __package__,
    "csr.cu",
    check=tuple(
        (("MGRAPH_VERTEX_T", vertex_t), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex_t in _WORDS.values()
        for weight_t in _WORDS.values()
    ),
)


def fits(n: int, m: int, weight_bytes: int, edge_bytes: int) -> bool:
    """Whether the current device can build a graph of so many vertices and arcs.

    edge_bytes: of all edges, which are to be brought there.
    """
    graph = 16 * n + (4 + weight_bytes) * m
    batch = _BYTES_SORTED * min(m, _BATCH_ARCS)
    return n <= MOST_VERTICES and 1.1 * (edge_bytes + graph + batch) < free_bytes()


def build(edges: EdgeList, n: int, *, directed: bool, drop_loops: bool, merge: bool) -> Graph:
    """A CSR graph of checked edges; ``mgraph.from_edges`` tells what the choices mean.

    edges: NumPy or CuPy arrays. Raises DeviceError for n of 2^31 or more.
    """
    import cupy

    if n > MOST_VERTICES:
        raise DeviceError(f"a GPU builds graphs of fewer than 2^31 vertices, not {n:,}")
    src, dst = cupy.asarray(edges.src), cupy.asarray(edges.dst)
    weight = None if edges.weight is None else cupy.asarray(edges.weight)
    del edges
    indptr = cupy.zeros(n + 1, np.int64)
    defines = {
        "MGRAPH_VERTEX_T": _WORDS[src.itemsize],
        "MGRAPH_WEIGHT_T": _WORDS[4 if weight is None else weight.itemsize],
    }
    count = np.int64(src.size)
    choices = np.int32(not directed), np.int32(drop_loops)
    KERNELS.launch("csr_count", (src, dst, count, *choices, indptr[1:]), **defines)
    cupy.cumsum(indptr, out=indptr)
    m = int(indptr[-1])
    cursor = indptr[:-1].copy()
    indices = cupy.empty(m, np.int32)
    weights = None if weight is None else cupy.empty(m, weight.dtype)
    lists = src, dst, 0 if weight is None else weight, count
    made = cursor, indices, 0 if weights is None else weights
    KERNELS.launch("csr_scatter", (*lists, *choices, *made), **defines)
    del src, dst, weight, lists, cursor, made
    kept = _sort_rows(indptr, indices, weights, merge)
    if kept < m:
        indices = indices[:kept].copy()
        weights = None if weights is None else weights[:kept].copy()
    arrays = indptr, indices, weights
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(*arrays, directed, **known)


def _sort_rows(indptr: Any, indices: Any, weights: Any, merge: bool) -> int:
    """Sort each row in place, with ``merge`` close the gaps; returns how many arcs are left."""
    import cupy

    kept = 0
    for first, stop, begin, end in row_pieces(indptr, _BATCH_ARCS):
        cancellation.raise_if_cancelled()
        starts = indptr[first : stop + 1] - begin
        key = tails(starts, end - begin).astype(np.int64) << 32 | indices[begin:end]
        weight = None if weights is None else weights[begin:end]
        key, weight = _sorted(key, weight)
        if merge:
            first_of_its_kind = cupy.ones(key.size, bool)
            first_of_its_kind[1:] = key[1:] != key[:-1]
            ends = cupy.zeros(key.size + 1, np.int64)
            cupy.cumsum(first_of_its_kind, out=ends[1:])
            indptr[first + 1 : stop + 1] = kept + ends[starts[1:]]
            key = key[first_of_its_kind]
            weight = None if weight is None else weight[first_of_its_kind]
        indices[kept : kept + key.size] = key & 0xFFFFFFFF
        if weight is not None:
            weights[kept : kept + key.size] = weight
        kept += int(key.size)
    return kept


def _sorted(key: Any, weight: Any) -> tuple[Any, Any]:
    """Keys in ascending order with their weights; equal keys by weight."""
    import cupy

    if weight is None:
        key.sort()
        return key, None
    order = cupy.argsort(key)
    ordered = key[order]
    if not bool((ordered[1:] == ordered[:-1]).any()):
        return ordered, weight[order]
    rank = cupy.argsort(weight)  # stable, as the next is: ties of keys stay in order of weight
    order = rank[cupy.argsort(key[rank])]
    return key[order], weight[order]
