"""Lawler's search for the k best trees: the set of all trees is divided around each answer.

An answer is a minimal tree: without any of its leaves it would lack a group. A part of all trees is
given by a connected part of a tree that they hold, edges that they do not hold, and the vertices of
the first group that they may begin at. Its best tree is found by ``completion_cpu``; or by the
search for group Steiner trees where nothing is held yet. Parts are taken in the order of their best
trees. Around that tree a part is divided along its edges in depth-first order: the trees without
the first edge, those with the first and without the second, and so on.

In that order what is held ends at one vertex at most that is of no use by itself. The completion
goes on from there. Where its branches touch, it is no tree; the part is then divided by an edge at
that vertex, and its length is a lower bound. Where the best tree of a part is not minimal, the part
is divided by a needless leaf: the trees without it, those in which it is no leaf, and for each of
its groups those that hold no other vertex of it. If it is held already, trees may so have to go on
at several vertices. A completion goes on at one of them; where it ends at another one, its length
is a lower bound as well, and the part is divided by an edge there. So each part is smaller than the
one that is divided, and the search ends.

Completions are searched for up to a limit, which is raised when there is nothing else to do.

Sources: E. L. Lawler, "A procedure for computing the K best solutions to discrete optimization
problems" (1972); B. Kimelfeld, Y. Sagiv, "Finding and approximating top-k answers in keyword
proximity search" (PODS 2006).
"""

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import heap_cpu
from mgraph.steiner.k_best.completion_cpu import complete

_FIRST_LIMIT = 1.1  # times the length of the best tree
_MAX_LIMIT = 1 << 60
_HEAP_SIZE = 1 << 62


class Part(NamedTuple):
    """A part of all trees. held: arcs (tail, head, arc) in the order in which they were added.

    start: the vertex that what is held begins at. tip: the vertex at which it must go on, or -1.
    excluded: arcs, in both directions. barred: vertices that trees do not hold. more_tips: other
    vertices of what is held at which it must go on.
    """

    start: int
    held: tuple[tuple[int, int, int], ...]
    tip: int
    excluded: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()
    more_tips: frozenset[int] = frozenset()

    @property
    def vertices(self) -> set[int]:
        """The vertices of what is held."""
        return {self.start} | {v for tail, head, _ in self.held for v in (tail, head)}


