"""Counter-based hashing in Numba; ``mgraph/hash.cuh`` computes the same bits in CUDA.

The constants are read from that header, so that the two cannot differ.

Philox2x32-7 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011)
draws random numbers: a keyed bijection of 64-bit counters; seven rounds are the fewest that pass
BigCrush. A round is one 32×32→64-bit multiplication, one instruction on a GPU and a fourth of one
with AVX2. ``mix64``, the finaliser of SplitMix64, hashes edges into checksums.

All words are ``uint64``, those of 32 bits too: Numba turns ``uint64 op int64`` into a float.
"""

from typing import NamedTuple

import numpy as np

from mgraph.core.compiled import compiled
from mgraph.cuda.source import header_declarations

_declared = header_declarations("mgraph/hash.cuh").constant
GOLDEN64 = np.uint64(_declared("golden64"))
PHILOX_ROUNDS = _declared("philox_rounds")
PHILOX_MULTIPLIER = np.uint64(_declared("philox_multiplier"))
PHILOX_KEY_STEP = np.uint64(_declared("philox_key_step"))
ATTEMPT_KEY_STEP = np.uint64(_declared("attempt_key_step"))
_MIX1, _MIX2 = np.uint64(_declared("mix_multiplier1")), np.uint64(_declared("mix_multiplier2"))

LOW32 = np.uint64(0xFFFFFFFF)
S32 = np.uint64(32)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def mix64(x):
    """A bijection of 64-bit words in which each input bit changes half of the output bits."""
    x = (x ^ (x >> _S30)) * _MIX1
    x = (x ^ (x >> _S27)) * _MIX2
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


class StreamKey(NamedTuple):
    """The key of a seed's random stream: 64 bits that whiten the counter, and Philox's 32 bits."""

    white0: np.uint64
    white1: np.uint64
    key: np.uint64


def _splitmix64(seed: int, step: int) -> int:
    """Return the output number ``step`` of SplitMix64 with this seed."""
    mask = (1 << 64) - 1
    x = (seed + step * int(GOLDEN64)) & mask
    x = (x ^ (x >> 30)) * int(_MIX1) & mask
    x = (x ^ (x >> 27)) * int(_MIX2) & mask
    return x ^ (x >> 31)


def weight_key(seed: int) -> np.uint64:
    """Return the key that ``edge_weight`` takes, for a seed in [0, 2^64)."""
    return np.uint64(_splitmix64(seed, 3))


def stream_key(seed: int) -> StreamKey:
    """Return the stream's key for a seed in [0, 2^64); any two seeds give unrelated streams."""
    white, key = _splitmix64(seed, 1), _splitmix64(seed, 2)
    low = int(LOW32)
    return StreamKey(np.uint64(white & low), np.uint64(white >> 32), np.uint64(key & low))
