"""Key vertices and key paths of a tree, and the shortest boundary path over each of them.

Key vertices are the terminals and the vertices of three edges or more; a key path leads from one up
to the next. So key vertices make up a tree, here in preorder. A boundary path covers the key paths
on the tree's way between its bases; the shortest one over each is found in the order of length,
with union-find: a key path is covered once.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.steiner.improvement.range_table_cpu import range_table

NONE = -1


class KeyTree(NamedTuple):
    """The tree of key vertices, in preorder; int64 arrays by index, the root at 0.

    position: of the key vertex in the rooted tree. parent: index of the next key vertex above.
    length: of the key path up to it. owner: by position, the key vertex itself, or the one below.
    child_start, children: indices of the key vertices below each, ascending.
    """

    position: Any
    parent: Any
    length: Any
    owner: Any
    child_start: Any
    children: Any


class Cover(NamedTuple):
    """Indices of boundary paths, the shortest first; NONE if there is none.

    over_path: over each key path. over_two: over each key path and the one above it, between
    vertices below the one and above the other. branch_start, branching: over two key paths that
    meet at each key vertex from below.
    """

    over_path: Any
    over_two: Any
    branch_start: Any
    branching: Any


@compiled_when_hot
def find_key_tree(network, weight, rooted):
    """Return the key vertices of a rooted tree."""
    size = rooted.vertex.size
    index, total = np.full(size, -1), np.zeros(size, np.int64)
    position, parent = np.empty(size, np.int64), np.empty(size, np.int64)
    length, owner = np.empty(size, np.int64), np.empty(size, np.int64)
    count = 0
    for i in range(size):
        if i:
            upper = rooted.parent[i]
            is_key = index[upper] >= 0 and position[index[upper]] == upper
            total[i] = weight[rooted.edge[i]] + (0 if is_key else total[upper])
            index[i] = index[upper]
        if i == 0 or network.is_terminal[rooted.vertex[i]] or rooted.degree[i] > 2:
            position[count], parent[count], length[count] = i, index[i], total[i]
            index[i] = count
            count += 1
    for i in range(size - 1, -1, -1):
        if position[index[i]] == i:
            owner[i] = index[i]
        else:  # the only vertex below it comes next
            owner[i] = owner[i + 1]
    start = np.zeros(count + 1, np.int64)
    for k in range(1, count):
        start[parent[k] + 1] += 1
    start = np.cumsum(start)
    cursor, children = start[:-1].copy(), np.empty(max(count - 1, 0), np.int64)
    for k in range(1, count):
        children[cursor[parent[k]]] = k
        cursor[parent[k]] += 1
    return KeyTree(position[:count], parent[:count], length[:count], owner, start, children)


@compiled_when_hot
def _lowest_ancestor(table, levels, first, second):
    """Return the lowest common ancestor: in preorder, the least parent of what comes between.

    table, levels: of the parents, see ``range_table_cpu``.
    """
    if first == second:
        return first
    low, high = min(first, second) + 1, max(first, second)
    level = levels[high - low + 1]
    return min(table[level, low], table[level, high + 1 - (1 << level)])


@compiled_when_hot
def _end_beyond(owner, position, parent, end, base, other):
    """Return the key vertex at which the tree's way from a base to another meets key paths."""
    key = owner[base]
    at = position[key]
    if at == base or at <= other < end[at]:
        return key
    return parent[key]


@compiled_when_hot
def _climb(link, key):
    while link[key] != key:
        link[key] = link[link[key]]
        key = link[key]
    return key


@compiled_when_hot
def find_cover(rooted, keys, boundary):
    """Return the boundary paths that cover key paths."""
    owner, position, parent, end = keys.owner, keys.position, keys.parent, rooted.end
    count = position.size
    table, levels = range_table(parent, False)
    over_path, over_two = np.full(count, NONE), np.full(count, NONE)
    link, link_two = np.arange(count), np.arange(count)
    meeting, branch_start = np.full(boundary.arc.size, NONE), np.zeros(count + 1, np.int64)
    for i in range(boundary.arc.size):
        first, second = boundary.first[i], boundary.second[i]
        a = _end_beyond(owner, position, parent, end, first, second)
        b = _end_beyond(owner, position, parent, end, second, first)
        if a == b:
            continue
        top = _lowest_ancestor(table, levels, a, b)
        if a != top and b != top:
            meeting[i] = top
            branch_start[top + 1] += 1
        for bottom in (a, b):
            key = _climb(link, bottom)
            while key > top:
                over_path[key] = i
                link[key] = parent[key]
                key = _climb(link, key)
            key = _climb(link_two, bottom)
            while key > top and parent[key] > top:
                over_two[key] = i
                link_two[key] = parent[key]
                key = _climb(link_two, key)
    branch_start = np.cumsum(branch_start)
    branching, cursor = np.empty(branch_start[count], np.int64), branch_start[:-1].copy()
    for i in range(meeting.size):
        if meeting[i] >= 0:
            branching[cursor[meeting[i]]] = i
            cursor[meeting[i]] += 1
    return Cover(over_path, over_two, branch_start, branching)
