"""The minimum spanning forest of edges that are spread over ranks: the lightest edges first.

Source: the filter of P. Sanders, M. Schimek, "Engineering massively parallel MST algorithms" (2023,
KaMSTa), and of V. Osipov, P. Sanders, J. Singler, "The filter-Kruskal minimum spanning tree
algorithm" (2009). ``mgraph.partitioned`` has ranks; here each has edges of its own, in any order.

    sample   the ranks' samples of weights give a bound below which about ``LIGHT_EDGES`` edges per
             vertex lie
    light    each rank reduces its light edges to a forest; forests are merged in pairs of ranks,
             until rank 0 has that of all light edges, and all ranks receive its components
    filter   a heavy edge within a component is in no minimum forest, since the light edges on the
             way between its ends are lighter, or as light and before it: it is dropped
    heavy    the others, few where a random graph has many edges per vertex, are reduced and merged
             in the same way, together with the light forest

Ties go by the ends of edges, so that the forest does not depend on the ranks: an edge whose weight
is the bound is light everywhere.

Cost: each rank handles its own edges, and rank 0 about ``LIGHT_EDGES`` n more. Bytes sent: 8 or 16
and the weight per edge of a forest and merge, 4 or 8 per vertex for components.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.core.union_find_cpu import flatten, join_edges
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import number_dtype
from mgraph.spanning_trees.edge_forest import forest_of_edges

LIGHT_EDGES = 2.0  # per vertex
SAMPLES = 1 << 16  # of all ranks together


def spanning_forest(
    exchange: Exchange, blocks: Sequence[EdgeList], n: int, threads: int | None = None
) -> EdgeList:
    """Return the forest of all ranks' edges at rank 0, and no edges at the others.

    blocks: this rank's edges, at least one block, which is empty if there are none; all ranks'
    columns have the same types. Edges of the forest are as ``forest_of_edges`` returns them. Raises
    UsageError for ids and weights out of range.
    """
    bound = _light_bound(exchange, blocks, n)
    forest = forest_of_edges(_select(blocks, lambda block: _is_light(block, bound)), n, threads)
    forest = _merge_over_ranks(exchange, forest, n, threads)
    if bound is None:  # all edges were light
        return forest
    labels = np.arange(n if exchange.rank == 0 else 0, dtype=number_dtype(n))
    if exchange.rank == 0:
        join_edges(forest.src, forest.dst, labels)
        flatten(labels, 0, n)
    (labels,) = exchange.all_gather(labels)[0]

    def crosses(block: EdgeList) -> Any:
        return ~_is_light(block, bound) & (labels[block.src] != labels[block.dst])

    heavy = _select(blocks, crosses)
    both = EdgeList(*(np.concatenate(each) for each in zip(forest, heavy, strict=True)))
    return _merge_over_ranks(exchange, forest_of_edges(both, n, threads), n, threads)


def _light_bound(exchange: Exchange, blocks: Sequence[EdgeList], n: int) -> Any:
    """Return a weight that about ``LIGHT_EDGES`` edges per vertex do not exceed; None for all."""
    weights = [block.weight for block in blocks if block.weight is not None and len(block)]
    count = sum(map(len, blocks))
    total = int(exchange.all_reduce(count)[0])
    if blocks[0].weight is None or total <= LIGHT_EDGES * n:
        return None
    share = -(-SAMPLES * count // total)
    step = max(1, count // max(share, 1))
    sample = np.concatenate([each[::step] for each in (*weights, blocks[0].weight[:0])])
    gathered = np.concatenate([each for (each,) in exchange.all_gather(sample)])
    gathered = np.sort(gathered)
    position = int(LIGHT_EDGES * n / total * gathered.size)
    return None if position >= gathered.size else gathered[position]


def _is_light(block: EdgeList, bound: Any) -> Any:
    if bound is None or block.weight is None:
        return np.ones(len(block), np.bool_)
    return ~(block.weight > bound)  # NaN included, which forest_of_edges refuses


def _select(blocks: Sequence[EdgeList], test: Any) -> EdgeList:
    """Return copies of the edges of all blocks that pass a test."""
    chosen = []
    for block in blocks:
        cancellation.raise_if_cancelled()
        mask = test(block)
        chosen.append([column[mask] for column in block])
    return EdgeList(*(np.concatenate(columns) for columns in zip(*chosen, strict=True)))


def _merge_over_ranks(
    exchange: Exchange, forest: EdgeList, n: int, threads: int | None
) -> EdgeList:
    """Return the forest of all ranks' forests at rank 0, and no edges at the others."""
    none = tuple(column[:0] for column in forest)
    step = 1
    while step < exchange.size:
        messages = [none] * exchange.size
        if exchange.rank % (2 * step) == step:
            messages[exchange.rank - step] = tuple(forest)
            forest = EdgeList(*none)
        received = exchange.all_to_all(messages)
        if exchange.rank % (2 * step) == 0 and exchange.rank + step < exchange.size:
            other = received[exchange.rank + step]
            columns = (np.concatenate(each) for each in zip(forest, other, strict=True))
            forest = forest_of_edges(EdgeList(*columns), n, threads)
        step *= 2
    return forest
