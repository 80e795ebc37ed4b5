"""The minimum spanning forest of edges that are spread over ranks: Borůvka's rounds, filtered.

Source: the filter of P. Sanders, M. Schimek, "Engineering massively parallel MST algorithms" (2023,
KaMSTa), and of V. Osipov, P. Sanders, J. Singler, "The filter-Kruskal minimum spanning tree
algorithm" (2009). ``mgraph.partitioned`` has ranks; here each has edges of its own, in any order,
and the components of all vertices.

    sample     the ranks' samples of weights give a bound below which about ``LIGHT_EDGES`` edges
               per vertex lie
    light      the edges up to the bound are listed, and rounds connect what they connect
    crossing   of all others those between components, few where a random graph has many edges per
               vertex, are listed: an edge within a component is in no minimum forest, since the
               lighter edges on the way between its ends are in its place. Rounds end the forest
    spread     each rank receives the forest's edges of a range of larger ends, in order

A round: each rank finds for each component the least of its listed edges that leave it; the least
of all ranks join the forest; the components that they connect become one; and listed edges within
a component are dropped. Which edges join, and which components are connected, is found by each rank
for a share of the components. Edges are ordered by weight, larger and smaller end, so that no cycle
closes and the forest is that of one device, whichever rank has which edges; edges that are equal in
all three are one.

Cost: each rank reads its edges twice, and the listed ones twice per round; it follows the pointers
of its share of the components, and numbers all of them, which are n in the first round and at most
half as many in each one after. Bytes that a rank sends per round: 16 per component between two
ranks, at most 32 between many. Memory: of a listed edge 16 bytes and its weight, twice, and 28 per
vertex. n = 125·10^6 and 10^9 edges with random weights on one H200: 10 rounds, 0.19 s.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import Partition, number_dtype

LIGHT_EDGES = 2.0  # per vertex
SAMPLES = 1 << 16  # of weights, of all ranks together
END_SAMPLES = 1 << 12  # of ends, of each rank, by which the forest is divided
MAX_N = (1 << 32) - 1
ALL = np.uint64((1 << 64) - 1)  # a bound


class RankForest(NamedTuple):
    """A rank's edges of the forest: those whose larger ends, ``src``, are in a range of vertices.

    ranges: of all ranks. edges: in order of (src, dst).
    """

    ranges: Partition
    edges: EdgeList


def spanning_forest(
    exchange: Exchange,
    blocks: list[EdgeList],
    n: int,
    threads: int = 1,
    backend: Device = "cpu",
) -> RankForest:
    """Return this rank's range of the forest of all ranks' edges; the same call at all ranks.

    blocks: this rank's edges, at least one block, which is empty if there are none; all ranks'
    columns have the same types. The list is emptied, so that their memory can be released. n: at
    most ``MAX_N``. Raises UsageError for ids and weights out of range, at all ranks.
    """
    if backend == "gpu":
        from mgraph.spanning_trees.partitioned_forest_gpu import Steps
    else:
        from mgraph.spanning_trees.partitioned_forest_cpu import Steps  # type: ignore[assignment]
    has_weights = blocks[0].weight is not None
    steps: Any = Steps(n, blocks, threads)
    counts = np.array([*steps.check(), steps.edges], np.int64)
    beyond, nan, *infinite, total = exchange.all_reduce(counts).tolist()
    if beyond:
        raise UsageError(f"vertices must lie in [0, {n:,}), and some edges lead beyond")
    if nan:
        raise UsageError("weight must not be NaN (one is)")
    for weight, count in zip(("-inf", "inf"), infinite, strict=True):
        if count:
            raise UsageError(f"a spanning forest needs finite weights (got {weight})")
    light = min(1.0, LIGHT_EDGES * n / total) if has_weights and total else 1.0
    bound = ALL if light == 1 else _find_bound(exchange, steps, total, light)
    steps.list_light(bound, light * steps.edges)
    if bound == ALL:
        steps.forget_edges()
    _connect(exchange, steps)
    if bound < ALL:
        steps.list_crossing()
        steps.forget_edges()
        _connect(exchange, steps)
    ranges, (ends, weight) = _spread(exchange, steps, n)
    src, dst = steps.unpack(ends, number_dtype(n))
    return RankForest(ranges, EdgeList(src, dst, weight if has_weights else None))


def _find_bound(exchange: Exchange, steps: Any, total: int, light: float) -> np.uint64:
    """Return the key that about a share ``light`` of all edges do not exceed."""
    places = -(-SAMPLES * steps.edges // total)
    sampled = [keys for (keys,) in exchange.all_gather(steps.sample_keys(max(places, 1)))]
    keys = np.sort(np.concatenate(sampled))
    bound: np.uint64 = keys[min(keys.size - 1, int(light * keys.size))]
    return bound


def _connect(exchange: Exchange, steps: Any) -> None:
    """Go on in rounds until no listed edge is left."""
    while steps.components > 1 and exchange.all_reduce(steps.listed)[0]:
        cancellation.raise_if_cancelled()
        keys = exchange.minimum(steps.least_keys())
        share = exchange.share(keys.size)  # of the components, for which this rank answers
        ends = exchange.minimum_share(steps.least_ends(keys))
        parents = exchange.gather_shares(steps.hook(ends, share), keys.size)
        steps.join(keys, ends, parents, share)
        roots = exchange.gather_shares(steps.find_roots(parents, share), keys.size)
        del keys, ends, parents
        steps.contract(roots)


def _spread(exchange: Exchange, steps: Any, n: int) -> tuple[Partition, tuple[Any, Any]]:
    """Return the ranks' ranges of larger ends, and the edges of this one's, in order of ends."""
    ends, weight = steps.forest()
    if exchange.size == 1:
        return Partition(np.array([0, n])), steps.arrange([(ends, weight)])
    sizes = exchange.gather_numbers(np.array([ends.size]))
    samples = [sample for (sample,) in exchange.all_gather(steps.sample_ends(ends, END_SAMPLES))]
    shares = [
        np.full(sample.size, size[0] / END_SAMPLES)
        for sample, size in zip(samples, sizes, strict=True)
    ]
    sample, share = np.concatenate(samples), np.concatenate(shares)
    order = np.argsort(sample)
    before = np.cumsum(share[order])
    inner = np.zeros(exchange.size - 1, np.uint64)
    if sample.size:
        targets = np.arange(1, exchange.size) * before[-1] / exchange.size
        inner = sample[order][np.searchsorted(before, targets)] >> np.uint64(32)
    ranges = Partition(np.array([0, *inner.tolist(), n]))
    messages = steps.divide(ends, weight, [int(bound) << 32 for bound in ranges.bounds])
    del ends, weight
    return ranges, steps.arrange(exchange.all_to_all(messages))
