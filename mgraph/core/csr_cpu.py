"""Edges to compressed sparse rows on the CPU: two counting sorts.

Arcs are sorted by destination, then stably by source: so each row ends up in ascending order of
destinations in O(n + m), and the result does not depend on the order of the edges, but for
parallel edges of different weight, which a pass over each row puts in order.
Cost: four passes over the arcs and two random writes each; memory: the arcs twice.
"""

from typing import Any

import numpy as np
from numba import njit

from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph


@njit(cache=True, nogil=True)
def _count(keys, starts):
    """``starts[k + 1] +=`` the number of keys equal to k."""
    for key in keys:
        starts[key + 1] += 1


@njit(cache=True, nogil=True)
def _scatter(keys, others, weights, cursor, out_keys, out_others, out_weights):
    """A stable counting sort's last pass; ``cursor[k]``: where the next k goes."""
    for i in range(keys.size):
        key = keys[i]
        at = cursor[key]
        cursor[key] = at + 1
        out_keys[at] = key
        out_others[at] = others[i]
        if weights.size:
            out_weights[at] = weights[i]


@njit(cache=True, nogil=True)
def _order_parallel(indptr, indices, weights):
    """Among parallel arcs put the lighter first (insertion sort: runs are short)."""
    for row in range(indptr.size - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            weight, j = weights[i], i
            while j > indptr[row] and indices[j - 1] == indices[i] and weights[j - 1] > weight:
                weights[j] = weights[j - 1]
                j -= 1
            weights[j] = weight


@njit(cache=True, nogil=True)
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


def _sorted_by(keys: Any, others: Any, weights: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """``(starts, keys, others, weights)``, stably sorted by key."""
    starts = np.zeros(n + 1, np.int64)
    _count(keys, starts)
    np.cumsum(starts, out=starts)
    out = np.empty_like(keys), np.empty_like(others), np.empty_like(weights)
    _scatter(keys, others, weights, starts[:-1].copy(), *out)
    return starts, *out


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
        back = src != dst
        weight = np.concatenate([weight, weight[back]]) if weight.size else weight
        src, dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
    _, dst, src, weight = _sorted_by(dst, src, weight, n)
    indptr, src, indices, weights = _sorted_by(src, dst, weight, n)
    if weights.size:
        _order_parallel(indptr, indices, weights)
    if merge:
        kept = _merge(indptr, indices, weights)
        indices, weights = indices[:kept].copy(), weights[:kept].copy()
    arrays = indptr, indices, None if edges.weight is None else weights
    known = {"rows_ascend": True} if directed else {"rows_ascend": True, "symmetric": True}
    return Graph.unchecked(*arrays, directed, **known)
