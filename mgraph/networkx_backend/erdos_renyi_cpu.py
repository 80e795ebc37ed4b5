"""NetworkX's random graphs of n nodes whose edges are all equally likely, edge by edge.

Sources: V. Batagelj, U. Brandes, "Efficient generation of large random networks" (2005), for graphs
with a probability; NetworkX, networkx/generators/random_graphs.py, for the order of draws.
"""

import math
import random

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.networkx_backend.mersenne_twister_cpu import draw_below, draw_unit, drawing

_HASH = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio
_SPARE_EDGES = 1000


@compiled
def _draw_different(n, directed, state, table, src, dst):
    """Fill ``src`` and ``dst`` with different edges. table: 2^k entries, of -1 and more of them."""
    mask = np.uint64(table.size - 1)
    edge = 0
    while edge < src.size:
        u, v = draw_below(state, n), draw_below(state, n)
        if u == v:
            continue
        key = u * n + v if directed or u < v else v * n + u
        slot = (np.uint64(key) * np.uint64(_HASH)) >> np.uint64(20) & mask
        while table[slot] >= 0 and table[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = key
            src[edge], dst[edge] = u, v
            edge += 1


def draw_edges(
    n: int, m: int, directed: bool, generator: random.Random
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of NetworkX's m different edges, in its order.

    2 <= n < 2^31; m is less than the number of pairs. 16 to 32 bytes per edge beside the result.
    """
    src, dst = np.empty(m, np.int32), np.empty(m, np.int32)
    table = np.full(1 << (2 * m).bit_length(), -1)
    with drawing(generator) as state:
        _draw_different(n, directed, state, table, src, dst)
    return src, dst


@compiled
def _draw_gaps(n, log_absent, position, state, src, dst):
    """Fill ``src`` and ``dst`` as far as edges go; return how many there are.

    position: the pair at which the last call ended, v and w, which goes on there.
    """
    v, w = position
    edge = 0
    while v < n and edge < src.size:
        w += 1 + np.int64(math.log(1.0 - draw_unit(state)) / log_absent)
        while w >= v and v < n:
            w -= v
            v += 1
        if v < n:
            src[edge], dst[edge] = v, w
            edge += 1
    position[0], position[1] = v, w
    return edge


def draw_likely_edges(n: int, p: float, generator: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of NetworkX's edges of probability p, in its order.

    1 <= n < 2^31 and 10^-15 <= p < 1.
    """
    mean = p * n * (n - 1) / 2
    capacity = int(mean + 4 * math.sqrt(mean)) + _SPARE_EDGES
    position, pieces = np.array([1, -1]), []
    with drawing(generator) as state:
        while position[0] < n:
            src, dst = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
            count = _draw_gaps(n, math.log(1.0 - p), position, state, src, dst)
            pieces.append((src[:count], dst[:count]))
    if not pieces:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    src, dst = map(np.concatenate, zip(*pieces, strict=True))
    return src, dst
