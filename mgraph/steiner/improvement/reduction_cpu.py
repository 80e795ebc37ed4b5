"""Reductions: edges that no better tree needs are removed, those that it must hold are contracted.

Sources: C. W. Duin, A. Volgenant (1989) for the tests of degrees, special distances and nearest
terminals; T. Polzin, S. Vahdati Daneshmand, "Improved algorithms for the Steiner problem in
networks" (2001) for bounds by reduced costs and Voronoi regions.

- Degree: a vertex of one edge is removed, or its edge taken if it is a terminal; the two edges of
  another vertex become one. A terminal's lightest edge is taken if it leads to a terminal.
- Special distance: an edge is removed if its ends are connected by a chain of paths between
  terminals of which each is shorter than the edge. Paths through the terminals nearest to both ends
  are tried.
- Reduced costs: an arc is removed if the bound, the way to it from the root, its own reduced cost
  and the way from there to a terminal cost more than a known tree.
- Voronoi regions: a vertex that is no terminal is removed if the distances to its two nearest
  terminals and the radii of all regions but the two largest cost more than a known tree.

Edges that stand for several are recorded as pairs, so that a tree can be expanded again.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.core.union_find_cpu import root as find
from mgraph.steiner.improvement import network_cpu
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


@compiled_when_hot
def _shrink(ends, weight, is_alive, is_terminal, pairs):
    """Apply the tests of degrees until none applies.

    ends, weight, is_alive: of the edges, with free rows for new ones, as many as vertices. pairs:
    filled with the two edges of each new one. Returns the number of edges, the vertex that each
    vertex was contracted into, and the edges that some best tree holds.
    """
    n, count = is_terminal.size, weight.size - is_terminal.size
    into = np.arange(n)
    degree, first = np.zeros(n, np.int64), np.full(n, NONE)
    following = np.full(2 * weight.size, NONE)  # of the half-edges 2 e and 2 e + 1
    num_terminals = is_terminal.sum()
    for i in range(count):
        if is_alive[i]:
            for side in range(2):
                x = ends[i, side]
                following[2 * i + side], first[x] = first[x], 2 * i + side
                degree[x] += 1
    taken, queue = [np.int64(0) for _ in range(0)], [np.int64(v) for v in range(n)]
    while len(queue) > 0:
        v = np.int64(queue.pop())
        if into[v] != v or degree[v] == 0:
            continue
        if num_terminals == 1:
            break
        # The edges at v, without those that are gone.
        lightest, second = np.int64(NONE), np.int64(NONE)
        half, last = first[v], np.int64(NONE)
        while half >= 0:
            f = half >> 1
            if is_alive[f]:
                if lightest < 0 or weight[f] < weight[lightest]:
                    lightest, second = f, lightest
                elif second < 0 or weight[f] < weight[second]:
                    second = f
                last = half
            elif last < 0:
                first[v] = following[half]
            else:
                following[last] = following[half]
            half = following[half]
        e = np.int64(lightest)
        a = find(into, np.int64(ends[e, 0])) + find(into, np.int64(ends[e, 1])) - v
        if not is_terminal[v]:
            if degree[v] == 1:
                is_alive[e] = False
                degree[v] -= 1
                degree[a] -= 1
                queue.append(a)
            elif degree[v] == 2:
                f = second
                b = find(into, np.int64(ends[f, 0])) + find(into, np.int64(ends[f, 1])) - v
                is_alive[e] = is_alive[f] = False
                degree[v] = 0
                if a == b:
                    degree[a] -= 2
                    queue.append(a)
                else:
                    new = count
                    count += 1
                    ends[new, 0], ends[new, 1], weight[new] = a, b, weight[e] + weight[f]
                    is_alive[new] = True
                    pairs[new - (weight.size - n), 0], pairs[new - (weight.size - n), 1] = e, f
                    following[2 * new], first[a] = first[a], 2 * new
                    following[2 * new + 1], first[b] = first[b], 2 * new + 1
        elif degree[v] == 1 or is_terminal[a]:
            # The edge is taken, and v becomes a part of a.
            taken.append(np.int64(e))
            num_terminals -= is_terminal[a]
            is_terminal[v], is_terminal[a] = False, True
            into[v] = a
            half = first[v]
            while half >= 0:
                f = half >> 1
                if is_alive[f]:
                    other = ends[f, 1 - (half & 1)]
                    if find(into, np.int64(other)) == a:  # e, or an edge parallel to it
                        is_alive[f] = False
                        degree[a] -= 1
                        degree[v] -= 1
                    else:
                        queue.append(find(into, np.int64(other)))
                half = following[half]
            # The lists of edges are strung together.
            if first[v] >= 0:
                half = first[v]
                while following[half] >= 0:
                    half = following[half]
                following[half], first[a] = first[a], first[v]
            degree[a] += degree[v]
            degree[v] = 0
            queue.append(a)
    for u in range(n):
        into[u] = find(into, u)
    return count, into, np.array(taken, np.int64)


@compiled_when_hot
def _expand(edges, pairs, num_edges):
    """Return the edges that some edges stand for. pairs: of the edges from ``num_edges`` on."""
    stack, expanded = [np.int64(e) for e in edges], [np.int64(0) for _ in range(0)]
    while len(stack) > 0:
        e = stack.pop()
        if e < num_edges:
            expanded.append(e)
        else:
            stack.append(pairs[e - num_edges, 0])
            stack.append(pairs[e - num_edges, 1])
    return np.array(expanded, np.int64)


class Reduced(NamedTuple):
    """A smaller problem, and how its trees are expanded to trees of the problem.

    network, weight: empty, and no terminals, if all that is needed was taken. edge: for each edge
    one of the problem, or a pair. pairs: of the numbers from ``num_edges`` on. taken: the edges
    that every tree gets.
    """

    network: Any
    weight: Any
    edge: Any
    pairs: Any
    taken: Any
    num_edges: int

    def expand(self, tree: Any) -> Any:
        """Return the tree of the problem for one of the smaller problem, ascending."""
        edges = np.concatenate([self.edge[tree], self.taken])
        return np.sort(_expand(edges, self.pairs, self.num_edges))

    def restrict(self, tree: Any) -> Any:
        """Return the edges of the smaller problem whose every part is in a tree."""
        is_in_tree = np.zeros(self.num_edges + len(self.pairs), bool)
        is_in_tree[tree] = True
        _mark_pairs(is_in_tree, self.pairs, self.num_edges)
        return np.flatnonzero(is_in_tree[self.edge])


@compiled_when_hot
def _mark_pairs(is_marked, pairs, num_edges):
    for i in range(pairs.shape[0]):  # a pair comes after its parts
        is_marked[num_edges + i] = is_marked[pairs[i, 0]] and is_marked[pairs[i, 1]]


def shrink(network: Any, weight: Any, is_kept: Any) -> Reduced:
    """Return the problem without some edges, after the tests of degrees."""
    n, m = network.indptr.size - 1, weight.size
    ends = np.concatenate([network.ends, np.zeros((n, 2), np.int32)])
    weights = np.concatenate([weight, np.zeros(n, np.int64)])
    is_alive = np.concatenate([is_kept, np.zeros(n, bool)])
    is_terminal, pairs = network.is_terminal.copy(), np.zeros((n, 2), np.int64)
    count, into, taken = _shrink(ends, weights, is_alive, is_terminal, pairs)
    alive = np.flatnonzero(is_alive[:count])
    low, high = np.sort(into[ends[alive]], axis=1).T
    # Of parallel edges the lightest remains.
    order = np.lexsort((weights[alive], high, low))
    low, high, alive = low[order], high[order], alive[order]
    is_first = np.ones(order.size, bool)
    is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, alive = low[is_first], high[is_first], alive[is_first]
    vertex = np.unique(np.concatenate([low, high]))
    terminals = np.flatnonzero(is_terminal[vertex])
    src, dst = np.searchsorted(vertex, low), np.searchsorted(vertex, high)
    smaller = network_cpu.build(vertex.size, src, dst, terminals)
    return Reduced(smaller, weights[alive], alive, pairs[: count - m], taken, m)
