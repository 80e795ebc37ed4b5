"""Steiner-vertex insertion: a vertex beside the tree is added if the tree is cheaper with it.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). The best
tree of the old vertices and a new one is found arc by arc: the tree hangs from the new vertex by
the arc of minimum weight, and each other arc replaces the heaviest edge of the cycle that it closes
if it is lighter than that edge. Then branches that lead to no terminal are removed. If that gains
nothing, everything is undone from a log.

Most vertices are not tried, since what can be gained is found beforehand, but for branches, without
a change of the tree: the heaviest edges between a vertex's neighbours come from a string of the
tree's vertices.

Cost: O(d log d) for a vertex with d arcs to the tree; O(d) walks up to the root if it is tried.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.linked_tree_cpu import (
    cut,
    empty_log,
    hang_below,
    link_tree,
    prune,
    release_tree,
    undo,
)
from mgraph.steiner.improvement.network_cpu import ABOVE, DEGREE, EDGE, HEAD, UP, order_by
from mgraph.steiner.improvement.range_table_cpu import range_table
from mgraph.steiner.improvement.trees_cpu import hang

# With fewer candidates per tree vertex all are tried.
_MIN_CANDIDATES = 1 / 16


@compiled_when_hot
def _insert(v, indptr, arcs, ends, weight, is_terminal, links, log):
    """Insert v as the root, and prune. Return the weight that was added, and what was removed."""
    first = np.int64(-1)
    for arc in range(indptr[v], indptr[v + 1]):
        if links[arcs[arc, HEAD], DEGREE] > 0 and (
            first < 0 or weight[arcs[arc, EDGE]] < weight[arcs[first, EDGE]]
        ):
            first = np.int64(arc)
    e = np.int64(arcs[first, EDGE])
    added, removed = weight[e], np.int64(0)
    hang_below(np.int64(arcs[first, HEAD]), v, e, links, log)
    cut_ends = [v for _ in range(0)]
    for arc in range(indptr[v], indptr[v + 1]):
        x, e = np.int64(arcs[arc, HEAD]), np.int64(arcs[arc, EDGE])
        if links[x, DEGREE] == 0 or x == v or arc == first:
            continue
        heaviest = y = x
        while links[y, ABOVE] != v:
            y = links[y, ABOVE]
            if weight[links[y, UP]] > weight[links[heaviest, UP]]:
                heaviest = y
        old = links[heaviest, UP]
        if weight[old] <= weight[e]:
            continue
        added, removed = added + weight[e], removed + weight[old]
        cut_ends.append(links[heaviest, ABOVE])
        cut_ends.append(heaviest)
        cut(old, ends, links, log)
        hang_below(x, v, e, links, log)
    for y in cut_ends:
        removed += prune(y, weight, is_terminal, ends, links, log)[0]
    return added, removed


@compiled_when_hot
def _string_up(ends, weight, shift, tree, vertices, parent, scratch, position):
    """Put a tree's vertices on a string, so that the heaviest edge on the way is easy to find.

    Where edges join parts in ascending order, and the strings of the parts are tied together, the
    heaviest edge between two vertices is the heaviest of the knots between them. Sets the position
    on the string, which the caller resets. Returns the knots, as ranks among the edges, before each
    position, and the edges by rank.
    """
    first_of, last_of, following = scratch[:, 0], scratch[:, 1], scratch[:, 2]
    knot_before = position  # until the positions are known
    ranked = tree[order_by(weight[tree], shift)]
    for x in vertices:
        first_of[x], last_of[x], following[x], knot_before[x] = x, x, -1, -1
    for rank in range(ranked.size):
        e = ranked[rank]
        a, b = root(parent, np.int64(ends[e, 0])), root(parent, np.int64(ends[e, 1]))
        following[last_of[a]] = first_of[b]
        knot_before[first_of[b]] = rank
        last_of[a] = last_of[b]
        parent[b] = a
    knots = np.empty(vertices.size, np.int64)
    x = first_of[root(parent, vertices[0])]
    for i in range(vertices.size):
        knots[i], position[x] = knot_before[x], i
        x = following[x]
    for x in vertices:
        parent[x] = x
    return knots, ranked


@compiled_when_hot
def _may_gain(
    v, indptr, arcs, ends, weight, is_terminal, links, position, table, levels, ranked, places,
    lightest, cuts, reach,
):  # fmt: skip
    """Return whether the insertion of v gains, or may gain since branches can be pruned.

    position, table, levels, ranked: the string, and the maxima of its knots, of a tree that is
    mostly still the same. The best tree with v takes edges out of those to v and the heaviest edges
    between its neighbours along the string. The last four arguments are memory.
    """
    count = 0
    for arc in range(indptr[v], indptr[v + 1]):
        x, e = arcs[arc, HEAD], arcs[arc, EDGE]
        if links[x, DEGREE] > 0 and position[x] >= 0:
            at = count  # sorted by position
            while at > 0 and places[at - 1] >= position[x]:
                places[at], lightest[at] = places[at - 1], lightest[at - 1]
                at -= 1
            places[at], lightest[at] = position[x], e
            count += 1
    if count < 2:
        return False
    for i in range(1, count):
        low, high = places[i - 1] + 1, places[i]
        if low > high:  # parallel edges
            return True
        level = levels[high - low + 1]
        cuts[i] = ranked[max(table[level, low], table[level, high + 1 - (1 << level)])]
    # Between two neighbours the heaviest edge is cut if both have lighter ways to v. So the string
    # falls into groups, each of which keeps its lightest edge to v.
    for i in range(count - 1, -1, -1):
        reach[i] = weight[lightest[i]]
        if i < count - 1:
            reach[i] = min(reach[i], max(reach[i + 1], weight[cuts[i + 1]]))
    back, size, gain = weight[lightest[0]], 1, np.int64(0)
    for i in range(1, count):
        e, cut_weight = lightest[i], weight[cuts[i]]
        if back < cut_weight and reach[i] < cut_weight:
            gain += cut_weight - weight[lightest[size - 1]]
            lightest[size], cuts[size] = e, cuts[i]
            size += 1
        elif weight[e] < weight[lightest[size - 1]]:
            lightest[size - 1] = e
        back = min(weight[e], max(back, cut_weight))
    gain -= weight[lightest[size - 1]]
    if gain > 0:
        return True
    for i in range(1, size):
        links[ends[cuts[i], 0], DEGREE] -= 1
        links[ends[cuts[i], 1], DEGREE] -= 1
    for i in range(size):
        links[np.int64(ends[lightest[i], 0]) + ends[lightest[i], 1] - v, DEGREE] += 1
    may_prune = False
    for i in range(1, size):
        for side in range(2):
            x = ends[cuts[i], side]
            may_prune = may_prune or (links[x, DEGREE] <= 1 and not is_terminal[x])
    for i in range(1, size):
        links[ends[cuts[i], 0], DEGREE] += 1
        links[ends[cuts[i], 1], DEGREE] += 1
    for i in range(size):
        links[np.int64(ends[lightest[i], 0]) + ends[lightest[i], 1] - v, DEGREE] -= 1
    return may_prune


@compiled_when_hot
def _find_candidates(indptr, arcs, vertices, links, stamp):
    """Return the vertices beside the tree with two arcs or more to it, ascending."""
    candidates = [np.int64(0) for _ in range(0)]
    for u in vertices:
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(arcs[arc, HEAD])
            if links[v, DEGREE] == 0 and not stamp[v]:
                count = 0
                for other in range(indptr[v], indptr[v + 1]):
                    count += links[arcs[other, HEAD], DEGREE] > 0
                if count > 1:
                    stamp[v] = True
                    candidates.append(v)
    found = np.array(candidates, np.int64)
    stamp[found] = False
    found.sort()
    return found


@compiled_when_hot
def insert_vertices(network, weight, tree, work, flag):
    """Try to insert each vertex once; return a cheaper tree, or the same.

    Returns what was found once ``flag[0]`` is not 0.
    """
    if tree.size == 0:
        return tree
    indptr, arcs, ends, is_terminal = (
        network.indptr, network.arcs, network.ends, network.is_terminal
    )  # fmt: skip
    links, position = work.links, work.position
    rooted = hang(network, tree, position)
    position[rooted.vertex] = -1
    vertices, log = link_tree(rooted, links), empty_log()
    candidates = _find_candidates(indptr, arcs, rooted.vertex, links, work.stamp)
    has_string = candidates.size > _MIN_CANDIDATES * rooted.vertex.size
    knots, ranked = rooted.vertex[:0], rooted.vertex[:0]
    if has_string:
        knots, ranked = _string_up(
            ends, weight, network.shift, tree, rooted.vertex, work.parent, work.scratch, position
        )
    table, levels = range_table(knots, True)
    size = 1
    for v in candidates:
        size = max(size, indptr[v + 1] - indptr[v])
    places, lightest = np.empty(size, np.int64), np.empty(size, np.int64)
    cuts, reach = np.empty(size, np.int64), np.empty(size, np.int64)
    has_changed = False
    for v in candidates:
        if flag[0]:
            break
        if links[v, DEGREE] > 0 or (
            has_string
            and not _may_gain(
                v, indptr, arcs, ends, weight, is_terminal, links, position, table, levels, ranked,
                places, lightest, cuts, reach,
            )
        ):  # fmt: skip
            continue
        added, removed = _insert(v, indptr, arcs, ends, weight, is_terminal, links, log)
        if links[v, DEGREE] > 1 and added < removed:
            vertices.append(v)
            has_changed = True
            log.clear()
        else:
            undo(links, log)
    position[rooted.vertex] = -1
    result = release_tree(vertices, links)
    return result if has_changed else tree
