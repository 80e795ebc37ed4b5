"""Edges to compressed sparse rows on the CPU: a counting sort by source, then each row by itself.

Rows end up in ascending order of destinations, and parallel arcs in that of weights, so that the
result does not depend on the order of the edges. Cost: a random write for each arc, next to each
other where sources ascend, as in a dataset's parts, and O(log d) for the sort in a row of d;
memory: the arcs twice.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import row_pieces

_SHORT_ROW = 64
_PIECE_ARCS = 1 << 22  # seen to between two looks whether the graph is wanted


@compiled
def _count(keys, starts):
    """``starts[k + 1] +=`` the number of keys equal to k."""
    for key in keys:
        starts[key + 1] += 1


@compiled
def _scatter(src, dst, weights, cursor, indices, out_weights):
    """Put each arc into its row; ``cursor[u]``: where the next of u goes."""
    for i in range(src.size):
        at = cursor[src[i]]
        cursor[src[i]] = at + 1
        indices[at] = dst[i]
        if weights.size:
            out_weights[at] = weights[i]


@compiled
def _order_rows(indptr, indices, weights):
    """Put each row in ascending order of destinations, stably: short ones by insertion."""
    for row in range(indptr.size - 1):
        begin, end = indptr[row], indptr[row + 1]
        if end - begin > _SHORT_ROW:
            order = np.argsort(indices[begin:end], kind="mergesort")
            indices[begin:end] = indices[begin:end][order]
            if weights.size:
                weights[begin:end] = weights[begin:end][order]
            continue
        for i in range(begin + 1, end):
            vertex, j = indices[i], i
            while j > begin and indices[j - 1] > vertex:
                j -= 1
            for k in range(i, j, -1):
                indices[k] = indices[k - 1]
            indices[j] = vertex
            if weights.size:
                weight = weights[i]
                for k in range(i, j, -1):
                    weights[k] = weights[k - 1]
                weights[j] = weight


@compiled
def _order_parallel(indptr, indices, weights):
    """Among parallel arcs put the lighter first (insertion sort: runs are short)."""
    for row in range(indptr.size - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            weight, j = weights[i], i
            while j > indptr[row] and indices[j - 1] == indices[i] and weights[j - 1] > weight:
                weights[j] = weights[j - 1]
                j -= 1
            weights[j] = weight


@compiled
def _merge(indptr, indices, weights):
    """Keep the first of parallel arcs, in place; returns how many arcs are left."""
    kept = np.int64(0)
    begin = indptr[0]
    for row in range(indptr.size - 1):
        end, first = indptr[row + 1], kept
        for i in range(begin, end):
            if kept > first and indices[kept - 1] == indices[i]:
                continue
            indices[kept] = indices[i]
            if weights.size:
                weights[kept] = weights[i]
            kept += 1
        begin = end
        indptr[row + 1] = kept
    return kept


def _both_ways(src: Any, dst: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The arcs, and behind them, turned round, those that are no loops. weight: perhaps empty."""
    m, turned = src.size, 0
    for piece in cancellation.chunks(m, _PIECE_ARCS):
        turned += int(np.count_nonzero(src[piece] != dst[piece]))
    into = [np.empty(m + turned, array.dtype) for array in (src, dst)]
    into.append(np.empty(m + turned if weight.size else 0, weight.dtype))
    end = m
    for piece in cancellation.chunks(m, _PIECE_ARCS):
        here, there = src[piece], dst[piece]
        back = here != there
        begin, end = end, end + np.count_nonzero(back)
        into[0][piece], into[0][begin:end] = here, there[back]
        into[1][piece], into[1][begin:end] = there, here[back]
        if weight.size:
            into[2][piece], into[2][begin:end] = weight[piece], weight[piece][back]
    return into[0], into[1], into[2]


def build(edges: EdgeList, n: int, *, directed: bool, drop_loops: bool, merge: bool) -> Graph:
    """A CSR graph of checked edges; ``mgraph.from_edges`` tells what the choices mean."""
    src, dst = edges.src, edges.dst
    weight = np.empty(0, np.int32) if edges.weight is None else edges.weight
    if drop_loops:
        keep = src != dst
        if not keep.all():
            src, dst = src[keep], dst[keep]
            weight = weight[keep] if weight.size else weight
    if not directed:
        src, dst, weight = _both_ways(src, dst, weight)
    indptr = np.zeros(n + 1, np.int64)
    for piece in cancellation.chunks(src.size, _PIECE_ARCS):
        _count(src[piece], indptr)
    np.cumsum(indptr, out=indptr)
    indices, weights = np.empty_like(dst), np.empty_like(weight)
    cursor = indptr[:-1].copy()
    for piece in cancellation.chunks(src.size, _PIECE_ARCS):
        its_weight = weight[piece] if weight.size else weight
        _scatter(src[piece], dst[piece], its_weight, cursor, indices, weights)
    for first, stop, *_ in row_pieces(indptr, _PIECE_ARCS):
        cancellation.raise_if_cancelled()
        _order_rows(indptr[first : stop + 1], indices, weights)
        if weights.size:
            _order_parallel(indptr[first : stop + 1], indices, weights)
    if merge:
        kept = _merge(indptr, indices, weights)
        indices, weights = indices[:kept].copy(), weights[:kept].copy()
    arrays = indptr, indices, None if edges.weight is None else weights
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(*arrays, directed, **known)
