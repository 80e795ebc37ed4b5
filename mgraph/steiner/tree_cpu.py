"""A candidate tree as STAR sees it: in preorder, cut and spliced in time linear in its size.

Preorder makes every part of STAR's step an interval of positions. A loose path, from a fixed vertex
up to the next fixed one, holds the positions [first, last]: those before ``last`` are its
intermediate vertices, since a vertex with one child comes just before it. Without the path there
remain the partition below, [last, end of last's subtree), and the partition above, which is all
the rest and holds the root. So cutting a path costs nothing, and whether a vertex is in a partition
is two comparisons.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.errors import MgraphError

NO_WAY_BACK = (
    "A shortest path could not be followed back to the tree, so the graph does not hold both arcs "
    "of each edge with one weight, or its arrays were changed during the query. Build it with "
    "mgraph.from_edges(edges, directed=False), and do not write to its arrays."
)


class Tree(NamedTuple):
    """A tree whose root, at position 0, is its least terminal; arrays by position, in preorder.

    vertex: int64, ids. parent: int64, positions, -1 at the root. weight: to the parent, int64 or
    float64, 0 at the root. end: int64, one past the last position of the subtree. terminal: bool.
    """

    vertex: Any
    parent: Any
    weight: Any
    end: Any
    terminal: Any


class LoosePaths(NamedTuple):
    """Loose paths in the order in which STAR tries them: the longest first; int64, and lengths.

    A path's positions are first to last; its upper end is the parent of first. Of paths of one
    length that with the least lower end comes first. Lengths are the sums of the weights, from the
    lower end up, as 32 threads of a GPU add them up: so fractions are rounded alike.
    """

    first: Any
    last: Any
    length: Any


@compiled
def from_edges(src, dst, weight, terminals):
    """The tree of these edges without its branches that lead to no terminal.

    src, dst: ids; weight: int64 or float64. terminals: ids, ascending, all of them in the tree.
    """
    ids = np.unique(np.concatenate((src, dst, terminals)))
    terminal = np.zeros(ids.size, np.bool_)
    terminal[np.searchsorted(ids, terminals)] = True
    root = np.searchsorted(ids, terminals[0])
    return _of_places(
        ids, np.searchsorted(ids, src), np.searchsorted(ids, dst), weight, terminal, root
    )


def in_order(tree: Tree) -> Tree:
    """The tree with every vertex's children in ascending order, as ``from_edges`` has them."""
    upper = tree.vertex[tree.parent[1:]]
    return from_edges(tree.vertex[1:], upper, tree.weight[1:], np.sort(tree.vertex[tree.terminal]))


@compiled
def from_paths(vertex, weight, begin, size, terminals, zero):
    """The tree of paths from one vertex to each terminal; returns it.

    Path i is ``vertex[begin[i] : begin[i] + size[i]]``, with the weights to the vertices before;
    integers of any size. Each is followed from the last of its vertices that an earlier path has.
    zero: of the tree's weights, int64 or float64.
    """
    known = {np.int64(vertex[begin[0]])}
    total = size.sum()
    src, dst = np.empty(total, np.int64), np.empty(total, np.int64)
    to = np.full(total, zero)
    count = 0
    for i in range(begin.size):
        end = begin[i] + size[i]
        at = end - 1
        while np.int64(vertex[at]) not in known:
            at -= 1
        for step in range(at + 1, end):
            src[count], dst[count], to[count] = vertex[step - 1], vertex[step], weight[step]
            known.add(dst[count])
            count += 1
    return from_edges(src[:count], dst[:count], to[:count], terminals)


