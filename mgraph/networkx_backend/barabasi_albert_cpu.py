"""NetworkX's Barabási–Albert graph, edge by edge: its random numbers, and the order of its sets.

NetworkX draws with Python's ``random.Random``, a Mersenne Twister, and collects the m targets of a
node in a set. In which order the set gives them decides what later nodes draw, so that here a table
of the same slots stands for the set.

Source: CPython, Objects/setobject.c, for the probing of slots.
"""

import random
from typing import Any

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.networkx_backend.mersenne_twister_cpu import draw_below, drawing

SMALLEST_TABLE, LINEAR_PROBES, PERTURB_SHIFT = 8, 9, 5
MANY = 50_000  # above it a set's table grows by two, below by four


@compiled
def _find_slot(table, mask, key):
    """Return the slot of a key in a set's table, or the free one that it would take."""
    perturb, i = key, key & mask
    while True:
        probes = LINEAR_PROBES if i + LINEAR_PROBES <= mask else 0
        for slot in range(i, i + probes + 1):
            if table[slot] < 0 or table[slot] == key:
                return slot
        perturb >>= PERTURB_SHIFT
        i = (i * 5 + 1 + perturb) & mask


@compiled
def _draw_set(repeated, count, m, state, table, spare):
    """Draw m different entries of ``repeated[:count]``; return the mask of the table they are in.

    table, spare: of the same length; the table that is returned is the first one.
    """
    mask, used = SMALLEST_TABLE - 1, 0
    table[: mask + 1] = -1
    while used < m:
        key = repeated[draw_below(state, count)]
        slot = _find_slot(table, mask, key)
        if table[slot] == key:
            continue
        table[slot] = key
        used += 1
        if used * 5 >= mask * 3:
            exceeded = used * 2 if used > MANY else used * 4
            size = SMALLEST_TABLE
            while size <= exceeded:
                size *= 2
            spare[:size] = -1
            for i in range(mask + 1):
                if table[i] >= 0:
                    spare[_find_slot(spare, size - 1, table[i])] = table[i]
            mask = size - 1
            table[:size] = spare[:size]
    return mask


@compiled
def _grow(n, m, repeated, state, table, spare, src, dst):
    """Add the edges of nodes m + 1 and on to a star of m + 1 nodes."""
    for leaf in range(1, m + 1):  # star_graph(m), whose nodes stand as often as their degrees
        src[leaf - 1], dst[leaf - 1] = 0, leaf
    repeated[:m] = 0
    repeated[m : 2 * m] = np.arange(1, m + 1)
    count, edge = 2 * m, m
    for source in range(m + 1, n):
        mask = _draw_set(repeated, count, m, state, table, spare)
        begin = count
        for slot in range(mask + 1):
            if table[slot] >= 0:
                src[edge], dst[edge] = source, table[slot]
                repeated[count] = table[slot]
                edge, count = edge + 1, count + 1
        repeated[count : count + m] = source
        count = begin + 2 * m


def draw_edges(n: int, m: int, generator: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of NetworkX's m (n - m) edges, in its order; the generator is left as there.

    1 <= m < n < 2^31 and 2 m (n - m) < 2^32.
    """
    edges = m * (n - m)
    src, dst = np.empty(edges, np.int32), np.empty(edges, np.int32)
    repeated: Any = np.empty(2 * edges, np.int32)
    slots = max(SMALLEST_TABLE, 1 << (4 * m).bit_length())
    table, spare = np.empty(slots, np.int64), np.empty(slots, np.int64)
    with drawing(generator) as state:
        _grow(n, m, repeated, state, table, spare, src, dst)
    return src, dst
