"""The heap of sorted nodes on one core: what one block of ``heap.cuh`` does, to the bit.

Nodes are numbered from 1, the root. The i-th node that is filled stands in level ⌊log2 i⌋, at the
place that i's lower bits give in reverse (bit-reversal permutation, section 4.3), so that the paths
to two consecutive ones share the root alone. A node has K sorted keys, none below its parent's
largest. Node 0 is the partial buffer, of fewer than K keys, none below the root's largest.

Insert K keys: from the root down towards the next node, each node on the way keeps the K smallest
of its own keys and those carried. Delete K keys: the root's are removed, the last node's replace
them and sink: of two children's keys the K smaller go up to be merged with those carried, the K
larger stay with the child that has the maximum; the other child goes on with what is carried.
Cost of K keys in a heap of N nodes: a merge of 2 K keys per level for an insertion, two for a
deletion, log2 N levels at most; no memory beyond the nodes.
"""

from typing import Any

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.core.graph import on_gpu

BUFFER, ROOT = np.int64(0), np.int64(1)  # typed, so that calls with them need no other machine code
_INITIAL_PLACES = 15


@compiled
def bit_reversed_place(i):
    """The place of the i-th node that is filled, from 1; the function is its own inverse."""
    first = 1
    while 2 * first <= i:
        first *= 2
    step, bits, place = first // 2, i - first, first
    while step > 0:
        place += step * (bits % 2)
        step, bits = step // 2, bits // 2
    return place


@compiled
def merge(keys, values, spare, first, in_first, second, in_second, low):
    """Give row ``first`` the ``low`` smallest keys of two sorted rows, row ``second`` the others.

    in_first, in_second: the rows' lengths. spare: keys and values of twice a row's length.
    """
    spare_keys, spare_values = spare
    end = in_first + in_second
    spare_keys[:in_first] = keys[first, :in_first]
    spare_keys[in_first:end] = keys[second, :in_second]
    has_values = values.shape[1] > 0
    if has_values:
        spare_values[:in_first] = values[first, :in_first]
        spare_values[in_first:end] = values[second, :in_second]
    i, j = 0, in_first
    for rank in range(end):
        if i == in_first or (j < end and spare_keys[j] < spare_keys[i]):
            smallest = j
            j += 1
        else:
            smallest = i
            i += 1
        row, column = (first, rank) if rank < low else (second, rank - low)
        keys[row, column] = spare_keys[smallest]
        if has_values:
            values[row, column] = spare_values[smallest]


@compiled
def in_order(keys, low, high):
    """Whether no key of row ``high`` is below a key of node ``low``."""
    return keys[low, -1] <= keys[high, 0]


@compiled
def copy_row(keys, values, row, source):
    """Copy a row to row ``row``."""
    keys[row] = keys[source]
    values[row] = values[source]


@compiled
def insert(keys, values, spare, counts, count):
    """Insert ``count`` of the keys in the last row, which are sorted. counts: nodes, buffered."""
    nodes, buffered = counts
    carried, size = keys.shape[0] - 1, keys.shape[1]
    if count + buffered < size:
        merge(keys, values, spare, carried, count, BUFFER, buffered, count + buffered)
        if nodes > 0 and not in_order(keys, ROOT, carried):
            merge(keys, values, spare, ROOT, size, carried, count + buffered, size)
        copy_row(keys, values, BUFFER, carried)
        counts[1] += count
        return
    if count < size or nodes == 0:
        merge(keys, values, spare, carried, count, BUFFER, buffered, size)
        counts[1] += count - size
    counts[0] += 1
    target, node = bit_reversed_place(counts[0]), ROOT
    steps = 0
    while target >> steps > 1:
        steps += 1
    while node != target:
        if not in_order(keys, node, carried):
            merge(keys, values, spare, node, size, carried, size, size)
        steps -= 1
        node = target >> steps
    copy_row(keys, values, target, carried)


