"""What is asked of a shortest-path search, checked, in the form that every method takes."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.arrays import checked_vertices
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.shortest_paths.power_governor import PowerGovernor


def length_dtype(graph: Graph) -> np.dtype:
    """The type of path lengths: int32, or int64 where int32 might not hold every path; float64.

    Fractional weights are always summed in float64: float32 sums of long paths lose digits.
    No shortest path has more than n - 1 arcs, and one more is tried on its end. Raises UsageError
    for negative or NaN weights, and where even 64 bits might overflow.
    """
    weights = graph.weights
    least, largest = graph.weight_range
    if not least >= 0:  # NaN included
        raise UsageError(
            f"shortest paths need weights of at least 0, and the least is {least}; negative "
            "weights have no shortest path by these methods"
        )
    if largest == np.inf:
        raise UsageError("shortest paths need finite weights, and one is infinite; drop that arc")
    dtype: np.dtype = np.dtype(np.float64)
    if weights is not None and weights.dtype.kind == "f":
        # Rounding lengthens a path, each arc at most to twice as much.
        longest = largest * graph.n * (1 + min(1.0, graph.n * float(np.finfo(float).eps)))
        most: float = float(np.finfo(float).max)
    else:
        longest = int(largest) * graph.n
        wide = longest >= np.iinfo(np.int32).max or (weights is not None and weights.itemsize > 4)
        dtype = np.dtype(np.int64 if wide else np.int32)
        most = np.iinfo(np.int64 if wide else np.int32).max
    if longest >= most:
        raise UsageError(
            f"a path of {graph.n:,} arcs of weight {largest:,} would overflow {dtype}; scale the "
            f"weights down{'' if dtype == np.float64 else ' or use float64'}"
        )
    return dtype


def infinity_of(dtype: np.dtype) -> Any:
    """The distance of an unreached vertex: infinity, or the integer type's largest value."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


class Manner(NamedTuple):
    """How a question is to be answered, as ``mgraph.sssp`` was told: no distance depends on it."""

    method: str
    predecessors: bool
    delta: float | None
    set_point: float | None
    power_limit: float | PowerGovernor | None
    heap_threshold: int | None
    trace: bool
    concurrency: int | None


@dataclass(frozen=True)
class Problem:
    """A checked question. sources: one array a search, int64, each without repeats."""

    graph: Graph
    dtype: np.dtype
    sources: list[np.ndarray]
    targets: np.ndarray
    first_target: bool
    cutoff: Any

    @property
    def infinity(self) -> Any:
        """The distance of an unreached vertex."""
        return infinity_of(self.dtype)

    @property
    def mean_weight(self) -> float:
        """The mean weight, 1 where it is 0: what thresholds are measured in."""
        return self.graph.mean_weight or 1.0

    @property
    def default_delta(self) -> float:
        """Near-far's step where none is given: 32·w/d, of mean weight w and mean degree d.

        A normal number, also where such weights are at an end of float64's range.
        """
        step = 32 * (self.mean_weight / max(self.mean_degree, 1.0))
        limits = np.finfo(np.float64)
        return min(max(step, float(limits.tiny)), float(limits.max))

    @property
    def mean_degree(self) -> float:
        """Arcs a vertex."""
        return self.graph.num_arcs / max(self.graph.n, 1)


def _largest_within(cutoff: Any, dtype: np.dtype) -> Any:
    """The largest finite length of a type that is not above ``cutoff``."""
    if dtype.kind == "i":
        most = int(np.iinfo(dtype).max) - 1
        return dtype.type(math.floor(cutoff) if cutoff < most else most)
    length = dtype.type(min(cutoff, float(np.finfo(dtype).max))) + dtype.type(0)  # no -0.0
    return length if float(length) <= cutoff else np.nextafter(length, dtype.type(0))


def check(
    graph: Graph, source: Any, *, joint: bool, targets: Any, stop_at: str, cutoff: Any
) -> Problem:
    """Check everything before any work. Raises UsageError; ``mgraph.sssp`` tells what each is."""
    if not isinstance(graph, Graph):
        raise UsageError(f"graph must be a mgraph.Graph, and is {type(graph).__name__}")
    dtype = length_dtype(graph)
    sources = checked_vertices("source", source, graph.n)
    if not sources.size:
        raise UsageError("source must name a vertex at least, and is empty")
    if stop_at not in ("last", "first"):
        raise UsageError(f"stop_at must be last or first, and is {stop_at!r}")
    wanted = checked_vertices("targets", [] if targets is None else targets, graph.n)
    if targets is not None and not wanted.size:
        raise UsageError("targets must name a vertex at least, and is empty; None means all")
    if cutoff is not None and not cutoff >= 0:
        raise UsageError(f"cutoff must be at least 0, and is {cutoff}")
    return Problem(
        graph,
        dtype,
        [np.unique(sources)] if joint else [sources[i : i + 1] for i in range(sources.size)],
        np.unique(wanted),
        stop_at == "first",
        _largest_within(np.inf if cutoff is None else cutoff, dtype),
    )
