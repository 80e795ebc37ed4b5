"""Connected components of a partitioned graph; ``mgraph.partitioned`` has ranks and ghosts.

    own      each rank finds the components that the arcs between its own vertices make; their
             labels are their smallest vertices
    ghosts   each rank receives the labels of its ghosts from their owners
    unite    each rank unites own components and those of its ghosts by the arcs to ghosts. Of arcs
             that have mirrors, those to ghosts of lower ranks suffice
    merge    what united labels that other ranks know, as pairs, is merged over the ranks two by
             two, until rank 0 has one forest of them; each owner receives what its labels become
    ask      each rank asks the owners of its components' roots for what they have become

A label that no other rank has received is in no pair, so that few pairs are sent: none where the
vertices of each rank are connected, and of a preferential-attachment graph, where late vertices
are not, none either, since no rank receives the labels of the last one. The label of a component is
its smallest vertex, as on one device, since it is the smallest label of its parts.

Cost: two passes over the arcs. Bytes sent: 4 per ghost, 16 per pair and merge, and 12 per component
that a rank knows of another's. Memory: 16 bytes per own vertex and 12 per ghost.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from mgraph.components.partitioned_roots import Roots, uses_ghosts
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph


class RankLabels(NamedTuple):
    """The components of a rank's own vertices.

    labels: the smallest vertex of each one's component. distinct: int64, these labels, ascending.
    counts: int64, how many own vertices have each.
    """

    labels: Any
    distinct: Any
    counts: Any


def label_components(exchange: Exchange, graph: RankGraph) -> RankLabels:
    """Return the components of the rank's own vertices; the same call at all ranks."""
    if graph.backend == "gpu":
        from mgraph.components.partitioned_components_gpu import Steps
    else:
        from mgraph.components.partitioned_components_cpu import Steps  # type: ignore[assignment]
    steps: Any = Steps(graph)
    own_labels = steps.label_own()
    sent = [
        (own_labels[exports if uses_ghosts(graph, rank, of=graph.rank) else exports[:0]],)
        for rank, exports in enumerate(graph.exports)
    ]
    ghost_labels = [labels for (labels,) in exchange.all_to_all(sent)]
    del own_labels, sent
    roots: Roots = steps.unite(ghost_labels)
    changed = _owned_part(exchange, graph, _merge_over_ranks(exchange, roots.pairs, steps))
    asked = exchange.all_to_all(
        [(roots.labels[first:stop],) for first, stop in itertools.pairwise(roots.bounds)]
    )
    answers = exchange.all_to_all([(_replaced(*changed, labels),) for (labels,) in asked])
    final = np.concatenate([labels for (labels,) in answers])
    return RankLabels(steps.finish(final), *_add_equal(final, roots.counts))


def count_sizes(exchange: Exchange, graph: RankGraph, found: RankLabels) -> tuple[Any, Any]:
    """Return the components whose smallest vertex is the rank's: that vertex, and how many it has.

    Both int64, by ascending vertex, where the graph is.
    """
    stops = _owner_bounds(graph, found.distinct)
    received = exchange.all_to_all(
        [
            (found.distinct[first:stop], found.counts[first:stop])
            for first, stop in itertools.pairwise(stops)
        ]
    )
    labels, counts = (np.concatenate(columns) for columns in zip(*received, strict=True))
    return _add_equal(labels, counts)


def _owner_bounds(graph: RankGraph, labels: Any) -> list[int]:
    """Return where each rank's vertices begin among ascending labels."""
    bounds = np.asarray(graph.partition.bounds, like=labels)
    stops: list[int] = np.searchsorted(labels, bounds).tolist()
    return stops


def _merge_over_ranks(exchange: Exchange, pairs: Any, steps: Any) -> Any:
    """Return the pairs of all ranks, merged, at rank 0, and none at the others."""
    none = tuple(array[:0] for array in pairs)
    pairs, step = steps.merge([pairs]), 1
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


def _owned_part(exchange: Exchange, graph: RankGraph, pairs: Any) -> tuple[Any, Any]:
    """Return the rank's labels that become others, ascending, and what they become."""
    smallest, labels = pairs
    stops = _owner_bounds(graph, labels)
    messages = [
        (labels[first:stop], smallest[first:stop]) for first, stop in itertools.pairwise(stops)
    ]
    own_labels, becomes = exchange.all_to_all(messages)[0]
    return own_labels, becomes


def _replaced(labels: Any, becomes: Any, asked: Any) -> Any:
    """Return what some labels become. labels: ascending, those that become others."""
    if not labels.size:
        return asked
    place = np.minimum(np.searchsorted(labels, asked), labels.size - 1)
    return np.where(labels[place] == asked, becomes[place], asked)


def _add_equal(labels: Any, counts: Any) -> tuple[Any, Any]:
    """Return the distinct labels, ascending, and the sums of their counts."""
    order = np.argsort(labels)
    labels, sums = labels[order], np.cumsum(counts[order])
    is_last = np.ones_like(labels, bool)
    is_last[:-1] = labels[1:] != labels[:-1]
    last = np.flatnonzero(is_last)
    sums = sums[last]
    sums[1:] -= sums[:-1].copy()
    return labels[last], sums
