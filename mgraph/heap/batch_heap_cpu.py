"""The heap of sorted nodes on one core: what one block of ``heap.cuh`` does, to the bit.

Nodes are numbered from 1, the root. The i-th that is filled stands in level ⌊log2 i⌋, there where
i's lower bits say in reverse, so that two in turn have nothing but the root in common. Each has K
sorted keys, none below its parent's largest. Node 0 is the buffer, of fewer than K keys, none below
the root's largest.

Insert K keys: from the root down towards the next node, each node on the way keeps the K smallest
of its own and those carried. Delete K keys: the root's go, the last node's take their place and
sink: of two children's keys the K smaller go up to be merged with those carried, the K larger stay
with the child that has the largest; the other child goes on with what is carried.
Cost of K keys in a heap of N nodes: a merge of 2K keys a level for an insertion, two for a
deletion, log2 N levels at most; no memory beyond the nodes.
"""

from typing import Any

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.core.graph import on_gpu

BUFFER, ROOT = 0, 1
_FIRST_PLACES = 15


@compiled
def place(i):
    """Where the i-th node stands, from 1; it is its own inverse."""
    first = 1
    while 2 * first <= i:
        first *= 2
    step, left, at = first // 2, i - first, first
    while step > 0:
        at += step * (left % 2)
        step, left = step // 2, left // 2
    return at


@compiled
def merge(keys, values, spare, first, in_first, second, in_second, low):
    """Row ``first`` gets the ``low`` smallest of two sorted rows, row ``second`` the others."""
    spare_keys, spare_values = spare
    end = in_first + in_second
    spare_keys[:in_first] = keys[first, :in_first]
    spare_keys[in_first:end] = keys[second, :in_second]
    with_values = values.shape[1] > 0
    if with_values:
        spare_values[:in_first] = values[first, :in_first]
        spare_values[in_first:end] = values[second, :in_second]
    i, j = 0, in_first
    for at in range(end):
        if i == in_first or (j < end and spare_keys[j] < spare_keys[i]):
            chosen = j
            j += 1
        else:
            chosen = i
            i += 1
        row, column = (first, at) if at < low else (second, at - low)
        keys[row, column] = spare_keys[chosen]
        if with_values:
            values[row, column] = spare_values[chosen]


@compiled
def in_order(keys, low, high):
    """Whether all of node ``low`` stand before all of row ``high``."""
    return keys[low, -1] <= keys[high, 0]


@compiled
def copy(keys, values, row, other):
    """Row ``row`` becomes row ``other``."""
    keys[row] = keys[other]
    values[row] = values[other]


@compiled
def insert(keys, values, spare, counts, count):
    """Insert ``count`` of the keys in the last row, which are sorted. counts: nodes, buffered."""
    nodes, buffered = counts
    carried, size = keys.shape[0] - 1, keys.shape[1]
    if count + buffered < size:
        merge(keys, values, spare, carried, count, BUFFER, buffered, count + buffered)
        if nodes > 0 and not in_order(keys, ROOT, carried):
            merge(keys, values, spare, ROOT, size, carried, count + buffered, size)
        copy(keys, values, BUFFER, carried)
        counts[1] += count
        return
    if count < size or nodes == 0:
        merge(keys, values, spare, carried, count, BUFFER, buffered, size)
        counts[1] += count - size
    counts[0] += 1
    target, node = place(counts[0]), ROOT
    steps = 0
    while target >> steps > 1:
        steps += 1
    while node != target:
        if not in_order(keys, node, carried):
            merge(keys, values, spare, node, size, carried, size, size)
        steps -= 1
        node = target >> steps
    copy(keys, values, target, carried)


