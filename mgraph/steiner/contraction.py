"""Contraction of the edges of weight 0: each component of them becomes one vertex.

They cost nothing, so that a tree may use them all. Without them every path has a positive length,
and of two neighbours on a shortest path one is nearer, which the searches rely on.
Cost: O(m log m), once per graph.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from mgraph.core import cancellation
from mgraph.core.graph import Graph
from mgraph.steiner import tree_cpu
from mgraph.steiner.tree_cpu import Tree


@dataclass(frozen=True)
class Contraction:
    """The graph in which each component of edges of weight 0 is one vertex.

    component: ``(n,)`` int64, the contracted vertex of each vertex. src, dst: for each arc of
    ``graph`` the ends of the minimum-weight arc that it stands for. zero_arcs: SciPy's CSR matrix
    of the arcs of weight 0.
    """

    graph: Graph
    component: Any
    src: Any
    dst: Any
    zero_arcs: Any

    def expand(self, tree: Tree, terminals: Any) -> Tree:
        """Return a tree of the contracted graph as one of the graph, for its terminals."""
        upper = tree.parent[1:]
        ends = zip(tree.vertex[1:], tree.vertex[upper], strict=True)
        arcs = [self._find_arc(u, v) for u, v in ends]
        edges = [(self.src[arcs], self.dst[arcs], tree.weight[1:])]
        needed = np.unique(np.concatenate([terminals, *edges[0][:2]]))
        component = self.component[needed]
        shared = np.flatnonzero(np.bincount(component) > 1)
        edges += [self._connect(needed[component == c], tree.weight.dtype) for c in shared]
        src, dst, weight = (np.concatenate(column) for column in zip(*edges, strict=True))
        return tree_cpu.from_edges(src, dst, weight, terminals)

    def _find_arc(self, u: int, v: int) -> int:
        begin, end = self.graph.indptr[u], self.graph.indptr[u + 1]
        return int(begin + np.searchsorted(self.graph.indices[begin:end], v))

    def _connect(self, vertices: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """Return a tree of weight 0 that holds these vertices of one component, perhaps more."""
        predecessor = csgraph.breadth_first_order(self.zero_arcs, vertices[0], directed=False)[1]
        src: list[int] = []
        known = {int(vertices[0])}
        for vertex in vertices[1:].tolist():
            while vertex not in known:
                known.add(vertex)
                src.append(vertex)
                vertex = int(predecessor[vertex])
        ends = np.array(src, np.int64)
        return ends, predecessor[ends].astype(np.int64), np.zeros(ends.size, dtype)


def contract(graph: Graph) -> Contraction:
    """Contract the edges of weight 0. graph: undirected, on the CPU, no weight below 0."""
    n = graph.n
    src = np.repeat(np.arange(n), np.diff(graph.indptr))
    dst, weight = graph.indices.astype(np.int64), graph.weights
    assert weight is not None
    zero = weight <= 0
    shape = (n, n)
    ones = np.ones(int(zero.sum()), np.int8)
    zero_arcs = sparse.csr_matrix((ones, (src[zero], dst[zero])), shape)
    cancellation.raise_if_cancelled()
    count, component = csgraph.connected_components(zero_arcs, directed=False)
    component = component.astype(np.int64)
    kept = component[src] != component[dst]
    src, dst, weight = src[kept], dst[kept], weight[kept]
    tail, head = component[src], component[dst]
    cancellation.raise_if_cancelled()
    order = np.lexsort((dst, src, weight, head, tail))
    tail, head = tail[order], head[order]
    is_first = np.ones(order.size, bool)  # of parallel arcs
    is_first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    cancellation.raise_if_cancelled()
    order, tail = order[is_first], tail[is_first]
    indptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(tail, minlength=count), out=indptr[1:])
    indices = head[is_first].astype(graph.indices.dtype)
    contracted = Graph.unchecked(indptr, indices, weight[order].copy(), False)
    return Contraction(contracted, component, src[order], dst[order], zero_arcs)
