"""Sorting by radix: the ranks of a column's values among the distinct ones, and the order of pairs.

Whole numbers are sorted by radix: divided into buckets by their leading bits, until a bucket fits a
cache, and there by eight bits at a time, from the last; bits that all share cost nothing. Strings
of bytes are sorted eight bytes at a time, as big-endian numbers, by the same sort; then every run
of equal words by the next eight bytes, and a short run by comparisons.

Cost: 45 ns of a core per number (an Intel Xeon, 2^23 random numbers of 64 bits; NumPy's argsort
alone takes 79), 160 to 220 ns per string of some 20 bytes; 24 bytes of memory per row beside the
values. Few rows are ranked by NumPy or Python, which need not be compiled.
"""

from typing import NamedTuple

import numpy as np
from numba import int64, uint8, uint64

from mgraph.core.compiled import compiled

_FEW = 1 << 15  # rows for which compiling is not worth while
_BUCKET, _BUCKET_BITS = 1 << 11, 12  # keys that fit a cache; buckets of a division, at most
_FEW_KEYS, _SHORT_RUN = 32, 48  # that are sorted by insertion
_WORD = 8  # bytes
_LONGER = 9  # the length class of a string that goes on after a word


class Ranked(NamedTuple):
    """The distinct values in ascending order, and each row's index among them, uint32."""

    distinct: np.ndarray
    ranks: np.ndarray


class RankedStrings(NamedTuple):
    """Rows that hold the distinct strings in ascending order, and each row's rank, uint32."""

    rows: np.ndarray
    ranks: np.ndarray


def rank_numbers(values: np.ndarray) -> Ranked:
    """Rank int64 or uint64 values, fewer than 2^32."""
    if values.size <= _FEW:
        distinct, ranks = np.unique(values, return_inverse=True)
        return Ranked(distinct, ranks.astype(np.uint32))
    is_signed = values.dtype.kind == "i"
    sign = np.uint64(1 << 63) if is_signed else np.uint64(0)
    keys = values.view(np.uint64) ^ sign
    ranks = np.empty(values.size, np.uint32)
    distinct = _rank_keys(keys, ranks)
    return Ranked((distinct ^ sign).view(values.dtype), ranks)


def rank_strings(offsets: np.ndarray, data: np.ndarray) -> RankedStrings:
    """Rank strings: row i is ``data[offsets[i]:offsets[i + 1]]``, int64 and uint8."""
    size = offsets.size - 1
    if size <= _FEW:
        bounds, content = offsets.tolist(), data.tobytes()
        strings = [content[bounds[i] : bounds[i + 1]] for i in range(size)]
        rows = {string: row for row, string in enumerate(strings)}
        ordered = sorted(rows)
        rank = {string: i for i, string in enumerate(ordered)}
        ranks = np.fromiter((rank[string] for string in strings), np.uint32, size)
        return RankedStrings(np.fromiter((rows[x] for x in ordered), np.uint32, len(rows)), ranks)
    repeats = np.zeros(size, np.bool_)
    order = _sort_strings(offsets, data, repeats)
    ranks = np.empty(size, np.uint32)
    return RankedStrings(_rank_sorted(order, repeats, ranks), ranks)


