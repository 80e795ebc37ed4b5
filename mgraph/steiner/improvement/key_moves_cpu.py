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
region is labelled again at most three times.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import pop_word, push_word
from mgraph.core.union_find_cpu import root
from mgraph.steiner.improvement.key_tree_cpu import NONE, find_cover, find_key_tree
from mgraph.steiner.improvement.linked_tree_cpu import (
    cut,
    empty_log,
    find_root,
    join,
    load,
    prune,
    undo,
    unload,
)
from mgraph.steiner.improvement.network_cpu import INFINITY
from mgraph.steiner.improvement.regions_cpu import find_boundary, grow_regions, trace
from mgraph.steiner.improvement.trees_cpu import hang, release


@compiled_when_hot
def _group_members(rooted, labelled, work):
    """Return the labelled vertices by base, and the index of each base's first."""
    size = rooted.vertex.size
    start = np.zeros(size + 1, np.int64)
    for x in labelled:
        start[work.base[x] + 1] += 1
    start = np.cumsum(start)
    cursor, members = start[:-1].copy(), np.empty(labelled.size, np.int64)
    for x in labelled:
        members[cursor[work.base[x]]] = x
        cursor[work.base[x]] += 1
    return members, start


@compiled_when_hot
def _label_again(network, arc_weight, removed, members, start, limit, work):
    """Label the regions of removed bases from the regions around, within ``limit``.

    Sets the fresh labels, and the stamp of all vertices of these regions, which are returned.
    """
    indptr, head, edge, shift = network.indptr, network.head, network.edge, network.shift
    distance, base, stamp, heap = work.distance, work.base, work.stamp, work.heap
    fresh, fresh_base, fresh_via = work.fresh_distance, work.fresh_base, work.fresh_via
    mask = (np.int64(1) << shift) - 1
    total = 0
    for at in removed:
        total += start[at + 1] - start[at]
    region = np.empty(total, np.int64)
    count = 0
    for at in removed:
        for i in range(start[at], start[at + 1]):
            region[count] = members[i]
            stamp[members[i]] = True
            count += 1
    size = 0
    for x in region:
        best = fresh[x]
        for arc in range(indptr[x], indptr[x + 1]):
            y = np.int64(head[arc])
            if not stamp[y] and distance[y] < INFINITY:
                candidate = distance[y] + arc_weight[arc]
                if candidate < best and candidate <= limit:
                    best = candidate
                    fresh_base[x], fresh_via[x] = base[y], edge[arc]
        if best < fresh[x]:
            fresh[x] = best
            push_word(heap, size, (best << shift) | x)
            size += 1
    while size:
        word = pop_word(heap, size)
        size -= 1
        u = word & mask
        if word >> shift != fresh[u]:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v = np.int64(head[arc])
            if stamp[v]:
                candidate = fresh[u] + arc_weight[arc]
                if candidate < fresh[v] and candidate <= limit:
                    fresh[v], fresh_base[v], fresh_via[v] = candidate, fresh_base[u], edge[arc]
                    push_word(heap, size, (candidate << shift) | v)
                    size += 1
    return region


@compiled_when_hot
def _clear_labels(region, work):
    for x in region:
        work.stamp[x], work.fresh_distance[x] = False, INFINITY


