"""Edges to a graph: the front door of the two builders."""

from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.arrays import WEIGHT_DTYPES, as_array, as_weights, check_whole
from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import INDEX_DTYPES, MAX_N, Graph, on_gpu
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.core.rows import tails
from mgraph.errors import UsageError


def from_edges(
    edges: EdgeList,
    n: int | None = None,
    *,
    directed: bool = True,
    drop_loops: bool = False,
    merge: bool = False,
    backend: str = "auto",
) -> Graph:
    """A graph in compressed sparse rows, each row in ascending order of destination, then weight.

    edges: of arrays or lists. n: vertices, by default one more than the largest id.
    directed=False symmetrises: each edge stands for both arcs (a self-loop for one). drop_loops:
    leave self-loops out. merge: of parallel arcs keep the one of least weight.
    backend: cpu, gpu, or auto: where the arrays are, else a GPU where there is one with room.
    The arcs' order does not depend on the order of the edges. Cost: O(n + m); memory: below three
    times the graph. Raises UsageError for shapes, types or ids that do not fit.
    """
    check_whole(n=n)
    checked = _checked(edges)
    largest = _check_ids(checked)
    if n is None:
        n = largest + 1
    elif not largest < n:
        raise UsageError(f"every vertex must lie in [0, n) = [0, {n:,}), and {largest:,} does not")
    if n > MAX_N:
        raise UsageError(f"a graph has at most 2^40 vertices, and this would have {n:,}")
    options: Any = {"directed": directed, "drop_loops": drop_loops, "merge": merge}
    where = "gpu" if backend == "auto" and on_gpu(checked.src) else backends.resolve(backend)
    if where == "gpu":
        from mgraph.core import csr_gpu

        most = len(checked) * (1 if directed else 2)
        weight_bytes = 0 if checked.weight is None else checked.weight.itemsize
        edge_bytes = sum(array.nbytes for array in checked)
        must = backend == "gpu" or on_gpu(checked.src)
        if must or csr_gpu.fits(n, most, weight_bytes, edge_bytes):
            graph = f"a graph of {n:,} vertices and up to {most:,} arcs"
            with memory_guard(graph, LARGER_GPU):
                return csr_gpu.build(checked, n, **options)
    if on_gpu(checked.src):
        raise UsageError("backend cpu was asked for, and the edges are on a GPU; copy them first")
    from mgraph.core import csr_cpu

    dtype = np.int32 if n < 1 << 31 else np.int64
    ids = checked.src.astype(dtype, copy=False), checked.dst.astype(dtype, copy=False)
    return csr_cpu.build(EdgeList(*ids, checked.weight), n, **options)


def _checked(edges: EdgeList) -> EdgeList:
    """The same as arrays of types that graphs have."""
    if not isinstance(edges, EdgeList):
        raise UsageError(f"edges must be a mgraph.EdgeList, and is {type(edges).__name__}")
    arrays = [as_array(name, array) for name, array in zip(COLUMNS, edges, strict=False)]
    if len({on_gpu(array) for array in arrays}) > 1:
        raise UsageError("edges must all be NumPy arrays or all CuPy arrays")
    if any(array.ndim != 1 or array.shape != arrays[0].shape for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise UsageError(f"src, dst and weight must be as long as one another, and are {shapes}")
    arrays = [array if array.flags.c_contiguous else array.copy() for array in arrays]
    for name, array in zip(("src", "dst"), arrays, strict=False):
        if array.dtype.kind not in "iu" and array.size:
            raise UsageError(f"{name} must be whole numbers, and is {array.dtype}")
    ids = [
        array if str(array.dtype) in INDEX_DTYPES else array.astype(np.int64)
        for array in arrays[:2]
    ]
    if len({array.dtype for array in ids}) > 1:
        ids = [array.astype(np.int64) for array in ids]
    weights = [as_weights(array) if array.dtype.kind in "iuf" else array for array in arrays[2:]]
    for weight in weights:
        if str(weight.dtype) not in WEIGHT_DTYPES:
            raise UsageError(f"weight must be {' or '.join(WEIGHT_DTYPES)}, and is {weight.dtype}")
        if weight.dtype.kind == "f" and bool((weight != weight).any()):
            raise UsageError("weight must hold numbers, and holds a NaN")
    return EdgeList(*ids, *weights)


def _check_ids(edges: EdgeList) -> int:
    """The largest id, -1 without edges. Raises UsageError for a negative one."""
    if not len(edges):
        return -1
    least = min(int(edges.src.min()), int(edges.dst.min()))
    if least < 0:
        raise UsageError(f"vertices are numbered from 0, and an id is {least:,}")
    return max(int(edges.src.max()), int(edges.dst.max()))


def ascending(graph: Graph) -> tuple[Graph, Any]:
    """The graph with rows that ascend, as ``Graph.rows_ascend``, and where each arc stood.

    Itself and None where they do so already.
    """
    if graph.rows_ascend:
        return graph, None
    by = [graph.indices, tails(graph.indptr, graph.indices)]
    if graph.weights is not None:
        by.insert(0, graph.weights)
    order = by[0].argsort(kind="stable")
    for keys in by[1:]:
        order = order[keys[order].argsort(kind="stable")]
    weights = None if graph.weights is None else graph.weights[order]
    arrays = graph.indptr, graph.indices[order], weights
    return Graph.unchecked(*arrays, graph.directed, **graph.known | {"rows_ascend": True}), order