class Answers:
    """The search on a graph: indptr, heads, lengths of arcs, and groups of vertices."""

    def __init__(self, indptr: Any, heads: Any, lengths: Any, groups: list[Any], flag: Any) -> None:
        """Prepare the search. flag: not 0 once time is up."""
        self.indptr, self.heads, self.lengths, self.flag = indptr, heads, lengths, flag
        self.groups = groups
        self.groups_of: dict[int, int] = {}  # the set of groups of a vertex
        for i, group in enumerate(groups):
            for v in group.tolist():
                self.groups_of[v] = self.groups_of.get(v, 0) | 1 << i
        self.everything = (1 << len(groups)) - 1
        self.limit = 0
        self._is_excluded = np.zeros(heads.size, np.bool_)
        self._is_barred = np.zeros(indptr.size - 1, np.bool_)
        self._seen: set[frozenset[tuple[int, int]]] = set()
        self._order = 0
        self._queue: list[Any] = []
        self._postponed: list[Any] = []

    def run(self, search: Any) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
        """Yield the start and the arcs of trees, the shortest first.

        search: returns the length, the arcs and the first vertex of the best tree that begins in a
        group, which stands for the first one; the length is None if there is none.
        """
        starts = self.groups[0]
        length, arcs, start = search(starts)
        if length is None:
            return
        self.limit = int(_FIRST_LIMIT * length) or int(self.lengths.max(initial=1))
        self._push(length, (starts, arcs, start))
        while not self.flag[0]:
            if self._postponed and (not self._queue or self._queue[0][0] > self.limit):
                if self.limit > _MAX_LIMIT:
                    return
                self.limit *= 2
                postponed, self._postponed = self._postponed, []
                for part in postponed:
                    self._evaluate(part)
                continue
            if not self._queue:
                return
            _, _, item = heapq.heappop(self._queue)
            if isinstance(item[0], Part):
                part, arcs, is_tree = item
                if not is_tree:
                    self._divide_by_edge(part, arcs)
                    continue
                start = part.start
            else:
                starts, arcs, start = item
                vertices = {start} | {v for tail, head, _ in arcs for v in (tail, head)}
                start = next(v for v in starts.tolist() if v in vertices)
                rest = starts[starts != start]
                if rest.size:
                    length, others, other = search(rest)
                    if length is not None:
                        self._push(length, (rest, others, other))
                part = Part(start, (), -1)
            leaf = self._needless_leaf(arcs)
            if leaf >= 0:
                self._divide_by_leaf(part, arcs, leaf)
                continue
            edges = frozenset((min(tail, head), max(tail, head)) for tail, head, _ in arcs)
            key = edges or frozenset([(start, start)])
            if key not in self._seen:
                self._seen.add(key)
                yield start, arcs
            self._divide(part, arcs)

    def _push(self, length: int, item: Any) -> None:
        self._order += 1
        heapq.heappush(self._queue, (length, self._order, item))

    def _needless_leaf(self, arcs: list[tuple[int, int, int]]) -> int:
        """Return a leaf whose groups have other vertices in the tree, or -1."""
        degree: dict[int, int] = {}
        for tail, head, _ in arcs:
            degree[tail] = degree.get(tail, 0) + 1
            degree[head] = degree.get(head, 0) + 1
        once = twice = 0  # sets of groups that the tree holds vertices of
        for v in degree:
            twice |= once & self.groups_of.get(v, 0)
            once |= self.groups_of.get(v, 0)
        leaves = (v for v in degree if degree[v] == 1)
        return next((v for v in leaves if not self.groups_of.get(v, 0) & ~twice), -1)

    def _both_ways(self, arc: tuple[int, int, int]) -> set[int]:
        """Return the arcs of an edge and its parallels in both directions.

        Only the shortest of parallel edges is of use, and the others would give the same tree.
        """
        found = set()
        for u, v in (arc[:2], arc[1::-1]):
            begin, end = int(self.indptr[u]), int(self.indptr[u + 1])
            found |= set((begin + np.flatnonzero(self.heads[begin:end] == v)).tolist())
        return found

    def _divide(self, part: Part, arcs: list[tuple[int, int, int]]) -> None:
        """Divide a part around its best tree."""
        known = part.vertices
        for arc in self._depth_first(part, arcs, known):
            self._evaluate(part._replace(excluded=part.excluded | self._both_ways(arc)))
            part = self._hold(part, arc, self._tip_after(arc[1], known))
            known.add(arc[1])

    def _hold(self, part: Part, arc: tuple[int, int, int], tip: int) -> Part:
        """Return the trees that hold an arc as well. tip: its head if they go on there, or -1."""
        tips = ({part.tip, tip} | part.more_tips) - {arc[0], -1}
        return self._with_tips(part._replace(held=(*part.held, arc)), tip, tips)

    def _with_tips(self, part: Part, first: int, tips: set[int] | frozenset[int]) -> Part:
        """Return the part's trees that go on at these vertices, its completion at the first one."""
        tip = first if first in tips else min(tips, default=-1)
        return part._replace(tip=tip, more_tips=frozenset(tips) - {tip})

    def _tip_after(self, v: int, others: set[int]) -> int:
        """Return a vertex that is added to others, if it is of no use by itself; else -1."""
        touched = 0
        for u in others:
            touched |= self.groups_of.get(u, 0)
        return -1 if self.groups_of.get(v, 0) & ~touched else v

    def _depth_first(
        self, part: Part, arcs: list[tuple[int, int, int]], known: set[int]
    ) -> list[tuple[int, int, int]]:
        """Return the tree's arcs that a part does not hold, away from it, its tip first."""
        beside: dict[int, list[tuple[int, int]]] = {}
        for tail, head, arc in arcs:
            beside.setdefault(tail, []).append((head, arc))
            beside.setdefault(head, []).append((tail, arc))
        found: list[tuple[int, int, int]] = []
        reached = set(known)
        for origin in sorted(known, key=lambda v: v != part.tip):
            stack = [(origin, head, arc) for head, arc in sorted(beside.get(origin, []))]
            while stack:
                tail, head, arc = stack.pop()
                if head in reached:
                    continue
                reached.add(head)
                found.append((tail, head, arc))
                stack += [(head, other, a) for other, a in sorted(beside.get(head, []))]
        return found

    def _divide_by_leaf(self, part: Part, arcs: list[tuple[int, int, int]], leaf: int) -> None:
        """Divide a part by a needless leaf of its best tree."""
        path = []
        if leaf == part.start and not part.held:
            path = [arc for arc in self._depth_first(part, arcs, {leaf}) if leaf in arc[:2]]
        elif leaf not in part.vertices:
            into = {arc[1]: arc for arc in self._depth_first(part, arcs, part.vertices)}
            v = leaf
            while v in into:
                path.insert(0, into[v])
                v = into[v][0]
        for arc in path:
            self._evaluate(part._replace(excluded=part.excluded | self._both_ways(arc)))
            part = self._hold(part, arc, -1)
        tips = ({part.tip, leaf} | part.more_tips) - {-1}
        self._evaluate(self._with_tips(part, leaf, tips))
        for i, group in enumerate(self.groups):
            if self.groups_of.get(leaf, 0) >> i & 1:
                others = frozenset(group.tolist()) - {leaf}
                self._evaluate(part._replace(barred=part.barred | others))

    def _divide_by_edge(self, part: Part, arcs: list[tuple[int, int, int]]) -> None:
        """Divide a part by an edge at a vertex where it must go on: where the completion does not,
        or, if there is none, at its tip, since the completion is no tree.
        """
        known, added = part.vertices, set(arcs) - set(part.held)
        ended = part.more_tips - {v for arc in added for v in arc[:2]}
        if ended:
            v = min(ended)
            beside = range(int(self.indptr[v]), int(self.indptr[v + 1]))
            ways = [(v, int(self.heads[i]), i) for i in beside if i not in part.excluded]
            ways = [arc for arc in ways if arc[1] not in known | part.barred]
            if not ways:
                return
            arc = min(ways, key=lambda arc: (int(self.lengths[arc[2]]), arc))
        else:
            tail, head, number = min(arc for arc in added if part.tip in arc[:2])
            arc = (tail, head, number) if tail == part.tip else (head, tail, number)
        self._evaluate(part._replace(excluded=part.excluded | self._both_ways(arc)))
        if arc[1] not in known:
            self._evaluate(self._hold(part, arc, self._tip_after(arc[1], known)))

    def _may_be_minimal(self, part: Part) -> bool:
        """Return whether two leaves may each be the only vertex of a group."""
        degree: dict[int, int] = {}
        for tail, head, _ in part.held:
            degree[tail] = degree.get(tail, 0) + 1
            degree[head] = degree.get(head, 0) + 1
        for tip in {part.tip, *part.more_tips} - {-1}:
            degree[tip] = degree.get(tip, 0) + 1
        once = lost = 0
        for v, number in degree.items():
            groups = self.groups_of.get(v, 0)
            lost |= once & groups if number == 1 else groups
            once |= groups
        return (self.everything & ~lost).bit_count() > 1

    def _length_of(self, arcs: Any) -> int:
        return sum(int(self.lengths[arc]) for *_, arc in arcs)

    def _evaluate(self, part: Part) -> None:
        """Find the best tree of a part, and queue it; or postpone it if that is too long."""
        vertices, touched = part.vertices, 0
        for v in vertices:
            touched |= self.groups_of.get(v, 0)
        missing = [g for i, g in enumerate(self.groups) if not touched >> i & 1]
        if vertices & part.barred or self.flag[0] or not self._may_be_minimal(part):
            return
        if not missing and part.tip >= 0:
            return  # no branch that goes on leads to a group
        if not missing:
            self._push(self._length_of(part.held), (part, list(part.held), True))
            return
        length = self._length_of(part.held)
        excluded = np.fromiter(part.excluded, np.int64, len(part.excluded))
        inside = np.fromiter(vertices, np.int64, len(vertices))
        barred = np.fromiter(part.barred, np.int64, len(part.barred))
        self._is_excluded[excluded], self._is_barred[barred] = True, True
        found, more = complete(
            self.indptr, self.heads, self.lengths, self._is_excluded,
            self._is_barred, inside,
            np.int64(part.tip), np.concatenate(missing), np.cumsum([0, *map(len, missing)]),
            np.int64(self.limit - length), heap_cpu.new(_HEAP_SIZE, small=False), self.flag,
        )  # fmt: skip
        self._is_excluded[excluded], self._is_barred[barred] = False, False
        if more < 0:
            self._postponed.append(part)
            return
        tails = np.searchsorted(self.indptr, found, side="right") - 1
        added = set(zip(tails.tolist(), self.heads[found].tolist(), found.tolist(), strict=True))
        arcs = [*part.held, *sorted(added)]
        ends = {v for tail, head, _ in arcs for v in (tail, head)}
        pairs = {(min(tail, head), max(tail, head)) for tail, head, _ in arcs}
        is_tree = len(pairs) == len(arcs) == len(ends) - 1
        goes_on = part.more_tips <= {v for arc in added for v in arc[:2]}
        self._push(length + int(more), (part, arcs, is_tree and goes_on))
