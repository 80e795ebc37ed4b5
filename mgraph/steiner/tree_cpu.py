"""A candidate tree of STAR in preorder, which is cut and joined in time linear in its size.

Preorder makes every part of STAR's step an interval of positions. A loose path, from a fixed vertex
up to the next fixed vertex, holds the positions [first, last]: those before ``last`` are its
intermediate vertices, since a vertex with one child comes just before that child. Without the path
there remain the partition below, [last, end of last's subtree), and the partition above, which is
everything else and holds the root. So cutting a path costs nothing, and whether a vertex is in a
partition takes two comparisons.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.errors import MgraphError

BROKEN_PATH = (
    "A shortest path could not be followed back to the tree, so the graph does not hold both arcs "
    "of each edge with one weight, or its arrays were changed during the query. Build it with "
    "mgraph.from_edges(edges, directed=False), and do not write to its arrays."
)
NO_VERTEX = np.int64(-1)
_UNREACHED = -2


class Tree(NamedTuple):
    """A tree whose root, at position 0, is its smallest terminal; arrays by position, in preorder.

    vertex: int64, ids. parent: int64, positions, -1 at the root. weight: of the edge to the parent,
    int64 or float64, 0 at the root. end: int64, one past the last position of the subtree.
    terminal: bool.
    """

    vertex: Any
    parent: Any
    weight: Any
    end: Any
    terminal: Any


class LoosePaths(NamedTuple):
    """Loose paths in the order in which STAR tries them, the longest first: int64, and lengths.

    A path holds the positions first to last; its upper end is the parent of ``first``. Of paths of
    one length the one with the smallest lower end comes first. A length is the sum of the weights
    from the lower end up, added as 32 threads of a GPU add them, so that fractions are rounded
    alike.
    """

    first: Any
    last: Any
    length: Any


@compiled_when_hot
def from_edges(src, dst, weight, terminals):
    """Build the tree of these edges without the branches that lead to no terminal.

    src, dst: ids. weight: int64 or float64. terminals: ids, ascending, all of them in the tree.
    """
    ids = np.unique(np.concatenate((src, dst, terminals)))
    terminal = np.zeros(ids.size, np.bool_)
    terminal[np.searchsorted(ids, terminals)] = True
    root = np.searchsorted(ids, terminals[0])
    return _from_indexed_edges(
        ids, np.searchsorted(ids, src), np.searchsorted(ids, dst), weight, terminal, root
    )


def sort_children(tree: Tree) -> Tree:
    """Return the tree with every vertex's children in ascending order, as ``from_edges`` does."""
    return prune(tree, np.sort(tree.vertex[tree.terminal]))


def prune(tree: Tree, terminals: Any) -> Tree:
    """Return the tree without the branches that lead to none of its vertices ``terminals``."""
    upper = tree.vertex[tree.parent[1:]]
    return from_edges(tree.vertex[1:], upper, tree.weight[1:], terminals)


def sorted_edges(tree: Tree) -> tuple[Any, Any, Any]:
    """Return src, dst and weight of each edge, src above dst, in ascending order."""
    upper = tree.vertex[tree.parent[1:]]
    src, dst = np.maximum(tree.vertex[1:], upper), np.minimum(tree.vertex[1:], upper)
    order = np.lexsort((dst, src))
    return src[order], dst[order], tree.weight[1:][order]


@compiled_when_hot
def from_paths(vertex, weight, start, size, terminals, zero):
    """Build the tree of paths that lead from one vertex to each terminal.

    Path i is ``vertex[start[i] : start[i] + size[i]]``, with the weights to the vertices before;
    ids are integers of any size. Of each path the part counts that begins at the last of its
    vertices that an earlier path has. zero: a 0 of the tree's weight type, int64 or float64.
    """
    known = {np.int64(vertex[start[0]])}
    total = size.sum()
    src, dst = np.empty(total, np.int64), np.empty(total, np.int64)
    edge_weight = np.full(total, zero)
    count = 0
    for i in range(start.size):
        end = start[i] + size[i]
        step = end - 1
        while np.int64(vertex[step]) not in known:
            step -= 1
        for new in range(step + 1, end):
            src[count], dst[count], edge_weight[count] = vertex[new - 1], vertex[new], weight[new]
            known.add(dst[count])
            count += 1
    return from_edges(src[:count], dst[:count], edge_weight[:count], terminals)