@compiled
def sink(keys, values, spare, nodes):
    """Put the last row's keys into the root, or below it; what was there is gone."""
    carried, size = keys.shape[0] - 1, keys.shape[1]
    node = ROOT
    while True:
        left, right = 2 * node, 2 * node + 1
        left_there, right_there = place(left) <= nodes, place(right) <= nodes
        before_left = not left_there or in_order(keys, carried, left)
        before_right = not right_there or in_order(keys, carried, right)
        if before_left and before_right:
            copy(keys, values, node, carried)
            return
        up = left if left_there else right
        if left_there and right_there:
            up = right if keys[left, -1] > keys[right, -1] else left
            down = left + right - up
            if not in_order(keys, up, down):
                merge(keys, values, spare, up, size, down, size, size)
        if not in_order(keys, up, carried):
            merge(keys, values, spare, up, size, carried, size, size)
        copy(keys, values, node, up)
        node = up


@compiled
def remove(keys, values, spare, counts, out, out_values):
    """Delete the K smallest keys, or all where there are fewer, into ``out``; returns how many."""
    nodes, buffered = counts
    carried, size = keys.shape[0] - 1, keys.shape[1]
    row, count = (ROOT, size) if nodes > 0 else (BUFFER, buffered)
    out[:count] = keys[row, :count]
    if values.shape[1] > 0:
        out_values[:count] = values[row, :count]
    if nodes == 0:
        counts[1] = 0
        return count
    counts[0] = nodes - 1
    if nodes > 1:
        copy(keys, values, carried, place(nodes))
        if buffered > 0 and not in_order(keys, carried, BUFFER):
            merge(keys, values, spare, carried, size, BUFFER, buffered, size)
        sink(keys, values, spare, nodes - 1)
    return count


class Heap:
    """The heap behind ``BatchHeap``, of unsigned words; values are words too, or None."""

    def __init__(self, word: Any, value_word: Any, size: int) -> None:
        """Make an empty heap of nodes of ``size`` keys."""
        self._size, self._has_values = size, value_word is not None
        value_word = value_word or np.dtype(np.uint32)
        width = size if self._has_values else 0
        self._keys = np.empty((_FIRST_PLACES + 2, size), word)
        self._values = np.empty((_FIRST_PLACES + 2, width), value_word)
        self._spare = np.empty(2 * size, word), np.empty(2 * width, value_word)
        self._counts = np.zeros(2, np.int64)  # nodes, keys in the buffer

    @staticmethod
    def array(given: Any) -> Any:
        """A NumPy array of a NumPy or CuPy array."""
        return np.asarray(given.get() if on_gpu(given) else given)

    def size(self) -> int:
        """How many keys there are."""
        return int(self._counts[0]) * self._size + int(self._counts[1])

    def push(self, keys: np.ndarray, values: np.ndarray | None) -> None:
        """Insert keys a node at a time."""
        self._make_room(keys.size)
        for begin in range(0, keys.size, self._size):
            some = keys[begin : begin + self._size]
            order = np.argsort(some, kind="stable")
            self._keys[-1, : some.size] = some[order]
            if values is not None:
                self._values[-1, : some.size] = values[begin : begin + self._size][order]
            insert(self._keys, self._values, self._spare, self._counts, some.size)

    def pop(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Delete the ``count`` smallest keys, which there must be."""
        batches = -(-count // self._size)
        out = np.empty(batches * self._size, self._keys.dtype)
        out_values = np.empty(out.size if self._has_values else 0, self._values.dtype)
        done = 0
        while done < count:
            done += remove(
                self._keys, self._values, self._spare, self._counts, out[done:], out_values[done:]
            )
        if done > count:  # of the last node some are left
            rest = out_values[count:done] if self._has_values else None
            self.push(out[count:done], rest)
        return out[:count], out_values[:count]

    def first(self) -> np.ndarray:
        """The smallest key, shape (1,)."""
        return self._keys[ROOT if self._counts[0] else BUFFER, :1].copy()

    def _make_room(self, more: int) -> None:
        """Rows for the nodes that there will be, and for what is carried."""
        nodes = (self.size() + more) // self._size
        places = self._keys.shape[0] - 2
        if nodes <= places:
            return
        places = (1 << nodes.bit_length()) - 1
        larger = []
        for old in (self._keys, self._values):
            larger.append(np.empty((places + 2, old.shape[1]), old.dtype))
            larger[-1][: old.shape[0]] = old
        self._keys, self._values = larger  # both, or none where there is no room
