"""Filter-Kruskal on all cores: light edges first, and of the heavier ones only what remains.

Source: V. Osipov, P. Sanders, J. Singler, "The filter-Kruskal minimum spanning tree algorithm",
ALENEX 2009, with a sampled bound instead of quicksort's pivots. The sample estimates the weight up
to which there are about twice as many edges as components. These edges are sorted and go through
Kruskal's union-find. Then every vertex learns its component, heavier edges within a component are
filtered, and the next band follows.

An edge is read from its larger end, whose row begins with the smaller neighbours. Cost: O(n + m)
per pass over the arcs, of which there are a handful, and O(k log k) for the k edges that are
sorted, about n to 3n unless weights tie; 4 or 8 bytes per vertex, 28 to 36 per edge of a band.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.host import available_cores
from mgraph.core.rows import row_pieces
from mgraph.core.union_find_cpu import flatten, root

_SAMPLES = 4096
_MIN_SAMPLES = 64  # with fewer between components the estimate is poor: all edges are taken
_EDGES_PER_COMPONENT = 2
_CHUNK_ARCS = 1 << 20
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def run(
    indptr: Any,
    indices: Any,
    keys: Any,
    edges: int | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Compute the forest's edges by id, int64, ascending.

    keys: ``(m,)``, unsigned, in the order of the weights. Rows must ascend. edges: the number of
    edges if rows hold the smaller neighbours only; by default half of the arcs. threads: by default
    one per core.
    """
    n, m = indptr.size - 1, indices.size
    if m == 0:
        return np.empty(0, np.int64)
    parent = np.arange(n, dtype=indices.dtype)
    chosen, count = np.empty(n, np.int64), 0
    chunks = [rows for *rows, _, _ in row_pieces(indptr, _CHUNK_ARCS)]
    degrees = np.diff(indptr)
    touched = int(_count_touched(indptr, indices) if edges else np.count_nonzero(degrees))
    random = np.random.default_rng(1)
    collect, settle = cancellation.with_token(_collect), cancellation.with_token(flatten)
    low, max_key = -1, int(np.iinfo(keys.dtype).max)
    total_edges = m // 2 if edges is None else edges
    with ThreadPoolExecutor(threads or available_cores()) as pool:
        while low < max_key:
            components = touched - count
            high = _bound(indptr, indices, keys, parent, low, total_edges, components, random)
            band = keys.dtype.type(low + 1), keys.dtype.type(high)
            tasks = [
                pool.submit(collect, indptr, indices, keys, parent, *band, *chunk)
                for chunk in chunks
            ]
            tails, arcs = map(np.concatenate, zip(*(task.result() for task in tasks), strict=True))
            order = _order(keys[arcs])
            for piece in cancellation.chunks(order.size):
                count = int(_unite(parent, tails, indices, arcs, order[piece], chosen, count))
            for task in [pool.submit(settle, parent, *chunk) for chunk in chunks]:
                task.result()
            low = high
    return np.sort(chosen[:count])


@compiled
def _count_touched(indptr, indices):
    """The number of vertices that have an edge."""
    is_touched = np.zeros(indptr.size - 1, np.bool_)
    for u in range(is_touched.size):
        for arc in range(indptr[u], indptr[u + 1]):
            is_touched[u] = is_touched[indices[arc]] = True
    return is_touched.sum()


def _bound(
    indptr: Any,
    indices: Any,
    keys: Any,
    parent: Any,
    low: int,
    edges: int,
    components: int,
    random: Any,
) -> int:
    """The largest key of the next band of edges, which have keys above ``low``.

    edges: the number of all edges, in every band.
    """
    arcs = random.integers(0, indices.size, _SAMPLES)
    sample = keys[arcs]
    tails = np.searchsorted(indptr, arcs, "right") - 1
    remaining = sample[(parent[tails] != parent[indices[arcs]]) & (sample > low)]
    estimate = edges * (remaining.size / _SAMPLES)
    target = _EDGES_PER_COMPONENT * components
    if remaining.size < _MIN_SAMPLES or estimate < 2 * target:
        return int(np.iinfo(keys.dtype).max)
    position = int(remaining.size * target / estimate)
    return int(np.partition(remaining, position)[position])


@compiled
def _collect(indptr, indices, keys, parent, low, high, first, stop):
    """List the edges of rows ``first`` to ``stop`` with keys in [low, high] between components.

    ``parent`` holds each vertex's component. Returns the tails and the arcs from the larger ends.
    """
    capacity = indptr[stop] - indptr[first]
    tails, arcs = np.empty(capacity, indices.dtype), np.empty(capacity, np.int64)
    count = 0
    for u in range(first, stop):
        component = parent[u]
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v >= u:
                break
            if low <= keys[arc] <= high and parent[v] != component:
                tails[count], arcs[count] = u, arc
                count += 1
    return tails[:count].copy(), arcs[:count].copy()


def _order(keys: Any) -> Any:
    """Positions in ascending order of key, then position."""
    if keys.itemsize == 8 or keys.size > int(_LOW):
        return np.argsort(keys, kind="stable")
    packed = keys.astype(np.uint64) << _WORD | np.arange(keys.size, dtype=np.uint64)
    packed.sort()
    return packed & _LOW


@compiled
def _unite(parent, tails, indices, arcs, order, chosen, count):
    """Kruskal's algorithm: append edges to ``chosen``, and return their number."""
    for i in order:
        a, b = root(parent, tails[i]), root(parent, indices[arcs[i]])
        if a != b:
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
            chosen[count] = arcs[i]
            count += 1
    return count