@compiled_when_hot
def from_steps(vertex, weight, is_last, previous):
    """Build the tree of loose paths that stand one after another.

    vertex: integers of any size. weight: to the next vertex, except where ``is_last`` says that a
    vertex ends its path. previous: a tree of the same terminals.
    """
    steps = np.flatnonzero(~is_last)
    src, dst = np.empty(steps.size, np.int64), np.empty(steps.size, np.int64)
    edge_weight = np.empty(steps.size, previous.weight.dtype)
    for i, step in enumerate(steps):
        src[i], dst[i], edge_weight[i] = vertex[step], vertex[step + 1], weight[step]
    return from_edges(src, dst, edge_weight, np.sort(previous.vertex[previous.terminal]))


@compiled_when_hot
def _from_indexed_edges(ids, src, dst, weight, terminal, root):
    """Build the tree of edges whose ends are indices into ``ids``, as is ``root``."""
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
    parent, parent_weight = np.full(size, _UNREACHED), np.zeros(size, weight.dtype)
    queue, tail, head = np.empty(size, np.int64), 1, 0
    queue[0], parent[root] = root, -1
    while head < tail:
        vertex = queue[head]
        head += 1
        for edge in edges[start[vertex] : start[vertex] + degree[vertex]]:
            other = dst[edge] if src[edge] == vertex else src[edge]
            if parent[other] == _UNREACHED:
                parent[other], parent_weight[other] = vertex, weight[edge]
                queue[tail] = other
                tail += 1
    if tail < size:
        raise MgraphError(BROKEN_PATH)
    kept = np.ones(size, np.bool_)
    for i in range(size - 1, 0, -1):
        vertex = queue[i]
        if degree[vertex] == 1 and not terminal[vertex]:
            kept[vertex] = False
            degree[parent[vertex]] -= 1
    new_index = np.cumsum(kept) - 1
    for vertex in range(size):
        if parent[vertex] >= 0:
            parent[vertex] = new_index[parent[vertex]]
    return to_preorder(ids[kept], parent[kept], parent_weight[kept], terminal[kept])


@compiled_when_hot
def to_preorder(vertex, parent, weight, terminal):
    """Build the tree of these vertices; parent: indices into the arrays, -1 at the root alone."""
    size = vertex.size
    start = np.zeros(size + 2, np.int64)  # of each vertex's children, shifted by one for the root
    for i in range(size):
        start[parent[i] + 2] += 1
    for i in range(1, size + 2):
        start[i] += start[i - 1]
    children = np.empty(size, np.int64)
    cursor = start[:-1].copy()
    for i in range(size):
        children[cursor[parent[i] + 1]] = i
        cursor[parent[i] + 1] += 1
    position, order = np.empty(size, np.int64), np.empty(size, np.int64)
    stack = np.empty(size, np.int64)
    stack[0], depth, at = children[0], 1, 0
    while depth:
        depth -= 1
        i = stack[depth]
        order[at], position[i] = i, at
        at += 1
        for child in range(start[i + 2] - 1, start[i + 1] - 1, -1):
            stack[depth] = children[child]
            depth += 1
    upper = np.empty(size, np.int64)
    end = np.arange(1, size + 1)
    upper[0] = -1
    for at in range(1, size):
        upper[at] = position[parent[order[at]]]
    for at in range(size - 1, 0, -1):
        end[upper[at]] = max(end[upper[at]], end[at])
    return Tree(vertex[order], upper, weight[order], end, terminal[order])


@compiled_when_hot
def count_degrees(tree):
    """Return the number of edges at each position."""
    degree = (tree.parent >= 0).astype(np.int64)
    for at in range(1, degree.size):
        degree[tree.parent[at]] += 1
    return degree


@compiled_when_hot
def _sum_as_warp(weight, first, last):
    """Sum the weights at these positions as a warp does: every 32nd first, then by halves."""
    sums = np.zeros(32, weight.dtype)
    for i in range(last - first + 1):
        sums[i % 32] += weight[last - i]
    distance = 16
    while distance:
        for lane in range(distance):
            sums[lane] += sums[lane + distance]
        distance //= 2
    return sums[0]


