"""The front door of the spanning forest methods: check, choose, call."""

import importlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import check_choice
from mgraph.core.csr import sort_rows
from mgraph.core.graph import Graph
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError
from mgraph.spanning_trees.spanning_forest import SpanningForest
from mgraph.spanning_trees.weight_keys import order_keys

CPU_METHODS = ("filter_kruskal", "boruvka", "prim", "prim_naive")
GPU_METHODS = ("filter_boruvka", "boruvka")
METHODS = ("auto", *dict.fromkeys(CPU_METHODS + GPU_METHODS))


def minimum_spanning_forest(
    graph: Graph,
    *,
    method: str = "auto",
    backend: str = "auto",
    variants: Mapping[str, str] | None = None,
    timed: bool = False,
) -> SpanningForest:
    """The minimum spanning forest of an undirected graph: a tree for each component.

    graph: with weights of any sign, each 1 where it has none; self-loops are passed over.
    method: auto, or one of ``METHODS``. backend: cpu, gpu, or auto: where the graph is; from the
    CPU to a GPU with room, if there is one and the method is known there.
    variants: of boruvka's steps on a GPU, as ``{"contract": "vertex"}``: a thread a vertex (or an
    arc, ``edge``) in choose, count and contract; colours by ``jump`` or ``walk``; scan by ``cub``,
    ``naive`` or on the ``host``, as contract. timed: have ``step_times`` of boruvka on a GPU.

    Ties go to the edge whose larger end is smaller, then to the smaller of the other ends, so that
    there is one answer, whatever the method: in rows that ascend that is the order of edge ids.
    Arrays are on the backend that found them. Deterministic. Cost: ``filter_boruvka`` and
    ``filter_kruskal`` read each arc a few times, and sort or join about three edges a vertex;
    ``boruvka`` O(m log n); ``prim`` O((n + m) log n); ``prim_naive`` O(n² + m).
    Raises UsageError for graphs that are directed or lack arcs' mirrors, weights that are not
    finite, and unknown methods.
    """
    check_method(method, bool(variants or timed))
    check(graph)
    where = _backend_for(graph, method, backend)
    if method == "auto":
        method = "filter_boruvka" if where == "gpu" else "filter_kruskal"
    if method not in (GPU_METHODS if where == "gpu" else CPU_METHODS):
        other = "CPU; use filter_boruvka" if where == "gpu" else "GPU; use filter_kruskal"
        raise UsageError(f"{method} is a method of the {other}, or the other backend")
    if where == "cpu" and graph.backend == "gpu":
        raise UsageError(
            "backend cpu was asked for, and the graph is on a GPU; graph.to_cpu() moves it"
        )
    ordered, origin = sort_rows(graph.to_gpu() if where == "gpu" else graph)
    if where == "gpu":
        from mgraph.spanning_trees import spanning_forest_gpu

        found = spanning_forest_gpu.run(ordered, method, dict(variants or {}), timed)
    elif variants or timed:
        raise UsageError(
            "variants and times of boruvka's steps are of a GPU; on a CPU leave them out"
        )
    else:
        found = _on_cpu(ordered, method)
    if origin is not None:  # back to where the arcs stood
        ids = origin[found.edge_id]
        order = ids.argsort()
        columns = {name: getattr(found, name)[order] for name in ("src", "dst", "weight")}
        found = replace(found, edge_id=ids[order], **columns)
    return replace(found, labels=graph.labels)


def check_method(method: str, steps: bool) -> None:
    """Raise UsageError for an unknown method, or one that has no ``steps`` to choose or to time."""
    check_choice("method", method, METHODS)
    if steps and method != "boruvka":
        raise UsageError(f"variants and times of steps are of method boruvka, not of {method}")


def check(graph: Graph) -> None:
    """Raise UsageError for a graph that has no minimum spanning forest."""
    if graph.directed:
        raise UsageError(
            "a spanning forest is of an undirected graph, and this one is directed; symmetrise it "
            "when it is read"
        )
    check_weights(graph)
    check_symmetric(graph)


def check_weights(graph: Graph) -> None:
    """Raise UsageError where a weight is infinite or NaN."""
    for weight in graph.weight_range:
        if not np.isfinite(weight):
            raise UsageError(f"a spanning forest needs finite weights, and one is {weight}")


def _backend_for(graph: Graph, method: str, backend: str) -> str:
    """Where to work: of ``auto`` where the graph is, else on a GPU that has room for it."""
    if backend == "auto" and graph.backend == "gpu":
        return "gpu"
    where = backends.resolve(backend)
    if where == "cpu" or backend == "gpu":
        return where
    from mgraph.spanning_trees import spanning_forest_gpu

    if method not in ("auto", *GPU_METHODS) or not spanning_forest_gpu.fits(graph, method):
        return "cpu"
    return "gpu"


def _on_cpu(graph: Graph, method: str) -> SpanningForest:
    from mgraph.spanning_trees import edge_ids_cpu

    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    keys = np.zeros(graph.num_arcs, np.uint32) if weights is None else order_keys(weights)
    algorithm = importlib.import_module(f"mgraph.spanning_trees.{method}_cpu")
    ids = algorithm.run(indptr, indices, keys)
    src = edge_ids_cpu.tails(indptr, ids).astype(indices.dtype)
    weight = np.ones(ids.size, np.int32) if weights is None else weights[ids]
    return SpanningForest(graph.n, src, indices[ids], weight, ids, method, "cpu")
