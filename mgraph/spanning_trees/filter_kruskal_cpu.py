"""Filter-Kruskal on all cores: the lightest edges first, and of the others only what they leave.

Source: V. Osipov, P. Sanders, J. Singler, "The filter-Kruskal minimum spanning tree algorithm",
ALENEX 2009, with a sampled bound in place of quicksort's pivots. The sample tells up to which
weight there are about twice as many edges as components to join: those are sorted and go through
Kruskal's union-find. Then components are known, heavier edges inside of one are passed over, and so
on.

An edge is looked at from its larger end, whose row begins with the smaller ones. Cost: O(n + m)
for each pass over the arcs, of which there are a handful, and O(k log k) for the k edges sorted,
about n to 3n where weights differ; 4 or 8 bytes a vertex, 28 to 36 an edge sorted at a time.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.host import available_cores
from mgraph.core.rows import row_pieces
from mgraph.core.union_find_cpu import root

_SAMPLES = 4096
_FEW_SAMPLES = 64  # tell too little: then all that is left is taken
_EDGES_A_COMPONENT = 2
_CHUNK_ARCS = 1 << 20
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def run(
    indptr: Any,
    indices: Any,
    keys: Any,
    edges: int | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """The forest's edges by id, int64, ascending. keys: ``(m,)``, unsigned. Rows must ascend.

    edges: how many there are, by default half of the arcs; rows may hold smaller neighbours alone.
    threads: by default one a core.
    """
    n, m = indptr.size - 1, indices.size
    if m == 0:
        return np.empty(0, np.int64)
    parent = np.arange(n, dtype=indices.dtype)
    chosen, found = np.empty(n, np.int64), 0
    chunks = [rows for *rows, _, _ in row_pieces(indptr, _CHUNK_ARCS)]
    met = int(_vertices_met(indptr, indices) if edges else np.count_nonzero(np.diff(indptr)))
    random = np.random.default_rng(1)
    collect, flatten = cancellation.with_token(_collect), cancellation.with_token(_flatten)
    low, most = -1, int(np.iinfo(keys.dtype).max)
    with ThreadPoolExecutor(threads or available_cores()) as pool:
        while low < most:
            left = m // 2 if edges is None else edges
            high = _bound(indptr, indices, keys, parent, low, left, met - found, random)
            band = keys.dtype.type(low + 1), keys.dtype.type(high)
            tasks = [
                pool.submit(collect, indptr, indices, keys, parent, *band, *chunk)
                for chunk in chunks
            ]
            tails, arcs = map(np.concatenate, zip(*(task.result() for task in tasks), strict=True))
            order = _order(keys[arcs])
            for piece in cancellation.chunks(order.size):
                found = int(_unite(parent, tails, indices, arcs, order[piece], chosen, found))
            for task in [pool.submit(flatten, parent, *chunk) for chunk in chunks]:
                task.result()
            low = high
    return np.sort(chosen[:found])


@compiled
def _vertices_met(indptr, indices):
    """How many vertices have an edge."""
    met = np.zeros(indptr.size - 1, np.bool_)
    for u in range(met.size):
        for arc in range(indptr[u], indptr[u + 1]):
            met[u] = met[indices[arc]] = True
    return met.sum()


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
    """Up to which key edges should be taken next, of so many in all, those above ``low``."""
    arcs = random.integers(0, indices.size, _SAMPLES)
    sample = keys[arcs]
    tails = np.searchsorted(indptr, arcs, "right") - 1
    left = sample[(parent[tails] != parent[indices[arcs]]) & (sample > low)]
    between = edges * (left.size / _SAMPLES)
    wanted = _EDGES_A_COMPONENT * components
    if left.size < _FEW_SAMPLES or between < 2 * wanted:
        return int(np.iinfo(keys.dtype).max)
    place = int(left.size * wanted / between)
    return int(np.partition(left, place)[place])


@compiled
def _collect(indptr, indices, keys, parent, low, high, first, stop):
    """Tails and arcs, from the larger end, of edges between components with keys of a band.

    Of the rows from ``first`` to ``stop``; ``parent`` names each vertex's component.
    """
    most = indptr[stop] - indptr[first]
    tails, arcs = np.empty(most, indices.dtype), np.empty(most, np.int64)
    count = 0
    for u in range(first, stop):
        own = parent[u]
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v >= u:
                break
            if low <= keys[arc] <= high and parent[v] != own:
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
def _unite(parent, tails, indices, arcs, order, chosen, found):
    """Kruskal's algorithm: append to ``chosen``; returns how many there are."""
    for i in order:
        a, b = root(parent, tails[i]), root(parent, indices[arcs[i]])
        if a != b:
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
            chosen[found] = arcs[i]
            found += 1
    return found


@compiled
def _flatten(parent, first, stop):
    """Name the vertices' components. Others' are not written: they have their own threads."""
    for v in range(first, stop):
        at = v
        while parent[at] != at:
            at = parent[at]
        parent[v] = at
