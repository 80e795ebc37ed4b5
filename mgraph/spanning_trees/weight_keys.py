"""Weights as unsigned integers in the same order, which all methods compare instead of weights."""

from typing import Any

import numpy as np


def order_keys(weights: Any) -> Any:
    """Keys of the weights' width, uint32 or uint64, in the same order as the weights.

    weights: NumPy or CuPy, int32, int64, float32 or float64, without NaN. Equal weights have equal
    keys, and so do -0.0 and 0.0. Subnormal numbers keep their order, since keys are computed from
    bits.
    """
    bits = weights.dtype.itemsize * 8
    signed_dtype, unsigned_dtype = np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")
    sign = unsigned_dtype.type(1 << (bits - 1))
    signed = weights.view(signed_dtype)
    if weights.dtype.kind == "f":
        # Negative numbers have all bits but the sign inverted; -0.0 becomes 0.0.
        flipped = signed ^ ((signed >> (bits - 1)) & signed_dtype.type((1 << (bits - 1)) - 1))
        flipped[signed == np.iinfo(signed_dtype).min] = 0
        signed = flipped
    return signed.view(unsigned_dtype) ^ sign


def weights_of(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the weights of which ``order_keys`` makes these keys; 0.0, not -0.0.

    keys: of NumPy, of any unsigned type that holds them. dtype: of the weights.
    """
    bits = dtype.itemsize * 8
    sign = np.dtype(f"u{bits // 8}").type(1 << (bits - 1))
    words = keys.astype(sign.dtype) ^ sign
    if dtype.kind == "f":
        words = np.where(words & sign, words ^ (sign - sign.dtype.type(1)), words)
    return words.view(dtype)


def ranks(keys: Any, limit: int = 1 << 32) -> Any:
    """Keys as uint32 in the same order, below ``limit``, which is at least the number of keys.

    The minimum is subtracted; if the keys still reach the limit, they are replaced by dense ranks.
    Cost: one pass, or a sort of all keys.
    """
    if not keys.size:
        return keys.astype(np.uint32)
    minimum, maximum = int(keys.min()), int(keys.max())
    if maximum - minimum < limit:
        return (keys - keys.dtype.type(minimum)).astype(np.uint32)
    order = keys.argsort()
    ordered = keys[order]
    dense = keys.astype(np.uint32)
    dense[order[:1]] = 0
    dense[order[1:]] = (ordered[1:] != ordered[:-1]).cumsum()
    return dense
