"""The summary of a graph, from its edges block by block: degrees, weights, components.

Components are found by union-find with the smaller id as the root, in near-linear time, while
another thread counts degrees. Memory: 5 to 12 bytes per vertex; the edges are not kept.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.degrees_cpu import EndpointCounter, EndpointCounts, histogram
from mgraph.core.edges import EdgeList
from mgraph.core.union_find_cpu import root
from mgraph.errors import UsageError


class Summary(NamedTuple):
    """Sizes, degrees, weights, and components (weak ones if directed).

    degree, in_degree: minimum and maximum; degree_variance: that of degree. A self-loop of an
    undirected graph counts twice. isolated: vertices without edges. weight: minimum, mean, maximum;
    None without weights or edges.
    """

    n: int
    edges: int
    directed: bool
    self_loops: int
    isolated: int
    degree: tuple[int, int]
    degree_variance: float
    in_degree: tuple[int, int] | None
    weight: tuple[float, float, float] | None
    components: int
    largest_component: int


@compiled
def _join(src, dst, parent):
    """Join the components of edges; return the number of self-loops."""
    loops = np.int64(0)
    for i in range(src.size):
        u, v = src[i], dst[i]
        loops += u == v
        if parent[u] != parent[v]:
            a, b = root(parent, u), root(parent, v)
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
    return loops


@compiled
def _component_sizes(parent):
    size = np.zeros(parent.size, np.int64)
    for v in range(parent.size):
        size[root(parent, v)] += 1
    return size


class Summarizer:
    """Takes blocks of edges and summarises the graph that they form."""

    def __init__(self, n: int, directed: bool) -> None:
        """Expect edges of n vertices."""
        self._n, self._directed = n, directed
        self._out = EndpointCounter(range(n))
        self._in = EndpointCounter(range(n)) if directed else self._out
        self._parent = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        self._edges = self._loops = 0
        self._weights: list[Any] = []

    def add(self, edges: EdgeList) -> None:
        """Count a block. Raises UsageError for ids outside [0, n)."""
        for ids in (edges.src, edges.dst):
            if ids.size and not 0 <= ids.min() <= ids.max() < self._n:
                lowest, highest = int(ids.min()), int(ids.max())
                outside = lowest if lowest < 0 else highest
                raise UsageError(f"vertices must lie in [0, {self._n:,}) (got {outside:,})")
        with ThreadPoolExecutor(1) as pool:
            for piece in cancellation.chunks(len(edges)):
                ends = edges.src[piece], edges.dst[piece]
                counted = pool.submit(self._count, *ends)
                self._loops += _join(*ends, self._parent)
                counted.result()
        self._edges += len(edges)
        if edges.weight is not None and len(edges):
            weight = edges.weight
            total = float(weight.sum(dtype=np.float64))
            self._weights.append((weight.min().item(), total, weight.max().item()))

    def _count(self, src: Any, dst: Any) -> None:
        self._out.add(src)
        self._in.add(dst)

    def summary(self) -> Summary:
        """Return the summary of all blocks so far."""
        sizes = _component_sizes(self._parent)
        out, into = self._out.counts(), self._in.counts()
        weights = zip(*self._weights, strict=True) if self._weights else ((), (), ())
        minima, totals, maxima = weights
        return Summary(
            n=self._n,
            edges=self._edges,
            directed=self._directed,
            self_loops=int(self._loops),
            isolated=int((_are_zero(out) & _are_zero(into)).sum()),
            degree=_range(out),
            degree_variance=_variance(out),
            in_degree=_range(into) if self._directed else None,
            weight=(min(minima), sum(totals) / self._edges, max(maxima)) if minima else None,
            components=int((sizes > 0).sum()),
            largest_component=int(sizes.max(initial=0)),
        )


def _are_zero(counts: EndpointCounts) -> Any:
    are_zero = counts.low == 0
    are_zero[counts.overflows] = False
    return are_zero


def _variance(counts: EndpointCounts) -> float:
    degrees, vertices = histogram(counts)
    if not degrees.size:
        return 0.0
    mean = np.average(degrees, weights=vertices)
    return float(np.average((degrees - mean) ** 2, weights=vertices))


def _range(counts: EndpointCounts) -> tuple[int, int]:
    degrees, _ = histogram(counts)
    return (int(degrees[0]), int(degrees[-1])) if degrees.size else (0, 0)
