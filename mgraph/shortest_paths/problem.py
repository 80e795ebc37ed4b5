"""A shortest-path request, checked, in the form that every method takes."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.arrays import checked_vertices
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.shortest_paths.power_governor import PowerGovernor

FEW_ARCS = 8  # per vertex on average: as on roads, where searches go far in small steps


class WeightFacts(NamedTuple):
    """What path lengths depend on. dtype: of the weights; None: each arc counts 1."""

    n: int
    dtype: np.dtype | None
    min_weight: int | float
    max_weight: int | float


def length_dtype(graph: Graph) -> np.dtype:
    """Return the type of path lengths in a graph; see ``length_dtype_of``."""
    dtype = None if graph.weights is None else graph.weights.dtype
    return length_dtype_of(WeightFacts(graph.n, dtype, *graph.weight_range))


def length_dtype_of(facts: WeightFacts) -> np.dtype:
    """Return the type of path lengths: int32, int64 where int32 might overflow, or float64.

    Fractional weights are summed in float64 always, since float32 sums of long paths lose digits.
    No shortest path has more than n - 1 arcs, and a search tries at most one arc beyond its end.
    It raises UsageError for negative, NaN or infinite weights, and where 64 bits might overflow.
    """
    n, weight_dtype, min_weight, max_weight = facts
    if not min_weight >= 0:  # NaN included
        raise UsageError(
            f"weights must be at least 0 for shortest paths (the minimum is {min_weight}); no "
            "method here takes negative weights"
        )
    if max_weight == np.inf:
        raise UsageError(
            "weights must be finite for shortest paths (one is infinite); read the graph with "
            "`drop_infinite=True` to leave such arcs out"
        )
    dtype: np.dtype = np.dtype(np.float64)
    if weight_dtype is not None and weight_dtype.kind == "f":
        # Each addition is rounded, which at most doubles a path's length.
        max_length = max_weight * n * (1 + min(1.0, n * float(np.finfo(float).eps)))
        limit: float = float(np.finfo(float).max)
    else:
        max_length = int(max_weight) * n
        needs_int64 = max_length >= np.iinfo(np.int32).max or (
            weight_dtype is not None and weight_dtype.itemsize > 4
        )
        dtype = np.dtype(np.int64 if needs_int64 else np.int32)
        limit = np.iinfo(dtype).max
    if max_length >= limit:
        raise UsageError(
            f"a path of {n:,} arcs of weight {max_weight:,} would overflow {dtype}; scale "
            f"the weights down{'' if dtype == np.float64 else ' or use float64'}"
        )
    return dtype


def infinity_of(dtype: np.dtype) -> Any:
    """Return the distance of an unreached vertex: infinity, or the integer type's maximum."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def check_delta(delta: Any) -> None:
    """Raise UsageError unless a step of distances is None, or a positive and finite number."""
    if delta is None:
        return
    if not _is_number(delta) or not (delta > 0 and np.isfinite(delta)):
        raise UsageError(f"delta must be positive and finite (got {delta})", parameter="delta")


class SearchOptions(NamedTuple):
    """The options of ``mgraph.sssp`` on which no distance depends."""

    method: str
    predecessors: bool
    delta: float | None
    set_point: float | None
    power_limit: float | PowerGovernor | None
    heap_threshold: int | None
    trace: bool
    concurrency: int | None
    controller: str | None = None
    hops: int | None = None
    upper_bound: bool = False
    frontier_bound: str | None = None