@compiled
def from_steps(vertex, weight, last, before):
    """The tree of some loose paths, one after another. before: a tree of the same terminals.

    vertex: integers of any size. weight: to the next vertex; but where ``last`` says that a vertex
    is its path's last one.
    """
    edges = np.flatnonzero(~last)
    src, dst = np.empty(edges.size, np.int64), np.empty(edges.size, np.int64)
    to = np.empty(edges.size, before.weight.dtype)
    for i, step in enumerate(edges):
        src[i], dst[i], to[i] = vertex[step], vertex[step + 1], weight[step]
    return from_edges(src, dst, to, np.sort(before.vertex[before.terminal]))


@compiled
def _of_places(ids, src, dst, weight, terminal, root):
    size = ids.size
    start = np.zeros(size + 1, np.int64)
    for edge in range(src.size):
        start[src[edge]] += 1
        start[dst[edge]] += 1
    degree = start[:-1].copy()
    start = np.cumsum(start)
    edges = np.empty(2 * src.size, np.int64)
    for edge in range(src.size):
        for end in (src[edge], dst[edge]):
            start[end] -= 1
            edges[start[end]] = edge
    parent, to_parent = np.full(size, -2), np.zeros(size, weight.dtype)
    queue, waiting, done = np.empty(size, np.int64), 1, 0
    queue[0], parent[root] = root, -1
    while done < waiting:
        place = queue[done]
        done += 1
        for edge in edges[start[place] : start[place] + degree[place]]:
            other = dst[edge] if src[edge] == place else src[edge]
            if parent[other] == -2:
                parent[other], to_parent[other] = place, weight[edge]
                queue[waiting] = other
                waiting += 1
    if waiting < size:
        raise MgraphError(NO_WAY_BACK)
    kept = np.ones(size, np.bool_)
    for at in range(size - 1, 0, -1):
        place = queue[at]
        if degree[place] == 1 and not terminal[place]:
            kept[place] = False
            degree[parent[place]] -= 1
    place_of = np.cumsum(kept) - 1
    for place in range(size):
        if parent[place] >= 0:
            parent[place] = place_of[parent[place]]
    return in_preorder(ids[kept], parent[kept], to_parent[kept], terminal[kept])


@compiled
def in_preorder(vertex, parent, weight, terminal):
    """The tree of these vertices; parent: places in the arrays, -1 at the root alone."""
    size = vertex.size
    start = np.zeros(size + 2, np.int64)  # of each place's children; the root is a child of none
    for place in range(size):
        start[parent[place] + 2] += 1
    for place in range(1, size + 2):
        start[place] += start[place - 1]
    children = np.empty(size, np.int64)
    cursor = start[:-1].copy()
    for place in range(size):
        children[cursor[parent[place] + 1]] = place
        cursor[parent[place] + 1] += 1
    position, order = np.empty(size, np.int64), np.empty(size, np.int64)
    stack = np.empty(size, np.int64)
    stack[0], waiting, at = children[0], 1, 0
    while waiting:
        waiting -= 1
        place = stack[waiting]
        order[at], position[place] = place, at
        at += 1
        for child in range(start[place + 2] - 1, start[place + 1] - 1, -1):
            stack[waiting] = children[child]
            waiting += 1
    upper = np.empty(size, np.int64)
    end = np.arange(1, size + 1)
    upper[0] = -1
    for at in range(1, size):
        upper[at] = position[parent[order[at]]]
    for at in range(size - 1, 0, -1):
        end[upper[at]] = max(end[upper[at]], end[at])
    return Tree(vertex[order], upper, weight[order], end, terminal[order])


@compiled
def degrees(tree):
    """How many edges each position has."""
    degree = (tree.parent >= 0).astype(np.int64)
    for at in range(1, degree.size):
        degree[tree.parent[at]] += 1
    return degree


@compiled
def _length(weight, first, last):
    """The sum of the weights at these positions: of every 32nd first, then of halves."""
    sums = np.zeros(32, weight.dtype)
    for i in range(last - first + 1):
        sums[i % 32] += weight[last - i]
    apart = 16
    while apart:
        for lane in range(apart):
            sums[lane] += sums[lane + apart]
        apart //= 2
    return sums[0]