@compiled_when_hot
def find_loose_paths(tree, excluded):
    """Return the tree's loose paths, from each fixed vertex but the root up to the next one.

    excluded: the id of a lower end whose path is left out, an int64; NO_VERTEX for none.
    """
    degree = count_degrees(tree)
    first, last = np.empty(degree.size, np.int64), np.empty(degree.size, np.int64)
    length = np.empty(degree.size, tree.weight.dtype)
    count, begin = 0, 1
    for at in range(1, degree.size):
        if tree.terminal[at] or degree[at] != 2:
            if tree.vertex[at] != excluded:
                first[count], last[count] = begin, at
                length[count] = _sum_as_warp(tree.weight, begin, at)
                count += 1
            begin = at + 1
    by_id = np.argsort(tree.vertex[last[:count]])
    order = by_id[np.argsort(-length[by_id], kind="mergesort")]
    return LoosePaths(first[order], last[order], length[order])


@compiled_when_hot
def write_paths(tree, paths, vertex, up, start, size, terminal, step_vertex, step_weight):
    """Write the loose paths as a list of steps each, from the lower end up, for ``star_gpu``.

    vertex, up, start, size, terminal: filled for each path: its lower end, the path whose lower end
    is its upper end (-1: the root), the index of its first step and the number of its steps, and
    whether its lower end is a terminal. step_vertex, step_weight: filled for each step; the weight
    is that to the next step.
    """
    path_of = np.full(tree.vertex.size, -1)
    for i in range(paths.last.size):
        path_of[paths.last[i]] = i
    step = 0
    for i in range(paths.last.size):
        first, last = paths.first[i], paths.last[i]
        upper = tree.parent[first]
        vertex[i], up[i], terminal[i] = tree.vertex[last], path_of[upper], tree.terminal[last]
        start[i], size[i] = step, last - first + 2
        for at in range(last, first - 1, -1):
            step_vertex[step], step_weight[step] = tree.vertex[at], tree.weight[at]
            step += 1
        step_vertex[step], step_weight[step] = tree.vertex[upper], 0
        step += 1


@compiled_when_hot
def exchange_path(tree, first, last, path, path_weight):
    """Replace the loose path at positions [first, last]; return the tree and its loose paths.

    path: ids from a vertex of the partition below to one of the partition above. path_weight: the
    weights between neighbours, one fewer. The loose paths are those to be tried: see ``star``.
    """
    size, added = tree.vertex.size, path.size - 2
    parent, weight = tree.parent.copy(), tree.weight.copy()
    below = np.flatnonzero(tree.vertex == path[0])[0]
    above = np.flatnonzero(tree.vertex == path[-1])[0]
    # The partition below hangs from ``below`` instead of from ``last``: turn the links round.
    at, new_parent, new_weight = below, size, path_weight[0]
    while True:
        old_parent, old_weight = parent[at], weight[at]
        parent[at], weight[at] = new_parent, new_weight
        if at == last:
            break
        at, new_parent, new_weight = old_parent, at, old_weight
    if added == 0:
        parent[below] = above
    # Leave the old path's intermediate vertices out, and put the new path's behind all others.
    removed = last - first
    total = size - removed + added
    new_vertex, terminal = np.empty(total, np.int64), np.zeros(total, np.bool_)
    upper, upper_weight = np.empty(total, np.int64), np.empty(total, weight.dtype)
    to = 0
    for at in range(size):
        if first <= at < last:
            continue
        new_vertex[to], terminal[to], upper_weight[to] = (
            tree.vertex[at], tree.terminal[at], weight[at]
        )  # fmt: skip
        upper[to] = parent[at] - removed if parent[at] >= last else parent[at]
        to += 1
    for i in range(added):
        new_vertex[to + i], upper_weight[to + i] = path[i + 1], path_weight[i + 1]
        upper[to + i] = to + i + 1
    if added:
        upper[total - 1] = above - removed if above >= last else above
    exchanged = to_preorder(new_vertex, upper, upper_weight, terminal)
    has_whole_weights = weight.dtype.type(0.5) == 0
    return exchanged, find_loose_paths(exchanged, path[0] if has_whole_weights else NO_VERTEX)
