"""Tests of degrees: edges that every good tree has or none are found one after another.

A vertex of one edge is removed, or its edge taken if it is a terminal; the two edges of another
vertex become one. A terminal's lightest edge is taken if it leads to a terminal. Edges that stand
for several are recorded as pairs, so that a tree can be expanded again.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import root as find
from mgraph.steiner.improvement import network_cpu

NONE = -1


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
