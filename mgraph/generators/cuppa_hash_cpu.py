"""cuPPA-Hash on a CPU: the copy model without communication, every edge computed independently.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", section 4.1, algorithm 2. ``copy_draws_cpu`` describes a draw: a vertex, a slot of that
vertex, and a coin. To resolve a copy, the draw of the copied slot is repeated, and so on: a chain
has 1/p draws on average.

Parallel edges: a slot's endpoint is accepted if it differs from the final endpoints of the vertex's
lower slots; otherwise the slot draws again with the next attempt. A chain uses attempt 0 of every
copied slot, so that following it needs no endpoints of other slots. A chain that reaches the exact
core reads the final endpoint there and ends (``copy_model`` explains why; the paper has no core).

Difference from the exact model: chains that copy a slot beyond the core which drew again. Their
share falls with the core's size K like the sum of the squared shares of the hubs' edges, K^-1 at
p = 0.5, K^-2p below. BENCHMARKS.md has the remaining bias, also for small p and large d.

Why it is fast: the chains of a block advance together, one draw per chain and round, so that draws
vectorise; between rounds, chains that ended are removed without a branch.
Cost: 1/p draws per edge, for small p about 1 + ln(n/K), in blocks that stay in the L2 cache. Memory
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
    """Follow ``count`` chains to their ends together; chain i's endpoint goes to ``out[i]``.

    The core is read for all of them at the end, one read after another, so that many reads are in
    flight. No loop branches on whether a chain has ended: the branch would often be mispredicted.
    """
    ends = state.view(np.int64)
    draw_all(count, draws, stored, out, chain, state)
    for i in range(count):
        out[i] = ends[i]
    remaining = 0
    for i in range(count):
        word = chain[i]
        chain[remaining] = word
        position[remaining] = i
        remaining += 1 - int64(word >> ENDED_BIT)
    while remaining > 0:
        active, remaining = remaining, 0
        draw_all(active, draws, stored, out, chain, state)
        for i in range(active):
            word, at = chain[i], position[i]
            out[at] = ends[i]
            chain[remaining] = word
            position[remaining] = at
            remaining += 1 - int64(word >> ENDED_BIT)
    reads = 0
    for i in range(count):
        position[reads] = i
        reads += int64(out[i] < 0)
    for i in range(reads):
        at = position[i]
        out[at] = core[~out[at]]


@compiled
def fill(first, stop, draws, core, stored, src, dst):
    """Write the edges of vertices ``first`` to ``stop - 1``; return their checksum.

    src, dst: int32 or int64, shape (edges of the range,); dst int32 only if n < 2^31. core: the
    endpoints of the exact core, vertices d to ``stored`` - 1. Deterministic; releases the GIL.
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
    slots, to_row_end = slots_of_block(degree)
    vertices = slots.size // degree
    chain = np.empty_like(slots)
    state = np.empty_like(slots)
    position = np.empty_like(to_row_end)
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
        if degree > PAIRWISE or count_repeats(count, degree, to_row_end, block_dst) > 0:
            for v in range(first, block_stop):
                row_ends = block_dst[(v - first) * degree : (v - first + 1) * degree]
                redraw(uint64(v), row_ends, draws, core, stored, table)
        for i in range(count):
            checksum += edge_hash(uint64(block_src[i]), uint64(block_dst[i]))
        row += count
        first = block_stop
    return checksum


def fill_range(model: "CopyModel", part: range, src: np.ndarray, dst: np.ndarray) -> int:
    """Write the edges of a model's vertex range on the calling thread; return their checksum."""
    core, stored = exact_core(model), np.uint64(model.core_vertices)
    return int(fill(part.start, part.stop, parameters(model), core, stored, src, dst))
