"""Build a partitioned graph: each rank's edges, in any order, become the rows of all ranks.

The package describes the two passes. ``build_cpu`` and ``build_gpu`` have their steps.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import Partition, bucket_shift, cut
from mgraph.partitioned.rank_graph import RankGraph

STEP_EDGES = {"cpu": 1 << 22, "gpu": 1 << 26}  # that a rank sends at a time
MAX_LOCALS = (1 << 32) - 2  # own vertices and ghosts of a rank


class Request(NamedTuple):
    """What to build. n: vertices. weight_dtype: None for none. directed: else arcs go both ways."""

    n: int
    weight_dtype: np.dtype | None
    directed: bool
    backend: Device = "cpu"

    @property
    def head_dtype(self) -> np.dtype:
        """The type in which the heads of arcs are sent: global numbers."""
        return np.dtype(np.uint32 if self.n <= 1 << 32 else np.int64)


def build(exchange: Exchange, edges: Sequence[EdgeList], request: Request) -> RankGraph:
    """Return this rank's share of the graph that the edges of all ranks make; loops are dropped.

    edges: of this rank, in the memory of the host. Raises UsageError for an end outside [0, n) and
    for weights that are not numbers, at all ranks.
    """
    if request.backend == "gpu":
        from mgraph.partitioned.build_gpu import Steps
    else:
        from mgraph.partitioned.build_cpu import Steps  # type: ignore[assignment]
    steps: Any = Steps(request)
    with timings.step(timings.COMPUTING):
        arcs, weights = _survey(exchange, edges, request, steps)
        weight_bytes = 0 if request.weight_dtype is None else request.weight_dtype.itemsize
        partition = cut(request.n, exchange.size, arcs, 4 + weight_bytes)
        rounds = int(exchange.all_reduce(_count_steps(edges, request), np.max)[0])
        steps.begin(partition, exchange.rank)
        for tails, heads in _incoming(exchange, edges, partition, rounds, steps, weights=False):
            steps.count(tails, heads)
        ghosts, ghost_bounds = steps.number(MAX_LOCALS)
        for columns in _incoming(exchange, edges, partition, rounds, steps, weights=True):
            steps.place(*columns)
        indptr, heads, row_weights = steps.finish()
        messages = [(ghosts[first:stop],) for first, stop in itertools.pairwise(ghost_bounds)]
        exports = tuple(array for (array,) in exchange.all_to_all(messages))
        num_arcs = int(exchange.all_reduce(heads.size)[0])
    minimum, maximum, total = weights
    return RankGraph(
        request.backend, exchange.rank, partition, indptr, heads, row_weights, ghosts, ghost_bounds,
        exports, num_arcs, request.directed, minimum, maximum, total,
    )  # fmt: skip


def _survey(
    exchange: Exchange, edges: Sequence[EdgeList], request: Request, steps: Any
) -> tuple[np.ndarray, tuple[Any, Any, float]]:
    """Count the arcs of each bucket of vertices; find the least, largest and total weight."""
    shift = bucket_shift(request.n)
    size = (max(request.n, 1) - 1 >> shift) + 1 if request.n else 0
    counts, outside = np.zeros(size, np.int64), 0
    least, most, total, has_nan = np.inf, -np.inf, 0.0, False
    kind = "f" if request.weight_dtype is None else request.weight_dtype.kind
    for block in _blocks(edges, request):
        outside += steps.count_buckets(block.src, block.dst, counts, shift)
        if block.weight is not None and len(block):
            limits = block.weight.min().item(), block.weight.max().item()
            has_nan |= limits[0] != limits[0]
            least, most = min(least, limits[0]), max(most, limits[1])
            total += float(block.weight.sum(dtype=np.float64))
    if exchange.all_reduce(outside)[0]:
        raise UsageError(f"vertices must lie in [0, {request.n:,}), and some edges lead beyond")
    counts = _sum_large(exchange, counts)
    if request.weight_dtype is None:
        return counts, (1, 1, float(counts.sum()))
    if exchange.all_reduce(has_nan)[0]:
        raise UsageError("weights must be numbers, and some are NaN")
    # Sent as Python numbers would be: int64 keeps every integer weight, float64 every float.
    dtype = np.int64 if kind == "i" else np.float64
    largest = np.iinfo(np.int64).max if kind == "i" else np.inf
    bounds = [largest, -largest] if least > most else [least, most]
    gathered = exchange.gather_numbers(np.array(bounds, dtype))
    least = min(each[0] for each in gathered)
    most = max(each[1] for each in gathered)
    total = float(exchange.all_reduce(total)[0]) * (1 if request.directed else 2)
    if most < least:  # there are no edges
        return counts, (1, 1, 0.0)
    return counts, (np.asarray(least).item(), np.asarray(most).item(), total)


def _sum_large(exchange: Exchange, counts: np.ndarray) -> np.ndarray:
    summed: np.ndarray = sum(exchange.gather_numbers(counts))  # type: ignore[assignment]
    return summed


def _blocks(edges: Sequence[EdgeList], request: Request) -> Iterator[EdgeList]:
    """Yield the edges in steps."""
    step = STEP_EDGES[request.backend]
    for block in edges:
        for first in range(0, len(block), step):
            cancellation.raise_if_cancelled()
            yield block.rows(first, first + step)


def _count_steps(edges: Sequence[EdgeList], request: Request) -> int:
    return sum(-(-len(block) // STEP_EDGES[request.backend]) for block in edges)


def _incoming(
    exchange: Exchange,
    edges: Sequence[EdgeList],
    partition: Partition,
    rounds: int,
    steps: Any,
    *,
    weights: bool,
) -> Iterator[tuple[Any, ...]]:
    """Exchange all arcs, step by step; yield those that came: tails, heads and their weights.

    Tails are positions in the rank's range, heads global numbers.
    """
    blocks = _blocks(edges, steps.request)
    for _ in range(rounds):
        block = next(blocks, None)
        yield from exchange.all_to_all(steps.outgoing(block, partition, weights=weights))
