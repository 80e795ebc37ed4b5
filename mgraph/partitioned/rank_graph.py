"""One rank's share of a graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.core.rows import tails
from mgraph.partitioned.partition import Partition, number_dtype


@dataclass(frozen=True)
class RankGraph:
    """The vertices that a rank owns, their arcs, and its ghosts; the package describes the layout.

    indptr: int64, where the rows of its own vertices begin. heads: uint32, local numbers. weights:
    of the arcs, or None. Each row ascends by weight, arcs of equal weights by head. ghosts: uint32,
    each ghost's position in its owner's range, ascending by local number. ghost_bounds: ``(size +
    1,)`` int64, where the ghosts of each owner begin. exports: by rank, uint32, the positions of
    the own vertices that are ghosts there, in the order of its ghosts. below: the number of ghosts
    with smaller numbers than the own vertices. Arrays are on the backend but for ``ghost_bounds``.
    num_arcs, min_weight, max_weight, sum_weight: of the whole graph. directed: whether arcs may
    lack their mirrors.
    """

    backend: Device
    rank: int
    partition: Partition
    indptr: Any
    heads: Any
    weights: Any
    ghosts: Any
    ghost_bounds: np.ndarray
    exports: tuple[Any, ...]
    num_arcs: int
    directed: bool
    min_weight: int | float = 1
    max_weight: int | float = 1
    sum_weight: float = 0.0

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.partition.bounds.size - 1

    @property
    def n(self) -> int:
        """The number of vertices of the whole graph."""
        return self.partition.n

    @property
    def first(self) -> int:
        """The first vertex of the rank."""
        return int(self.partition.bounds[self.rank])

    @property
    def owned(self) -> int:
        """The number of vertices of the rank."""
        return len(self.partition.owned(self.rank))

    @property
    def below(self) -> int:
        """The number of ghosts of lower ranks; the own vertices' local numbers begin there."""
        return int(self.ghost_bounds[self.rank])

    @property
    def locals(self) -> int:
        """The number of own vertices and ghosts."""
        return self.owned + int(self.ghost_bounds[-1])

    def ghost_range(self, owner: int) -> slice:
        """The local numbers of the ghosts of another owner."""
        first, stop = self.ghost_bounds[owner : owner + 2].tolist()
        shift = self.owned if owner > self.rank else 0
        return slice(first + shift, stop + shift)

    @property
    def own_range(self) -> slice:
        """The local numbers of the own vertices."""
        return slice(self.below, self.below + self.owned)

    @property
    def ghost_ranges(self) -> list[slice]:
        """The local numbers of the ghosts of each owner; none of the rank itself."""
        return [self.ghost_range(owner) for owner in range(self.size)]

    def own_part(self, values: Any) -> Any:
        """Return the values of own vertices, of some by local number, without ghosts' memory."""
        own_values = values[self.own_range]
        return own_values if self.locals == self.owned else own_values.copy()

    def global_numbers(self) -> Any:
        """Return the global number of each local one."""
        dtype, bounds = number_dtype(self.n), self.partition.bounds
        # CuPy's arrays make CuPy's functions of these.
        pieces = []
        for owner, first in enumerate(bounds[:-1].tolist()):
            if owner == self.rank:
                pieces.append(np.arange(first, first + self.owned, dtype=dtype, like=self.heads))
            else:
                ghosts = self.ghosts[self.ghost_bounds[owner] : self.ghost_bounds[owner + 1]]
                pieces.append(ghosts.astype(dtype) + dtype.type(first))
        return np.concatenate(pieces)

    def edges(self) -> EdgeList:
        """Return those edges of an undirected graph whose larger end, ``src``, the rank owns."""
        src = tails(self.indptr, self.heads).astype(number_dtype(self.n)) + self.first
        dst = self.global_numbers()[self.heads]
        is_listed = src > dst  # each edge is in the rows of both ends, and there are no loops
        weight = None if self.weights is None else self.weights[is_listed]
        return EdgeList(src[is_listed], dst[is_listed], weight)
