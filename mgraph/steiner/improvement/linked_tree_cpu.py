"""A tree that is changed edge by edge, and restored from a log where a change does not help.

Each vertex has a link to the one above it. Cutting an edge takes O(1), joining two parts a walk up
to their roots, so that a change costs as much as the tree is deep; where its vertices hang is known
at all times. Vertices outside of the tree have no edges, and are roots of their own.

The arrays are those of the workspace, by vertex: above (-1 for a root), up (the edge there), degree
(the number of edges) and link (the exclusive or of their ids, which names a leaf's only edge).
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot

ROOT = -1


@compiled_when_hot
def empty_log():
    """Return an empty log; an entry is a vertex with its above, up, degree and link."""
    zero = np.int64(0)
    return [(zero, zero, zero, zero, zero) for _ in range(0)]


@compiled_when_hot
def load(rooted, work):
    """Take in a rooted tree; return its vertices as a list."""
    above, up, degree, link = work.above, work.up, work.degree, work.link
    vertices = [np.int64(0) for _ in range(0)]
    for i in range(rooted.vertex.size):
        x = rooted.vertex[i]
        vertices.append(x)
        degree[x] = rooted.degree[i]
        if i:
            y, e = rooted.vertex[rooted.parent[i]], rooted.edge[i]
            above[x], up[x] = y, e
            link[x] ^= e
            link[y] ^= e
    return vertices


@compiled_when_hot
def unload(vertices, work):
    """Return the tree's edges, ascending, and leave the workspace as ``load`` found it.

    vertices: all that have been in the tree, some repeatedly.
    """
    edges = [np.int64(0) for _ in range(0)]
    for x in vertices:
        if work.degree[x] > 0 and work.above[x] >= 0:
            edges.append(work.up[x])
        work.above[x], work.degree[x], work.link[x] = ROOT, 0, 0
    tree = np.array(edges, np.int64)
    tree.sort()
    return tree


@compiled_when_hot
def _remember(x, work, log):
    log.append((x, work.above[x], work.up[x], work.degree[x], work.link[x]))


@compiled_when_hot
def undo(work, log):
    """Take all changes back that the log holds, and empty it."""
    for i in range(len(log) - 1, -1, -1):
        x, work.above[x], work.up[x], work.degree[x], work.link[x] = log[i]
    log.clear()


@compiled_when_hot
def find_root(x, above):
    """Return the root of the part that x is in."""
    while above[x] >= 0:
        x = above[x]
    return x


@compiled_when_hot
def cut(network, e, work, log):
    """Remove an edge; return whether it was there."""
    above, up, degree, link = work.above, work.up, work.degree, work.link
    x, y = np.int64(network.src[e]), np.int64(network.dst[e])
    if above[y] == x and up[y] == e:
        x, y = y, x
    elif above[x] != y or up[x] != e:
        return False
    _remember(x, work, log)
    _remember(y, work, log)
    above[x] = ROOT
    degree[x] -= 1
    degree[y] -= 1
    link[x] ^= e
    link[y] ^= e
    return True


@compiled_when_hot
def hang_below(x, y, e, work, log):
    """Add an edge: x, with the part that it is in, comes to hang below y of another part."""
    above, up, degree, link = work.above, work.up, work.degree, work.link
    at, upper, edge = x, y, e
    while at >= 0:
        _remember(at, work, log)
        old_upper, old_edge = above[at], up[at]
        above[at], up[at] = upper, edge
        at, upper, edge = old_upper, at, old_edge
    degree[x] += 1
    link[x] ^= e
    _remember(y, work, log)
    degree[y] += 1
    link[y] ^= e


@compiled_when_hot
def join(network, e, work, log):
    """Add an edge if it connects two parts; return whether it does."""
    above = work.above
    first, second = np.int64(network.src[e]), np.int64(network.dst[e])
    x, y = first, second
    while above[x] >= 0 and above[y] >= 0:  # the part of the shorter way is turned round
        x, y = above[x], above[y]
    if above[x] >= 0:
        first, second = second, first
    if find_root(x, above) == find_root(y, above):
        return False
    hang_below(first, second, e, work, log)
    return True


@compiled_when_hot
def prune(network, weight, x, work, log):
    """Remove x if it is a leaf and no terminal, then the next vertex, and so on.

    Returns the weight of the removed edges, and the vertex that was reached.
    """
    removed = np.int64(0)
    while work.degree[x] == 1 and not network.is_terminal[x]:
        e = work.link[x]
        y = np.int64(network.src[e]) + np.int64(network.dst[e]) - x
        cut(network, e, work, log)
        removed += weight[e]
        x = y
    return removed, x
