"""The graph that local search works on: edges with ids, and weights as integers.

Trees are arrays of edge ids. Weights are integers in units of a power of two, so that one kind of
compiled code serves all graphs, and a queue's entry is one word: a distance, and a vertex in the
low bits. Integer weights are exact unless a known tree costs 2^62 / n or more; fractions are
rounded by less than a unit, of which such a tree has some 2^62 / n.

Compiled functions that are called often take arrays, not these tuples, whose arrays Numba counts
references to at every call; columns that are read together stand side by side.
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
LIFT = 2.0**600
# Columns of arcs, of labels, and of a tree's links.
HEAD, EDGE = 0, 1
DISTANCE, BASE, VIA = 0, 1, 2
ABOVE, UP, DEGREE, LINK = 0, 1, 2, 3


class Network(NamedTuple):
    """A graph with edge ids.

    indptr: ``(n + 1,)`` int64. arcs: ``(2 m, 2)`` int32, head and edge of each arc. ends: int32,
    ``(m, 2)``. is_terminal: bool. terminals: int64, ascending. shift: int64, the low bits of a
    queue's entry, which hold a vertex or an arc.
    """

    indptr: Any
    arcs: Any
    ends: Any
    is_terminal: Any
    terminals: Any
    shift: Any


class Workspace(NamedTuple):
    """Arrays by vertex that functions share; each leaves them as it found them.

    position: -1 outside of a tree. labels: distance, base and via of each vertex; the distance is
    INFINITY. fresh: the same again. stamp: False. parent: itself. links: above (-1), up, degree and
    link (0), see ``linked_tree_cpu``. heap: EMPTY words, one per arc and vertex. scratch: anything.
    """

    position: Any
    labels: Any
    fresh: Any
    stamp: Any
    parent: Any
    links: Any
    heap: Any
    scratch: Any


@compiled_when_hot
def order_by(keys, shift):
    """Return the indices of keys, which fit above ``shift`` bits, in ascending order; stable."""
    words = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        words[i] = (keys[i] << shift) | i
    words.sort()
    return words & ((np.int64(1) << shift) - 1)


@compiled_when_hot
def _build_rows(indptr, arcs, ends):
    cursor = indptr[:-1].copy()
    for e in range(ends.shape[0]):
        u, v = ends[e, 0], ends[e, 1]
        arcs[cursor[u], HEAD], arcs[cursor[u], EDGE] = v, e
        cursor[u] += 1
        arcs[cursor[v], HEAD], arcs[cursor[v], EDGE] = u, e
        cursor[v] += 1


def build(n: int, src: Any, dst: Any, terminals: Any) -> Network:
    """Build the network of some edges, without loops. terminals: int64, ascending."""
    ends = np.empty((src.size, 2), np.int32)
    ends[:, 0], ends[:, 1] = src, dst
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends.ravel(), minlength=n), out=indptr[1:])
    arcs = np.empty((2 * src.size, 2), np.int32)
    _build_rows(indptr, arcs, ends)
    is_terminal = np.zeros(n, bool)
    is_terminal[terminals] = True
    shift = np.int64(max(n, 2 * src.size).bit_length())
    return Network(indptr, arcs, ends, is_terminal, terminals, shift)


def new_workspace(network: Network) -> Workspace:
    """Allocate a workspace: 129 bytes per vertex, 8 per arc."""
    n = network.indptr.size - 1
    labels = np.zeros((n, 3), np.int64)
    labels[:, DISTANCE] = INFINITY
    links = np.zeros((n, 4), np.int64)
    links[:, ABOVE] = -1
    return Workspace(
        position=np.full(n, -1),
        labels=labels,
        fresh=labels.copy(),
        stamp=np.zeros(n, np.bool_),
        parent=np.arange(n),
        links=links,
        heap=np.full(n + network.arcs.shape[0] + 8, EMPTY),
        scratch=np.zeros((n, 3), np.int64),
    )


def choose_lift(cost: float) -> float:
    """Return a factor for weights whose scale would be infinite; 1 where a tree costs enough."""
    return LIFT if 0 < cost < 1 / LIFT else 1.0


def choose_scale(is_whole: bool, size: int, cost: Any) -> float:
    """Return the power of two by which weights are multiplied.

    is_whole: whether they are integers. size: the larger of vertices and arcs. cost: of a known
    tree: no distance above it matters, but noise may double it.
    """
    exponent = 62 - size.bit_length() - 3 - math.frexp(float(cost))[1]
    if is_whole:
        exponent = min(exponent, MAX_FINE.bit_length() - 1)
    return math.ldexp(1.0, max(-1000, min(exponent, 1000)))