@compiled
def sink(keys, values, spare, nodes):
    """Put the last row's keys into the root, whose own are gone, or below it."""
    carried, size = keys.shape[0] - 1, keys.shape[1]
    node = ROOT
    while True:
        left, right = 2 * node, 2 * node + 1
        has_left, has_right = bit_reversed_place(left) <= nodes, bit_reversed_place(right) <= nodes
        before_left = not has_left or in_order(keys, carried, left)
        before_right = not has_right or in_order(keys, carried, right)
        if before_left and before_right:
            copy_row(keys, values, node, carried)
            return
        up = left if has_left else right
        if has_left and has_right:
            up = right if keys[left, -1] > keys[right, -1] else left
            down = left + right - up
            if not in_order(keys, up, down):
                merge(keys, values, spare, up, size, down, size, size)
        if not in_order(keys, up, carried):
            merge(keys, values, spare, up, size, carried, size, size)
        copy_row(keys, values, node, up)
        node = up


@compiled
def remove(keys, values, spare, counts, out, out_values):
    """Delete the K smallest keys, or all if there are fewer, into ``out``; return how many."""
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
        copy_row(keys, values, carried, bit_reversed_place(nodes))
        if buffered > 0 and not in_order(keys, carried, BUFFER):
            merge(keys, values, spare, carried, size, BUFFER, buffered, size)
        sink(keys, values, spare, nodes - 1)
    return count


class Heap:
    """The heap behind ``BatchHeap``, of unsigned words; values are words as well, or None."""

    def __init__(self, word: Any, value_word: Any, size: int) -> None:
        """Make an empty heap with ``size`` keys per node."""
        self._size, self._has_values = size, value_word is not None
        value_word = value_word or np.dtype(np.uint32)
        width = size if self._has_values else 0
        # One row per place, one for the buffer, and the last one for what an operation carries.
        self._keys = np.empty((_INITIAL_PLACES + 2, size), word)
        self._values = np.empty((_INITIAL_PLACES + 2, width), value_word)
        self._spare = np.empty(2 * size, word), np.empty(2 * width, value_word)
        self._counts = np.zeros(2, np.int64)  # nodes, keys in the buffer

    @staticmethod
    def array(array: Any) -> Any:
        """Convert a NumPy or CuPy array to a NumPy array."""
        return np.asarray(array.get() if on_gpu(array) else array)

    def size(self) -> int:
        """The number of keys."""
        return int(self._counts[0]) * self._size + int(self._counts[1])

    def push(self, keys: np.ndarray, values: np.ndarray | None) -> None:
        """Insert keys, a batch at a time."""
        self._reserve(self.size() + keys.size)
        for begin in range(0, keys.size, self._size):
            batch = keys[begin : begin + self._size]
            order = np.argsort(batch, kind="stable")
            self._keys[-1, : batch.size] = batch[order]
            if values is not None:
                self._values[-1, : batch.size] = values[begin : begin + self._size][order]
            insert(self._keys, self._values, self._spare, self._counts, batch.size)

    def pop(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Delete the ``count`` smallest keys, which there must be."""
        batches = -(-count // self._size)
        out = np.empty(batches * self._size, self._keys.dtype)
        out_values = np.empty(out.size if self._has_values else 0, self._values.dtype)
        deleted = 0
        while deleted < count:
            deleted += remove(
                self._keys, self._values, self._spare, self._counts,
                out[deleted:], out_values[deleted:],
            )  # fmt: skip
        if deleted > count:  # the rest of the last batch goes back
            rest = out_values[count:deleted] if self._has_values else None
            self.push(out[count:deleted], rest)
        return out[:count], out_values[:count]

    def first(self) -> np.ndarray:
        """The smallest key, shape (1,)."""
        return self._keys[ROOT if self._counts[0] else BUFFER, :1].copy()

    def _reserve(self, keys: int) -> None:
        """Provide places for that many keys in all."""
        nodes = keys // self._size
        places = self._keys.shape[0] - 2
        if nodes <= places:
            return
        places = (1 << nodes.bit_length()) - 1
        grown = []
        for old in (self._keys, self._values):
            grown.append(np.empty((places + 2, old.shape[1]), old.dtype))
            grown[-1][: old.shape[0]] = old
        self._keys, self._values = grown  # both, or neither if memory runs out
