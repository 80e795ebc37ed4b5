"""cuPPA-Hash on a CPU: the copy model, every edge computed by itself, without communication.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", section 4.1, algorithm 2. ``copy_draws_cpu`` says how a slot's draw gives a vertex, a
slot of it and a coin. An edge that is to end where another slot does is followed by repeating the
draw of that slot: a chain has 1/p draws on average.

Parallel edges: slot s is accepted when it differs from the final endpoints of v's lower slots, and
else drawn again with the next attempt. A copy from another vertex follows that vertex's chain at
attempt 0, before any redraw, which keeps chains free of sibling look-ups. A chain that reaches the
exact core reads the final endpoint there and ends (``copy_model`` says why; the paper has no core).

What differs from the exact model: chains whose first slot lies beyond the core and was redrawn. How
often that is falls with the core's size K as the sum of the squared shares of the hubs' edges does,
K^-1 at p = 0.5, K^-2p below. BENCHMARKS.md has the bias that is left, for small p and large d too.

How it is fast: a block of chains advances together, one draw per chain per round, so that draws
vectorise; chains that ended are squeezed out between rounds without a branch.
Cost: 1/p draws per edge, at small p about 1 + ln(n/K), in blocks that stay in the L2 cache; memory
beyond the output: the core, 16 MiB, once per process.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.core.hashing import edge_hash
from mgraph.generators.copy_cpu import exact_core
from mgraph.generators.copy_draws_cpu import (
    ENDED_BIT,
    PAIRWISE,
    SLOT_BITS,
    count_repeats,
    draw_all,
    empty_table,
    parameters,
    redraw,
    slots_of_block,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel


@compiled
def _follow(count, draws, core, stored, chain, state, position, out):
    """Follow ``count`` chains to their ends, all at once; chain i's endpoint goes to ``out[i]``.

    The core is read for all of them at the end, one read after another, so that many are under way
    at once. No loop asks whether a chain has ended: a processor would often guess wrong.
    """
    ends = state.view(np.int64)
    draw_all(count, draws, stored, out, chain, state)
    for i in range(count):
        out[i] = ends[i]
    left = 0
    for i in range(count):
        word = chain[i]
        chain[left] = word
        position[left] = i
        left += 1 - int64(word >> ENDED_BIT)
    while left > 0:
        count_left, left = left, 0
        draw_all(count_left, draws, stored, out, chain, state)
        for i in range(count_left):
            word, at = chain[i], position[i]
            out[at] = ends[i]
            chain[left] = word
            position[left] = at
            left += 1 - int64(word >> ENDED_BIT)
    for i in range(count):
        position[left] = i
        left += int64(out[i] < 0)
    for i in range(left):
        at = position[i]
        out[at] = core[~out[at]]


@compiled
def fill(first, stop, draws, core, stored, src, dst):
    """Write the edges of vertices ``first`` to ``stop - 1``; return their checksum.

    src, dst: int32 or int64, shape (edges of the range,); dst int32 only while n < 2^31.
    core: the endpoints of the exact core, vertices d to ``stored`` - 1. Deterministic; releases the
    GIL.
    """
    degree = int64(draws.d)
    row = 0
    checksum = uint64(0)
    for v in range(first, min(stop, degree)):
        for u in range(v):
            src[row] = v
            dst[row] = u
            checksum += edge_hash(uint64(v), uint64(u))
            row += 1
    first = max(first, degree)
    while first < min(stop, int64(stored)):
        for i in range((first - degree) * degree, (first - degree + 1) * degree):
            src[row] = first
            dst[row] = core[i]
            checksum += edge_hash(uint64(first), uint64(core[i]))
            row += 1
        first += 1
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
        _follow(count, draws, core, stored, chain, state, position, block_dst)
        if degree > PAIRWISE or count_repeats(count, degree, room, block_dst) > 0:
            for v in range(first, block_stop):
                one = block_dst[(v - first) * degree : (v - first + 1) * degree]
                redraw(uint64(v), one, draws, core, stored, table)
        for i in range(count):
            checksum += edge_hash(uint64(block_src[i]), uint64(block_dst[i]))
        row += count
        first = block_stop
    return checksum


def fill_range(model: "CopyModel", part: range, src: np.ndarray, dst: np.ndarray) -> int:
    """``fill`` for a model's vertex range, on the calling thread; returns the checksum."""
    core, stored = exact_core(model), np.uint64(model.core_vertices)
    return int(fill(part.start, part.stop, parameters(model), core, stored, src, dst))
