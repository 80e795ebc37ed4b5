"""Edges as two parallel arrays."""

from typing import Any, NamedTuple


class EdgeList(NamedTuple):
    """Edges ``(src[i], dst[i])``; NumPy or CuPy arrays of shape ``(m,)``, int32 or int64."""

    src: Any
    dst: Any
