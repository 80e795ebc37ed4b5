"""A 4-ary heap of (key, vertex) in Numba: what a search on one core waits in.

Keys are integers of 0 or more. Those below 2^31 - 1 share a word with their vertex, so that an
entry is one comparison and one move; larger ones lie in an array beside their vertices. Which it is
follows from the type of the heap (a tuple of one or of two arrays), at compile time.

``new`` makes an empty heap, ``grown`` one with the same entries and twice the room;
``push(heap, size, key, vertex)``, ``pop(heap, size)`` and ``room(heap)`` are for compiled code,
which keeps count and sees to it that there is room (a heap handed out by every ``push`` would cost
more than the push). Slots beyond ``size`` hold the largest key there is, so that a node always has
four children to compare.
"""

from typing import Any

import numpy as np
from numba.extending import overload

from mgraph.core.compiled import compiled

_FIRST_ROOM = 1024
_MOST_PACKED = 1 << 32  # vertices that fit a word beside a key
_LOW = np.int64(0xFFFFFFFF)
_WORD = np.int64(32)
# Positions are unsigned, since an index that might be negative costs Numba a comparison each time.
_0, _1, _2, _3 = np.arange(4, dtype=np.uint64)


def new(n: int, *, small: bool) -> tuple[Any, ...]:
    """An empty heap for vertices below ``n``. small: its keys are below 2^31 - 1, else 2^63 - 1."""
    last = np.full(_FIRST_ROOM, np.iinfo(np.int64).max)
    if small and n <= _MOST_PACKED:
        return (last,)
    return (last, np.empty(_FIRST_ROOM, np.uint32 if n <= _MOST_PACKED else np.int64))


@compiled
def room(heap):
    """How many entries the heap has room for."""
    return heap[0].size - 4


@compiled
def _larger(array):
    larger = np.full(2 * array.size, array[array.size - 1], array.dtype)
    larger[: array.size] = array
    return larger


@compiled
def _rise(entries, at, entry):
    while at > _0:
        parent = (at - _1) >> _2
        if entries[parent] <= entry:
            break
        entries[at] = entries[parent]
        at = parent
    entries[at] = entry


@compiled
def _rise_pair(keys, vertices, at, key, vertex):
    while at > _0:
        parent = (at - _1) >> _2
        if keys[parent] <= key:
            break
        keys[at], vertices[at] = keys[parent], vertices[parent]
        at = parent
    keys[at], vertices[at] = key, vertex


@compiled
def _least_child(keys, child):
    # Keys in variables of their own become moves on a condition; branches would be mispredicted.
    left, left_key, other_key = child, keys[child], keys[child + _1]
    if other_key < left_key:
        left, left_key = child + _1, other_key
    right, right_key, other_key = child + _2, keys[child + _2], keys[child + _3]
    if other_key < right_key:
        right, right_key = child + _3, other_key
    if right_key < left_key:
        left, left_key = right, right_key
    return left, left_key


def _push_packed(heap, size, key, vertex):
    _rise(heap[0], np.uint64(size), (np.int64(key) << _WORD) | np.int64(vertex))


def _push_pair(heap, size, key, vertex):
    _rise_pair(heap[0], heap[1], np.uint64(size), key, vertex)


def _grown_packed(heap):
    return (_larger(heap[0]),)


def _grown_pair(heap):
    return (_larger(heap[0]), _larger(heap[1]))


def _pop_packed(heap, size):
    # The gap sinks to a leaf, where the last entry fills it and rises: seldom far, and no step
    # down has to ask whether it fits.
    entries, end = heap[0], np.uint64(size) - _1
    first, last = entries[_0], entries[end]
    entries[end] = entries[entries.size - 1]
    at, child = _0, _1
    while child < end:
        least, entries[at] = _least_child(entries, child)
        at, child = least, (least << _2) + _1
    if end > _0:
        _rise(entries, at, last)
    return first >> _WORD, np.uint64(first & _LOW)


def _pop_pair(heap, size):
    (keys, vertices), end = heap, np.uint64(size) - _1
    first, first_vertex = keys[_0], vertices[_0]
    last, vertex = keys[end], vertices[end]
    keys[end] = keys[keys.size - 1]
    at, child = _0, _1
    while child < end:
        least, keys[at] = _least_child(keys, child)
        vertices[at] = vertices[least]
        at, child = least, (least << _2) + _1
    if end > _0:
        _rise_pair(keys, vertices, at, last, vertex)
    return first, np.uint64(first_vertex)


def push(heap, size, key, vertex):
    """Add an entry to ``size`` others, for which there must be room."""
    _of(heap, _push_packed, _push_pair)(heap, size, key, vertex)


def pop(heap, size):
    """Remove the first of ``size`` entries; returns its key and vertex."""
    return _of(heap, _pop_packed, _pop_pair)(heap, size)


def grown(heap):
    """The heap in arrays of twice the size."""
    return _of(heap, _grown_packed, _grown_pair)(heap)


def _of(heap: Any, packed: Any, pair: Any) -> Any:
    return packed if len(heap) == 1 else pair


# In compiled code a heap's type, which says how many arrays it has, chooses once and for all.
overload(push)(lambda heap, size, key, vertex: _of(heap, _push_packed, _push_pair))
overload(pop)(lambda heap, size: _of(heap, _pop_packed, _pop_pair))
overload(grown)(lambda heap: _of(heap, _grown_packed, _grown_pair))
