"""A heap of single keys on one core, a push or a pop per key: to compare the heap of batches with.

It is that of ``core.heap_cpu``, with four children per node, compiled; Python's ``heapq`` takes
about twenty times as long.
"""

from typing import Any

import numpy as np

from mgraph.core import heap_cpu
from mgraph.core.compiled import compiled
from mgraph.core.heap_cpu import capacity, grow, pop, push


@compiled
def _push_all(heap, size, keys):
    while size + keys.size > capacity(heap):
        heap = grow(heap)
    for key in keys:
        push(heap, size, key, np.int64(0))
        size += 1
    return heap


@compiled
def _pop_all(heap, size, out):
    for i in range(out.size):
        out[i] = pop(heap, size - i)[0]


class SequentialHeap:
    """A heap of int32 keys from 0 to 2^31 - 2."""

    def __init__(self) -> None:
        """Make an empty heap."""
        self._heap: Any = heap_cpu.new(1, small=True)
        self._size = 0

    def push(self, keys: np.ndarray) -> None:
        """Insert keys, one after another."""
        self._heap = _push_all(self._heap, self._size, keys)
        self._size += keys.size

    def pop(self, count: int) -> np.ndarray:
        """Delete the ``count`` smallest keys, which there must be, one after another."""
        out = np.empty(count, np.int32)
        _pop_all(self._heap, self._size, out)
        self._size -= count
        return out
