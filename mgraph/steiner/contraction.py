"""Edges of weight 0, taken out of a graph: what they join becomes one vertex.

They cost nothing, so that a tree may use them all. Without them every path has a length, and of two
vertices on a shortest path one is nearer, which the searches rely on.
Cost: O(m log m), once a graph.
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
    """The graph in which each component of weight 0 is a vertex.

    component: ``(n,)`` int64, the contracted vertex of each. src, dst: of each arc of ``graph`` the
    least one of the arcs that it stands for. free: SciPy's CSR matrix of the arcs of weight 0.
    """

    graph: Graph
    component: Any
    src: Any
    dst: Any
    free: Any

    def expanded(self, tree: Tree, terminals: Any) -> Tree:
        """A tree of the contracted graph as one of the graph, for its terminals."""
        upper = tree.parent[1:]
        arcs = [self._arc(u, v) for u, v in zip(tree.vertex[1:], tree.vertex[upper], strict=True)]
        edges = [(self.src[arcs], self.dst[arcs], tree.weight[1:])]
        needed = np.unique(np.concatenate([terminals, *edges[0][:2]]))
        component = self.component[needed]
        several = np.flatnonzero(np.bincount(component) > 1)
        edges += [self._joined(needed[component == one], tree.weight.dtype) for one in several]
        src, dst, weight = (np.concatenate(column) for column in zip(*edges, strict=True))
        return tree_cpu.from_edges(src, dst, weight, terminals)

    def _arc(self, u: int, v: int) -> int:
        begin, end = self.graph.indptr[u], self.graph.indptr[u + 1]
        return int(begin + np.searchsorted(self.graph.indices[begin:end], v))

    def _joined(self, vertices: Any, kind: Any) -> tuple[Any, Any, Any]:
        """A tree of weight 0 that holds these vertices, and perhaps more, of one component."""
        before = csgraph.breadth_first_order(self.free, vertices[0], directed=False)[1]
        src: list[int] = []
        known = {int(vertices[0])}
        for vertex in vertices[1:].tolist():
            while vertex not in known:
                known.add(vertex)
                src.append(vertex)
                vertex = int(before[vertex])
        ends = np.array(src, np.int64)
        return ends, before[ends].astype(np.int64), np.zeros(ends.size, kind)


def contract(graph: Graph) -> Contraction:
    """Join what edges of weight 0 join. graph: undirected, on the CPU, no weight below 0."""
    n = graph.n
    src = np.repeat(np.arange(n), np.diff(graph.indptr))
    dst, weight = graph.indices.astype(np.int64), graph.weights
    zero = weight <= 0
    shape = (n, n)
    free = sparse.csr_matrix((np.ones(int(zero.sum()), np.int8), (src[zero], dst[zero])), shape)
    cancellation.raise_if_cancelled()
    count, component = csgraph.connected_components(free, directed=False)
    component = component.astype(np.int64)
    kept = component[src] != component[dst]
    src, dst, weight = src[kept], dst[kept], weight[kept]
    tail, head = component[src], component[dst]
    cancellation.raise_if_cancelled()
    order = np.lexsort((dst, src, weight, head, tail))
    tail, head = tail[order], head[order]
    first = np.ones(order.size, bool)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    cancellation.raise_if_cancelled()
    order, tail = order[first], tail[first]
    indptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(tail, minlength=count), out=indptr[1:])
    indices = head[first].astype(graph.indices.dtype)
    joined = Graph.unchecked(indptr, indices, weight[order].copy(), False)
    return Contraction(joined, component, src[order], dst[order], free)