def sort_pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the order of pairs of whole numbers from 0, int64; equal ones keep their order."""
    size = first.size
    if size <= _FEW:
        return np.lexsort((second, first))
    order = np.arange(size).astype(np.uint32)
    spare_keys, spare_order = np.empty(size, np.uint64), np.empty(size, np.uint32)
    if max(int(first.max()), int(second.max())) < 1 << 32:
        keys = first.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= second.astype(np.uint64)
        _sort_keys(keys, order, spare_keys, spare_order)
    else:
        for column in (second, first):
            _sort_keys(column[order].astype(np.uint64), order, spare_keys, spare_order)
    return order.astype(np.int64)


@compiled
def _sort_digits(keys, rows, other_keys, other_rows, counts):
    """Sort a few keys with their rows by their differing bytes; return if they are in the others.

    counts: at least 256, which are overwritten.
    """
    size = keys.size
    ones, common = uint64(0), ~uint64(0)
    for i in range(size):
        ones |= keys[i]
        common &= keys[i]
    moved = False
    for digit in range(8):
        shift = uint64(8 * digit)
        if ((ones ^ common) >> shift) & uint64(255) == 0:
            continue
        counts[:256] = 0
        for i in range(size):
            counts[(keys[i] >> shift) & uint64(255)] += 1
        start = int64(0)
        for value in range(256):
            count = counts[value]
            counts[value] = start
            start += count
        for i in range(size):
            value = (keys[i] >> shift) & uint64(255)
            place = counts[value]
            counts[value] = place + 1
            other_keys[place], other_rows[place] = keys[i], rows[i]
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
        moved = not moved
    return moved


@compiled
def _insert_keys(keys, rows):
    """Sort very few keys with their rows."""
    for i in range(1, keys.size):
        key, row, place = keys[i], rows[i], i
        while place and keys[place - 1] > key:
            keys[place], rows[place] = keys[place - 1], rows[place - 1]
            place -= 1
        keys[place], rows[place] = key, row


@compiled
def _divide(keys, rows, other_keys, other_rows, counts):
    """Divide keys with their rows into buckets by the leading bits in which they differ.

    counts: where each bucket ends in the other arrays, afterwards. Returns the number of buckets, 0
    if all keys are equal.
    """
    size = keys.size
    low = high = keys[0]
    for i in range(size):
        low, high = min(low, keys[i]), max(high, keys[i])
    if low == high:
        return 0
    bits = 0
    while bits < 64 and (high - low) >> uint64(bits):
        bits += 1
    leading = 1
    while leading < _BUCKET_BITS and (size >> leading) > _BUCKET // 2:
        leading += 1
    shift = uint64(max(0, bits - leading))
    buckets = int64((high - low) >> shift) + 1
    counts[:buckets] = 0
    for i in range(size):
        counts[(keys[i] - low) >> shift] += 1
    start = int64(0)
    for bucket in range(buckets):
        count = counts[bucket]
        counts[bucket] = start
        start += count
    for i in range(size):
        bucket = (keys[i] - low) >> shift
        place = counts[bucket]
        counts[bucket] = place + 1
        other_keys[place], other_rows[place] = keys[i], rows[i]
    return buckets


@compiled
def _sort_keys(keys, rows, other_keys, other_rows):
    """Sort keys with their rows, stably; the other arrays, of the same size, are overwritten."""
    counts = np.empty(1 << _BUCKET_BITS, np.int64)
    waiting = [(int64(0), int64(keys.size), False)]
    while waiting:
        begin, end, is_moved = waiting.pop()
        a, b, c, d = keys[begin:end], rows[begin:end], other_keys[begin:end], other_rows[begin:end]
        if is_moved:
            a, b, c, d = c, d, a, b
        buckets = 0
        ends_moved = is_moved
        if a.size <= _FEW_KEYS:
            _insert_keys(a, b)
        elif a.size <= _BUCKET:
            ends_moved = is_moved != _sort_digits(a, b, c, d, counts)
        else:
            buckets = _divide(a, b, c, d, counts)
        if buckets:
            start = begin
            for bucket in range(buckets):
                stop = begin + counts[bucket]
                if stop > start:
                    waiting.append((start, stop, not is_moved))
                start = stop
        elif ends_moved:
            keys[begin:end], rows[begin:end] = other_keys[begin:end], other_rows[begin:end]


@compiled
def _rank_keys(keys, ranks):
    """Fill in the ranks, and return the distinct keys; the keys are overwritten."""
    rows = np.arange(keys.size).astype(np.uint32)
    _sort_keys(keys, rows, np.empty_like(keys), np.empty_like(rows))
    last = 0
    for i in range(keys.size):
        if keys[i] != keys[last]:
            last += 1
            keys[last] = keys[i]
        ranks[rows[i]] = last
    return keys[: last + 1].copy()


@compiled
def _word(offsets, data, row, depth):
    """Return eight bytes of a string as a number, and whether it ends in them: their count, or 9.

    Bytes beyond the end are 0; the count tells "a" from "a" with a byte 0.
    """
    begin, end = offsets[row] + depth, offsets[row + 1]
    word = uint64(0)
    if end - begin >= _WORD:
        for i in range(_WORD):
            word = (word << uint64(8)) | uint64(data[begin + i])
        return word, uint8(_WORD if end - begin == _WORD else _LONGER)
    for i in range(begin, end):
        word = (word << uint64(8)) | uint64(data[i])
    count = max(end - begin, int64(0))
    if count:
        word <<= uint64(8 * (_WORD - count))
    return word, uint8(count)


@compiled
def _precedes(offsets, data, row, other, depth):
    """Return whether one string, from a depth on, comes before another."""
    begin, other_begin = offsets[row] + depth, offsets[other] + depth
    length, other_length = offsets[row + 1] - begin, offsets[other + 1] - other_begin
    for i in range(min(length, other_length)):
        one, two = data[begin + i], data[other_begin + i]
        if one != two:
            return one < two
    return length < other_length


@compiled
def _sort_short(offsets, data, rows, depth):
    """Sort a few strings that agree up to a depth, by insertion."""
    for i in range(1, rows.size):
        row, place = rows[i], i
        while place and _precedes(offsets, data, row, rows[place - 1], depth):
            rows[place] = rows[place - 1]
            place -= 1
        rows[place] = row


@compiled
def _sort_by_length(rows, keys, classes, other_rows, other_keys):
    """Sort rows and keys by their length class, unless all have one; return if they were moved."""
    counts = np.zeros(_LONGER + 1, np.int64)
    for i in range(rows.size):
        counts[classes[i]] += 1
    if counts[classes[0]] == rows.size:
        return False
    start = int64(0)
    for length in range(counts.size):
        count = counts[length]
        counts[length] = start
        start += count
    for i in range(rows.size):
        place = counts[classes[i]]
        counts[classes[i]] = place + 1
        other_rows[place], other_keys[place] = rows[i], keys[i]
    return True


@compiled
def _ends(offsets, row, end):
    """Return whether a string has no bytes from an offset on."""
    return offsets[row + 1] - offsets[row] <= end


@compiled
def _sort_strings(offsets, data, repeats):
    """Return the rows in ascending order of their strings.

    repeats: whether a place of that order holds the same string as the one before; all False.
    """
    size = offsets.size - 1
    order, spare = np.arange(size).astype(np.uint32), np.empty(size, np.uint32)
    keys, spare_keys = np.empty(size, np.uint64), np.empty(size, np.uint64)
    classes = np.empty(size, np.uint8)
    runs = [(int64(0), int64(size), int64(0))]
    while runs:
        begin, end, depth = runs.pop()
        rows, words = order[begin:end], keys[begin:end]
        other_rows, other_words = spare[begin:end], spare_keys[begin:end]
        if rows.size <= _SHORT_RUN:
            _sort_short(offsets, data, rows, depth)
            for i in range(1, rows.size):
                repeats[begin + i] = not _precedes(offsets, data, rows[i - 1], rows[i], depth)
            continue
        for i in range(rows.size):
            words[i], classes[begin + i] = _word(offsets, data, rows[i], depth)
        if _sort_by_length(rows, words, classes[begin:end], other_rows, other_words):
            rows[:], words[:] = other_rows, other_words
        _sort_keys(words, rows, other_words, other_rows)
        first, depth = 0, depth + _WORD
        for i in range(1, rows.size + 1):
            if i < rows.size and words[i] == words[first]:
                continue
            # Of equal words the shorter strings come first, and those that go on are last.
            while first < i and _ends(offsets, rows[first], depth):
                first += 1
                if first < i and _ends(offsets, rows[first], depth):
                    one, other = rows[first - 1], rows[first]
                    length = offsets[one + 1] - offsets[one]
                    repeats[begin + first] = length == offsets[other + 1] - offsets[other]
            if i - first > 1:
                runs.append((begin + first, begin + i, depth))
            first = i
    return order


@compiled
def _rank_sorted(order, repeats, ranks):
    """Fill in the ranks of sorted rows; return the first row of each distinct string."""
    rows = np.empty(order.size, np.uint32)
    last = -1
    for i in range(order.size):
        if not repeats[i]:
            last += 1
            rows[last] = order[i]
        ranks[order[i]] = last
    return rows[: last + 1].copy()
