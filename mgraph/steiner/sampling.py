"""Terminals at random, as the paper on STAR draws them: uniformly, those of no tree drawn again.

What is drawn again and again until a tree can hold it is uniform among all sets that a tree can
hold. So a component is drawn first, with the weight of its sets of k vertices, then such a set: no
draw is in vain, however many components there are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from mgraph.core import cancellation
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.steiner.prepared import prepared


def sample(graph: Graph, sizes: Sequence[tuple[int, int]], seed: int) -> list[Any]:
    """Terminals of queries that can be solved: for each (k, count) so many arrays of k vertices.

    A query's terminals depend on the graph, the seed, k and which one of k it is. Each array is
    int64, ascending. Raises UsageError where no component has k vertices.
    """
    component = prepared(graph).component
    size = np.bincount(component)
    order = np.argsort(component, kind="stable")  # the vertices of component after component
    start = np.cumsum(size) - size
    drawn = []
    for k, count in sizes:
        if k < 1 or count < 0:
            raise UsageError(f"a sample is K:COUNT, K at least 1, and one is {k}:{count}")
        if k > size.max(initial=0):
            raise UsageError(
                f"{k:,} terminals were asked for, and the largest component has "
                f"{size.max(initial=0):,} vertices"
            )
        large = np.flatnonzero(size >= k)
        sets = gammaln(size[large] + 1.0) - gammaln(size[large] - k + 1.0)  # up to a factor k!
        share = np.exp(sets - sets.max())
        for i in range(count):
            cancellation.raise_if_cancelled()
            random = np.random.default_rng([seed, k, i])
            one = random.choice(large, p=share / share.sum())
            rows = random.choice(int(size[one]), k, replace=False)
            drawn.append(np.sort(order[start[one] + rows]))
    return drawn
