"""Key-vertex elimination: a branching vertex is removed, and the parts are joined more cheaply.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). A key
vertex has degree 3 or more and is no terminal. With it the loose paths are removed that end at it,
and the parts that remain are joined by the paths of a minimum spanning tree (``mehlhorn_cpu``),
which may lead through the removed vertices again.

The regions of a tree's vertices, and the crossings between them, are found once. Without a key
vertex only those regions are void whose own vertices were removed: what they held goes to the
regions around, and only the crossings there are found again. No distance beyond half of what was
removed is considered. In preorder the parts are intervals of positions.

Cost: one search over the vertices within half of what is removed at most. A tree's vertex is
removed with few key vertices, those at the ends of its loose path, so that all void regions
together cost little more than that search; and for each key vertex a look at the crossings shorter
than what it removes. After a gain all of that begins again. Memory: 33 bytes per vertex, 16 more
where it was reached.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.steiner import tree_cpu
from mgraph.steiner.mehlhorn_cpu import (
    Crossings,
    collect_paths,
    join_groups,
    new_heaps,
    new_regions,
    seed_heap,
)
from mgraph.steiner.star import MIN_RELATIVE_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import sum_dtype
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


@compiled_when_hot
def _grow_regions(indptr, indices, weights, tree, regions, heap, max_distance, cancelled):
    """Label the vertices within ``max_distance`` of the tree, whose positions are the groups.

    Returns the labelled vertices by group, the index of each group's first, and the heap, empty.
    Returns early, with incomplete labels, once the first element of ``cancelled`` is not 0.
    """
    distance, keys, group, via, tail, final = regions
    size = tree.vertex.size
    for at in range(size):
        x = tree.vertex[at]
        distance[x], group[x], via[x] = 0, at, -1
    start = np.zeros(size + 1, np.int64)
    order = [np.int64(0) for _ in range(0)]
    while size > 0 and not cancelled[0]:
        key, u = pop(heap, size)
        size -= 1
        if key != keys[u] or final[u]:
            continue
        final[u] = True
        order.append(np.int64(u))
        start[group[u] + 1] += 1
        begin, stop = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        while size + np.int64(stop - begin) > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = distance[u] + weights[arc]
            if candidate < distance[v] and candidate <= max_distance:
                distance[v], group[v], via[v], tail[v] = candidate, group[u], arc, u
                push(heap, size, keys[v], v)
                size += 1
    start = np.cumsum(start)
    members, cursor = np.empty(len(order), np.int64), start[:-1].copy()
    for x in order:
        members[cursor[group[x]]] = x
        cursor[group[x]] += 1
    return members, start, heap


@compiled_when_hot
def _find_crossings(indptr, indices, weights, regions, members, start, limit):
    """Return the shortest crossing below ``limit`` of each two regions, in ascending order."""
    distance, group, final = regions.distance, regions.group, regions.final
    groups = start.size - 1
    nearest, best = np.full(groups, limit), np.empty(groups, np.int64)
    arcs, firsts = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    seconds, lengths = [np.int64(0) for _ in range(0)], [limit for _ in range(0)]
    for first in range(groups):
        neighbours = [np.int64(0) for _ in range(0)]
        for x in members[start[first] : start[first + 1]]:
            for arc in range(indptr[x], indptr[x + 1]):
                y = indices[arc]
                if final[y] and group[y] > first:
                    length = distance[x] + weights[arc] + distance[y]
                    if length < nearest[group[y]]:
                        if nearest[group[y]] == limit:
                            neighbours.append(group[y])
                        nearest[group[y]], best[group[y]] = length, arc
        for second in neighbours:
            arcs.append(best[second])
            lengths.append(nearest[second])
            firsts.append(np.int64(first))
            seconds.append(second)
            nearest[second] = limit
    length = np.array(lengths, regions.distance.dtype)
    order = np.argsort(length, kind="mergesort")
    return Crossings(
        np.array(arcs, np.int64)[order],
        length[order].view(np.int64),
        np.array(firsts, np.int64)[order],
        np.array(seconds, np.int64)[order],
    )


@compiled_when_hot
def _release_regions(indptr, indices, weights, regions, members, start, parent, heap, limit):
    """Remove the labels of removed groups, and queue their vertices for the regions around.

    Returns those vertices with the labels that they had, and the heap with its size.
    """
    distance, keys, group, via, tail, final = regions
    removed = [np.int64(0) for _ in range(0)]
    for at in range(parent.size):
        if parent[at] < 0:
            removed.extend(members[start[at] : start[at + 1]])
    released = np.array(removed, np.int64)
    labels = distance[released], group[released], via[released], tail[released]
    infinity, size = distance[distance.size - 1], np.int64(0)
    distance[released], final[released] = infinity, False
    while released.size > capacity(heap):
        heap = grow(heap)
    for x in released:
        for arc in range(indptr[x], indptr[x + 1]):
            y = indices[arc]
            if final[y]:
                candidate = distance[y] + weights[arc]
                if candidate < distance[x] and candidate < limit - candidate:
                    distance[x], group[x], via[x], tail[x] = candidate, group[y], arc, y
        if distance[x] < infinity:
            push(heap, size, keys[x], x)
            size += 1
    return released, labels, heap, size


class Eliminator:
    """Key-vertex elimination on a graph, for one tree at a time; unusable once cancelled."""

    def __init__(self, csr: tuple[Any, Any, Any]) -> None:
        """Allocate the labels. csr: indptr, indices and weights, all above 0."""
        self.csr = csr
        n, num_arcs = csr[0].size - 1, csr[1].size
        self.regions, self.heaps = new_regions(n, sum_dtype(csr[2])), new_heaps(n, num_arcs)

    def improve(self, tree: Tree, deadline: Deadline = NEVER) -> Tree:
        """Try each of the tree's key vertices once; return the same object if none can go.

        deadline: no vertex is tried after it.
        """
        last_tried = -1
        while True:
            keys = np.flatnonzero((tree_cpu.count_degrees(tree) > 2) & ~tree.terminal)
            keys = keys[tree.vertex[keys] > last_tried]
            if not keys.size or deadline.is_over:
                return tree
            keys = keys[np.argsort(tree.vertex[keys])]
            better, last_tried = self._eliminate_one(tree, keys, deadline)
            if better is None:
                return tree
            tree = better

    def _eliminate_one(self, tree: Tree, keys: Any, deadline: Deadline) -> tuple[Tree | None, int]:
        """Eliminate the first key vertex that can go.

        Returns the cheaper tree, or None, and the id of the vertex that was tried last.
        """
        csr, regions, (heap, arc_heap) = self.csr, self.regions, self.heaps
        infinity, dtype = regions.distance[-1], regions.distance.dtype
        loose = tree_cpu.find_loose_paths(tree, tree_cpu.NO_VERTEX)
        upper = tree.parent[loose.first]
        cost = np.zeros(tree.vertex.size, dtype)  # of the loose paths at each fixed vertex
        np.add.at(cost, loose.last, loose.length)
        np.add.at(cost, upper, loose.length)
        max_cost = cost[keys].max()
        half = dtype.type(max_cost / 2)
        seeds, cancelled = seed_heap(heap, tree.vertex), cancellation.cancel_flag()
        members, start, heap = _grow_regions(*csr, tree, regions, seeds, half, cancelled)
        cancellation.raise_if_cancelled()
        known = _find_crossings(*csr, regions, members, start, max_cost)
        better, parent = None, np.empty(tree.vertex.size, np.int64)
        for at in keys.tolist():
            if deadline.is_over:
                break
            parent[:] = 0
            parent[loose.first[loose.last == at][0] : tree.end[at]] = -1
            parts = loose.last[upper == at]
            for fixed in parts.tolist():
                parent[fixed : tree.end[fixed]] = fixed
            is_removed = parent < 0
            limit = cost[at] * (1 - MIN_RELATIVE_GAIN) if dtype.kind == "f" else cost[at]
            released, old_labels, heap, size = _release_regions(
                *csr, regions, members, start, parent, heap, limit
            )
            joined, labelled, (heap, arc_heap) = join_groups(
                *csr, regions, (heap, arc_heap), size, parent, parts.size, known, limit, cancelled
            )
            if joined.size == parts.size:
                better = self._join_parts(tree, is_removed, joined)
            regions.distance[labelled], regions.final[labelled] = infinity, False
            if better is not None:
                break
            for label, old in zip((regions.distance, *regions[2:5]), old_labels, strict=True):
                label[released] = old
            regions.final[released] = True
        regions.distance[members], regions.final[members] = infinity, False
        self.heaps = heap, arc_heap
        return better, int(tree.vertex[at])

    def _join_parts(self, tree: Tree, is_removed: Any, joined: Any) -> Tree:
        """Return the tree without removed positions, with the paths across the joined arcs."""
        src, dst, weight = collect_paths(*self.csr, self.regions, joined)
        kept = np.flatnonzero(~is_removed & ~is_removed[tree.parent] & (tree.parent >= 0))
        return tree_cpu.from_edges(
            np.concatenate([src, tree.vertex[tree.parent[kept]]]),
            np.concatenate([dst, tree.vertex[kept]]),
            np.concatenate([weight, tree.weight[kept]]),
            tree.vertex[tree.terminal],
        )
