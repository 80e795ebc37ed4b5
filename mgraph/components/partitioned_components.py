"""Connected components of a partitioned graph; ``mgraph.partitioned`` has ranks and ghosts.

    own      each rank finds the components that the arcs between its own vertices make; their
             labels are their smallest vertices
    ghosts   each rank receives the labels of its ghosts from their owners
    unite    each rank unites own components and those of its ghosts by the arcs to ghosts, as a
             forest: pairs of labels, at most one per component that its ghosts belong to
    merge    forests are merged in pairs of ranks, until rank 0 has one, and each owner receives
             what its labels become

Most vertices are in a rank's largest component after the first step, so that forests are small: of
a graph with a giant component, the labels of the small ones that touch another rank. The label of a
component is its smallest vertex, as on one device, since it is the smallest label of its parts.

Cost: two passes over the arcs. Bytes sent: 4 or 8 per ghost, and 16 per pair and merge. Memory: 12
bytes per own vertex and ghost.
"""

import itertools
from typing import Any

import numpy as np

from mgraph.components.edge_components_cpu import EdgeComponents
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph

Pairs = tuple[np.ndarray, np.ndarray]  # labels that belong together, int64; the first is smaller


def label_components(exchange: Exchange, graph: RankGraph) -> Any:
    """Return the smallest vertex of each own vertex's component; the same call at all ranks."""
    if graph.backend == "gpu":
        from mgraph.components.partitioned_components_gpu import Steps
    else:
        from mgraph.components.partitioned_components_cpu import Steps  # type: ignore[assignment]
    steps: Any = Steps(graph)
    own_labels = steps.label_own()
    received = exchange.all_to_all([(own_labels[exports],) for exports in graph.exports])
    pairs = merge_pairs(*steps.unite([labels for (labels,) in received]))
    pairs = _merge_over_ranks(exchange, pairs)
    bounds = graph.partition.bounds
    smallest, labels = pairs
    stops = np.searchsorted(labels, bounds)
    messages = [
        (labels[first:stop], smallest[first:stop]) for first, stop in itertools.pairwise(stops)
    ]
    changed = exchange.all_to_all(messages)[0]
    return steps.finish(*changed)


def count_sizes(exchange: Exchange, graph: RankGraph, labels: Any) -> Pairs:
    """Return the components whose smallest vertex is the rank's: that vertex, and how many it has.

    labels: as ``label_components`` returns them.
    """
    on_host = labels if isinstance(labels, np.ndarray) else labels.get()
    roots, counts = np.unique(on_host.astype(np.int64), return_counts=True)
    stops = np.searchsorted(roots, graph.partition.bounds)
    received = exchange.all_to_all(
        [(roots[first:stop], counts[first:stop]) for first, stop in itertools.pairwise(stops)]
    )
    sizes = np.zeros(graph.owned, np.int64)
    for some_roots, some_counts in received:
        sizes[some_roots - graph.first] += some_counts
    positions = np.flatnonzero(sizes)
    return positions + graph.first, sizes[positions]


def merge_pairs(one: np.ndarray, other: np.ndarray) -> Pairs:
    """Return pairs that say the same: the smallest of those that belong together, and each other.

    The latter ascend.
    """
    labels, position = np.unique(np.concatenate([one, other]), return_inverse=True)
    components = EdgeComponents(labels.size)
    components.add(position[: one.size], position[one.size :])
    smallest = components.labels(1)
    others = np.flatnonzero(smallest != np.arange(labels.size))
    return labels[smallest[others]], labels[others]


def _merge_over_ranks(exchange: Exchange, pairs: Pairs) -> Pairs:
    """Return the pairs of all ranks at rank 0, and none at the others."""
    none = np.empty(0, np.int64)
    step = 1
    while step < exchange.size:
        messages = [(none, none)] * exchange.size
        if exchange.rank % (2 * step) == step:
            messages[exchange.rank - step] = pairs
            pairs = none, none
        received = exchange.all_to_all(messages)
        if exchange.rank % (2 * step) == 0 and exchange.rank + step < exchange.size:
            sent = received[exchange.rank + step]
            pairs = merge_pairs(*(np.concatenate(each) for each in zip(pairs, sent, strict=True)))
        step *= 2
    return pairs
