"""Edges to compressed sparse rows on the CPU: a counting sort by source, then a sort of each row.

Rows end up in ascending order of destination, and parallel arcs in ascending order of weight, so
that the result does not depend on the order of the edges. Cost: one write per arc, at random
addresses unless the sources ascend, as they do in a dataset's parts, and O(log d) per arc for the
sort of a row of d arcs. Memory: the arcs twice.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.rows import row_pieces

_RUN = 32  # arcs of a row that are sorted by insertion
_CHUNK_ARCS = 1 << 22  # handled between two checks for cancellation


@compiled_when_hot
def _count(keys, starts):
    """Add to each ``starts[k + 1]`` the number of keys equal to k."""
    for key in keys:
        starts[key + 1] += 1


@compiled_when_hot
def _scatter(src, dst, weights, cursor, indices, out_weights):
    """Put each arc into its row. cursor[u]: the position of the next arc of u."""
    for i in range(src.size):
        position = cursor[src[i]]
        cursor[src[i]] = position + 1
        indices[position] = dst[i]
        if weights.size:
            out_weights[position] = weights[i]


@compiled_when_hot
def _sort_rows(indptr, indices, weights, spare, spare_weights):
    """Sort each row by destination, and parallel arcs by weight: runs by insertion, then by merges.

    weights: of size 0 if there are none. spare, spare_weights: memory for the longest row.
    """
    has_weights = weights.size > 0
    for row in range(indptr.size - 1):
        begin, end = indptr[row], indptr[row + 1]
        for first in range(begin, end, _RUN):
            for i in range(first + 1, min(first + _RUN, end)):
                vertex, j = indices[i], i
                if has_weights:
                    weight = weights[i]
                while j > first and (
                    indices[j - 1] > vertex
                    or (has_weights and indices[j - 1] == vertex and weights[j - 1] > weight)
                ):
                    j -= 1
                for k in range(i, j, -1):
                    indices[k] = indices[k - 1]
                indices[j] = vertex
                if has_weights:
                    for k in range(i, j, -1):
                        weights[k] = weights[k - 1]
                    weights[j] = weight
        length = np.int64(_RUN)
        while length < end - begin:
            for first in range(begin, end - length, 2 * length):
                middle, stop = first + length, min(first + 2 * length, end)
                if indices[middle - 1] < indices[middle]:
                    continue
                for i in range(length):
                    spare[i] = indices[first + i]
                    if has_weights:
                        spare_weights[i] = weights[first + i]
                left, right, to = np.int64(0), middle, first
                while left < length:
                    if right < stop and (
                        indices[right] < spare[left]
                        or (
                            has_weights
                            and indices[right] == spare[left]
                            and weights[right] < spare_weights[left]
                        )
                    ):
                        indices[to] = indices[right]
                        if has_weights:
                            weights[to] = weights[right]
                        right += 1
                    else:
                        indices[to] = spare[left]
                        if has_weights:
                            weights[to] = spare_weights[left]
                        left += 1
                    to += 1
            length *= 2


@compiled_when_hot
def _merge(indptr, indices, weights):
    """Keep the first of parallel arcs, in place; return the number of arcs kept."""
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


def _symmetrise(src: Any, dst: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the arcs followed by the mirrors of those that are not self-loops.

    weight: has no elements if the graph is unweighted.
    """
    num_arcs, num_mirrors = src.size, 0
    for chunk in cancellation.chunks(num_arcs, _CHUNK_ARCS):
        num_mirrors += int(np.count_nonzero(src[chunk] != dst[chunk]))
    total = num_arcs + num_mirrors
    out_src, out_dst = np.empty(total, src.dtype), np.empty(total, dst.dtype)
    out_weight = np.empty(total if weight.size else 0, weight.dtype)
    end = num_arcs
    for chunk in cancellation.chunks(num_arcs, _CHUNK_ARCS):
        from_ids, to_ids = src[chunk], dst[chunk]
        has_mirror = from_ids != to_ids
        begin, end = end, end + np.count_nonzero(has_mirror)
        out_src[chunk], out_src[begin:end] = from_ids, to_ids[has_mirror]
        out_dst[chunk], out_dst[begin:end] = to_ids, from_ids[has_mirror]
        if weight.size:
            out_weight[chunk], out_weight[begin:end] = weight[chunk], weight[chunk][has_mirror]
    return out_src, out_dst, out_weight


def sort_rows(indptr: Any, indices: Any, weights: Any) -> None:
    """Sort each row by destination, and parallel arcs by weight. weights: of size 0 for none."""
    longest = int(np.diff(indptr).max(initial=0))
    spare = np.empty(longest, indices.dtype), np.empty(min(longest, weights.size), weights.dtype)
    for first, stop, *_ in row_pieces(indptr, _CHUNK_ARCS):
        cancellation.raise_if_cancelled()
        _sort_rows(indptr[first : stop + 1], indices, weights, *spare)


def sort_rows_by_weight(indptr: Any, indices: Any, weights: Any) -> None:
    """Sort each row by weight, and arcs of equal weights by destination."""
    sort_rows(indptr, weights, indices)


def build(edges: EdgeList, n: int, *, directed: bool, drop_loops: bool, merge: bool) -> Graph:
    """Build a graph from checked edges; the options are those of ``from_edges``."""
    src, dst = edges.src, edges.dst
    weight = np.empty(0, np.int32) if edges.weight is None else edges.weight
    if drop_loops:
        keep = src != dst
        if not keep.all():
            src, dst = src[keep], dst[keep]
            weight = weight[keep] if weight.size else weight
    if not directed:
        src, dst, weight = _symmetrise(src, dst, weight)
    indptr = np.zeros(n + 1, np.int64)
    for chunk in cancellation.chunks(src.size, _CHUNK_ARCS):
        _count(src[chunk], indptr)
    np.cumsum(indptr, out=indptr)
    indices, weights = np.empty_like(dst), np.empty_like(weight)
    cursor = indptr[:-1].copy()
    for chunk in cancellation.chunks(src.size, _CHUNK_ARCS):
        chunk_weight = weight[chunk] if weight.size else weight
        _scatter(src[chunk], dst[chunk], chunk_weight, cursor, indices, weights)
    sort_rows(indptr, indices, weights)
    if merge:
        kept = _merge(indptr, indices, weights)
        indices, weights = indices[:kept].copy(), weights[:kept].copy()
    arrays = indptr, indices, None if edges.weight is None else weights
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(*arrays, directed, **known)
