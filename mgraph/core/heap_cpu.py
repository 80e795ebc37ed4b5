"""A 4-ary heap of (key, vertex) in Numba: the priority queue of searches on one core.

Keys are integers of 0 or more. A key below 2^31 - 1 shares a word with its vertex, so that an entry
takes one comparison and one move; greater keys lie in an array beside the array of vertices. The
type of the heap, a tuple of one or of two arrays, decides which, at compile time.

``new`` makes an empty heap, ``grow`` one with the same entries and twice the capacity;
``push(heap, size, key, vertex)``, ``pop(heap, size)`` and ``capacity(heap)`` are for compiled code,
which counts the entries and grows the heap in time (a heap returned by every ``push`` would cost
more than the push). Slots beyond ``size`` hold the maximum key, so that every node has four
children to compare. ``push_word`` and ``pop_word`` are for callers who pack words of their own.
"""

from typing import Any

import numpy as np
from numba.extending import overload

from mgraph.core.compiled import compiled_when_hot

_INITIAL_SLOTS = 1024
_MAX_PACKED = 1 << 32  # vertices that fit into a word beside a key
_LOW = np.int64(0xFFFFFFFF)
_WORD = np.int64(32)
# Positions are unsigned, since an index that might be negative costs Numba a comparison each time.
_0, _1, _2, _3 = np.arange(4, dtype=np.uint64)


def new(n: int, *, small: bool) -> tuple[Any, ...]:
    """Make a heap for vertices below ``n``. small: keys lie below 2^31 - 1, else below 2^63 - 1."""
    keys = np.full(_INITIAL_SLOTS, np.iinfo(np.int64).max)
    if small and n <= _MAX_PACKED:
        return (keys,)
    return (keys, np.empty(_INITIAL_SLOTS, np.uint32 if n <= _MAX_PACKED else np.int64))


@compiled_when_hot
def capacity(heap):
    """Return the number of entries that the heap can hold."""
    return heap[0].size - 4


@compiled_when_hot
def clear(heap, size):
    """Remove all of ``size`` entries."""
    keys = heap[0]
    for i in range(size):
        keys[i] = keys[keys.size - 1]


@compiled_when_hot
def _double(array):
    doubled = np.empty(2 * array.size, array.dtype)
    for i in range(array.size):
        doubled[i] = array[i]
    for i in range(array.size, doubled.size):
        doubled[i] = array[array.size - 1]
    return doubled


@compiled_when_hot
def _sift_up(entries, at, entry):
    while at > _0:
        parent = (at - _1) >> _2
        if entries[parent] <= entry:
            break
        entries[at] = entries[parent]
        at = parent
    entries[at] = entry


@compiled_when_hot
def _sift_up_pair(keys, vertices, at, key, vertex):
    while at > _0:
        parent = (at - _1) >> _2
        if keys[parent] <= key:
            break
        keys[at], vertices[at] = keys[parent], vertices[parent]
        at = parent
    keys[at], vertices[at] = key, vertex


@compiled_when_hot
def _min_child(keys, child):
    # Keys in variables of their own compile to conditional moves; branches would be mispredicted.
    left, left_key, other_key = child, keys[child], keys[child + _1]
    if other_key < left_key:
        left, left_key = child + _1, other_key
    right, right_key, other_key = child + _2, keys[child + _2], keys[child + _3]
    if other_key < right_key:
        right, right_key = child + _3, other_key
    if right_key < left_key:
        left, left_key = right, right_key
    return left, left_key


@compiled_when_hot
def push_word(words, size, word):
    """Add a word, below 2^63 - 1, to ``size`` others in an array whose free slots hold 2^63 - 1."""
    _sift_up(words, np.uint64(size), word)


@compiled_when_hot
def pop_word(words, size):
    """Remove the smallest of ``size`` words, and return it."""
    # The gap sinks to a leaf, where the last entry fills it and sifts up: seldom far, and no step
    # down has to compare with it.
    end = np.uint64(size) - _1
    first, last = words[_0], words[end]
    words[end] = words[words.size - 1]
    at, child = _0, _1
    while child < end:
        smallest, words[at] = _min_child(words, child)
        at, child = smallest, (smallest << _2) + _1
    if end > _0:
        _sift_up(words, at, last)
    return first


def _push_packed(heap, size, key, vertex):
    push_word(heap[0], size, (np.int64(key) << _WORD) | np.int64(vertex))


def _push_pair(heap, size, key, vertex):
    _sift_up_pair(heap[0], heap[1], np.uint64(size), key, vertex)


def _grow_packed(heap):
    return (_double(heap[0]),)


def _grow_pair(heap):
    return (_double(heap[0]), _double(heap[1]))


def _pop_packed(heap, size):
    first = pop_word(heap[0], size)
    return first >> _WORD, np.uint64(first & _LOW)


def _pop_pair(heap, size):
    (keys, vertices), end = heap, np.uint64(size) - _1
    first, first_vertex = keys[_0], vertices[_0]
    last, vertex = keys[end], vertices[end]
    keys[end] = keys[keys.size - 1]
    at, child = _0, _1
    while child < end:
        smallest, keys[at] = _min_child(keys, child)
        vertices[at] = vertices[smallest]
        at, child = smallest, (smallest << _2) + _1
    if end > _0:
        _sift_up_pair(keys, vertices, at, last, vertex)
    return first, np.uint64(first_vertex)


def push(heap, size, key, vertex):
    """Add an entry to ``size`` others; the capacity must suffice."""
    _choose(heap, _push_packed, _push_pair)(heap, size, key, vertex)


def pop(heap, size):
    """Remove the entry of minimum key from ``size`` entries; return its key and vertex."""
    return _choose(heap, _pop_packed, _pop_pair)(heap, size)


def grow(heap):
    """Return the heap in arrays of twice the size."""
    return _choose(heap, _grow_packed, _grow_pair)(heap)


def _choose(heap: Any, packed: Any, pair: Any) -> Any:
    return packed if len(heap) == 1 else pair


# In compiled code the heap's type, a tuple of one or two arrays, chooses at compile time.
overload(push)(lambda heap, size, key, vertex: _choose(heap, _push_packed, _push_pair))
overload(pop)(lambda heap, size: _choose(heap, _pop_packed, _pop_pair))
overload(grow)(lambda heap: _choose(heap, _grow_packed, _grow_pair))
