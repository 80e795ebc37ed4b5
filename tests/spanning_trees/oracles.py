"""Plain and slow implementations, with which the fast code is compared."""

import numpy as np


class Components:
    def __init__(self, n):
        self.parent = list(range(n))

    def root(self, v):
        while self.parent[v] != v:
            v = self.parent[v]
        return v

    def join(self, u, v):
        """Unite two components; return whether they were different."""
        u, v = self.root(u), self.root(v)
        self.parent[u] = v
        return u != v


def kruskal(graph):
    """The forest's edge ids: edges are tried in order of (weight, larger end, smaller end, id)."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    weights = np.ones(graph.num_arcs, int) if graph.weights is None else graph.weights
    ids = np.arange(graph.num_arcs)
    columns = (column.tolist() for column in (weights, tails, graph.indices, ids))
    edges = sorted(edge for edge in zip(*columns, strict=True) if edge[1] > edge[2])
    components = Components(graph.n)
    return sorted(arc for _, u, v, arc in edges if components.join(u, v))
