"""A hash table of the states of a dynamic program over vertices and sets, in Numba.

A state is a row of integers whose first column is its key, 0 or more. ``slots`` holds rows' numbers
by the hashes of their keys, NO_STATE where a slot is free; its size is a power of two, and twice
the number of rows at least.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.hashing import mix64

NO_STATE = -1
KEY = 0  # the column


@compiled_when_hot
def find_slot(key, slots, states):
    """Return the place of a key in the hash table, or the free one where it would be."""
    mask = np.uint64(slots.size - 1)
    at = mix64(np.uint64(key)) & mask
    while slots[at] >= 0 and states[slots[at], KEY] != key:
        at = (at + np.uint64(1)) & mask
    return at


@compiled_when_hot
def enlarge(slots, states, count):
    """Return a hash table and states of twice the size."""
    larger = np.empty((2 * states.shape[0], states.shape[1]), np.int64)
    larger[:count] = states[:count]
    table = np.full(2 * slots.size, NO_STATE)
    for i in range(count):
        table[find_slot(larger[i, KEY], table, larger)] = i
    return table, larger
