"""Counter-based hashing in Numba; ``mgraph/hash.cuh`` computes the same bits in CUDA.

Philox2x32-7 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011)
draws random numbers: a keyed bijection of 64-bit counters; seven rounds are the fewest that pass
BigCrush. A round is one 32×32→64-bit multiplication, one instruction on a GPU and a fourth of one
with AVX2. ``mix64``, the finaliser of SplitMix64, hashes edges into checksums.

All words are ``uint64``, those of 32 bits too: Numba turns ``uint64 op int64`` into a float.
"""

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.core.hash_keys import (
    GOLDEN64,
    LOW32,
    MIX_MULTIPLIER1,
    MIX_MULTIPLIER2,
    PHILOX_KEY_STEP,
    PHILOX_MULTIPLIER,
    S32,
)

_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def mix64(x):
    """A bijection of 64-bit words in which each input bit changes half of the output bits."""
    x = (x ^ (x >> _S30)) * MIX_MULTIPLIER1
    x = (x ^ (x >> _S27)) * MIX_MULTIPLIER2
    return x ^ (x >> _S31)


@compiled
def edge_hash(src, dst):
    """The 64-bit hash of an edge; a checksum is the sum of hashes modulo 2^64.

    ``src * GOLDEN64 + dst`` differs for any two edges with ids below 2^31, and ``mix64`` is a
    bijection: two different edges of such a graph never have the same hash.
    """
    return mix64(src * GOLDEN64 + dst)


@compiled
def weighted_edge_hash(src, dst, weight):
    """The 64-bit hash of an edge with a weight, given as the 64 bits of an integer or a float64."""
    return mix64(edge_hash(src, dst) + weight)


@compiled
def edge_weight(src, dst, key, low, span):
    """A weight in ``[low, low + span)``, the same for both directions. span: 1 to 2^32.

    The high half of the whole product of hash and ``span``, so that all weights are equally likely.
    """
    word = mix64(edge_hash(max(src, dst), min(src, dst)) + key)
    fraction = (word & LOW32) * span
    return low + (((word >> S32) * span + (fraction >> S32)) >> S32)


@compiled
def philox_rounds(word0, word1, key, rounds):
    """``rounds`` rounds of Philox2x32 on the counter ``(word0, word1)``, 32 bits each."""
    for _ in range(rounds):
        product = word0 * PHILOX_MULTIPLIER
        word0 = (product >> S32) ^ key ^ word1
        word1 = product & LOW32
        key = (key + PHILOX_KEY_STEP) & LOW32
    return word0, word1
