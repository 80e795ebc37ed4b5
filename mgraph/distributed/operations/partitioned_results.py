"""What was found on a partitioned graph: its workers keep the arrays, and send what is asked for.

``graph`` is the ``PartitionedGraph``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.html import Tabular
from mgraph.distributed.operations.partitioned_tasks import (
    fetch_rank,
    follow_rank,
    forget_rank,
    lengths_rank,
)
from mgraph.errors import UsageError
from mgraph.shortest_paths.result import Path


@dataclass(frozen=True)
class _Result(Tabular):
    """What the workers keep under a name."""

    _hidden = ("name",)

    graph: Any
    name: str

    def release(self) -> None:
        """Let the workers forget the result; nothing can be fetched of it any more."""
        if self.graph.is_open and self.name not in self.graph.released:
            self._run(forget_rank, "release")
            self.graph.released.add(self.name)

    def _run(self, program: Any, verb: str, **options: Any) -> list[Any]:
        """Return what a program of the ranks finds in the result."""
        if self.name in self.graph.released:
            raise UsageError("this result was released; search again")
        found: list[Any] = self.graph.run(program, verb, name=self.name, **options)
        return found

    def _fetch(self, index: int) -> np.ndarray:
        """Fetch an array of the result, of all vertices."""
        return np.concatenate(self._run(fetch_rank, "fetch", index=index))


@dataclass(frozen=True)
class PartitionedPaths(_Result):
    """Shortest paths on a partitioned graph; distances and predecessors stay on the workers.

    Attributes
    ----------
    sources : tuple of int
        Where the search began.
    reached : int
        Vertices reached, the sources included.
    max_distance : int or float
        The greatest distance of a vertex that was reached.
    rounds : int
        Exchanges between the workers.
    seconds : float
        Of the search, when all workers had begun.
    """

    sources: tuple[int, ...]
    reached: int
    max_distance: int | float
    rounds: int
    seconds: float
    has_predecessors: bool

    def distance(self) -> np.ndarray:
        """Fetch the distances ``(n,)``, infinity or the type's maximum where unreached."""
        return self._fetch(0)

    def predecessor(self) -> np.ndarray:
        """Fetch the predecessors ``(n,)``, -1 at the sources and where unreached."""
        if not self.has_predecessors:
            raise UsageError("the search recorded no predecessors; pass `predecessors=True`")
        return self._fetch(1)

    def lengths(self, vertices: Sequence[int]) -> np.ndarray:
        """Fetch the distances of some vertices, in their order."""
        numbers = self.graph.check_vertices("vertices", vertices).tolist()
        found = self._run(lengths_rank, "fetch", vertices=tuple(numbers))
        known = [next(one for one in ones if one is not None) for ones in zip(*found, strict=True)]
        return np.array(known, self.graph.length_dtype)

    def path(self, target: int) -> Path:
        """Fetch a shortest path to a vertex; one exchange of the workers per arc.

        Raises UsageError if it was not reached, or the search recorded no predecessors.
        """
        from mgraph.shortest_paths.problem import infinity_of

        if not self.has_predecessors:
            raise UsageError("the search recorded no predecessors; pass `predecessors=True`")
        if self.lengths([target])[0] == infinity_of(self.graph.length_dtype):
            raise UsageError(f"vertex {target} was not reached")
        vertices = self._run(follow_rank, "fetch", target=int(target))[0]
        return Path(np.array(vertices, np.int64), self.lengths(vertices))


@dataclass(frozen=True)
class PartitionedComponents(_Result):
    """The connected components of a partitioned graph; the labels stay on the workers.

    Attributes
    ----------
    num_components : int
        The number of components.
    largest : int or None
        The smallest vertex of the largest one, of equal ones the first.
    largest_size : int
        The number of its vertices.
    seconds : float
        To find and to count them, when all workers had begun.
    """

    num_components: int
    largest: int | None
    largest_size: int
    seconds: float

    def labels(self) -> np.ndarray:
        """Fetch the smallest vertex of each vertex's component, ``(n,)``."""
        return self._fetch(0)


@dataclass(frozen=True)
class PartitionedForest(_Result):
    """The minimum spanning forest of a partitioned graph; its edges stay on the workers.

    Attributes
    ----------
    num_edges : int
        Edges of all trees.
    num_components : int
        The number of trees, isolated vertices included.
    total_weight : int or float
        The sum of the weights: exact for integers, the exact sum rounded once for floats.
    seconds : float
        To find it, when all workers had begun.
    """

    num_edges: int
    num_components: int
    total_weight: int | float
    seconds: float

    def edges(self) -> EdgeList:
        """Fetch the edges: src above dst, in ascending order of both."""
        columns = range(3 if self.graph.has_weights else 2)
        return EdgeList(*(self._fetch(index) for index in columns))
