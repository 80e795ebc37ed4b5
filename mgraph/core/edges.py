"""Edges as parallel arrays."""

from typing import Any, NamedTuple


class EdgeList(NamedTuple):
    """Edges ``(src[i], dst[i])``; NumPy or CuPy arrays of shape ``(m,)``, int32 or int64.

    weight: None, or an array of the same shape: int32, int64, float32 or float64.
    """

    src: Any
    dst: Any
    weight: Any = None
