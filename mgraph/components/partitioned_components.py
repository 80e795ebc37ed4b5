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

from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph


def label_components(exchange: Exchange, graph: RankGraph) -> Any:
    """Return the smallest vertex of each own vertex's component; the same call at all ranks."""
    if graph.backend == "gpu":
        from mgraph.components.partitioned_components_gpu import Steps
    else:
        from mgraph.components.partitioned_components_cpu import Steps  # type: ignore[assignment]
    steps: Any = Steps(graph)
    own_labels = steps.label_own()
    sent = [(own_labels[exports].astype(np.uint32),) for exports in graph.exports]
    received = exchange.all_to_all(sent)
    pairs = steps.merge([steps.unite([labels for (labels,) in received])])
    smallest, labels = _merge_over_ranks(exchange, pairs, steps)
    stops = steps.find_bounds(labels)
    messages = [
        (labels[first:stop], smallest[first:stop]) for first, stop in itertools.pairwise(stops)
    ]
    changed = exchange.all_to_all(messages)[0]
    return steps.finish(*changed)


def count_sizes(exchange: Exchange, graph: RankGraph, labels: Any) -> tuple[np.ndarray, np.ndarray]:
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


def _merge_over_ranks(exchange: Exchange, pairs: Any, steps: Any) -> Any:
    """Return the pairs of all ranks at rank 0, and none at the others."""
    none = tuple(array[:0] for array in pairs)
    step = 1
    while step < exchange.size:
        messages = [none] * exchange.size
        if exchange.rank % (2 * step) == step:
            messages[exchange.rank - step] = pairs
            pairs = none
        received = exchange.all_to_all(messages)
        if exchange.rank % (2 * step) == 0 and exchange.rank + step < exchange.size:
            pairs = steps.merge([pairs, received[exchange.rank + step]])
        step *= 2
    return pairs
