"""Union-find in Numba: the components of a graph by their roots, for one thread or several.

Source: R. E. Tarjan, "Efficiency of a good but not linear set union algorithm" (1975), with path
halving. ``parent[v]`` is v for a root, else a vertex on the path to the root. Of two trees, the
larger root comes to hang below the smaller one, so that a root is the smallest vertex of its tree.
Positions are unsigned: with signed ones Numba allows for negative positions, which takes two thirds
of the time of ``join_edges`` (34 ns per edge in place of 10, preferential attachment).

Why several threads may ``join`` at once without a lock: a parent only ever gets smaller, and
whatever a thread reads of it, an old value included, is still an ancestor. Only the
compare-and-swap of ``join`` gives a root a parent, so that no two threads do; where it fails, the
thread goes on from the parent that the other one has set. ``cuda/include/mgraph/union_find.cuh`` is
the same for a GPU.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mgraph.core.compiled import compiled, compiled_when_hot


@compiled_when_hot
def root(parent, v):
    """Find the root of v's component, and halve the path to it."""
    ancestor = parent[np.uint64(v)]
    while ancestor != v:
        following = parent[np.uint64(ancestor)]
        parent[np.uint64(v)] = following
        v, ancestor = ancestor, following
    return v


@intrinsic
def compare_and_swap(context, array, index, expected, value):
    """Set ``array[index]`` to a value if it is as expected, atomically; return what it was."""
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, array, view, [arguments[1]])
        swapped = builder.cmpxchg(place, *arguments[2:], "acq_rel", "monotonic")
        return builder.extract_value(swapped, 0)

    return element(array, types.intp, element, element), generate


@compiled
def join(parent, u, v):
    """Join the trees of two vertices, while other threads may do so as well."""
    a, b = root(parent, u), root(parent, v)
    while a != b:
        larger, smaller = max(a, b), min(a, b)
        previous = compare_and_swap(parent, np.uint64(larger), larger, smaller)
        if previous == larger:
            break
        a, b = root(parent, previous), root(parent, smaller)


@compiled
def join_edges(src, dst, parent):
    """Join the ends of all edges, while other threads may do so as well.

    Returns the position of the first edge with an end outside [0, n), or -1: the edges from there
    on are not joined.
    """
    n = np.uint64(parent.size)
    for i in range(src.size):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u >= n or v >= n:  # also where one is negative
            return i
        a, b = parent[u], parent[v]
        if a != b:
            join(parent, a, b)
    return -1


@compiled
def flatten(parent, first, stop):
    """Let vertices ``first`` to ``stop`` point to their roots.

    Other vertices are only read, since other threads write them.
    """
    for v in range(np.uint64(first), np.uint64(stop)):
        at = parent[v]
        ancestor = parent[np.uint64(at)]
        while ancestor != at:
            at, ancestor = ancestor, parent[np.uint64(ancestor)]
        parent[v] = at
