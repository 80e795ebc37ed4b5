"""cuPPA-Hash on a CPU: the copy model, every edge computed by itself, without communication.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", section 4.1, algorithm 2. Slot s of vertex v is edge e = v·d + s. Its draw is a 64-bit
hash h of (seed, e, attempt), taken apart as digits in mixed radix: u = ⌊h·v / 2^64⌋ is the vertex,
⌊fraction·d⌋ the slot of u, and the first 32 bits of what is left the coin. A coin below p, or a u
in the clique, ends the edge at u; otherwise the edge ends where slot ``slot`` of u ends, which is
found by drawing for that slot in turn. A chain has 1/p draws on average.

Parallel edges: slot s is accepted when it differs from the final endpoints of v's lower slots, and
else drawn again with the next attempt. A copy from another vertex reads that vertex's chain at
attempt 0, before any redraw, which keeps chains free of sibling look-ups; the degree distribution
does not notice (tests/generators/test_cuppa_hash.py holds it against the plain copy model).

How it is fast: a block of chains advances together, one draw a chain a round, so that draws
vectorise; chains that ended are squeezed out between rounds without a branch. The draw is cut in
two loops because a chain of seven dependent multiplications, in one loop, leaves the vector units
waiting for each other (309 against 490 million draws/s on one core of an AMD EPYC).
Cost: 1/p draws an edge, at small p about ln(n/d), in blocks that stay in the L2 cache; no memory
beyond the output.
"""

import numpy as np
from numba import int32, int64, njit, uint64

from mgraph.core.hashing import (
    ATTEMPT_KEY_STEP,
    LOW32,
    PHILOX_KEY_STEP,
    PHILOX_ROUNDS,
    S32,
    edge_hash,
    mix64,
    philox_rounds,
    stream_key,
)
from mgraph.generators.copy_model import CopyModel

BLOCK = 8192  # chains that advance together: 0.2 MB, within an L2 cache
PAIRWISE = 32  # up to this d, a vertex's endpoints are compared pair by pair
_FIRST_ROUNDS = 4
_LAST_ROUNDS = PHILOX_ROUNDS - _FIRST_ROUNDS
_KEY_AFTER_FIRST = np.uint64(_FIRST_ROUNDS) * PHILOX_KEY_STEP

# A chain is one word: its end flag, the vertex it stands at (40 bits), the slot there (12 bits).
_SLOT_BITS, _SLOT_MASK = np.uint64(12), np.uint64(4095)
_ENDED_BIT, _CHAIN_MASK = np.uint64(63), np.uint64((1 << 63) - 1)


@njit(cache=True)
def _digits(word0, word1, v, d):
    """The digits (u, slot, coin) of the hash ``word0·2^32 + word1`` in the radix (v, d, 2^32)."""
    v0, v1 = v & LOW32, v >> S32
    t0 = word1 * v0
    t1 = word0 * v0 + (t0 >> S32)
    t2 = word1 * v1 + (t1 & LOW32)
    u = word0 * v1 + (t1 >> S32) + (t2 >> S32)
    s0 = (t0 & LOW32) * d
    s1 = (t2 & LOW32) * d + (s0 >> S32)
    return u, s1 >> S32, s1 & LOW32


@njit(cache=True)
def _endpoint(v, slot, attempt, d, threshold, white0, white1, key):
    """Where one slot's chain ends; ``attempt`` counts for its first draw alone."""
    key_now = (key + attempt * ATTEMPT_KEY_STEP) & LOW32
    while True:
        e = v * d + slot
        word0, word1 = philox_rounds(
            (e & LOW32) ^ white0, (e >> S32) ^ white1, key_now, PHILOX_ROUNDS
        )
        u, slot, coin = _digits(word0, word1, v, d)
        if coin < threshold or u < d:
            return u
        v, key_now = u, key


@njit(cache=True)
def _draw(count, d, threshold, white0, white1, key, narrow, chain, state):
    """Draw once for each of ``count`` chains, in place. ``narrow``: all vertices fit 31 bits."""
    # Masks tell the compiler which words fit 32 bits: it drops the multiplications by zero.
    vertex_mask = LOW32 if narrow.itemsize == 4 else _CHAIN_MASK
    d &= LOW32
    for i in range(count):
        e = ((chain[i] >> _SLOT_BITS) & vertex_mask) * d + (chain[i] & _SLOT_MASK)
        word0, word1 = philox_rounds((e & LOW32) ^ white0, (e >> S32) ^ white1, key, _FIRST_ROUNDS)
        state[i] = (word0 << S32) | word1
    key = (key + _KEY_AFTER_FIRST) & LOW32
    for i in range(count):
        v = (chain[i] >> _SLOT_BITS) & vertex_mask
        word0, word1 = philox_rounds(state[i] >> S32, state[i] & LOW32, key, _LAST_ROUNDS)
        u, slot, coin = _digits(word0, word1, v, d)
        ended = uint64((coin < threshold) | (u < d))
        chain[i] = (ended << _ENDED_BIT) | (u << _SLOT_BITS) | slot


