"""Edge lists to graphs: the front door of the two builders, ``csr_cpu`` and ``csr_gpu``."""

from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core import backend as backends
from mgraph.core.arrays import WEIGHT_DTYPES, as_array, as_weights, check_integers, is_edge_index
from mgraph.core.choices import Backend
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import INDEX_DTYPES, MAX_N, Graph, on_gpu
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.core.rows import tails
from mgraph.errors import UsageError


def from_edges(
    edges: EdgeList | Any,
    n: int | None = None,
    *,
    directed: bool = True,
    drop_loops: bool = False,
    merge: bool = False,
    backend: Backend = "auto",
) -> Graph:
    """Build a graph from a list of edges.

    Parameters
    ----------
    edges : EdgeList, or array of shape (2, m)
        In any order. An array, such as an ``edge_index`` of PyTorch Geometric on either kind of
        device, has the sources in its first row and the destinations in its second.
    n : int, optional
        The number of vertices; by default one more than the maximum id.
    directed : bool, default True
        False: each edge stands for both arcs (a self-loop for one).
    drop_loops : bool, default False
        Leave self-loops out.
    merge : bool, default False
        Of parallel arcs keep the one of minimum weight.
    backend : {"auto", "cpu", "gpu"}
        Where the graph is built. ``auto``: where the arrays lie, else on a GPU if there is one with
        enough free memory.

    Returns
    -------
    Graph
        Each row in ascending order of destination, then weight, whatever the order of the edges.

    Raises
    ------
    UsageError
        If shapes, types or ids are wrong, a weight is NaN, or the edges are on a GPU and
        ``backend="cpu"``.
    DeviceError
        If ``backend="gpu"`` and there is no device, or the graph has 2^31 vertices or more.
    OutOfMemoryError
        If the GPU has too little memory.

    Notes
    -----
    Work O(n + m), as a counting sort by source and a sort of each row; memory below three times the
    graph's. Integer ids are int32 below 2^31 vertices, else int64.

    Examples
    --------
    >>> edges = mgraph.EdgeList([2, 0, 0], [0, 1, 1], np.array([5, 9, 7]))
    >>> graph = mgraph.from_edges(edges, directed=False, merge=True, backend="cpu")
    >>> graph
    Graph(n=3, num_arcs=4, undirected, int64 weights, cpu)
    >>> graph.weights
    array([7, 5, 7, 5])
    """
    check_integers(n=n)
    with timings.step(timings.BUILDING):
        checked = _checked_edges(edges)
        max_id = _check_ids(checked)
    if n is None:
        n = max_id + 1
    elif max_id >= n:
        raise UsageError(f"vertices must lie in [0, n) = [0, {n:,}) (got {max_id:,})")
    if n > MAX_N:
        raise UsageError(f"n must be at most 2^40 (got {n:,})", parameter="n")
    options: Any = {"directed": directed, "drop_loops": drop_loops, "merge": merge}
    is_on_gpu = on_gpu(checked.src)
    chosen = "gpu" if backend == "auto" and is_on_gpu else backends.resolve(backend)
    if chosen == "gpu":
        from mgraph.core import csr_gpu

        max_arcs = len(checked) * (1 if directed else 2)
        weight_bytes = 0 if checked.weight is None else checked.weight.itemsize
        edge_bytes = sum(array.nbytes for array in checked)
        is_required = backend == "gpu" or is_on_gpu
        if is_required or csr_gpu.fits_in_memory(n, max_arcs, weight_bytes, edge_bytes):
            graph = f"a graph of {n:,} vertices and up to {max_arcs:,} arcs"
            with memory_guard(graph, LARGER_GPU), timings.step(timings.BUILDING):
                return csr_gpu.build(checked, n, **options)
    if is_on_gpu:
        raise UsageError(
            "backend must not be cpu for edges on a GPU; copy the arrays to the CPU first",
            parameter="backend",
        )
    from mgraph.core import csr_cpu

    dtype = np.int32 if n < 1 << 31 else np.int64
    ids = checked.src.astype(dtype, copy=False), checked.dst.astype(dtype, copy=False)
    with timings.step(timings.BUILDING):
        return csr_cpu.build(EdgeList(*ids, checked.weight), n, **options)


def _checked_edges(edges: EdgeList) -> EdgeList:
    """Return the edges as contiguous arrays of types that graphs have, or raise UsageError."""
    if not isinstance(edges, EdgeList) and is_edge_index(edges):
        edges = EdgeList(edges[0], edges[1])
    if not isinstance(edges, EdgeList):
        raise UsageError(
            f"edges must be an mgraph.EdgeList (got {type(edges).__name__})", parameter="edges"
        )
    arrays = [as_array(name, array) for name, array in zip(COLUMNS, edges, strict=False)]
    if len({on_gpu(array) for array in arrays}) > 1:
        raise UsageError("edges must all be NumPy arrays or all CuPy arrays", parameter="edges")
    if any(array.ndim != 1 or array.shape != arrays[0].shape for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise UsageError(
            f"src, dst and weight must have one dimension and the same length (got {shapes})",
            parameter="edges",
        )
    arrays = [array if array.flags.c_contiguous else array.copy() for array in arrays]
    for name, array in zip(("src", "dst"), arrays, strict=False):
        if array.dtype.kind not in "iu" and array.size:
            raise UsageError(f"{name} must be whole numbers (got {array.dtype})", parameter=name)
        if array.dtype == np.uint64 and array.size and (largest := int(array.max())) >= MAX_N:
            raise UsageError(f"ids must lie below 2^40 (got {largest:,})", parameter=name)
    ids = [
        array if str(array.dtype) in INDEX_DTYPES else array.astype(np.int64)
        for array in arrays[:2]
    ]
    if len({array.dtype for array in ids}) > 1:
        ids = [array.astype(np.int64) for array in ids]
    weights = [as_weights(array) if array.dtype.kind in "iuf" else array for array in arrays[2:]]
    for weight in weights:
        if str(weight.dtype) not in WEIGHT_DTYPES:
            raise UsageError(
                f"weight must be {' or '.join(WEIGHT_DTYPES)} (got {weight.dtype})",
                parameter="weight",
            )
        if weight.dtype.kind == "f" and bool((weight != weight).any()):
            raise UsageError("weight must not be NaN (one is)", parameter="weight")
    return EdgeList(*ids, *weights)


def _check_ids(edges: EdgeList) -> int:
    """Return the maximum id, -1 without edges; raise UsageError for a negative one."""
    if not len(edges):
        return -1
    minimum = min(int(edges.src.min()), int(edges.dst.min()))
    if minimum < 0:
        raise UsageError(f"vertices must be numbered from 0 (got {minimum:,})")
    return max(int(edges.src.max()), int(edges.dst.max()))


def sort_rows(graph: Graph) -> tuple[Graph, Any]:
    """Return the graph with ascending rows (``Graph.rows_ascend``), and each arc's old position.

    A graph whose rows ascend is returned as it is, with None.
    """
    if graph.rows_ascend:
        return graph, None
    sort_keys = [graph.indices, tails(graph.indptr, graph.indices)]
    if graph.weights is not None:
        sort_keys.insert(0, graph.weights)
    order = sort_keys[0].argsort(kind="stable")
    for keys in sort_keys[1:]:
        order = order[keys[order].argsort(kind="stable")]
    weights = None if graph.weights is None else graph.weights[order]
    arrays = graph.indptr, graph.indices[order], weights
    return Graph.unchecked(*arrays, graph.directed, **graph.known | {"rows_ascend": True}), order
