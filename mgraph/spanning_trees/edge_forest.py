"""The forest of a list of edges: what a part of a larger graph is reduced to."""

from typing import Any

import numpy as np

from mgraph.core.choices import Device
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph, on_gpu
from mgraph.spanning_trees.minimum_spanning_forest import check_weights
from mgraph.spanning_trees.weight_keys import order_keys, ranks


def forest_of_edges(edges: EdgeList, n: int, threads: int | None = None) -> EdgeList:
    """The minimum spanning forest of undirected edges between n vertices, where their arrays are.

    edges: in any order and direction, with or without self-loops and parallel edges. Its arrays are
    changed: each edge is turned so that ``src`` is its larger end. threads: on a CPU, by default
    one per core. Returns the same edges as ``minimum_spanning_forest`` of their graph: src above
    dst, in order of (src, dst); a weight of -0.0 is 0.0.

    Cost: a sort of the edges, then that of ``filter_boruvka`` on a GPU or ``filter_kruskal`` on a
    CPU. Raises UsageError for ids and weights out of range, DeviceError for more than 2^32 edges on
    a GPU.
    """
    _turn_larger_end_first(edges)
    backend: Device = "gpu" if on_gpu(edges.src) else "cpu"
    # Only the larger ends have rows: half of the arcs, in the order of the edges' ids.
    graph = from_edges(edges, n, drop_loops=True, backend=backend)
    del edges
    check_weights(graph)
    src, ids = _compute_on_gpu(graph) if backend == "gpu" else _compute_on_cpu(graph, threads)
    weight = None if graph.weights is None else graph.weights[ids]
    if weight is not None and weight.dtype.kind == "f":
        _clear_signs_of_zeros(weight)
    return EdgeList(src, graph.indices[ids], weight)


def _clear_signs_of_zeros(weight: Any) -> None:
    """Make 0.0 of -0.0, in place; by bits, since a GPU's addition of 0 changes the least floats."""
    bits = weight.view(f"u{weight.dtype.itemsize}")
    bits *= bits != bits.dtype.type(1 << (8 * weight.dtype.itemsize - 1))


def _turn_larger_end_first(edges: EdgeList) -> None:
    """Exchange the ends of edges, in place, so that src is never below dst."""
    turned = edges.src < edges.dst
    if turned.any():
        smaller = edges.src[turned]
        edges.src[turned] = edges.dst[turned]
        edges.dst[turned] = smaller


def _compute_on_cpu(graph: Graph, threads: int | None) -> tuple[Any, Any]:
    """The larger ends and the ids of the forest's edges."""
    from mgraph.spanning_trees import edge_ids_cpu, filter_kruskal_cpu

    weights = graph.weights
    keys = np.zeros(graph.num_arcs, np.uint32) if weights is None else order_keys(weights)
    ids = filter_kruskal_cpu.run(graph.indptr, graph.indices, keys, graph.num_arcs, threads)
    return edge_ids_cpu.tails(graph.indptr, ids).astype(graph.indices.dtype), ids


def _compute_on_gpu(graph: Graph) -> tuple[Any, Any]:
    """The same on a GPU."""
    from mgraph.core.primitives_gpu import tails
    from mgraph.spanning_trees import filter_boruvka_gpu

    weights = graph.weights
    if weights is not None and weights.itemsize == 8:
        weights = ranks(order_keys(weights))
    src = tails(graph.indptr, graph.num_arcs)
    ids = filter_boruvka_gpu.select_forest(src, graph.indices, weights, graph.n)
    return src[ids], ids
