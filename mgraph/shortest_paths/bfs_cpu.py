"""Direction-optimising breadth-first search on one core.

Source: S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing breadth-first search", SC 2012,
with its two parameters; ``bfs.cu`` says more. Cost: each arc about once, or a few arcs per vertex
where levels are found bottom-up; 4 bytes per vertex beside the distances.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled_when_hot

# A level is found bottom-up if the one before has more than 1 / _BOTTOM_UP_SHARE of the arcs of
# unvisited vertices, until it has fewer than 1 / _TOP_DOWN_SHARE of all vertices.
_BOTTOM_UP_SHARE, _TOP_DOWN_SHARE = 14, 24
_BEGIN, _END, _TO_REACH, _ARCS, _UNVISITED_ARCS, _IS_BOTTOM_UP = range(6)  # of a search's progress


class Search:
    """One search, which may pause between two levels."""

    def __init__(
        self, indptr: Any, indices: Any, distance: Any, sources: Any, targets: Any,
        stop_at_first: bool, cutoff: Any, infinity: Any, has_mirrors: bool,
    ) -> None:  # fmt: skip
        """Prepare a search that fills ``distance``, which holds ``infinity``.

        sources, targets: each once. has_mirrors: whether each arc has its mirror. The search ends
        with the level in which the last target, or with ``stop_at_first`` the first, is reached.
        """
        self._csr, self._distance, self._infinity = (indptr, indices), distance, infinity
        n, to_reach = distance.size, 1 if stop_at_first else targets.size
        is_target = np.zeros(n if targets.size else 0, np.bool_)
        is_target[targets] = True
        if targets.size:
            to_reach -= np.count_nonzero(is_target[sources])
        self._is_target, self._cutoff = is_target, int(cutoff)
        self._queue = np.empty(n, indices.dtype)
        self._queue[: sources.size] = sources
        distance[sources] = 0
        arcs = int((indptr[sources + 1] - indptr[sources]).sum())
        unvisited = indices.size - arcs
        begun = 0 if not targets.size or to_reach > 0 else sources.size
        self._progress = np.array([begun, sources.size, to_reach, arcs, unvisited, 0])
        self._has_mirrors = has_mirrors

    def run(self, max_pending: int = np.iinfo(np.int64).max) -> bool:
        """Search on, and return whether the search is over.

        It is not if it pauses, since a level has more than ``max_pending`` vertices.
        """
        _find_levels(
            *self._csr, self._distance, self._queue, self._is_target, self._cutoff, self._infinity,
            self._has_mirrors, self._progress, max_pending, cancellation.cancel_flag(),
        )  # fmt: skip
        cancellation.raise_if_cancelled()
        return bool(self._progress[_BEGIN] == self._progress[_END])


def find_distances(*arguments: Any) -> None:
    """Fill the distances of one search. The arguments are those of ``Search``."""
    Search(*arguments).run()


@compiled_when_hot
def _find_levels(
    indptr, indices, distance, queue, is_target, cutoff, infinity, has_mirrors, progress,
    max_pending, cancel_flag,
):  # fmt: skip
    """Search on, level by level. queue: all visited vertices, in the order of their levels.

    progress: where the last level begins and ends in the queue, the targets that are not reached,
    its arcs, those of unvisited vertices, and whether it was found bottom-up; overwritten.
    """
    begin, end, to_reach = progress[_BEGIN], progress[_END], progress[_TO_REACH]
    arcs, unvisited_arcs = progress[_ARCS], progress[_UNVISITED_ARCS]
    bottom_up = progress[_IS_BOTTOM_UP] != 0
    has_targets, n = is_target.size > 0, distance.size
    while begin < end and end - begin <= max_pending and not cancel_flag[0]:
        level = distance[queue[begin]]
        if level >= cutoff or (has_targets and to_reach <= 0):
            begin = end
            break
        if has_mirrors:
            if bottom_up:
                bottom_up = (end - begin) * _TOP_DOWN_SHARE >= n
            else:
                bottom_up = arcs * _BOTTOM_UP_SHARE > unvisited_arcs
        stop, arcs = end, 0
        if bottom_up:
            for v in range(n):
                if cancel_flag[0]:
                    break
                if distance[v] != infinity:
                    continue
                for arc in range(indptr[v], indptr[v + 1]):
                    if distance[indices[arc]] <= level:
                        distance[v] = level + 1
                        queue[stop] = v
                        stop += 1
                        break
        else:
            for i in range(begin, end):
                if cancel_flag[0]:
                    break
                u = queue[i]
                for arc in range(indptr[u], indptr[u + 1]):
                    v = indices[arc]
                    if distance[v] == infinity:
                        distance[v] = level + 1
                        queue[stop] = v
                        stop += 1
        for i in range(end, stop):
            v = queue[i]
            arcs += indptr[v + 1] - indptr[v]
            if has_targets and is_target[v]:
                to_reach -= 1
        unvisited_arcs -= arcs
        begin, end = end, stop
    progress[_BEGIN], progress[_END], progress[_TO_REACH] = begin, end, to_reach
    progress[_ARCS], progress[_UNVISITED_ARCS] = arcs, unvisited_arcs
    progress[_IS_BOTTOM_UP] = bottom_up
