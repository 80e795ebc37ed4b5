"""Build a partitioned graph: each rank's edges, in any order, become the rows of all ranks.

The package describes the two passes. ``build_cpu`` and ``build_gpu`` have their steps.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.partitioned.edge_source import EdgeSource, Request
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import Partition, bucket_shift, cut
from mgraph.partitioned.rank_graph import RankGraph


def build(exchange: Exchange, source: EdgeSource, request: Request) -> RankGraph:
    """Return this rank's share of the graph that the edges of all ranks make; loops are dropped.

    source: of this rank's edges. Raises UsageError for an end outside [0, n) and
    for weights that are not numbers, at all ranks.
    """
    if request.backend == "gpu":
        from mgraph.partitioned.build_gpu import Steps
    else:
        from mgraph.partitioned.build_cpu import Steps  # type: ignore[assignment]
    steps: Any = Steps(request)
    with timings.step(timings.COMPUTING):
        arcs, weights = _survey(exchange, source, request, steps)
        weight_bytes = 0 if request.weight_dtype is None else request.weight_dtype.itemsize
        partition = cut(request.n, exchange.size, arcs, 4 + weight_bytes)
        rounds = int(exchange.all_reduce(len(source.sizes), np.max)[0])
        steps.begin(partition, exchange.rank)
        for tails, heads in _incoming(exchange, source, partition, rounds, steps, weights=False):
            steps.count(tails, heads)
        ghosts, ghost_bounds = steps.number()
        for columns in _incoming(exchange, source, partition, rounds, steps, weights=True):
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
    exchange: Exchange, source: EdgeSource, request: Request, steps: Any
) -> tuple[np.ndarray, tuple[Any, Any, float]]:
    """Count the arcs of each bucket of vertices; find the least, largest and total weight."""
    shift = bucket_shift(request.n)
    steps.begin_survey((request.n - 1 >> shift) + 1 if request.n else 0, shift)
    least, most, total, has_nan = np.inf, -np.inf, 0.0, False
    for block in _blocks(source, steps):
        steps.survey(block)
        if block.weight is not None and len(block):
            limits = block.weight.min().item(), block.weight.max().item()
            has_nan |= limits[0] != limits[0]
            least, most = min(least, limits[0]), max(most, limits[1])
            total += float(block.weight.sum(dtype=np.float64))
    counts, outside = steps.end_survey()
    if exchange.all_reduce(outside)[0]:
        raise UsageError(f"vertices must lie in [0, {request.n:,}), and some edges lead beyond")
    counts = np.sum(exchange.gather_numbers(counts), axis=0)
    if request.weight_dtype is None:
        return counts, (1, 1, float(counts.sum()))
    if exchange.all_reduce(has_nan)[0]:
        raise UsageError("weights must be numbers, and some are NaN")
    # int64 holds every integer weight, float64 every float.
    is_whole = request.weight_dtype.kind == "i"
    largest = np.iinfo(np.int64).max if is_whole else np.inf
    bounds = [largest, -largest] if least > most else [least, most]
    gathered = exchange.gather_numbers(np.array(bounds, np.int64 if is_whole else np.float64))
    least, most = min(each[0] for each in gathered), max(each[1] for each in gathered)
    total = float(exchange.all_reduce(total)[0]) * (1 if request.directed else 2)
    if most < least:  # there are no edges
        return counts, (1, 1, 0.0)
    return counts, (least.item(), most.item(), total)


def _blocks(source: EdgeSource, steps: Any) -> Iterator[EdgeList]:
    for index in range(len(source.sizes)):
        cancellation.raise_if_cancelled()
        yield steps.to_backend(source.block(index))


def _incoming(
    exchange: Exchange,
    source: EdgeSource,
    partition: Partition,
    rounds: int,
    steps: Any,
    *,
    weights: bool,
) -> Iterator[tuple[Any, ...]]:
    """Exchange all arcs, step by step; yield those that came: tails, heads and their weights.

    Tails are positions in the rank's range, heads global numbers.
    """
    blocks = _blocks(source, steps)
    for _ in range(rounds):
        block = next(blocks, None)
        messages = steps.outgoing(block, partition, weights=weights)
        del block
        yield from exchange.all_to_all(messages)
