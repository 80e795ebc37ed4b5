"""STAR's shortest-path searches on one core: the reference that the GPU's are measured against.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA",
``findShortestPath`` of algorithm 2, after G. Kasneci et al., "STAR: Steiner-tree approximation in
relationship graphs" (2009).

A search is bidirectional: Dijkstra's algorithm from both partitions, always on the side whose
queued vertices have fewer arcs, until the sum of both radii reaches the length of the best path, or
the bound. Ties are broken by vertex ids alone, so that all backends return the same path: it begins
at the smallest vertex of the partition below, and goes on to the smallest vertex that continues a
shortest path, by the arc of minimum weight. To find it, the vertices of all shortest paths on the
side of the partition below are marked; on the other side every tight arc lies on a shortest path
anyhow. Lengths are integers: ``whole_lengths_cpu`` defines them for fractional weights.

Cost: O((a + s) log s) per search, for s vertices reached and their a arcs, whatever the graph's
size: labels are reset vertex by vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, clear, grow, pop, push
from mgraph.shortest_paths.problem import infinity_of
from mgraph.steiner.star import Query, SequentialSearch, broken_path_error
from mgraph.steiner.star_initial_tree_cpu import InitialTreeBuilder
from mgraph.steiner.tree_cpu import Tree
from mgraph.steiner.whole_lengths_cpu import choose_scale, whole_length

_1 = np.uint64(1)
# Columns of a vertex's labels, side by side since they are read together: the distances from the
# partitions above (0) and below (1), the position in the tree or -1, and whether it is marked.
_POSITION, _MARK = 2, 3


@compiled
def _with_capacity(heap, entries):
    while entries > capacity(heap):
        heap = grow(heap)
    return heap


@compiled
def _is_above(position, first, end):
    return 0 <= position < first or position >= end


@compiled
def _search(
    indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
    touched, cancelled,
):  # fmt: skip
    """Search until a shortest path is known, if one is shorter than ``best``.

    Side 0 is the partition above, side 1 the partition below. Returns the length (or ``best``), the
    vertices at which shortest paths of both sides meet, the number of touched vertices, and the
    heaps with their sizes. Once the first element of ``cancelled`` is not 0 it returns early,
    without a meeting vertex.
    """
    size, radius = np.zeros(2, np.int64), np.zeros(2, labels.dtype)
    seed, seeds_end, queued_arcs = np.zeros(2, np.int64), np.empty(2, np.int64), size.copy()
    seeds_end[0], seed[1], seeds_end[1] = vertex.size, last, end
    queued_arcs[0] = arcs_before[first] + arcs_before[vertex.size] - arcs_before[end]
    queued_arcs[1] = arcs_before[end] - arcs_before[last]
    has_path, count, zero = False, np.int64(0), best - best
    meetings = [np.int64(0) for _ in range(0)]
    infinity = labels[labels.shape[0] - 1, 0]
    while (seed[0] < seeds_end[0] or size[0]) and (seed[1] < seeds_end[1] or size[1]):
        if cancelled[0]:  # the labels are not yet such that a path could be followed
            meetings.clear()
            break
        side = 0 if queued_arcs[0] <= queued_arcs[1] else 1
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
        queued_arcs[side] -= np.int64(stop - begin)
        if stale:
            continue
        radius[side] = distance
        if radius[0] >= best - radius[1]:  # a sum of two lengths might not fit 64 bits
            break
        if size[side] + np.int64(stop - begin) > capacity(heap):
            entries = size[side] + np.int64(stop - begin)
            heaps = _with_capacity(heaps[0], entries), _with_capacity(heaps[1], entries)
            heap = heaps[side]
        for arc in range(begin, stop):
            v = np.uint64(indices[arc])
            candidate = distance + whole_length(weights[arc], scale)
            if candidate >= labels[v, side] or candidate > best:
                continue
            if candidate == best and not has_path:
                continue
            position = np.int64(labels[v, _POSITION])
            above, below = _is_above(position, first, end), last <= position < end
            if (above and side == 0) or (below and side == 1):
                continue
            if labels[v, 0] == infinity and labels[v, 1] == infinity:
                touched[count] = v
                count += 1
            labels[v, side] = candidate
            other = labels[v, 1 - side]
            if above or below:
                other = zero
            if other < best - candidate:
                best, has_path = candidate + other, True
                meetings.clear()
            if has_path and other == best - candidate:
                meetings.append(np.int64(v))
            if not (above or below) and radius[1 - side] < best - candidate:
                push(heap, size[side], candidate, v)
                size[side] += 1
                queued_arcs[side] += np.int64(indptr[v + _1] - indptr[v])
    return best, meetings, count, heaps, size


@compiled
def _mark_below(indptr, indices, weights, scale, labels, meetings, last, end, length, marked):
    """Mark the vertices of shortest paths from the meeting vertices to the partition below.

    marked: an array of n vertices to be filled. Returns how many are marked, and the smallest of
    those in the partition below.
    """
    count, smallest, zero = np.int64(0), np.int64(-1), length - length
    for v in meetings:
        if labels[v, _MARK] == 0:
            labels[v, _MARK] = 1
            marked[count] = v
            count += 1
    done = np.int64(0)
    while done < count:
        x = marked[done]
        done += 1
        if last <= labels[x, _POSITION] < end:
            if smallest < 0 or x < smallest:
                smallest = x
            continue
        for arc in range(indptr[x], indptr[x + 1]):
            y = np.int64(indices[arc])
            if labels[y, _MARK] == 0:
                rest = labels[y, 1]
                if last <= labels[y, _POSITION] < end:
                    rest = zero
                is_nearer = rest < labels[x, 1]
                if is_nearer and rest + whole_length(weights[arc], scale) == labels[x, 1]:
                    labels[y, _MARK] = 1
                    marked[count] = y
                    count += 1
    return count, smallest


@compiled
def _walk_up(indptr, indices, weights, scale, labels, start, first, last, end, length, zero_weight):
    """Follow the path from ``start``, in the partition below, to the partition above.

    Returns its vertices and weights. The last vertex is -1 where the labels are not those of a
    shortest path. zero_weight: an array of one 0 of the returned weights' type.
    """
    path, path_weight = [start], [zero_weight[0] for _ in range(0)]
    x, zero = start, length - length
    while x >= 0 and not _is_above(np.int64(labels[x, _POSITION]), first, end):
        is_marked = labels[x, _MARK] != 0
        rest = labels[x, 1]
        if last <= labels[x, _POSITION] < end:
            rest = zero
        is_meeting = not is_marked or labels[x, 0] == length - rest
        smallest, min_weight = np.int64(-1), zero_weight[0]
        for arc in range(indptr[x], indptr[x + 1]):
            u, weight = np.int64(indices[arc]), zero_weight[0] + weights[arc]
            if smallest >= 0 and (u > smallest or (u == smallest and weight >= min_weight)):
                continue
            arc_length = whole_length(weights[arc], scale)
            is_tight = is_marked and labels[u, _MARK] != 0 and rest + arc_length == labels[u, 1]
            if is_meeting and not is_tight:
                distance = labels[u, 0]
                if _is_above(np.int64(labels[u, _POSITION]), first, end):
                    distance = zero
                is_tight = distance < labels[x, 0] and distance + arc_length == labels[x, 0]
            if is_tight:
                smallest, min_weight = u, weight
        x = smallest if len(path) < labels.shape[0] else np.int64(-1)
        path.append(x)
        path_weight.append(min_weight)
    return np.array(path), np.array(path_weight)


@compiled
def _find_path(
    indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
    touched, zero_weight, cancelled,
):  # fmt: skip
    """Search, follow the path that was found, and reset all labels."""
    length, meetings, count, heaps, size = _search(
        indptr, indices, weights, scale, labels, vertex, arcs_before, first, last, end, best, heaps,
        touched, cancelled,
    )  # fmt: skip
    path, weight = np.empty(0, np.int64), zero_weight[:0].copy()
    if len(meetings):
        marked = np.empty(count + vertex.size, np.int64)
        csr = indptr, indices, weights, scale
        marks, start = _mark_below(*csr, labels, meetings, last, end, length, marked)
        path, weight = _walk_up(*csr, labels, start, first, last, end, length, zero_weight)
        for v in marked[:marks]:
            labels[v, _MARK] = 0
    infinity = labels[labels.shape[0] - 1, 0]
    for v in touched[:count]:
        labels[v, 0] = labels[v, 1] = infinity
    for side in range(2):
        clear(heaps[side], size[side])
    return path, weight, heaps


class PathFinder:
    """The labels and heaps of the searches on a graph, for the tree of one query at a time."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, dtype: str, touched: Any) -> None:
        """Take a graph, and memory for n touched vertices; all else is allocated when needed.

        dtype: of lengths and returned weights, int64 or float64.
        """
        self.csr = indptr, indices, weights
        self.zero_weight = np.zeros(1, dtype)
        self.max_weight = weights.max().item() if weights.size else 0
        self.touched = touched
        self.labels: Any = None
        self.tree: Any = None
        self.paths: Any = None

    def prepare(self, query: Query) -> None:
        """Take a query's tree for the next calls of ``find``."""
        self.set_tree(query.tree)
        self.paths = query.paths

    def find(self, path: int, bound: Any) -> tuple[Any, Any]:
        """Search for a replacement of loose path number ``path`` that is shorter than ``bound``."""
        return self.find_between(self.paths.first[path], self.paths.last[path], bound)

    def set_tree(self, tree: Tree) -> None:
        """Take a tree for the next searches; no path longer than its cost is of interest."""
        n, cost = self.touched.size, tree.weight.sum().item()
        small = self.zero_weight.dtype.kind == "i" and 2 * cost + self.max_weight < 1 << 31
        dtype = np.dtype(np.int32 if small else np.int64)
        if self.labels is None or self.labels.dtype != dtype:
            self.labels = np.empty((n + 1, 4), dtype)
            self.labels[:, :2] = infinity_of(dtype)
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

    def find_between(self, first: int, last: int, bound: Any) -> tuple[Any, Any]:
        """Search between the partitions that are left without the path at [first, last].

        Returns the ids and the weights of a shortest path from the partition below to the partition
        above; both are empty if none is shorter than ``bound``.
        """
        labels, tree = self.labels, self.tree
        length, scale = choose_scale(bound, self.zero_weight.dtype.kind == "f")
        path, weight, self.heaps = _find_path(
            *self.csr, scale, labels, tree.vertex, self.arcs_before, first, last, tree.end[last],
            labels.dtype.type(length), self.heaps, self.touched, self.zero_weight,
            cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        if path.size and path[-1] < 0:
            raise broken_path_error()
        return path, weight


def new_search(indptr: Any, indices: Any, weights: Any, dtype: str) -> SequentialSearch:
    """Return STAR on a graph, on one core. dtype: of lengths and weights, int64 or float64."""
    builder = InitialTreeBuilder(indptr, indices, weights, dtype)
    path_finder = PathFinder(indptr, indices, weights, dtype, builder.touched)
    return SequentialSearch(builder, path_finder)
