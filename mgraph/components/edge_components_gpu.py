"""Components of edges in any order on a GPU: the launches of ``edge_components.cu``."""

from itertools import product
from typing import Any

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.cuda.source import C_TYPES, Source
from mgraph.errors import UsageError

_INTEGERS = "int32", "int64"
KERNELS = Source(
    __package__,
    "edge_components.cu",
    check=tuple(
        (("MGRAPH_LABEL_T", C_TYPES[label]), ("MGRAPH_VERTEX_T", C_TYPES[vertex]))
        for label, vertex in product(_INTEGERS, _INTEGERS)
    ),
)
_NONE = np.uint64((1 << 64) - 1)


class EdgeComponents:
    """Takes blocks of edges on the current device and finds the components that they form."""

    def __init__(self, n: int, labels: np.ndarray | None = None) -> None:
        """Begin with n vertices that no edge connects: 4 bytes each, or 8 from 2^31 on.

        labels: on the host, what ``labels`` returned for other edges.
        """
        import cupy

        self._n = n
        dtype = np.dtype(np.int32 if n < 1 << 31 else np.int64)
        with memory_guard(f"the components of {n:,} vertices", LARGER_GPU):
            self._parent, self._wrong = cupy.empty(n, dtype), cupy.empty(1, np.uint64)
        if labels is None:
            self._launch("begin", np.int64(n), self._parent)
        else:
            self._parent.set(labels)

    def _launch(self, name: str, *arguments: Any, vertex: Any = np.int32) -> None:
        macros = {
            "MGRAPH_LABEL_T": C_TYPES[str(self._parent.dtype)],
            "MGRAPH_VERTEX_T": C_TYPES[str(np.dtype(vertex))],
        }
        KERNELS.launch(f"edge_components_{name}", arguments, **macros)

    def add(self, src: Any, dst: Any) -> None:
        """Join the ends of edges, CuPy arrays of one type. UsageError for ends outside [0, n)."""
        if not src.size:
            return
        self._wrong.set(np.array([_NONE]))
        sizes = np.int64(src.size), np.int64(self._n)
        self._launch(
            "join", sizes[0], src, dst, sizes[1], self._parent, self._wrong, vertex=src.dtype
        )
        cancellation_gpu.finish()
        position = int(self._wrong.get()[0])
        if position != int(_NONE):
            ends = int(src[position]), int(dst[position])
            outside = next(end for end in ends if not 0 <= end < self._n)
            raise UsageError(f"vertices must lie in [0, {self._n:,}) (got {outside:,})")

    def labels(self) -> Any:
        """Return the smallest vertex of each vertex's component: flattened, in place."""
        self._launch("flatten", np.int64(self._n), self._parent)
        cancellation_gpu.finish()
        return self._parent