@njit(cache=True)
def _follow(count, d, threshold, white0, white1, key, chain, state, position, out):
    """Follow ``count`` chains to their ends, all at once; chain i's endpoint goes to ``out[i]``."""
    _draw(count, d, threshold, white0, white1, key, out, chain, state)
    for i in range(count):
        out[i] = (chain[i] & _CHAIN_MASK) >> _SLOT_BITS
    still_open = 0
    for i in range(count):
        word = chain[i]
        chain[still_open] = word
        position[still_open] = i
        still_open += 1 - int64(word >> _ENDED_BIT)
    while still_open > 0:
        count = still_open
        _draw(count, d, threshold, white0, white1, key, out, chain, state)
        still_open = 0
        for i in range(count):
            word, at = chain[i], position[i]
            out[at] = (word & _CHAIN_MASK) >> _SLOT_BITS
            chain[still_open] = word
            position[still_open] = at
            still_open += 1 - int64(word >> _ENDED_BIT)


@njit(cache=True)
def _count_repeats(count, degree, room, out):
    """How often an endpoint stands again further on in its vertex's row of ``degree``.

    room[i]: how many endpoints of the same row stand at i and after. One pass a distance, so that
    it vectorises: rows are short and repeats are rare.
    """
    repeats = int32(0)
    for distance in range(1, degree):
        within = int32(distance)
        for i in range(count - distance):
            repeats += int32((out[i] == out[i + distance]) & (within < room[i]))
    return repeats


@njit(cache=True)
def _redraw_pairwise(v, row, d, threshold, white0, white1, key):
    """Give slots of v that repeat a lower slot's endpoint new attempts, in slot order."""
    for slot in range(1, row.size):
        attempt = uint64(0)
        lower = 0
        while lower < slot:
            if row[lower] == row[slot]:
                attempt += uint64(1)
                row[slot] = _endpoint(v, uint64(slot), attempt, d, threshold, white0, white1, key)
                lower = 0
            else:
                lower += 1


@njit(cache=True)
def _redraw_hashed(v, row, d, threshold, white0, white1, key, table):
    """The same for many slots: ``table`` is a hash set of endpoints, open addressing, empty -1."""
    table[:] = -1
    mask = uint64(table.size - 1)
    for slot in range(row.size):
        attempt = uint64(0)
        at = mix64(uint64(row[slot])) & mask
        while table[at] != -1:
            if table[at] == row[slot]:
                attempt += uint64(1)
                row[slot] = _endpoint(v, uint64(slot), attempt, d, threshold, white0, white1, key)
                at = mix64(uint64(row[slot])) & mask
            else:
                at = (at + uint64(1)) & mask
        table[at] = row[slot]


@njit(cache=True)
def _empty_table(degree):
    """A hash set for one row's endpoints, at most half full."""
    size = 1
    while size < 2 * degree:
        size *= 2
    return np.empty(size, np.int64)


@njit(cache=True, nogil=True)
def fill(first, stop, d, threshold, white0, white1, key, src, dst):
    """Write the edges of vertices ``first`` to ``stop - 1``; return their checksum.

    src, dst: int32 or int64, shape (edges of the range,); dst int32 only while n < 2^31.
    d, threshold and the key's three words are uint64. Deterministic; releases the GIL.
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
    vertices = max(1, BLOCK // degree)
    offset = np.empty(vertices * degree, np.uint64)  # chain words of a block that begins at 0
    room = np.empty(vertices * degree, np.int32)
    for i in range(offset.size):
        offset[i] = (uint64(i // degree) << _SLOT_BITS) | uint64(i % degree)
        room[i] = degree - i % degree
    chain = np.empty_like(offset)
    state = np.empty_like(offset)
    position = np.empty_like(room)
    table = _empty_table(degree)
    while first < stop:
        block_stop = min(stop, first + vertices)
        count = (block_stop - first) * degree
        block_src = src[row : row + count]
        block_dst = dst[row : row + count]
        for i in range(count):
            chain[i] = offset[i] + (uint64(first) << _SLOT_BITS)
            block_src[i] = chain[i] >> _SLOT_BITS
        _follow(count, d, threshold, white0, white1, key, chain, state, position, block_dst)
        if degree > PAIRWISE:
            for v in range(first, block_stop):
                neighbours = block_dst[(v - first) * degree : (v - first + 1) * degree]
                _redraw_hashed(uint64(v), neighbours, d, threshold, white0, white1, key, table)
        elif _count_repeats(count, degree, room, block_dst) > 0:
            for v in range(first, block_stop):
                neighbours = block_dst[(v - first) * degree : (v - first + 1) * degree]
                _redraw_pairwise(uint64(v), neighbours, d, threshold, white0, white1, key)
        for i in range(count):
            checksum += edge_hash(uint64(block_src[i]), uint64(block_dst[i]))
        row += count
        first = block_stop
    return checksum


def fill_range(model: CopyModel, part: range, src: np.ndarray, dst: np.ndarray) -> int:
    """``fill`` for a model's vertex range, on the calling thread; returns the checksum."""
    key = stream_key(model.seed)
    d, threshold = np.uint64(model.d), np.uint64(model.threshold)
    return int(fill(part.start, part.stop, d, threshold, *key, src, dst))
