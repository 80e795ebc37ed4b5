"""STAR's two searches on one core: the reference that the GPU's are measured against.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA", after
G. Kasneci et al., "STAR: Steiner-tree approximation in relationship graphs" (2009).

A search is Dijkstra's algorithm from both partitions, on the side whose waiting
vertices have fewer arcs, until both radii together reach the best path found, or the length to
beat. Of several shortest paths it takes one that depends on nothing but the graph: from the least
vertex of the partition below, always on to the least vertex from which a shortest path comes, by
the lightest of parallel arcs. For that it marks the shortest paths' vertices on the side of the
partition below; on the other side, tight arcs lead along shortest paths anyhow. Lengths are whole:
``whole_lengths_cpu`` says how long arcs of fractional weights are.

Cost: of a search O((a + s) log s) for s vertices reached and their a arcs, whatever the graph's
size: labels are put back vertex by vertex.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import grown, pop, push, room
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner.star import InTurn, Query, no_way_back
from mgraph.steiner.star_initial_tree_cpu import InitialTreeBuilder
from mgraph.steiner.tree_cpu import Tree
from mgraph.steiner.whole_lengths_cpu import measured, whole

_1 = np.uint64(1)
# Columns of a vertex's labels, side by side since they are read together: the distance from the
# partition above and from that below, the position in the tree (or -1), and whether it is marked.
_POSITION, _MARK = 2, 3


@compiled
def _with_room(heap, entries):
    while entries > room(heap):
        heap = grown(heap)
    return heap


@compiled
def _above(position, first, end):
    return 0 <= position < first or position >= end


@compiled
def _search(
    indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
    touched, stop_word,
):  # fmt: skip
    """Search until a shortest path is known, if one is shorter than ``best``.

    Side 0 is the partition above, side 1 that below. Returns the length (or ``best``), the vertices
    at which such paths meet, how many are touched, and the heaps with their sizes. stop_word: it
    ends early, and has found nothing, once the first element is not 0.
    """
    size, radius = np.zeros(2, np.int64), np.zeros(2, labels.dtype)
    seed = np.array([0, last])
    waiting = np.array(  # arcs of the vertices that wait on each side
        [
            arcs_before[first] + arcs_before[vertex.size] - arcs_before[end],
            arcs_before[end] - arcs_before[last],
        ]
    )
    seeds_end = np.array([vertex.size, end])
    found, count, zero = False, np.int64(0), best - best
    met = [np.int64(0) for _ in range(0)]
    infinity = labels[labels.shape[0] - 1, 0]
    while (seed[0] < seeds_end[0] or size[0]) and (seed[1] < seeds_end[1] or size[1]):
        if stop_word[0]:  # the labels are not yet such that a path could be followed
            met.clear()
            break
        side = 0 if waiting[0] <= waiting[1] else 1
        heap = heaps[side]
        if seed[side] < seeds_end[side]:
            u, distance = np.uint64(vertex[seed[side]]), zero
            seed[side] += 1
            if seed[side] == first:  # on side 0 alone: side 1 begins behind it
                seed[side] = end
            stale = False
        else:
            key, u = pop(heap, size[side])
            size[side] -= 1
            distance = labels[u, side]
            stale = key != distance
        begin, stop = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        waiting[side] -= np.int64(stop - begin)
        if stale:
            continue
        radius[side] = distance
        if radius[0] >= best - radius[1]:  # sums of two lengths might not fit 64 bits
            break
        if size[side] + np.int64(stop - begin) > room(heap):
            entries = size[side] + np.int64(stop - begin)
            heaps = _with_room(heaps[0], entries), _with_room(heaps[1], entries)
            heap = heaps[side]
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = distance + whole(weights[arc], scale)
            if candidate >= labels[v, side] or candidate > best:
                continue
            if candidate == best and not found:
                continue
            position = np.int64(labels[v, _POSITION])
            above, below = _above(position, first, end), last <= position < end
            if (above and side == 0) or (below and side == 1):
                continue
            if labels[v, 0] == infinity and labels[v, 1] == infinity:
                touched[count] = v
                count += 1
            labels[v, side] = candidate
            rest = labels[v, 1 - side]
            if above or below:
                rest = zero
            if rest < best - candidate:
                best, found = candidate + rest, True
                met.clear()
            if found and rest == best - candidate:
                met.append(np.int64(v))
            if not (above or below) and radius[1 - side] < best - candidate:
                push(heap, size[side], candidate, v)
                size[side] += 1
                waiting[side] += np.int64(indptr[v + _1] - indptr[v])
    return best, met, count, heaps, size


@compiled
def _mark_below(indptr, indices, weights, scale, labels, vertices, last, end, length, marked):
    """Mark the shortest paths' vertices from ``vertices`` to the partition below.

    marked: room for n vertices. Returns how many are, and the least of the partition below.
    """
    count, least, zero = np.int64(0), np.int64(-1), length - length
    for v in vertices:
        if labels[v, _MARK] == 0:
            labels[v, _MARK] = 1
            marked[count] = v
            count += 1
    done = np.int64(0)
    while done < count:
        x = marked[done]
        done += 1
        if last <= labels[x, _POSITION] < end:
            if least < 0 or x < least:
                least = x
            continue
        for arc in range(indptr[x], indptr[x + 1]):
            y = np.int64(indices[arc])
            if labels[y, _MARK] == 0:
                rest = labels[y, 1]
                if last <= labels[y, _POSITION] < end:
                    rest = zero
                if rest < labels[x, 1] and rest + whole(weights[arc], scale) == labels[x, 1]:
                    labels[y, _MARK] = 1
                    marked[count] = y
                    count += 1
    return count, least


@compiled
def _walk_up(indptr, indices, weights, scale, labels, start, first, last, end, length, kind):
    """The path from ``start``, in the partition below, to that above, and its weights.

    It ends short of that partition where the labels are not those of a shortest path.
    """
    path, path_weight = [start], [kind[0] for _ in range(0)]
    x, zero = start, length - length
    while x >= 0 and not _above(np.int64(labels[x, _POSITION]), first, end):
        marked = labels[x, _MARK] != 0
        rest = labels[x, 1]
        if last <= labels[x, _POSITION] < end:
            rest = zero
        meets = not marked or labels[x, 0] == length - rest
        least, lightest = np.int64(-1), kind[0]
        for arc in range(indptr[x], indptr[x + 1]):
            u, weight = np.int64(indices[arc]), kind[0] + weights[arc]
            if least >= 0 and (u > least or (u == least and weight >= lightest)):
                continue
            its_length = whole(weights[arc], scale)
            tight = marked and labels[u, _MARK] != 0 and rest + its_length == labels[u, 1]
            if meets and not tight:
                before = labels[u, 0]
                if _above(np.int64(labels[u, _POSITION]), first, end):
                    before = zero
                tight = before < labels[x, 0] and before + its_length == labels[x, 0]
            if tight:
                least, lightest = u, weight
        x = least if len(path) < labels.shape[0] else np.int64(-1)
        path.append(x)
        path_weight.append(lightest)
    return np.array(path), np.array(path_weight)


@compiled
def _shortest_path(
    indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
    touched, kind, stop_word,
):  # fmt: skip
    """Search, follow the path that was found, and put all labels back."""
    length, met, count, heaps, size = _search(
        indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
        touched, stop_word,
    )  # fmt: skip
    path, weight = np.empty(0, np.int64), kind[:0].copy()
    if len(met):
        marked = np.empty(count + vertex.size, np.int64)
        csr = indptr, indices, weights, scale
        marks, start = _mark_below(*csr, labels, met, last, end, length, marked)
        path, weight = _walk_up(*csr, labels, start, first, last, end, length, kind)
        for v in marked[:marks]:
            labels[v, _MARK] = 0
    infinity = labels[labels.shape[0] - 1, 0]
    for v in touched[:count]:
        labels[v, 0] = labels[v, 1] = infinity
    for side in range(2):
        entries = heaps[side][0]
        entries[: size[side]] = entries[entries.size - 1]
    return path, weight, heaps


class Searcher(InTurn):
    """STAR's searches on a graph, for one query at a time; of ``mgraph.steiner.star``."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, kind: str) -> None:
        """Allocate nothing yet. kind: int64 or float64, of lengths and of what is returned."""
        self.csr = indptr, indices, weights
        self.kind = np.zeros(1, kind)
        self.heaviest = weights.max().item() if weights.size else 0
        self.initial_tree_builder = InitialTreeBuilder(indptr, indices, weights, kind)
        self.touched = self.initial_tree_builder.touched
        self.labels: Any = None
        self.tree: Any = None

    def searcher(self, query: Query) -> Callable[[int, Any], tuple[Any, Any]]:
        """Take a query's tree."""
        self._prepare(query.tree)
        first, last, _ = query.paths
        return lambda i, below: self._shortest_path(first[i], last[i], below)

    def _prepare(self, tree: Tree) -> None:
        """Take a tree for the next searches; no path longer than its cost is of interest."""
        n, most = self.touched.size, tree.weight.sum().item()
        small = self.kind.dtype.kind == "i" and 2 * most + self.heaviest < 1 << 31
        kind = np.dtype(np.int32 if small else np.int64)
        if self.labels is None or self.labels.dtype != kind:
            self.labels = np.empty((n + 1, 4), kind)
            self.labels[:, :2] = infinity_of(kind)
            self.labels[:, _POSITION] = -1
            self.labels[:, _MARK] = 0
            self.heaps = tuple(heap_cpu.new(n, small=small) for _ in range(2))
        elif self.tree is not None:
            self.labels[self.tree.vertex, _POSITION] = -1
        self.tree = tree
        self.labels[tree.vertex, _POSITION] = np.arange(tree.vertex.size)
        indptr = self.csr[0]
        self.arcs_before = np.zeros(tree.vertex.size + 1, np.int64)
        np.cumsum(indptr[tree.vertex + 1] - indptr[tree.vertex], out=self.arcs_before[1:])

    def _shortest_path(self, first: int, last: int, best: Any) -> tuple[Any, Any]:
        """The shortest path between the partitions without a loose path, if shorter than best.

        From the partition below to that above: ids, and weights; both empty where there is none.
        """
        labels, tree = self.labels, self.tree
        length, scale = measured(best, self.kind.dtype.kind == "f")
        path, weight, self.heaps = _shortest_path(
            *self.csr, scale, labels, tree.vertex, self.arcs_before, first, last, tree.end[last],
            labels.dtype.type(length), self.heaps, self.touched, self.kind,
            cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        if path.size and path[-1] < 0:
            raise no_way_back()
        return path, weight
