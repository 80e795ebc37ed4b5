"""0/1 knapsack by a table over all capacities: exact, in time that the size alone decides.

Source: R. Bellman, "Dynamic programming" (1957). The table holds the largest profit for each
capacity; an item raises it where what the table has without the item's weight, plus its profit, is
more. One bit per item and capacity says where, from which the items are read back.

Cost: items times capacity, some 0.4 ns each. Memory: 4 or 8 bytes per capacity, and the bits.
"""

import time

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.memory import free_memory
from mgraph.knapsacks.problem import KnapsackProblem

MAX_CELLS = 1 << 31  # a second's work, and 256 MiB of bits
BLOCK = 4096  # capacities at a time
_PACK = np.uint64(0x0102040810204080)
_TOP = np.uint64(56)


@compiled
def _add_item(weight, profit, table, with_item, is_raised, bits):
    """Raise the table by one more item, and fill ``bits`` with where that has raised it.

    From the last block of capacities to the first, so that what is read is from before. with_item,
    is_raised: memory for a block.
    """
    words = is_raised.view(np.uint64)
    for begin in range(table.size - BLOCK, -1, -BLOCK):
        first = max(weight - begin, 0)  # in the block, that holds the item
        if first >= BLOCK:
            break
        for i in range(first):
            is_raised[i] = 0
        source = table[begin + first - weight : begin + BLOCK - weight]
        target, sums = table[begin + first : begin + BLOCK], with_item[first:BLOCK]
        flags = is_raised[first:BLOCK]
        for i in range(source.size):
            sums[i] = source[i] + profit
        for i in range(source.size):
            flags[i] = sums[i] > target[i]
            target[i] = max(sums[i], target[i])
        for i in range(BLOCK // 8):
            bits[begin // 8 + i] = (words[i] * _PACK) >> _TOP


def fits(problem: KnapsackProblem) -> bool:
    """Return whether a problem's table is small enough for the time and the memory."""
    cells = problem.size * (problem.capacity + BLOCK)
    return cells <= MAX_CELLS and cells // 8 + 8 * problem.capacity < free_memory() // 2


def solve(problem: KnapsackProblem, deadline: float) -> np.ndarray | None:
    """Return whether each item of the problem is in the best choice; None after the deadline."""
    size = (problem.capacity // BLOCK + 1) * BLOCK
    dtype = np.int32 if problem.profits_before[-1] < 1 << 31 else np.int64
    table, with_item = np.zeros(size, dtype), np.empty(BLOCK, dtype)
    is_raised, bits = np.empty(BLOCK, np.uint8), np.zeros((problem.size, size // 8), np.uint8)
    for item in range(problem.size):
        if time.monotonic() >= deadline:
            return None
        cancellation.raise_if_cancelled()
        weight, profit = int(problem.weights[item]), dtype(problem.profits[item])
        _add_item(weight, profit, table, with_item, is_raised, bits[item])
    chosen, rest = np.zeros(problem.size, bool), problem.capacity
    for item in range(problem.size - 1, -1, -1):
        if bits[item, rest // 8] >> (rest % 8) & 1:
            chosen[item] = True
            rest -= int(problem.weights[item])
    return chosen
