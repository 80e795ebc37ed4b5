"""cuPPA on all cores of a machine: the graph of ``copy_cpu``, bit for bit.

Source: Alam, Perumalla, Sanders, "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks", section 3, with threads in place of a GPU's. The vertices are cut into
segments, one after another; the blocks of a segment are dealt to the threads in turn.

Phase 1 executes the copy model: a thread draws a block, reads the endpoints that it copies, and
writes the block. An endpoint that is read may be unknown: it lies in a block that is being made, or
its vertex waits. Then the vertex goes to the thread's waiting queue. Phase 2 resolves the queues:
all threads go through them, those that still wait go to another queue, and so on until that is
empty. The queued vertices ascend, so one thread finishes all of a pass, and several the lowest at
least.

What ``cuppa_gpu`` explains holds here: a slot accepts what no lower slot of its vertex has, a
vertex waits as one item, and an endpoint, once written, never changes, so that a reader sees
``unknown`` or the final one, whatever the order of stores.

Waiting is rare: the endpoints that are under way are those of one block per thread, at most a
sixty-fourth of all below them. The first edges, ``_first_edges``, are made by one thread.
Cost per edge: as ``copy_cpu``, and one more write, of ``unknown``; 8 bytes per vertex of a segment
where every vertex waits.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.generators import copy_cpu
from mgraph.generators.copy_draws_cpu import (
    ALL_STORED,
    BLOCK,
    PAIRWISE,
    SLOT_BITS,
    Draws,
    count_repeats,
    draw_all,
    empty_table,
    endpoint,
    is_new,
    parameters,
    redraw,
    slots_of_block,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

UNKNOWN = -1
_MAX_SEGMENT_EDGES = 1 << 22  # per thread: some 40 ms
_MIN_BLOCKS_BEFORE = 64  # per thread, before each segment
_FEW_WAITING = 4096  # vertices that one thread resolves sooner than several


@compiled
def _settle(v, row, draws, ends, table):
    """Find v's endpoints, slot after slot; return how many are known.

    row: int64, of shape (d,). A slot whose source is unknown ends the work.
    """
    table[:] = UNKNOWN
    for slot in range(row.size):
        attempt = uint64(0)
        while True:
            row[slot] = int64(endpoint(v, uint64(slot), attempt, draws, ends, ALL_STORED))
            if row[slot] == UNKNOWN:
                return slot
            if is_new(row, slot, table):
                break
            attempt += uint64(1)
    return row.size


@compiled
def _find_unknown(ends, begin, end):
    """Return the position of the first unknown endpoint from ``begin`` on, or ``end``."""
    at = begin
    while at < end and ends[at] != UNKNOWN:
        at += 1
    return at


@compiled
def _execute(draws, ends, thread, threads, first_row, stop_row, rows_per_block, cancelled, waiting):
    """Phase 1 of a thread: make its blocks of the rows of a segment; return how many wait.

    Row r is vertex d + r. waiting: int64, room for the thread's rows, those that wait.
    """
    degree = int64(draws.d)
    slots, to_row_end = slots_of_block(degree)
    words, state, table = np.empty_like(slots), np.empty_like(slots), empty_table(degree)
    drawn = state.view(np.int64)
    block, row = np.empty(slots.size, ends.dtype), np.empty(degree, np.int64)
    count_waiting = 0
    for first in range(first_row + thread * rows_per_block, stop_row, threads * rows_per_block):
        if cancelled[0]:
            break
        count = min(rows_per_block, stop_row - first) * degree
        first_vertex = uint64(first) + draws.d
        for i in range(count):
            words[i] = slots[i] + (first_vertex << SLOT_BITS)
        draw_all(count, draws, ALL_STORED, ends, words, state)
        for i in range(count):
            copied = ends[0 if drawn[i] >= 0 else ~drawn[i]]
            block[i] = drawn[i] if drawn[i] >= 0 else int64(copied)
        are_new = degree <= PAIRWISE and (
            count_repeats(count, degree, to_row_end, block[:count]) == 0
        )
        at = _find_unknown(block, 0, count) if are_new else 0
        while at < count:
            begin = at - at % degree
            read = block[begin : begin + degree]
            v = first_vertex + uint64(begin // degree)
            if not are_new and _find_unknown(read, 0, degree) == degree:
                redraw(v, read, draws, ends, ALL_STORED, table)
            if _find_unknown(read, 0, degree) < degree:
                known = _settle(v, row, draws, ends, table)
                for slot in range(degree):
                    read[slot] = row[slot] if slot < known else UNKNOWN
                if known < degree:
                    waiting[count_waiting] = first + begin // degree
                    count_waiting += 1
            at = begin + degree
            if are_new:
                at = _find_unknown(block, at, count)
        ends[first * degree : first * degree + count] = block[:count]
    return count_waiting


@compiled
def _resolve(draws, ends, queue, cancelled):
    """Phase 2 of a thread: finish the rows of a queue; return how many of them still wait.

    Those come first in the queue afterwards, in their order.
    """
    degree = int64(draws.d)
    table, row = empty_table(degree), np.empty(degree, np.int64)
    kept = 0
    for i in range(queue.size):
        if cancelled[0]:
            break
        known = _settle(uint64(queue[i]) + draws.d, row, draws, ends, table)
        for slot in range(known):
            ends[queue[i] * degree + slot] = row[slot]
        if known < degree:
            queue[kept] = queue[i]
            kept += 1
    return kept


@compiled
def _clear(ends):
    """Set endpoints to ``unknown``."""
    ends[:] = UNKNOWN


def _first_edges(threads: int) -> int:
    """Return how many edges one thread makes first."""
    return max(1 << 20, 8 * threads * BLOCK)


def fill(draws: Draws, ends: np.ndarray, threads: int, first_edges: int | None = None) -> None:
    """Write the endpoints of vertex d and on. ends: int32 or int64, shape (vertices·d,).

    first_edges: made by one thread, at least the endpoints of one vertex.
    """
    degree = int(draws.d)
    rows = ends.size // degree
    first_rows = max(1, (first_edges or _first_edges(threads)) // degree)
    done = min(first_rows if threads > 1 else rows, rows)
    copy_cpu.fill(draws, ends[: done * degree], cancellation.cancel_flag())
    if done == rows:
        return

    def each(work: Callable[..., Any], items: Any) -> list[Any]:
        cancellation.raise_if_cancelled()
        return cancellation.map_in_threads(work, items, threads)

    while done < rows:
        stop = min(4 * done, done + _MAX_SEGMENT_EDGES * threads // degree + 1, rows)
        _make_segment(draws, ends, done, stop, threads, each)
        done = stop


def _make_segment(
    draws: Draws, ends: np.ndarray, first: int, stop: int, threads: int,
    each: Callable[..., list[Any]],
) -> None:  # fmt: skip
    """Make the rows from ``first`` to ``stop - 1``. each: map, over threads."""
    degree = int(draws.d)
    each(_clear, np.array_split(ends[first * degree : stop * degree], threads))
    # So short that what is under way is a small share of what is there.
    rows_per_block = max(1, min(BLOCK // degree, first // (_MIN_BLOCKS_BEFORE * threads)))
    blocks = -(-(stop - first) // rows_per_block)
    queues = [np.empty(-(-blocks // threads) * rows_per_block, np.int64) for _ in range(threads)]

    def execute(t: int) -> int:
        flag = cancellation.cancel_flag()
        return int(_execute(draws, ends, t, threads, first, stop, rows_per_block, flag, queues[t]))

    def resolve(part: np.ndarray) -> int:
        return int(_resolve(draws, ends, part, cancellation.cancel_flag()))

    counts = each(execute, range(threads))
    queue = np.sort(np.concatenate([q[:k] for q, k in zip(queues, counts, strict=True)]))
    while queue.size:
        parts = np.array_split(queue, threads if queue.size > _FEW_WAITING else 1)
        counts = each(resolve, parts)
        queue = np.concatenate([part[:k] for part, k in zip(parts, counts, strict=True)])


def fill_endpoints(model: "CopyModel", dst: np.ndarray, threads: int) -> None:
    """Write the endpoints of vertex d and on. dst: of ``model.dtype``, the clique's come first."""
    fill(parameters(model), dst[model.edges_before(model.d) :], threads)
    cancellation.raise_if_cancelled()
