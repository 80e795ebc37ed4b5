"""cuPPA-Hash on a CPU: the copy model, every edge computed by itself, without communication.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", section 4.1, algorithm 2. ``copy_draws_cpu`` tells how a slot's draw gives a vertex, a
slot of it and a coin. An edge that is to end where another slot does is followed by drawing for
that slot in turn: a chain has 1/p draws on average.

Parallel edges: slot s is accepted when it differs from the final endpoints of v's lower slots, and
else drawn again with the next attempt. A copy from another vertex reads that vertex's chain at
attempt 0, before any redraw, which keeps chains free of sibling look-ups. At p >= 1/4 the degree
distribution does not notice. At smaller p, where most slots are drawn again, it does: at p = 0.01
and d = 4 two or three vertices in a hundred have another degree than in the exact model
(BENCHMARKS.md).

How it is fast: a block of chains advances together, one draw a chain a round, so that draws
vectorise; chains that ended are squeezed out between rounds without a branch.
Cost: 1/p draws an edge, at small p about ln(n/d), in blocks that stay in the L2 cache; no memory
beyond the output.
"""

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.core.hashing import edge_hash
from mgraph.generators.copy_draws_cpu import (
    DRAW_MASK,
    ENDED_BIT,
    NOT_STORED,
    PAIRWISE,
    SLOT_BITS,
    count_repeats,
    draw_all,
    empty_table,
    parameters,
    redraw,
    slots_of_block,
)
from mgraph.generators.copy_model import CopyModel


@compiled
def _follow(count, d, threshold, white0, white1, key, chain, state, position, out):
    """Follow ``count`` chains to their ends, all at once; chain i's endpoint goes to ``out[i]``."""
    draw_all(count, d, threshold, white0, white1, key, out, chain, state)
    for i in range(count):
        out[i] = (chain[i] & DRAW_MASK) >> SLOT_BITS
    still_open = 0
    for i in range(count):
        word = chain[i]
        chain[still_open] = word
        position[still_open] = i
        still_open += 1 - int64(word >> ENDED_BIT)
    while still_open > 0:
        count = still_open
        draw_all(count, d, threshold, white0, white1, key, out, chain, state)
        still_open = 0
        for i in range(count):
            word, at = chain[i], position[i]
            out[at] = (word & DRAW_MASK) >> SLOT_BITS
            chain[still_open] = word
            position[still_open] = at
            still_open += 1 - int64(word >> ENDED_BIT)


@compiled
def fill(first, stop, d, threshold, white0, white1, key, src, dst, nothing):
    """Write the edges of vertices ``first`` to ``stop - 1``; return their checksum.

    src, dst: int32 or int64, shape (edges of the range,); dst int32 only while n < 2^31.
    d, threshold and the key's three words are uint64; nothing: ``NOT_STORED``. Deterministic;
    releases the GIL.
    """
    degree = int64(d)
    row = 0
    checksum = uint64(0)
    for v in range(first, min(stop, degree)):
        for u in range(v):
            src[row] = v
            dst[row] = u
            checksum += edge_hash(uint64(v), uint64(u))
            row += 1
    first = max(first, degree)
    slots, room = slots_of_block(degree)
    vertices = slots.size // degree
    chain = np.empty_like(slots)
    state = np.empty_like(slots)
    position = np.empty_like(room)
    table = empty_table(degree)
    while first < stop:
        block_stop = min(stop, first + vertices)
        count = (block_stop - first) * degree
        block_src = src[row : row + count]
        block_dst = dst[row : row + count]
        for i in range(count):
            chain[i] = slots[i] + (uint64(first) << SLOT_BITS)
            block_src[i] = chain[i] >> SLOT_BITS
        _follow(count, d, threshold, white0, white1, key, chain, state, position, block_dst)
        if degree > PAIRWISE or count_repeats(count, degree, room, block_dst) > 0:
            for v in range(first, block_stop):
                one = block_dst[(v - first) * degree : (v - first + 1) * degree]
                redraw(uint64(v), one, d, threshold, white0, white1, key, nothing, table)
        for i in range(count):
            checksum += edge_hash(uint64(block_src[i]), uint64(block_dst[i]))
        row += count
        first = block_stop
    return checksum


def fill_range(model: CopyModel, part: range, src: np.ndarray, dst: np.ndarray) -> int:
    """``fill`` for a model's vertex range, on the calling thread; returns the checksum."""
    return int(fill(part.start, part.stop, *parameters(model), src, dst, NOT_STORED))