@dataclass(frozen=True)
class SearchRequest:
    """A checked request.

    dtype: of distances. sources: one int64 array per search, each without repeats. targets: int64,
    empty if there are none. cutoff: a finite length of type ``dtype``.
    """

    graph: Graph
    dtype: np.dtype
    sources: list[np.ndarray]
    targets: np.ndarray
    stop_at_first: bool
    cutoff: Any

    def on(self, graph: Graph) -> "SearchRequest":
        """Return the same request of a copy of the graph."""
        return replace(self, graph=graph)

    @property
    def infinity(self) -> Any:
        """The distance of an unreached vertex."""
        return infinity_of(self.dtype)

    @property
    def mean_weight(self) -> float:
        """The mean weight, or 1 if that is 0: the scale of thresholds."""
        return self.graph.mean_weight or 1.0

    @property
    def default_delta(self) -> float:
        """Near-far's default step: 32·w/d, of mean weight w and mean degree d.

        A normal number, also where the weights are at an end of float64's range.
        """
        step = 32 * (self.mean_weight / max(self.mean_degree, 1.0))
        limits = np.finfo(np.float64)
        return min(max(step, float(limits.tiny)), float(limits.max))

    @property
    def prefers_bfs(self) -> bool:
        """Whether a GPU finds the distances fastest by breadth: those of a graph without weights.

        Where vertices have few arcs there are mostly many levels, and near-far has no barrier of
        the whole device for each: BENCHMARKS.md.
        """
        is_counted = self.graph.weights is None and self.dtype == np.int32
        return is_counted and self.mean_degree > FEW_ARCS

    @property
    def mean_degree(self) -> float:
        """Arcs per vertex."""
        return self.graph.num_arcs / max(self.graph.n, 1)


def _max_length_within(cutoff: Any, dtype: np.dtype) -> Any:
    """Return the maximum finite length of a type that is at most ``cutoff``."""
    if dtype.kind == "i":
        limit = int(np.iinfo(dtype).max) - 1
        return dtype.type(math.floor(cutoff) if cutoff < limit else limit)
    length = dtype.type(min(cutoff, float(np.finfo(dtype).max))) + dtype.type(0)  # no -0.0
    return length if float(length) <= cutoff else np.nextafter(length, dtype.type(0))


class SearchLimits(NamedTuple):
    """Where a search begins and ends, checked.

    dtype: of distances. sources: int64, as given. targets: int64, each once. cutoff: a finite
    length of type ``dtype``.
    """

    dtype: np.dtype
    sources: np.ndarray
    targets: np.ndarray
    stop_at_first: bool
    cutoff: Any


def check_search(
    facts: WeightFacts, source: Any, *, targets: Any, stop_at: str, cutoff: Any
) -> SearchLimits:
    """Check the parameters of a search. Raises UsageError."""
    dtype = length_dtype_of(facts)
    sources = checked_vertices("source", source, facts.n)
    if not sources.size:
        raise UsageError("source must name at least one vertex (got none)")
    if stop_at not in ("last", "first"):
        raise UsageError(f"stop_at must be 'last' or 'first' (got {stop_at!r})")
    target_vertices = checked_vertices("targets", [] if targets is None else targets, facts.n)
    if targets is not None and not target_vertices.size:
        raise UsageError(
            "targets must name at least one vertex (got none); leave it out to search everywhere"
        )
    if cutoff is not None and not (_is_number(cutoff) and cutoff >= 0):
        raise UsageError(f"cutoff must be at least 0 (got {cutoff})")
    length = _max_length_within(np.inf if cutoff is None else cutoff, dtype)
    return SearchLimits(dtype, sources, np.unique(target_vertices), stop_at == "first", length)


def check_request(
    graph: Graph, source: Any, *, joint: bool, targets: Any, stop_at: str, cutoff: Any
) -> SearchRequest:
    """Check the parameters of ``mgraph.sssp`` before any work. Raises UsageError."""
    if not isinstance(graph, Graph):
        raise UsageError(f"graph must be a mgraph.Graph (got {type(graph).__name__})")
    weight_dtype = None if graph.weights is None else graph.weights.dtype
    facts = WeightFacts(graph.n, weight_dtype, *graph.weight_range)
    limits = check_search(facts, source, targets=targets, stop_at=stop_at, cutoff=cutoff)
    sources = limits.sources
    return SearchRequest(
        graph,
        limits.dtype,
        [np.unique(sources)] if joint else [sources[i : i + 1] for i in range(sources.size)],
        limits.targets,
        limits.stop_at_first,
        limits.cutoff,
    )
