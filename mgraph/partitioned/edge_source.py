"""What a partitioned graph is built from: a rank's edges, block by block, and the request."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.errors import OutOfMemoryError

STEP_EDGES = {"cpu": 1 << 22, "gpu": 1 << 26}  # that a rank sends at a time
MAX_LOCALS = (1 << 32) - 2  # own vertices and ghosts of a rank


class EdgeSource(Protocol):
    """A rank's edges, in blocks that may be asked for again."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of edges of each block."""

    def block(self, index: int) -> EdgeList:
        """Return a block, as NumPy arrays or as CuPy arrays."""


NARROW_HEADS = 1 << 32  # up to so many vertices, the heads of arcs are sent in 32 bits


class HeldEdges:
    """Edges that are in memory."""

    def __init__(self, edges: EdgeList, backend: Device) -> None:
        """Divide edges into blocks, for a backend."""
        self._edges, self._step = edges, STEP_EDGES[backend]
        starts = range(0, len(edges), self._step)
        self.sizes = [min(self._step, len(edges) - start) for start in starts]

    def block(self, index: int) -> EdgeList:
        """Return a block, which is a view."""
        first = index * self._step
        return self._edges.rows(first, first + self.sizes[index])


class Request(NamedTuple):
    """What to build. n: vertices. weight_dtype: None for none. directed: else arcs go both ways."""

    n: int
    weight_dtype: np.dtype | None
    directed: bool
    backend: Device = "cpu"

    @property
    def head_dtype(self) -> np.dtype:
        """The type in which the heads of arcs are sent: global numbers."""
        return np.dtype(np.uint32 if self.n <= NARROW_HEADS else np.int64)


def check_locals(owned: int, ghosts: int) -> None:
    """Raise OutOfMemoryError if 32 bits do not number a rank's own vertices and ghosts."""
    if owned + ghosts > MAX_LOCALS:
        raise OutOfMemoryError(
            f"a worker has {owned:,} vertices and {ghosts:,} neighbours of others, more than 32 "
            "bits number; use more workers"
        )
