"""A sparse table: the minimum or the maximum of any range of an array, from two entries."""

import numpy as np

from mgraph.core.compiled import compiled_when_hot


@compiled_when_hot
def range_table(values, largest):
    """Return a table and levels; a row i holds the extremes of 2^i values from each index on.

    The extreme of [low, high] is that of ``table[i, low]`` and ``table[i, high + 1 - 2**i]``, where
    i is ``levels[high - low + 1]``. largest: whether it is the maximum.
    """
    count = values.size
    levels = np.zeros(count + 2, np.int32)
    for length in range(2, count + 2):
        levels[length] = levels[length >> 1] + 1
    table = np.empty((levels[max(count, 1)] + 1, count), np.int64)
    table[0] = values
    for level in range(1, table.shape[0]):
        half = 1 << (level - 1)
        for i in range(count):
            first, second = table[level - 1, i], table[level - 1, min(i + half, count - 1)]
            table[level, i] = max(first, second) if largest else min(first, second)
    return table, levels
