"""Dijkstra's algorithm on one core: the oracle of all other methods.

Source: E. W. Dijkstra, "A note on two problems in connexion with graphs" (1959). There is no
decrease-key: an improved vertex is pushed again, and stale entries are skipped when they are
popped, which is faster on sparse graphs. Cost: O((n + m) log n) time, and at most m entries of 8
bytes, or of 12 to 16 where lengths reach 2^31 or are float64.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, heap_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.heap_cpu import capacity, grow, pop, push

_1 = np.uint64(1)
_MAX_SMALL_KEY = (1 << 31) - 2  # the maximum that shares a word with its vertex
_PENDING, _TO_SETTLE, _SETTLED = range(3)  # what a search notes when it pauses: see below
_GAVE_UP = -1


def find_distances(
    indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
    stop_at_first: bool, cutoff: Any, infinity: Any,
) -> int:  # fmt: skip
    """Fill ``distance``, which holds ``infinity``, and return how many vertices were settled.

    The search stops when all vertices as near as the farthest target are settled, or with
    ``stop_at_first`` as near as the nearest one. Vertices beyond it may then hold lengths that are
    not distances.
    """
    csr = indptr, indices, weights
    search = Search(*csr, distance, sources, targets, stop_at_first, cutoff, infinity)
    search.run()
    return search.settled


class Search:
    """One search, which may pause. The arguments are those of ``find_distances``."""

    def __init__(
        self, indptr: Any, indices: Any, weights: Any, distance: Any, sources: Any, targets: Any,
        stop_at_first: bool, cutoff: Any, infinity: Any,
    ) -> None:  # fmt: skip
        """Prepare a search."""
        self._csr, self._distance = (indptr, indices, weights), distance
        self._sources, self._targets, self._stop_at_first = sources, targets, stop_at_first
        self._cutoff, self._infinity = cutoff, infinity
        self._begin(small=distance.dtype.kind == "i")

    def _begin(self, *, small: bool) -> None:
        """Forget what was searched. small: keys are expected to share a word with their vertex."""
        n, dtype = self._distance.size, self._distance.dtype
        self._is_target = np.zeros(n if self._targets.size else 0, np.bool_)
        self._is_target[self._targets] = True
        to_settle = min(np.count_nonzero(self._is_target), 1 if self._stop_at_first else n)
        self._progress = np.array([0, to_settle, 0])
        self._heap = heap_cpu.new(n, small=small)
        self._bound = min(self._cutoff, dtype.type(_MAX_SMALL_KEY)) if small else self._cutoff
        self._to_push = self._sources

    @property
    def settled(self) -> int:
        """How many vertices are settled."""
        return int(self._progress[_SETTLED])

    def run(self, max_pending: int = np.iinfo(np.int64).max) -> bool:
        """Search on, and return whether the search is over.

        It is not if it pauses, since more than ``max_pending`` entries may wait in the heap.
        """
        # Lengths are not negative, and the bits of such floats order as integers do.
        keys = self._distance.view(f"i{self._distance.itemsize}")
        cancel_flag = cancellation.cancel_flag()
        while True:
            self._heap = _find_distances(
                *self._csr, self._distance, keys, self._to_push, self._is_target, self._bound,
                self._bound < self._cutoff, self._heap, self._progress, np.int64(max_pending),
                cancel_flag,
            )  # fmt: skip
            cancellation.raise_if_cancelled()
            self._to_push = self._sources[:0]
            if self._progress[_PENDING] != _GAVE_UP:
                return bool(self._progress[_PENDING] == 0)
            self._distance.fill(self._infinity)  # 64-bit lengths are rarely that large
            self._begin(small=False)


@compiled_when_hot
def _find_distances(
    indptr, indices, weights, distance, keys, sources, is_target, cutoff, gives_up, heap, progress,
    max_pending, cancel_flag,
):  # fmt: skip
    """Search on from ``progress``, and return the heap, which may have grown.

    sources: to be queued first. is_target: by vertex, or of size 0; overwritten. progress: the
    entries in the heap (none: the search is over; ``_GAVE_UP``: ``gives_up``, and a length was
    beyond ``cutoff``), targets still to settle, vertices settled; overwritten. max_pending: pause
    before more entries wait, unless the last target is settled.
    """
    size, remaining, settled = progress[_PENDING], progress[_TO_SETTLE], progress[_SETTLED]
    for source in sources:
        s = np.uint64(source)
        if distance[s] != 0:
            distance[s] = 0
            if size >= capacity(heap):
                heap = grow(heap)
            push(heap, size, keys[s], s)
            size += 1
    targets_settled, bound = False, cutoff
    while size > 0 and not cancel_flag[0]:
        popped_key, u = pop(heap, size)
        size -= 1
        if popped_key != keys[u]:
            continue
        length = distance[u]
        if targets_settled and length > bound:
            size = np.int64(0)
            break
        begin, end = np.uint64(indptr[u]), np.uint64(indptr[u + _1])
        after = size + np.int64(end - begin)
        if after > max_pending and not targets_settled:
            push(heap, size, popped_key, u)
            size += 1
            break
        settled += 1
        if is_target.size and is_target[u] and not targets_settled:
            is_target[u] = False
            remaining -= 1
            targets_settled, bound = remaining == 0, length
        while after > capacity(heap):
            heap = grow(heap)
        for arc in range(begin, end):
            v = np.uint64(indices[arc])
            candidate = length + weights[arc]
            if candidate < distance[v]:
                if candidate <= cutoff:
                    distance[v] = candidate
                    push(heap, size, keys[v], v)
                    size += 1
                elif gives_up:
                    progress[_PENDING] = _GAVE_UP
                    return heap
    progress[_PENDING], progress[_TO_SETTLE], progress[_SETTLED] = size, remaining, settled
    return heap
