"""What a rank finds for ``partitioned_components``: its components, and whose labels they are."""

from typing import Any, NamedTuple

import numpy as np

from mgraph.partitioned.rank_graph import RankGraph


class Roots(NamedTuple):
    """The components that a rank has found, by its own arcs and the labels of its ghosts.

    labels: int64, a vertex of each; those of one owner are neighbours. bounds: where those of each
    owner begin. counts: int64, how many own vertices each has. pairs: labels that belong together,
    of which at least one of each pair is known to another rank.
    """

    labels: Any
    bounds: list[int]
    counts: Any
    pairs: tuple[Any, Any]


def uses_ghosts(graph: RankGraph, rank: int, *, of: int) -> bool:
    """Return whether a rank unites components by its arcs to the vertices of another."""
    return graph.directed or of < rank


def labels_of(graph: RankGraph, numbers: Any, ghost_labels: list[Any]) -> tuple[Any, list[int]]:
    """Return the labels of roots, and where those of each owner begin.

    numbers: ascending local numbers, of own vertices that are labels and of ghosts. ghost_labels:
    by owner, positions in its range.
    """
    starts = [each.start for each in graph.ghost_ranges]
    starts[graph.rank] = graph.below
    bounds = np.searchsorted(numbers, np.asarray([*starts, graph.locals], like=numbers)).tolist()
    pieces = []
    for owner, first_vertex in enumerate(graph.partition.bounds[:-1].tolist()):
        positions = numbers[bounds[owner] : bounds[owner + 1]] - starts[owner]
        if owner != graph.rank:
            positions = ghost_labels[owner][positions].astype(np.int64)
        pieces.append(positions + first_vertex)
    return np.concatenate(pieces), bounds
