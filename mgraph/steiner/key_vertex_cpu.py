"""Key-vertex elimination: a branching vertex goes, and what falls apart is joined more cheaply.

Source: E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010). A key
vertex has three edges or more and is no terminal. With it go the loose paths that end at it, and
the parts that are left are joined by the paths of a minimum spanning tree (``mehlhorn_cpu``), which
may lead through the removed vertices again.

The regions of a tree's vertices, and the crossings between them, are found once. Without a key
vertex only those regions are void whose own vertices were removed: what they held goes to the
regions around, and the crossings there are found anew. No distance beyond half of what was removed
is looked at. In preorder the parts are intervals of positions.

Cost: one search over the vertices within half of what is removed at most. A tree's vertex goes with
few key vertices, those at the ends of its loose path, so that all regions that are void cost little
more than that search; and each key vertex a look at the crossings shorter than what it removes.
After a gain all that begins anew. Memory: 33 bytes a vertex, 16 more where it was reached.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.heap_cpu import capacity, grow, pop, push
from mgraph.steiner import tree_cpu
from mgraph.steiner.mehlhorn_cpu import Crossings, join, new_heaps, new_regions, paths, seeded
from mgraph.steiner.star import LEAST_GAIN
from mgraph.steiner.takahashi_matsuyama_cpu import length_kind
from mgraph.steiner.tree_cpu import Tree

_1 = np.uint64(1)


@compiled
def _spread(indptr, indices, weights, tree, regions, heap, farthest, stop_word):
    """Label the vertices within ``farthest`` of the tree, whose groups are its positions.

    Returns the labelled vertices by group, where each group's begin, and the heap, empty; ends
    early, with all that half done, once the first element of ``stop_word`` is not 0.
    """
    distance, keys, group, via, tail, final = regions
    size = tree.vertex.size
    for at in range(size):
        x = tree.vertex[at]
        distance[x], group[x], via[x] = 0, at, -1
    start = np.zeros(size + 1, np.int64)
    order = [np.int64(0) for _ in range(0)]
    while size > 0 and not stop_word[0]:
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
            if candidate < distance[v] and candidate <= farthest:
                distance[v], group[v], via[v], tail[v] = candidate, group[u], arc, u
                push(heap, size, keys[v], v)
                size += 1
    start = np.cumsum(start)
    cells, cursor = np.empty(len(order), np.int64), start[:-1].copy()
    for x in order:
        cells[cursor[group[x]]] = x
        cursor[group[x]] += 1
    return cells, start, heap


@compiled
def _crossings(indptr, indices, weights, regions, cells, start, limit):
    """Of each two regions the shortest crossing below ``limit``; in ascending order."""
    distance, group, final = regions.distance, regions.group, regions.final
    groups = start.size - 1
    nearest, best = np.full(groups, limit), np.empty(groups, np.int64)
    arcs, ones = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    others, lengths = [np.int64(0) for _ in range(0)], [limit for _ in range(0)]
    for one in range(groups):
        met = [np.int64(0) for _ in range(0)]
        for x in cells[start[one] : start[one + 1]]:
            for arc in range(indptr[x], indptr[x + 1]):
                y = indices[arc]
                if final[y] and group[y] > one:
                    length = distance[x] + weights[arc] + distance[y]
                    if length < nearest[group[y]]:
                        if nearest[group[y]] == limit:
                            met.append(group[y])
                        nearest[group[y]], best[group[y]] = length, arc
        for other in met:
            arcs.append(best[other])
            lengths.append(nearest[other])
            ones.append(np.int64(one))
            others.append(other)
            nearest[other] = limit
    length = np.array(lengths)
    order = np.argsort(length, kind="mergesort")
    key = length[order].view(np.int64)
    return Crossings(np.array(arcs)[order], key, np.array(ones)[order], np.array(others)[order])


@compiled
def _regrow(indptr, indices, weights, regions, cells, start, parent, heap, limit):
    """Take the labels of removed groups' vertices, and let the regions around begin to grow.

    Returns those vertices with the labels that they had, and the heap with its size.
    """
    distance, keys, group, via, tail, final = regions
    gone = [np.int64(0) for _ in range(0)]
    for at in range(parent.size):
        if parent[at] < 0:
            gone.extend(cells[start[at] : start[at + 1]])
    taken = np.array(gone)
    had = distance[taken], group[taken], via[taken], tail[taken]
    infinity, size = distance[distance.size - 1], np.int64(0)
    distance[taken], final[taken] = infinity, False
    while taken.size > capacity(heap):
        heap = grow(heap)
    for x in taken:
        for arc in range(indptr[x], indptr[x + 1]):
            y = indices[arc]
            if final[y]:
                candidate = distance[y] + weights[arc]
                if candidate < distance[x] and candidate < limit - candidate:
                    distance[x], group[x], via[x], tail[x] = candidate, group[y], arc, y
        if distance[x] < infinity:
            push(heap, size, keys[x], x)
            size += 1
    return taken, had, heap, size


class Eliminator:
    """Key-vertex elimination on a graph, for one tree at a time; of no use once stopped."""

    def __init__(self, csr: tuple[Any, Any, Any]) -> None:
        """Allocate the labels. csr: indptr, indices and weights, all above 0."""
        self.csr = csr
        n, m = csr[0].size - 1, csr[1].size
        self.regions, self.heaps = new_regions(n, length_kind(csr[2])), new_heaps(n, m)

    def improved(self, tree: Tree, deadline: Deadline = NEVER) -> Tree:
        """The tree after one pass over its key vertices; the same object if none can go.

        deadline: no vertex is tried past it.
        """
        tried = -1
        while True:
            keys = np.flatnonzero((tree_cpu.degrees(tree) > 2) & ~tree.terminal)
            keys = keys[tree.vertex[keys] > tried]
            if not keys.size or deadline.is_over:
                return tree
            keys = keys[np.argsort(tree.vertex[keys])]
            better, tried = self._without_one(tree, keys, deadline)
            if better is None:
                return tree
            tree = better

    def _without_one(self, tree: Tree, keys: Any, deadline: Deadline) -> tuple[Tree | None, int]:
        """A cheaper tree without the first of some key vertices that can go, or None; and that."""
        csr, regions, (heap, arc_heap) = self.csr, self.regions, self.heaps
        infinity, kind = regions.distance[-1], regions.distance.dtype
        loose = tree_cpu.loose_paths(tree)
        upper = tree.parent[loose.first]
        cost = np.zeros(tree.vertex.size, kind)
        np.add.at(cost, loose.last, loose.length)
        np.add.at(cost, upper, loose.length)
        dearest = cost[keys].max()
        half = kind.type(dearest / 2)
        seeds, stop_word = seeded(heap, tree.vertex), cancellation.cancel_flag()
        cells, start, heap = _spread(*csr, tree, regions, seeds, half, stop_word)
        cancellation.raise_if_cancelled()
        known = _crossings(*csr, regions, cells, start, dearest)
        better, parent = None, np.empty(tree.vertex.size, np.int64)
        for at in keys.tolist():
            if deadline.is_over:
                break
            parent[:] = 0
            parent[loose.first[loose.last == at][0] : tree.end[at]] = -1
            parts = loose.last[upper == at]
            for fixed in parts.tolist():
                parent[fixed : tree.end[fixed]] = fixed
            removed = parent < 0
            limit = cost[at] * (1 - LEAST_GAIN) if kind.kind == "f" else cost[at]
            taken, had, heap, size = _regrow(*csr, regions, cells, start, parent, heap, limit)
            joined, labelled, (heap, arc_heap) = join(
                *csr, regions, (heap, arc_heap), size, parent, parts.size, known, limit, stop_word
            )
            if joined.size == parts.size:
                better = self._joined(tree, removed, joined)
            regions.distance[labelled], regions.final[labelled] = infinity, False
            if better is not None:
                break
            for label, old in zip((regions.distance, *regions[2:5]), had, strict=True):
                label[taken] = old
            regions.final[taken] = True
        regions.distance[cells], regions.final[cells] = infinity, False
        self.heaps = heap, arc_heap
        return better, int(tree.vertex[at])

    def _joined(self, tree: Tree, removed: Any, joined: Any) -> Tree:
        """The tree without removed positions, and with the ways across these arcs."""
        src, dst, weight = paths(*self.csr, self.regions, joined)
        kept = np.flatnonzero(~removed & ~removed[tree.parent] & (tree.parent >= 0))
        return tree_cpu.from_edges(
            np.concatenate([src, tree.vertex[tree.parent[kept]]]),
            np.concatenate([dst, tree.vertex[kept]]),
            np.concatenate([weight, tree.weight[kept]]),
            tree.vertex[tree.terminal],
        )