@compiled_when_hot
def _try_exchange(network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, path):
    """Find the shortest replacement of a key path; return its length, or that of the key path.

    path: gets the replacement's edges.
    """
    indptr, head, edge = network.indptr, network.head, network.edge
    best, arc, i = keys.length[key], NONE, cover.over_path[key]
    if i >= 0 and boundary.length[i] < best:
        best, arc = boundary.length[i], boundary.arc[i]
    bottom, top = keys.position[key], keys.position[keys.parent[key]]
    end = rooted.end[bottom]
    interior = [np.int64(0) for _ in range(0)]
    at = rooted.parent[bottom]
    while at != top:
        interior.append(at)
        at = rooted.parent[at]
    if len(interior) > 0:
        members, start = grouped
        removed = np.array(interior, np.int64)
        region = _label_again(network, arc_weight, removed, members, start, best // 2, work)
        found = NONE
        for x in region:
            if work.fresh_distance[x] == INFINITY:
                continue
            below = bottom <= work.fresh_base[x] < end
            for a in range(indptr[x], indptr[x + 1]):
                y = np.int64(head[a])
                if work.stamp[y]:
                    rest, other = work.fresh_distance[y], work.fresh_base[y]
                else:
                    rest, other = work.distance[y], work.base[y]
                if rest < INFINITY and (bottom <= other < end) != below:
                    length = work.fresh_distance[x] + arc_weight[a] + rest
                    if length < best:
                        best, found = length, np.int64(a)
        if found >= 0:
            trace(
                network, found, work.distance, work.via, work.fresh_distance, work.fresh_via, path
            )
            arc = NONE
        _clear_labels(region, work)
    if arc >= 0:
        trace(network, arc, work.distance, work.via, work.fresh_distance, work.fresh_via, path)
    return best


@compiled_when_hot
def _branch_of(keys, rooted, key, base):
    """Return the number of the key path from ``key`` whose lower end has a base below it.

    That is the number of key paths below if the base is not below ``key``.
    """
    children = keys.children[keys.child_start[key] : keys.child_start[key + 1]]
    at = keys.position[key]
    if not at <= base < rooted.end[at]:
        return np.int64(children.size)
    low, high = 0, children.size - 1  # the last one whose position is at most the base's
    while low < high:
        middle = (low + high + 1) // 2
        if keys.position[children[middle]] <= base:
            low = middle
        else:
            high = middle - 1
    return np.int64(low)


@compiled_when_hot
def _try_elimination(network, arc_weight, rooted, keys, key, cover, boundary, grouped, work, path):
    """Find the cheapest way to do without a key vertex; return what it costs and what it saves.

    path: gets the edges of the paths that join the parts, if that is cheaper.
    """
    indptr, head, edge, shift = network.indptr, network.head, network.edge, network.shift
    children = keys.children[keys.child_start[key] : keys.child_start[key + 1]]
    saved, joins = keys.length[key], children.size
    for child in children:
        saved += keys.length[child]
    removed_list = [keys.position[key]]
    for child in children:
        at = rooted.parent[keys.position[child]]
        while at != keys.position[key]:
            removed_list.append(at)
            at = rooted.parent[at]
    at = rooted.parent[keys.position[key]]
    while at != keys.position[keys.parent[key]]:
        removed_list.append(at)
        at = rooted.parent[at]
    members, start = grouped
    removed = np.array(removed_list, np.int64)
    region = _label_again(network, arc_weight, removed, members, start, saved // 2, work)
    # Candidates: words of length and arc; known paths first, then those of the fresh labels.
    words = [np.int64(0) for _ in range(0)]
    for child in children:
        i = cover.over_two[child]
        if i >= 0 and boundary.length[i] < saved:
            words.append((boundary.length[i] << shift) | boundary.arc[i])
    for x in region:
        if work.fresh_distance[x] == INFINITY:
            continue
        branch = _branch_of(keys, rooted, key, work.fresh_base[x])
        for a in range(indptr[x], indptr[x + 1]):
            y = np.int64(head[a])
            if work.stamp[y]:
                if y < x:
                    continue
                rest, other = work.fresh_distance[y], work.fresh_base[y]
            else:
                rest, other = work.distance[y], work.base[y]
            if rest < INFINITY:
                length = work.fresh_distance[x] + arc_weight[a] + rest
                if length < saved and _branch_of(keys, rooted, key, other) != branch:
                    words.append((length << shift) | np.int64(a))
    candidates = np.array(words, np.int64)
    candidates.sort()
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
        e, v = np.int64(edge[arc]), np.int64(head[arc])
        u = np.int64(network.src[e]) + np.int64(network.dst[e]) - v
        first = work.fresh_base[u] if work.stamp[u] else work.base[u]
        second = work.fresh_base[v] if work.stamp[v] else work.base[v]
        a = root(forest, _branch_of(keys, rooted, key, first))
        b = root(forest, _branch_of(keys, rooted, key, second))
        if a != b:
            forest[a] = b
            added += length
            joins -= 1
            chosen.append(arc)
    if joins == 0:
        for arc in chosen:
            trace(network, arc, work.distance, work.via, work.fresh_distance, work.fresh_via, path)
    else:
        added = saved
    _clear_labels(region, work)
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
def _make_move(network, weight, rooted, keys, move, path, work, vertices, log):
    """Make a move in the current tree if it still gains; else leave the tree as it is.

    vertices: gets those that join the tree.
    """
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
            is_whole = cut(network, e, work, log)
            removed += weight[e]
            at = rooted.parent[at]
            if at != top:
                inner.append(rooted.vertex[at])
    for x in inner:
        is_whole = is_whole and work.degree[x] == 0
    if is_whole:
        for e in path:
            if join(network, e, work, log):
                added += weight[e]
                ends.append(np.int64(network.src[e]))
                ends.append(np.int64(network.dst[e]))
        for i in range(len(ends)):
            loss, ends[i] = prune(network, weight, ends[i], work, log)
            removed += loss
        top = np.int64(NONE)
        for x in ends:
            if work.degree[x] > 0 or network.is_terminal[x]:
                r = find_root(x, work.above)
                is_whole = is_whole and (top == NONE or top == r)
                top = r
    if is_whole and added < removed:
        for e in path:
            vertices.append(np.int64(network.src[e]))
            vertices.append(np.int64(network.dst[e]))
        log.clear()
    else:
        undo(work, log)


@compiled_when_hot
def move_keys(network, weight, arc_weight, tree, shortest, work, flag):
    """Exchange key paths and eliminate key vertices; return a cheaper tree, or the same.

    tree: ascending edge ids. weight, arc_weight: by edge and by arc. shortest: the least weight.
    Returns the tree as it is, or what was found, once ``flag[0]`` is not 0.
    """
    if tree.size == 0:
        return tree
    rooted = hang(network, tree, work)
    keys = find_key_tree(network, weight, rooted)
    limit = np.int64(0)
    for key in range(1, keys.position.size):
        saved = keys.length[key]
        if not network.is_terminal[rooted.vertex[keys.position[key]]]:
            for child in keys.children[keys.child_start[key] : keys.child_start[key + 1]]:
                saved += keys.length[child]
        limit = max(limit, saved)
    labelled = grow_regions(network, arc_weight, rooted, limit // 2, work, flag)
    best = tree
    if not flag[0]:
        in_tree = np.zeros(network.src.size, np.bool_)
        in_tree[tree] = True
        boundary = find_boundary(network, arc_weight, labelled, in_tree, limit, work)
        cover = find_cover(rooted, keys, boundary)
        grouped = _group_members(rooted, labelled, work)
        gains, moves, edges, starts = _find_moves(
            network, arc_weight, rooted, keys, cover, boundary, grouped, shortest, work, flag
        )
        if gains.size:
            vertices, log = load(rooted, work), empty_log()
            for i in np.argsort(-gains, kind="mergesort"):
                path = edges[starts[i] : starts[i + 1]]
                _make_move(network, weight, rooted, keys, moves[i], path, work, vertices, log)
            best = unload(vertices, work)
    for x in labelled:
        work.distance[x] = INFINITY
    release(rooted, work)
    return best