@compiled
def loose_paths(tree, but=-1):
    """The tree's loose paths, from each fixed vertex but the root up to the next fixed one.

    but: an id; the path up from this vertex is left out. -1: none is.
    """
    degree = degrees(tree)
    first, last = np.empty(degree.size, np.int64), np.empty(degree.size, np.int64)
    length = np.empty(degree.size, tree.weight.dtype)
    count, begin = 0, 1
    for at in range(1, degree.size):
        if tree.terminal[at] or degree[at] != 2:
            if tree.vertex[at] != but:
                first[count], last[count] = begin, at
                length[count] = _length(tree.weight, begin, at)
                count += 1
            begin = at + 1
    by_id = np.argsort(tree.vertex[last[:count]])
    order = by_id[np.argsort(-length[by_id], kind="mergesort")]
    return LoosePaths(first[order], last[order], length[order])


@compiled
def write_paths(tree, paths, vertex, up, start, size, terminal, step_vertex, step_weight):
    """Write loose paths down apart from the tree: each one's vertices from its lower end up.

    vertex, up, start, size, terminal: filled for each path: its lower end, the path whose lower end
    its upper end is (-1: the root's), where its steps are and how many, and whether its lower end
    is a terminal. step_vertex, step_weight: filled for each step; the weight to the next one.
    """
    path_of = np.full(tree.vertex.size, -1)
    for i in range(paths.last.size):
        path_of[paths.last[i]] = i
    to = 0
    for i in range(paths.last.size):
        first, last = paths.first[i], paths.last[i]
        upper = tree.parent[first]
        vertex[i], up[i], terminal[i] = tree.vertex[last], path_of[upper], tree.terminal[last]
        start[i], size[i] = to, last - first + 2
        for at in range(last, first - 1, -1):
            step_vertex[to], step_weight[to] = tree.vertex[at], tree.weight[at]
            to += 1
        step_vertex[to], step_weight[to] = tree.vertex[upper], 0
        to += 1


@compiled
def exchange(tree, first, last, path, path_weight):
    """The tree with a loose path replaced.

    path: ids from a vertex of the partition below to one of that above; path_weight: between
    neighbours, one fewer. Also the loose paths that are to be tried: see ``star``.
    """
    size, added = tree.vertex.size, path.size - 2
    parent, weight = tree.parent.copy(), tree.weight.copy()
    below = np.flatnonzero(tree.vertex == path[0])[0]
    above = np.flatnonzero(tree.vertex == path[-1])[0]
    # The partition below hangs from ``below`` instead of from ``last``.
    at, over, over_weight = below, size, path_weight[0]
    while True:
        then, then_weight = parent[at], weight[at]
        parent[at], weight[at] = over, over_weight
        if at == last:
            break
        at, over, over_weight = then, at, then_weight
    if added == 0:
        parent[below] = above
    # Leave the intermediate vertices out, and put the path's behind all others.
    left_out = last - first
    total = size - left_out + added
    vertex, terminal = np.empty(total, np.int64), np.zeros(total, np.bool_)
    upper, new_weight = np.empty(total, np.int64), np.empty(total, weight.dtype)
    to = 0
    for at in range(size):
        if first <= at < last:
            continue
        vertex[to], terminal[to], new_weight[to] = tree.vertex[at], tree.terminal[at], weight[at]
        over = parent[at]
        upper[to] = over - left_out if over >= last else over
        to += 1
    for i in range(added):
        vertex[to + i], new_weight[to + i] = path[i + 1], path_weight[i + 1]
        upper[to + i] = to + i + 1
    if added:
        upper[total - 1] = above - left_out if above >= last else above
    exchanged = in_preorder(vertex, upper, new_weight, terminal)
    whole = weight.dtype.type(0.5) == 0
    return exchanged, loose_paths(exchanged, path[0] if whole else np.int64(-1))
