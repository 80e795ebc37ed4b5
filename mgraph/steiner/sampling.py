"""Random terminals, as the paper on STAR draws them: uniformly, and again if no tree holds them.

Drawing a set again until a tree can hold it is uniform among all sets that a tree can hold. So a
component is drawn first, with the number of its sets of k vertices as its weight, then one of these
sets: no draw is rejected, however many components there are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from mgraph.core import cancellation
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.steiner.prepared import prepare


def sample(graph: Graph, sizes: Sequence[tuple[int, int]], seed: int) -> list[Any]:
    """Draw the terminals of queries that can be solved: ``count`` arrays of k for each (k, count).

    A query's terminals depend on the graph, the seed, k and the query's rank among those of k. Each
    array is int64, ascending. Raises UsageError if no component has k vertices.
    """
    component = prepare(graph).component
    size = np.bincount(component)
    order = np.argsort(component, kind="stable")  # the vertices of component after component
    start = np.cumsum(size) - size
    drawn = []
    for k, count in sizes:
        if k < 1 or count < 0:
            raise UsageError(f"a sample must be K:COUNT with K of at least 1 (got {k}:{count})")
        if k > size.max(initial=0):
            raise UsageError(
                f"{k:,} terminals were asked for, and the largest component has "
                f"{size.max(initial=0):,} vertices"
            )
        eligible = np.flatnonzero(size >= k)
        log_sets = gammaln(size[eligible] + 1.0) - gammaln(
            size[eligible] - k + 1.0
        )  # up to a constant
        weight = np.exp(log_sets - log_sets.max())
        for i in range(count):
            cancellation.raise_if_cancelled()
            rng = np.random.default_rng([seed, k, i])
            chosen = rng.choice(eligible, p=weight / weight.sum())
            members = rng.choice(int(size[chosen]), k, replace=False)
            drawn.append(np.sort(order[start[chosen] + members]))
    return drawn


def sample_groups(
    graph: Graph, sizes: Sequence[tuple[int, int]], group_size: int, seed: int
) -> list[list[Any]]:
    """Draw the groups of queries that can be solved: ``count`` lists of k groups each.

    The vertices of a query are distinct, and in one component. See ``sample``.
    """
    drawn = iter(sample(graph, [(k * group_size, count) for k, count in sizes], seed))
    queries = []
    for k, count in sizes:
        for i in range(count):
            rng = np.random.default_rng([seed, k, group_size, i])
            shuffled = rng.permutation(next(drawn))
            queries.append([np.sort(group) for group in np.split(shuffled, k)])
    return queries
