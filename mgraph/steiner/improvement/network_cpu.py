"""The graph that local search works on: edges with ids, and weights as integers.

Trees are arrays of edge ids. Weights are integers in units of a power of two, so that one kind of
compiled code serves all graphs, and a queue's entry is one word: a distance, and a vertex in the
low bits. Integer weights are exact unless a known tree costs 2^62 / n or more; fractions are
rounded by less than a unit, of which such a tree has some 2^62 / n.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot

# No sum of weights on a path within a known tree's cost, nor a noisy one, comes near it.
INFINITY = np.int64(1 << 62)
EMPTY = np.int64((1 << 63) - 1)  # a free slot of a heap of words
# Integer weights are multiplied by up to that, so that noise can be small.
MAX_FINE = 1 << 20


class Network(NamedTuple):
    """A graph with edge ids. indptr: ``(n + 1,)`` int64. head, edge: int32, of each arc.

    src, dst: int32, of each edge. is_terminal: bool. terminals: int64, ascending. shift: int64, the
    low bits of a queue's entry, which hold a vertex or an arc.
    """

    indptr: Any
    head: Any
    edge: Any
    src: Any
    dst: Any
    is_terminal: Any
    terminals: Any
    shift: Any


class Workspace(NamedTuple):
    """Arrays by vertex that functions share; each leaves them as it found them.

    position: -1 outside of a tree. distance: INFINITY. base, via: of labelled vertices. stamp:
    False. fresh_distance, fresh_base, fresh_via: as distance, base and via. parent: itself. above:
    -1. up: of vertices with one above. degree, link: 0. heap: EMPTY words, one per arc and vertex.
    """

    position: Any
    distance: Any
    base: Any
    via: Any
    stamp: Any
    fresh_distance: Any
    fresh_base: Any
    fresh_via: Any
    parent: Any
    above: Any
    up: Any
    degree: Any
    link: Any
    heap: Any


@compiled_when_hot
def _build_rows(indptr, head, edge, src, dst):
    cursor = indptr[:-1].copy()
    for e in range(src.size):
        u, v = src[e], dst[e]
        head[cursor[u]], edge[cursor[u]] = v, e
        cursor[u] += 1
        head[cursor[v]], edge[cursor[v]] = u, e
        cursor[v] += 1


def build(n: int, src: Any, dst: Any, terminals: Any) -> Network:
    """Build the network of some edges, without loops. terminals: int64, ascending."""
    src, dst = src.astype(np.int32), dst.astype(np.int32)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(src, minlength=n) + np.bincount(dst, minlength=n), out=indptr[1:])
    head, edge = np.empty(2 * src.size, np.int32), np.empty(2 * src.size, np.int32)
    _build_rows(indptr, head, edge, src, dst)
    is_terminal = np.zeros(n, bool)
    is_terminal[terminals] = True
    shift = np.int64(max(n, 2 * src.size).bit_length())
    return Network(indptr, head, edge, src, dst, is_terminal, terminals, shift)


def new_workspace(network: Network) -> Workspace:
    """Allocate a workspace: 82 bytes per vertex, 8 per arc."""
    n = network.indptr.size - 1
    return Workspace(
        position=np.full(n, -1),
        distance=np.full(n, INFINITY),
        base=np.zeros(n, np.int64),
        via=np.zeros(n, np.int64),
        stamp=np.zeros(n, np.bool_),
        fresh_distance=np.full(n, INFINITY),
        fresh_base=np.zeros(n, np.int64),
        fresh_via=np.zeros(n, np.int64),
        parent=np.arange(n),
        above=np.full(n, -1),
        up=np.zeros(n, np.int64),
        degree=np.zeros(n, np.int64),
        link=np.zeros(n, np.int64),
        heap=np.full(n + network.head.size + 8, EMPTY),
    )


def choose_scale(weights: Any, network_size: int, cost: Any) -> float:
    """Return the power of two by which weights are multiplied.

    network_size: the larger of vertices and arcs. cost: of a known tree; no distance above it
    matters. Noise may double a distance, and a removed part cost as much.
    """
    free_bits = 62 - network_size.bit_length() - 3
    exponent = free_bits - math.frexp(max(float(cost), 1e-300))[1]
    if weights.dtype.kind == "i":
        exponent = min(exponent, MAX_FINE.bit_length() - 1)
    return math.ldexp(1.0, max(-1000, min(exponent, 1000)))


def to_units(weights: Any, scale: float, cost: Any) -> Any:
    """Return weights in units, int64; those above the cost of a known tree count as little more."""
    units = np.minimum(weights, 2 * cost).astype(np.float64) * scale
    if weights.dtype.kind == "i" and scale >= 1:
        return np.minimum(weights, 2 * cost).astype(np.int64) * np.int64(scale)
    return np.maximum(np.ceil(units), 1).astype(np.int64)
