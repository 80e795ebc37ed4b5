"""The symmetry check: sums of hashes that are equal for both directions.

The arcs that lead to smaller vertices must be the mirrors of those that lead to greater ones,
weights included. The 64-bit hash of an edge is added for the former and subtracted for the latter,
in one of 4,096 sums that the edge chooses. If the arcs differ, all sums are 0 with a probability of
about 2^-64. The arcs of a sum that is not 0 are few enough to be compared one by one.

Cost: each arc is read once, 3 to 5 ns on one core; memory: 32 KB.
"""

from collections import Counter
from typing import Any

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.core.hashing import edge_hash, mix64

SUMS = 1 << 12
_SHIFT = np.uint64(52)


@compiled
def _bits(words, arc, sign):
    """Return a weight's bits; those of 0.0 for -0.0, whose word is ``sign`` in float weights."""
    word = np.int64(words[arc])
    return np.uint64(0) if word == sign else np.uint64(word)


@compiled
def _add_hashes(indptr, first, indices, words, sign, sums):
    for row in range(indptr.size - 1):
        u = np.uint64(first + row)
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            v = np.uint64(indices[arc])
            if u == v:
                continue
            edge = edge_hash(max(u, v), min(u, v))
            word = mix64(edge + _bits(words, arc, sign)) if words.size else edge
            up = np.uint64(0) - np.uint64(u < v)  # all bits set: the word is subtracted
            sums[edge >> _SHIFT] += (word ^ up) - up


@compiled
def _list_arcs(indptr, first, indices, words, sign, index):
    """Return the arcs of the sum ``index``: tails, heads, and the weights' bits as hashed."""
    tails, heads = [np.uint64(0) for _ in range(0)], [np.uint64(0) for _ in range(0)]
    bits = [np.uint64(0) for _ in range(0)]
    for row in range(indptr.size - 1):
        u = np.uint64(first + row)
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            v = np.uint64(indices[arc])
            if u != v and edge_hash(max(u, v), min(u, v)) >> _SHIFT == index:
                tails.append(u)
                heads.append(v)
                bits.append(_bits(words, arc, sign) if words.size else np.uint64(0))
    return tails, heads, bits


def weights_as_words(weights: Any) -> tuple[Any, Any]:
    """Return the weights as words of their bits, and the word of -0.0, 0 for integer weights."""
    if weights is None:
        return np.empty(0, np.int32), np.int64(0)
    words = weights.view(f"i{weights.itemsize}")
    sign = np.iinfo(words.dtype).min if weights.dtype.kind == "f" else 0
    return words, np.int64(sign)


def add_hashes(indptr: Any, first: int, indices: Any, weights: Any, sums: Any) -> None:
    """Add the hashes of the arcs of consecutive rows, the first of which is row ``first``.

    indptr: of these rows, into ``indices`` and ``weights``. sums: uint64, ``(SUMS,)``.
    """
    _add_hashes(indptr, first, indices, *weights_as_words(weights), sums)


def count_arcs(indptr: Any, first: int, indices: Any, weights: Any, index: int) -> Counter[Any]:
    """Count the arcs (tail, head, bits of the weight) of one sum in rows as in ``add_hashes``."""
    arcs = _list_arcs(indptr, first, indices, *weights_as_words(weights), np.uint64(index))
    return Counter(zip(*arcs, strict=True))
