"""Components of edges in any order on all cores, block by block.

Source: Tarjan 1975, as ``core/union_find_cpu.py`` has it. Cost: near-linear, mostly one random read
per edge whose ends are in one component already. Memory: 4 or 8 bytes per vertex, and no edge.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.union_find_cpu import flatten, join, join_edges
from mgraph.errors import UsageError


class EdgeComponents:
    """Takes blocks of edges, from several threads at once, and finds the components they form."""

    def __init__(self, n: int, parent: np.ndarray | None = None) -> None:
        """Begin with n vertices that no edge connects.

        parent: what ``labels`` of other edges returned; it is taken over and changed.
        """
        if parent is None:
            parent = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        self._parent = parent

    def add(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Join the ends of edges. Raises UsageError for an end outside [0, n)."""
        for piece in cancellation.chunks(src.size):
            wrong = int(join_edges(src[piece], dst[piece], self._parent))
            if wrong >= 0:
                ends = int(src[piece][wrong]), int(dst[piece][wrong])
                n = self._parent.size
                outside = next(end for end in ends if not 0 <= end < n)
                raise UsageError(f"vertices must lie in [0, {n:,}) (got {outside:,})")

    def merge(self, labels: np.ndarray, threads: int) -> None:
        """Add the components that other edges form. labels: what ``labels`` returned for them."""
        self._in_threads(_join_labels, threads, labels)

    def labels(self, threads: int) -> np.ndarray:
        """Return the smallest vertex of each vertex's component: all is flattened, in place."""
        self._in_threads(flatten, threads)
        return self._parent

    def _in_threads(self, function: Any, threads: int, *arguments: Any) -> None:
        def work(piece: slice) -> None:
            function(self._parent, *arguments, piece.start, piece.stop)

        cancellation.map_in_threads(work, _pieces(self._parent.size), threads)


def _pieces(size: int) -> list[slice]:
    """Return the pieces of an array of that size for threads."""
    steps = range(0, size, cancellation.CHUNK)
    return [slice(start, min(start + cancellation.CHUNK, size)) for start in steps]


@compiled
def _join_labels(parent, labels, first, stop):
    """Join vertices ``first`` to ``stop`` with what they are labelled by."""
    for v in range(first, stop):
        if labels[v] != v:
            join(parent, v, labels[v])


def count_labels(labels: np.ndarray) -> np.ndarray:
    """Count how often each vertex is a label: ``(n,)``, in the labels' type."""
    counts = np.zeros_like(labels)
    for piece in cancellation.chunks(labels.size):
        _count(labels[piece], counts)
    return counts


@compiled
def _count(labels, counts):
    """Count labels; of equal ones that follow each other all at once."""
    i = 0
    while i < labels.size:
        start, label = i, labels[i]
        while i < labels.size and labels[i] == label:
            i += 1
        counts[label] += i - start
