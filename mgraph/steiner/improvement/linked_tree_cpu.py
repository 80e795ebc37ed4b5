"""A tree that is changed edge by edge, and restored from a log where a change does not help.

Each vertex has a link to the one above it. Cutting an edge takes O(1), joining two parts a walk up
to their roots, so that a change costs as much as the tree is deep; where its vertices hang is known
at all times. Vertices outside of the tree have no edges, and are roots of their own.

The columns of the links are: above (-1 for a root), up (the edge there), degree (the number of
edges) and link (the exclusive or of their ids, which names a leaf's only edge).
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.steiner.improvement.network_cpu import ABOVE, DEGREE, LINK, UP

ROOT = -1


@compiled_when_hot
def empty_log():
    """Return an empty log; an entry is a vertex with its links."""
    zero = np.int64(0)
    return [(zero, zero, zero, zero, zero) for _ in range(0)]


@compiled_when_hot
def link_tree(rooted, links):
    """Take in a rooted tree; return its vertices as a list."""
    vertices = [np.int64(0) for _ in range(0)]
    for i in range(rooted.vertex.size):
        x = rooted.vertex[i]
        vertices.append(x)
        links[x, DEGREE] = rooted.degree[i]
        if i:
            y, e = rooted.vertex[rooted.parent[i]], rooted.edge[i]
            links[x, ABOVE], links[x, UP] = y, e
            links[x, LINK] ^= e
            links[y, LINK] ^= e
    return vertices


@compiled_when_hot
def release_tree(vertices, links):
    """Return the tree's edges, ascending, and leave the links as ``link_tree`` found them.

    vertices: all that have been in the tree, some repeatedly.
    """
    edges = [np.int64(0) for _ in range(0)]
    for x in vertices:
        if links[x, DEGREE] > 0 and links[x, ABOVE] >= 0:
            edges.append(links[x, UP])
        links[x, ABOVE], links[x, DEGREE], links[x, LINK] = ROOT, 0, 0
    tree = np.array(edges, np.int64)
    tree.sort()
    return tree


@compiled_when_hot
def _remember(x, links, log):
    log.append((x, links[x, ABOVE], links[x, UP], links[x, DEGREE], links[x, LINK]))


@compiled_when_hot
def undo(links, log):
    """Take all changes back that the log holds, and empty it."""
    for i in range(len(log) - 1, -1, -1):
        x, links[x, ABOVE], links[x, UP], links[x, DEGREE], links[x, LINK] = log[i]
    log.clear()


@compiled_when_hot
def find_root(x, links):
    """Return the root of the part that x is in."""
    while links[x, ABOVE] >= 0:
        x = links[x, ABOVE]
    return x


@compiled_when_hot
def cut(e, ends, links, log):
    """Remove an edge; return whether it was there."""
    x, y = np.int64(ends[e, 0]), np.int64(ends[e, 1])
    if links[y, ABOVE] == x and links[y, UP] == e:
        x, y = y, x
    elif links[x, ABOVE] != y or links[x, UP] != e:
        return False
    _remember(x, links, log)
    _remember(y, links, log)
    links[x, ABOVE] = ROOT
    links[x, DEGREE] -= 1
    links[y, DEGREE] -= 1
    links[x, LINK] ^= e
    links[y, LINK] ^= e
    return True


@compiled_when_hot
def hang_below(x, y, e, links, log):
    """Add an edge: x, with the part that it is in, comes to hang below y of another part."""
    at, upper, edge = x, y, e
    while at >= 0:
        _remember(at, links, log)
        old_upper, old_edge = links[at, ABOVE], links[at, UP]
        links[at, ABOVE], links[at, UP] = upper, edge
        at, upper, edge = old_upper, at, old_edge
    links[x, DEGREE] += 1
    links[x, LINK] ^= e
    _remember(y, links, log)
    links[y, DEGREE] += 1
    links[y, LINK] ^= e


@compiled_when_hot
def join(e, ends, links, log):
    """Add an edge if it connects two parts; return whether it does."""
    first, second = np.int64(ends[e, 0]), np.int64(ends[e, 1])
    x, y = first, second
    while links[x, ABOVE] >= 0 and links[y, ABOVE] >= 0:
        x, y = links[x, ABOVE], links[y, ABOVE]
    if links[x, ABOVE] >= 0:  # the part of the shorter way is turned round
        first, second = second, first
    if find_root(x, links) == find_root(y, links):
        return False
    hang_below(first, second, e, links, log)
    return True


@compiled_when_hot
def prune(x, weight, is_terminal, ends, links, log):
    """Remove x if it is a leaf and no terminal, then the next vertex, and so on.

    Returns the weight of the removed edges, and the vertex that was reached.
    """
    removed = np.int64(0)
    while links[x, DEGREE] == 1 and not is_terminal[x]:
        e = links[x, LINK]
        y = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - x
        cut(e, ends, links, log)
        removed += weight[e]
        x = y
    return removed, x
