"""Reductions: edges that no better tree needs are found, by distances and by bounds.

Sources: C. W. Duin, A. Volgenant (1989) for special distances; T. Polzin, S. Vahdati Daneshmand,
"Improved algorithms for the Steiner problem in networks" (2001) for bounds by reduced costs and
Voronoi regions.

- Special distance: an edge is removed if its ends are connected by a chain of paths between
  terminals of which each is shorter than the edge. Paths through the terminals nearest to both ends
  are tried.
- Reduced costs: an arc is removed if the bound, the way to it from the root, its own reduced cost
  and the way from there to a terminal cost more than a known tree.
- Voronoi regions: a vertex that is no terminal is removed if the distances to its two nearest
  terminals and the radii of all regions but the two largest cost more than a known tree.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.core.union_find_cpu import root as find
from mgraph.steiner.improvement.network_cpu import EDGE, EMPTY, HEAD, INFINITY

NONE = -1


class Nearest(NamedTuple):
    """The nearest terminal of each vertex, as an index, and its distance; INFINITY if none."""

    distance: Any
    base: Any


@compiled_when_hot
def find_nearest(indptr, heads, lengths, sources, limit, shift, flag):
    """Return the nearest source of each vertex, an index, and its distance, up to ``limit``."""
    n = indptr.size - 1
    mask = (np.int64(1) << shift) - 1
    limit = min(limit, INFINITY >> shift)
    distance, base = np.full(n, INFINITY), np.full(n, NONE)
    heap = np.full(sources.size + heads.size + 8, EMPTY)
    size = 0
    for i in range(sources.size):
        distance[sources[i]], base[sources[i]] = 0, i
        push_word(heap, size, np.int64(sources[i]))
        size += 1
    while size and not flag[0]:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != distance[u]:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(heads[arc])
            candidate = distance[u] + lengths[arc]
            if candidate < distance[v] and candidate <= limit:
                distance[v], base[v] = candidate, base[u]
                push_word(heap, size, (candidate << shift) | v)
                size += 1
    return Nearest(distance, base)


@compiled_when_hot
def find_mirrors(arcs, num_edges):
    """Return for each arc the arc of its edge in the other direction."""
    first, mirror = np.full(num_edges, NONE), np.empty(arcs.shape[0], np.int64)
    for arc in range(arcs.shape[0]):
        e = arcs[arc, EDGE]
        if first[e] < 0:
            first[e] = arc
        else:
            mirror[arc], mirror[first[e]] = first[e], arc
    return mirror


@compiled_when_hot
def _edges_within(arcs, indptr, reduced, before, after, slack, num_edges):
    """Return which edges have a direction that costs no more than ``slack``."""
    is_kept = np.zeros(num_edges, np.bool_)
    for y in range(indptr.size - 1):
        for arc in range(indptr[y], indptr[y + 1]):
            x = arcs[arc, HEAD]
            if before[x] <= slack and after[y] <= slack - before[x]:
                is_kept[arcs[arc, EDGE]] |= reduced[arc] <= slack - before[x] - after[y]
    return is_kept


@compiled_when_hot
def _arcs_within(indptr, reduced, after, slack):
    is_kept = np.zeros(reduced.size, np.bool_)
    for y in range(indptr.size - 1):
        if after[y] <= slack:
            for arc in range(indptr[y], indptr[y + 1]):
                is_kept[arc] = reduced[arc] <= slack - after[y]
    return is_kept


def arcs_below(indptr: Any, heads: Any, reduced: Any, terminals: Any, slack: int, flag: Any) -> Any:
    """Return whether each arc begins a way to a terminal within ``slack``; see ``edges_below``."""
    shift, limit = np.int64(int(heads.size).bit_length()), np.int64(slack)
    after = find_nearest(indptr, heads, reduced, terminals, limit, shift, flag)
    return _arcs_within(indptr, reduced, after.distance, limit)


def edges_below(network: Any, reduced: Any, root: int, slack: int, flag: Any) -> Any:
    """Return whether each edge may be in a tree that costs the bound and ``slack`` at most.

    reduced: the reduced cost of the arc from ``heads[arc]`` to the vertex in whose row it stands.
    """
    indptr, arcs, shift = network.indptr, network.arcs, network.shift
    heads, mirror = arcs[:, HEAD].copy(), find_mirrors(arcs, network.ends.shape[0])
    limit = np.int64(slack)
    after = find_nearest(indptr, heads, reduced, network.terminals, limit, shift, flag)
    root_alone = np.array([root])
    before = find_nearest(indptr, heads, reduced[mirror], root_alone, limit, shift, flag)
    return _edges_within(
        arcs, indptr, reduced, before.distance, after.distance, limit, network.ends.shape[0]
    )


@compiled_when_hot
def _count_parts(ends, is_kept, terminals, parent):
    """Return into how many parts the kept edges leave the terminals. parent: itself, by vertex."""
    for e in range(is_kept.size):
        if is_kept[e]:
            first = find(parent, np.int64(ends[e, 0]))
            parent[first] = find(parent, np.int64(ends[e, 1]))
    is_root = np.zeros(parent.size, np.bool_)
    for t in terminals:
        is_root[find(parent, t)] = True
    return is_root.sum()


def connects_terminals(network: Any, is_kept: Any) -> bool:
    """Return whether some edges connect all terminals."""
    parent = np.arange(network.indptr.size - 1)
    return bool(_count_parts(network.ends, is_kept, network.terminals, parent) == 1)


@compiled_when_hot
def _bottlenecks(first, second, length, count):
    """Return the links and lengths of a tree in which the bottleneck of two is easily found.

    Where parts of a minimum spanning tree are joined, the root of one is linked to that of the
    other, at the length of the joining edge: by size, so that every way up is short.
    """
    parent, size = np.arange(count), np.ones(count, np.int64)
    up, at = np.arange(count), np.full(count, INFINITY)
    for i in np.argsort(length, kind="mergesort"):
        a, b = find(parent, first[i]), find(parent, second[i])
        if a != b:
            if size[a] > size[b]:
                a, b = b, a
            parent[a], up[a], at[a] = b, b, length[i]
            size[b] += size[a]
    return up, at


@compiled_when_hot
def _bottleneck(up, at, a, b):
    longest = np.int64(0)
    while a != b:
        if at[a] > at[b]:
            a, b = b, a
        if at[a] == INFINITY:
            return at[a]
        longest = max(longest, at[a])
        a = up[a]
    return longest


@compiled_when_hot
def edges_short(ends, weight, distance, base, num_terminals):
    """Return whether each edge passes the test of special distances."""
    first, second = np.empty(weight.size, np.int64), np.empty(weight.size, np.int64)
    length = np.empty(weight.size, np.int64)
    count = 0
    for e in range(weight.size):
        u, v = ends[e, 0], ends[e, 1]
        if base[u] >= 0 and base[v] >= 0 and base[u] != base[v]:
            first[count], second[count] = base[u], base[v]
            length[count] = distance[u] + weight[e] + distance[v]
            count += 1
    up, at = _bottlenecks(first[:count], second[:count], length[:count], num_terminals)
    is_kept = np.ones(weight.size, np.bool_)
    for e in range(weight.size):
        u, v = ends[e, 0], ends[e, 1]
        if base[u] >= 0 and base[v] >= 0 and max(distance[u], distance[v]) < weight[e]:
            is_kept[e] = _bottleneck(up, at, base[u], base[v]) >= weight[e]
    return is_kept


@compiled_when_hot
def _find_second(indptr, arcs, arc_weight, distance, base, shift, flag):
    """Return the distance of each vertex to its second nearest terminal."""
    n = indptr.size - 1
    mask = (np.int64(1) << shift) - 1
    second, limit = np.full(n, INFINITY), INFINITY >> shift
    heap, size = np.full(n + arcs.shape[0] + 8, EMPTY), 0
    for u in range(n):
        for arc in range(indptr[u], indptr[u + 1]):
            v = arcs[arc, HEAD]
            if base[v] >= 0 and base[v] != base[u]:
                second[u] = min(second[u], distance[v] + arc_weight[arc])
        if second[u] < limit:
            push_word(heap, size, (second[u] << shift) | u)
            size += 1
    while size and not flag[0]:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != second[u]:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            candidate = second[u] + arc_weight[arc]
            if base[v] == base[u] and candidate < second[v] and candidate < limit:
                second[v] = candidate
                push_word(heap, size, (candidate << shift) | v)
                size += 1
    return second


@compiled_when_hot
def _find_radii(ends, weight, distance, base, num_terminals):
    """Return how far each terminal is from the nearest vertex of another region."""
    radius = np.full(num_terminals, INFINITY)
    for e in range(weight.size):
        for side in range(2):
            x, y = ends[e, side], ends[e, 1 - side]
            if base[x] >= 0 and base[x] != base[y]:
                radius[base[x]] = min(radius[base[x]], distance[x] + weight[e])
    return radius


def vertices_below(network: Any, weight: Any, nearest: Nearest, cost: int, flag: Any) -> Any:
    """Return whether each vertex may be in a tree that costs no more, by Voronoi regions."""
    arc_weight = weight[network.arcs[:, EDGE]]
    distance, base = nearest
    second = _find_second(
        network.indptr, network.arcs, arc_weight, distance, base, network.shift, flag
    )
    radii = np.sort(_find_radii(network.ends, weight, distance, base, network.terminals.size))
    rest = int(radii[:-2].sum()) if radii[:-2].size and radii[-3] < INFINITY else 0
    is_near = (distance < INFINITY) & (second < INFINITY)
    total = np.where(is_near, distance, 0) + np.where(is_near, second, 0)
    return network.is_terminal | ~is_near | (total <= cost - rest)
