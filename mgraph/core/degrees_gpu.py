"""Degree histograms on a GPU: of edges in its memory, or of blocks that pass by.

Cost: an atomicAdd per endpoint, at random addresses, and one read of the counters. Device memory: 4
bytes per vertex of the range, besides the edges.
"""

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.cuda.source import C_TYPES, Source
from mgraph.cuda.transfer import on_device

if TYPE_CHECKING:
    from mgraph.core.edges import EdgeList

KERNELS = Source(
    __package__,
    "degrees.cu",
    check=tuple((("MGRAPH_VERTEX_T", C_TYPES[vertex]),) for vertex in ("int32", "int64")),
)


class DegreeCounter:
    """Counts how often each vertex of a range is an endpoint, on the current device."""

    def __init__(self, vertices: range) -> None:
        """Set all counts to 0."""
        import cupy

        self.vertices, self._ends, self._lock = vertices, 0, threading.Lock()
        self.counts = cupy.zeros(len(vertices), np.uint32)
        cupy.cuda.get_current_stream().synchronize()  # the threads that add have others

    def add(self, *arrays: Any) -> None:
        """Count NumPy arrays of ids, int32 or int64; several threads may do so at a time."""

        def launch(*on_device_arrays: Any) -> None:
            for ids in on_device_arrays:
                self.add_on_device(ids)

        on_device(arrays, launch)

    def add_on_device(self, ids: Any) -> None:
        """Count ids on the device, by the current stream."""
        arguments = (
            ids, np.int64(ids.size), np.int64(self.vertices.start), np.int64(len(self.vertices)),
            self.counts,
        )  # fmt: skip
        KERNELS.launch("degrees_count", arguments, MGRAPH_VERTEX_T=C_TYPES[str(ids.dtype)])
        with self._lock:
            self._ends += int(ids.size)

    def histogram(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts that occur, ascending, and how often each does, as int64."""
        import cupy

        size = KERNELS.constant("table_size", MGRAPH_VERTEX_T="int")
        table, large_count = cupy.zeros(size, np.uint64), cupy.zeros(1, np.uint64)
        large = cupy.empty(self._ends // size + 1, np.uint32)
        arguments = self.counts, np.int64(self.counts.size), table, large_count, large
        KERNELS.launch("degrees_histogram", arguments, MGRAPH_VERTEX_T="int")
        occurrences = table.get().astype(np.int64)
        values = np.flatnonzero(occurrences)
        larger, times = np.unique(large.get()[: int(large_count[0])], return_counts=True)
        return (
            np.concatenate([values, larger.astype(np.int64)]),
            np.concatenate([occurrences[values], times.astype(np.int64)]),
        )


def histogram_of(edges: "EdgeList", n: int) -> tuple[np.ndarray, np.ndarray]:
    """See ``EdgeList.degree_histogram``."""
    counter = DegreeCounter(range(n))
    counter.add_on_device(edges.src)
    counter.add_on_device(edges.dst)
    return counter.histogram()
