"""The front door of the spanning forest methods: check the request, choose, call the method."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import Backend, ForestMethod, check_choice
from mgraph.core.csr import sort_rows
from mgraph.core.graph import Graph
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError
from mgraph.io.as_graph import as_graph
from mgraph.spanning_trees.spanning_forest import SpanningForest
from mgraph.spanning_trees.weight_keys import order_keys

CPU_METHODS = ("filter_kruskal", "boruvka", "prim", "prim_naive")
GPU_METHODS = ("filter_boruvka", "boruvka")
METHODS = ("auto", *dict.fromkeys(CPU_METHODS + GPU_METHODS))


def minimum_spanning_forest(
    graph: Graph | Any,
    *,
    method: ForestMethod = "auto",
    backend: Backend = "auto",
    variants: Mapping[str, str] | None = None,
    timed: bool = False,
) -> SpanningForest:
    """The minimum spanning forest of an undirected graph: one tree per component.

    Parameters
    ----------
    graph : Graph, or what becomes one
        A path, a Dataset, a NetworkX graph, a sparse matrix, a data frame with usual column names,
        an EdgeList or an edge index of shape (2, m) is converted first. Weights may have any sign;
        without weights each edge counts 1. Self-loops are ignored.
    method : str, default "auto"
        ``filter_boruvka`` (GPU), ``filter_kruskal`` (all CPU cores), ``boruvka`` (both, in the
        paper's five steps), ``prim`` or ``prim_naive`` (one CPU core). ``auto`` is the first on a
        GPU and the second on a CPU.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` stays where the graph is, but moves a graph on the CPU to a GPU that has memory for
        it, if the method runs there.
    variants : mapping of str to str, optional
        Variants of the steps of ``boruvka`` on a GPU, such as ``{"contract": "vertex"}``: choose,
        count and contract with one thread per ``edge`` (default) or per ``vertex``; contract also
        on the ``host``; colours by ``jump`` (default) or ``walk``; scan by ``cub`` (default),
        ``naive`` or on the ``host``.
    timed : bool, default False
        Whether to measure ``step_times`` of ``boruvka`` on a GPU.

    Returns
    -------
    SpanningForest
        Edges ``src``, ``dst``, ``weight`` and ``edge_id``, on the backend that computed them, and
        ``total_weight``, ``components``, ``to_graph()``, ``to_pandas()``.

    Raises
    ------
    UsageError
        If the graph is directed or lacks the mirror of an arc, if a weight is infinite or NaN, or
        if the method does not run on the backend.
    DeviceError
        If ``backend="gpu"`` and there is no GPU.
    OutOfMemoryError
        If the GPU has too little memory.

    Notes
    -----
    Among edges of equal weight, the one with the smaller larger endpoint is preferred, then the one
    with the smaller other endpoint (in rows that ascend, the smaller ``edge_id``). So there is one
    answer for all methods and backends.

    Work: ``filter_boruvka`` and ``filter_kruskal`` read each arc a few times and sort or list about
    three edges per vertex; ``boruvka`` O(m log n); ``prim`` O((n + m) log n); ``prim_naive``
    O(n² + m). ``filter_boruvka`` needs 17 bytes per arc and 40 per vertex in addition to the graph.
    Sources: Sanders and Schimek 2023 and Fallin et al. 2023 (``filter_boruvka``), Osipov, Sanders
    and Singler 2009 (``filter_kruskal``), Biagiotti (``boruvka``, ``prim_naive``), Prim 1957.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 2, 4], [0, 1, 0, 3], [7, 3, 5, 2])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> forest = mgraph.minimum_spanning_forest(graph, backend="cpu")
    >>> forest.total_weight, forest.components
    (10, 2)
    >>> forest.src, forest.dst
    (array([2, 2, 4], dtype=int32), array([0, 1, 3], dtype=int32))
    """
    check_method(method, bool(variants or timed))
    graph = as_graph(graph, directed=False)
    check_graph(graph)
    chosen_backend = _choose_backend(graph, method, backend)
    on_gpu = chosen_backend == "gpu"
    if method == "auto":
        method = "filter_boruvka" if on_gpu else "filter_kruskal"
    if method not in (GPU_METHODS if on_gpu else CPU_METHODS):
        needed, replacement = ("CPU", "filter_boruvka") if on_gpu else ("GPU", "filter_kruskal")
        raise UsageError(
            f"method {method} needs a {needed}; use another backend, or method {replacement}"
        )
    if not on_gpu and graph.backend == "gpu":
        raise UsageError("backend is cpu but the graph is on a GPU; graph.to_cpu() copies it")
    if (variants or timed) and not on_gpu:
        raise UsageError("variants and times of steps need a GPU; leave them out on a CPU")
    ordered, origin = sort_rows(graph.to_gpu() if on_gpu else graph)
    if on_gpu:
        from mgraph.spanning_trees import spanning_forest_gpu

        forest = spanning_forest_gpu.run(ordered, method, dict(variants or {}), timed)
    else:
        forest = _compute_on_cpu(ordered, method)
    if origin is not None:  # rows were sorted: return the positions in the original graph
        ids = origin[forest.edge_id]
        order = ids.argsort()
        columns = {name: getattr(forest, name)[order] for name in ("src", "dst", "weight")}
        forest = replace(forest, edge_id=ids[order], **columns)
    return replace(forest, labels=graph.labels)


def check_method(method: str, has_step_options: bool) -> None:
    """Raise UsageError for an unknown method, or step options of a method other than boruvka."""
    check_choice("method", method, METHODS)
    if has_step_options and method != "boruvka":
        raise UsageError(f"variants and times of steps are for method boruvka (got {method})")


def check_graph(graph: Graph) -> None:
    """Raise UsageError for a graph that has no minimum spanning forest."""
    if graph.directed:
        raise UsageError(
            "a spanning forest needs an undirected graph, and this one is directed; pass "
            "`symmetrise=True` when it is read, or directed=False when it is made from edges"
        )
    check_weights(graph)
    check_symmetric(graph)


def check_weights(graph: Graph) -> None:
    """Raise UsageError if a weight is infinite or NaN."""
    for weight in graph.weight_range:
        if not np.isfinite(weight):
            raise UsageError(f"a spanning forest needs finite weights (got {weight})")


def _choose_backend(graph: Graph, method: str, backend: Backend) -> str:
    """The backend to use. ``auto`` means that of the graph, or a GPU with memory for it."""
    if backend == "auto" and graph.backend == "gpu":
        return "gpu"
    resolved = backends.resolve(backend)
    if resolved == "cpu" or backend == "gpu":
        return resolved
    from mgraph.spanning_trees import spanning_forest_gpu

    if method not in ("auto", *GPU_METHODS) or not spanning_forest_gpu.fits(graph, method):
        return "cpu"
    return "gpu"


def _compute_on_cpu(graph: Graph, method: str) -> SpanningForest:
    """Compute the forest of a graph whose rows ascend."""
    from mgraph.spanning_trees import edge_ids_cpu

    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    keys = np.zeros(graph.num_arcs, np.uint32) if weights is None else order_keys(weights)
    algorithm = importlib.import_module(f"mgraph.spanning_trees.{method}_cpu")
    ids = algorithm.run(indptr, indices, keys)
    src = edge_ids_cpu.tails(indptr, ids).astype(indices.dtype)
    weight = np.ones(ids.size, np.int32) if weights is None else weights[ids]
    return SpanningForest(graph.n, src, indices[ids], weight, ids, method, "cpu")
