"""Key-path exchange and key-vertex elimination, all of a tree's in near-linear time.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). A key path
is exchanged for a shorter path between the parts that it connects; a Steiner vertex of three edges
or more is removed with the key paths that end at it, and the parts that remain are joined by a
minimum spanning tree of the paths between them. The paths across the boundaries of regions are
found once for the tree (``regions_cpu``, ``key_tree_cpu``); where tree vertices are removed, what
their regions held is labelled from the regions around, and new paths across the boundaries appear.

Departure from the source: all moves are looked for in the same tree, and then made one after
another, the largest gain first, each if it is still possible and still gains.

Cost: O(m log n) for m edges within half of the longest path that is removed: each vertex of a
region is labelled again at most three times. A move that is made costs a walk up the tree per edge.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.key_tree_cpu import NONE, find_cover, find_key_tree
from mgraph.steiner.improvement.linked_tree_cpu import (
    cut,
    empty_log,
    find_root,
    join,
    link_tree,
    prune,
    release_tree,
    undo,
)
from mgraph.steiner.improvement.network_cpu import (
    BASE,
    DEGREE,
    DISTANCE,
    EDGE,
    HEAD,
    INFINITY,
    order_by,
)
from mgraph.steiner.improvement.regions_cpu import (
    clear_labels,
    find_boundary,
    group_by_base,
    grow_regions,
    label_again,
    trace,
)
from mgraph.steiner.improvement.trees_cpu import hang


@compiled_when_hot
def _append_inner(bottom, top, parent, positions):
    """Append the positions within a key path, between its ends."""
    at = parent[bottom]
    while at != top:
        positions.append(at)
        at = parent[at]


@compiled_when_hot
def _try_exchange(network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, path):
    """Find the shortest replacement of a key path; return its length, or that of the key path.

    path: gets the replacement's edges.
    """
    indptr, arcs, ends = network.indptr, network.arcs, network.ends
    labels, fresh, stamp = work.labels, work.fresh, work.stamp
    best, arc, i = keys.length[key], np.int64(NONE), cover.over_path[key]
    if i >= 0 and boundary.length[i] < best:
        best, arc = boundary.length[i], boundary.arc[i]
    bottom, top = keys.position[key], keys.position[keys.parent[key]]
    end = rooted.end[bottom]
    inner = [np.int64(0) for _ in range(0)]
    _append_inner(bottom, top, rooted.parent, inner)
    if len(inner) > 0:
        members, start = grouped
        region = label_again(
            np.array(inner), indptr, arcs, arc_weight, network.shift, members, start, best // 2,
            labels, fresh, stamp, work.heap,
        )  # fmt: skip
        for x in region:
            distance = fresh[x, DISTANCE]
            if distance == INFINITY:
                continue
            is_below = bottom <= fresh[x, BASE] < end
            for a in range(indptr[x], indptr[x + 1]):
                y = arcs[a, HEAD]
                if stamp[y]:
                    rest, other = fresh[y, DISTANCE], fresh[y, BASE]
                else:
                    rest, other = labels[y, DISTANCE], labels[y, BASE]
                if rest < INFINITY and (bottom <= other < end) != is_below:
                    length = distance + arc_weight[a] + rest
                    if length < best:
                        best, arc = length, np.int64(a)
        if arc >= 0:
            trace(arc, arcs, ends, labels, fresh, path)
        clear_labels(region, fresh, stamp)
    elif arc >= 0:
        trace(arc, arcs, ends, labels, fresh, path)
    return best


@compiled_when_hot
def _branch_of(base, first, last, position, children, begin, end):
    """Return the number of the key path below a key vertex whose lower end has a base below it.

    The children are ``children[first:last]``; the key vertex has the positions begin to end. For a
    base elsewhere it is the number of the children.
    """
    if not begin <= base < end:
        return last - first
    low, high = first, last - 1  # the last one whose position is at most the base's
    while low < high:
        middle = (low + high + 1) // 2
        if position[children[middle]] <= base:
            low = middle
        else:
            high = middle - 1
    return low - first


@compiled_when_hot
def _try_elimination(network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, path):
    """Find the cheapest way to do without a key vertex; return what it costs and what it saves.

    path: gets the edges of the paths that join the parts, if that is cheaper.
    """
    indptr, arcs, ends, shift = network.indptr, network.arcs, network.ends, network.shift
    labels, fresh, stamp = work.labels, work.fresh, work.stamp
    children, position = keys.children, keys.position
    first_child, last_child = keys.child_start[key], keys.child_start[key + 1]
    begin, end = position[key], rooted.end[position[key]]
    saved, joins = keys.length[key], last_child - first_child
    removed = [begin]
    _append_inner(begin, position[keys.parent[key]], rooted.parent, removed)
    for child in children[first_child:last_child]:
        saved += keys.length[child]
        _append_inner(position[child], begin, rooted.parent, removed)
    members, start = grouped
    region = label_again(
        np.array(removed), indptr, arcs, arc_weight, shift, members, start, saved // 2, labels,
        fresh, stamp, work.heap,
    )  # fmt: skip
    # Candidates: paths up from each child, and all paths of fresh labels.
    words = [np.int64(0) for _ in range(0)]
    for child in children[first_child:last_child]:
        i = cover.over_two[child]
        if i >= 0 and boundary.length[i] < saved:
            words.append((boundary.length[i] << shift) | boundary.arc[i])
    for x in region:
        distance = fresh[x, DISTANCE]
        if distance == INFINITY:
            continue
        branch = _branch_of(fresh[x, BASE], first_child, last_child, position, children, begin, end)
        for a in range(indptr[x], indptr[x + 1]):
            y = arcs[a, HEAD]
            if stamp[y]:
                if y < x:
                    continue
                rest, other = fresh[y, DISTANCE], fresh[y, BASE]
            else:
                rest, other = labels[y, DISTANCE], labels[y, BASE]
            length = distance + arc_weight[a] + rest
            if length < saved and branch != _branch_of(
                other, first_child, last_child, position, children, begin, end
            ):
                words.append((length << shift) | np.int64(a))
    candidates = np.array(words, np.int64)
    candidates.sort()
    # Kruskal's algorithm on the candidates and the paths between children, in ascending order.
    mask = (np.int64(1) << shift) - 1
    forest = np.arange(joins + 1)
    added, at, j = np.int64(0), 0, cover.branch_start[key]
    last = cover.branch_start[key + 1]
    chosen = [np.int64(0) for _ in range(0)]
    while joins > 0 and (at < candidates.size or j < last):
        if j < last and (
            at == candidates.size or boundary.length[cover.branching[j]] <= candidates[at] >> shift
        ):
            i = cover.branching[j]
            j += 1
            arc, length = boundary.arc[i], boundary.length[i]
        else:
            arc, length = candidates[at] & mask, candidates[at] >> shift
            at += 1
        if added + length >= saved:
            break
        e, v = arcs[arc, EDGE], np.int64(arcs[arc, HEAD])
        u = np.int64(ends[e, 0]) + np.int64(ends[e, 1]) - v
        first = fresh[u, BASE] if stamp[u] else labels[u, BASE]
        second = fresh[v, BASE] if stamp[v] else labels[v, BASE]
        a = _branch_of(first, first_child, last_child, position, children, begin, end)
        b = _branch_of(second, first_child, last_child, position, children, begin, end)
        a, b = root(forest, a), root(forest, b)
        if a != b:
            forest[a] = b
            added += length
            joins -= 1
            chosen.append(arc)
    if joins == 0:
        for arc in chosen:
            trace(arc, arcs, ends, labels, fresh, path)
    else:
        added = saved
    clear_labels(region, fresh, stamp)
    return added, saved


@compiled_when_hot
def _find_moves(network, arc_weight, rooted, keys, cover, boundary, grouped, shortest, work, flag):
    """Return all moves that gain: gains, moves, and what each adds.

    Move i exchanges the key path ``moves[i]``, or eliminates the key vertex ``-moves[i]``, and adds
    ``edges[starts[i] : starts[i + 1]]``.
    """
    count = keys.position.size
    gains, moves = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    edges, starts = [np.int64(0) for _ in range(0)], [np.int64(0)]
    for key in range(1, count):
        if flag[0]:
            break
        if keys.length[key] > shortest:
            length = _try_exchange(
                network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, edges
            )
            if length < keys.length[key]:
                gains.append(keys.length[key] - length)
                moves.append(np.int64(key))
                starts.append(np.int64(len(edges)))
        if not network.is_terminal[rooted.vertex[keys.position[key]]]:
            added, saved = _try_elimination(
                network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, edges
            )
            if added < saved:
                gains.append(saved - added)
                moves.append(np.int64(-key))
                starts.append(np.int64(len(edges)))
    return (
        np.array(gains, np.int64),
        np.array(moves, np.int64),
        np.array(edges, np.int64),
        np.array(starts, np.int64),
    )


@compiled_when_hot
def _make_move(network, weight, rooted, keys, move, path, links, vertices, log):
    """Make a move in the current tree if it still gains; else leave the tree as it is.

    vertices: gets those that join the tree.
    """
    edge_ends, is_terminal = network.ends, network.is_terminal
    key = abs(move)
    first = keys.child_start[key]
    last = keys.child_start[key + 1] if move < 0 else first
    removed = added = np.int64(0)
    ends = [np.int64(0) for _ in range(0)]  # of what is cut and added
    inner = [np.int64(0) for _ in range(0)]  # vertices that lose all their edges
    if move < 0:
        inner.append(rooted.vertex[keys.position[key]])
    is_whole = True
    for j in range(first - 1, last):
        k = key if j < first else keys.children[j]
        at, top = keys.position[k], keys.position[keys.parent[k]]
        ends.append(rooted.vertex[at])
        ends.append(rooted.vertex[top])
        while at != top and is_whole:
            e = rooted.edge[at]
            is_whole = cut(e, edge_ends, links, log)
            removed += weight[e]
            at = rooted.parent[at]
            if at != top:
                inner.append(rooted.vertex[at])
    for x in inner:
        is_whole = is_whole and links[x, DEGREE] == 0
    if is_whole:
        for e in path:
            if join(e, edge_ends, links, log):
                added += weight[e]
                ends.append(np.int64(edge_ends[e, 0]))
                ends.append(np.int64(edge_ends[e, 1]))
        for i in range(len(ends)):
            loss, ends[i] = prune(ends[i], weight, is_terminal, edge_ends, links, log)
            removed += loss
        top = np.int64(NONE)
        for x in ends:
            if links[x, DEGREE] > 0 or is_terminal[x]:
                part = find_root(x, links)
                is_whole = is_whole and top in (NONE, part)
                top = part
    if is_whole and added < removed:
        for e in path:
            vertices.append(np.int64(edge_ends[e, 0]))
            vertices.append(np.int64(edge_ends[e, 1]))
        log.clear()
    else:
        undo(links, log)


@compiled_when_hot
def _largest_saving(network, rooted, keys):
    """Return the greatest length of what one move can remove."""
    largest = np.int64(0)
    for key in range(1, keys.position.size):
        saved = keys.length[key]
        if not network.is_terminal[rooted.vertex[keys.position[key]]]:
            for child in keys.children[keys.child_start[key] : keys.child_start[key + 1]]:
                saved += keys.length[child]
        largest = max(largest, saved)
    return largest


@compiled_when_hot
def move_keys(network, weight, arc_weight, tree, shortest, work, flag):
    """Exchange key paths and eliminate key vertices; return a cheaper tree, or the same.

    tree: ascending edge ids. weight, arc_weight: by edge and by arc. shortest: the least weight.
    Returns the tree as it is, or what was found, once ``flag[0]`` is not 0.
    """
    if tree.size == 0:
        return tree
    labels, links, position = work.labels, work.links, work.position
    rooted = hang(network, tree, position)
    keys = find_key_tree(network, weight, rooted)
    limit = _largest_saving(network, rooted, keys)
    labelled = grow_regions(network, arc_weight, rooted, limit // 2, labels, work.heap, flag)
    best = tree
    if not flag[0]:
        in_tree = np.zeros(weight.size, np.bool_)
        in_tree[tree] = True
        boundary = find_boundary(network, arc_weight, labelled, in_tree, limit, labels)
        cover = find_cover(rooted, keys, boundary)
        grouped = group_by_base(rooted.vertex.size, labelled, labels)
        gains, moves, edges, starts = _find_moves(
            network, arc_weight, rooted, keys, cover, boundary, grouped, shortest, work, flag
        )
        if gains.size:
            vertices, log = link_tree(rooted, links), empty_log()
            for i in order_by(limit - gains, network.shift):
                path = edges[starts[i] : starts[i + 1]]
                _make_move(network, weight, rooted, keys, moves[i], path, links, vertices, log)
            best = release_tree(vertices, links)
    for x in labelled:
        labels[x, DISTANCE] = INFINITY
    position[rooted.vertex] = -1
    return best
