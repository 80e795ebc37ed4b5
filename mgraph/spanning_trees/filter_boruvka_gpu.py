"""Filter-Borůvka on a GPU: memory and the one launch of ``filter_boruvka.cu``.

Source: P. Sanders, M. Schimek, "Engineering massively parallel MST algorithms", IPDPS 2023, for the
name and the idea; the lists of edges and the guarded atomics are those of A. Fallin, A. Gonzalez,
J. Seo, M. Burtscher, "A high-performance MST implementation for GPUs", SC 2023 (ECL-MST).

Data flow: (1) each row is read once, by warps that share its arcs out evenly, for its lightest arc;
vertices are hooked along those, and then know their roots. (2) A sample of the arcs tells up to which
weight there are about twice as many edges left as components. (3) A pass over the arcs from their
larger ends lists those edges whose ends have different roots, and offers each to both, by an atomic
minimum of (weight, id). (4) Rounds: the best edges are hooked, the list is filtered, its edges are
offered to the roots there are now. (5) Every vertex learns its root, and on to (2) with what is
heavier, until nothing is left. All in one launch.

Cost of a graph: 8 bytes an arc and 12 a vertex in (1); 4 bytes an edge for each band, 8 and a random
read of 4 for those in it; (4) about 40 bytes and four random reads a listed edge and round. At most
log2 n rounds a band, of two barriers each. Device bytes: 20 a vertex, 16 an arc.
"""

from typing import Any

import numpy as np

from mgraph.cuda.source import Source, multiprocessors

THREADS = 1024  # a block, one to a multiprocessor
MOST_EDGES = (1 << 32) - (1 << 16)  # or arcs of a graph: ids are words
_CHUNK, _ENTRY_BYTES, _SAMPLES, _LONG_ROW = 128, 16, 2048, 1024  # as in the kernels
_KINDS = {"int32": "int", "float32": "float", "uint32": "unsigned"}


def defines(weights: Any) -> dict[str, str]:
    """The kernel's macros for weights of this array's type."""
    kind = "int32" if weights is None else str(weights.dtype)
    return {"MGRAPH_WEIGHT_T": _KINDS[kind], "MGRAPH_THREADS": str(THREADS)}


KERNELS = Source(
    __package__,
    "filter_boruvka.cu",
    check=tuple(
        (("MGRAPH_WEIGHT_T", kind), ("MGRAPH_THREADS", str(THREADS))) for kind in _KINDS.values()
    ),
)


def of_graph(indptr: Any, indices: Any, weights: Any) -> Any:
    """The forest's edges by id, uint32, ascending, on the device.

    indptr: int64; indices: int32, rows in ascending order; weights: int32, float32, uint32 or None.
    There must be at most ``MOST_EDGES`` arcs.
    """
    return _run(indptr, 0, indices, weights, indptr.size - 1, indices.size // 2)


def of_list(src: Any, dst: Any, weights: Any, n: int) -> Any:
    """The same of a list of edges of n vertices, whose ids are their places."""
    return _run(0, src, dst, weights, n, dst.size)


def _run(indptr: Any, src: Any, dst: Any, weights: Any, n: int, edges: int) -> Any:
    import cupy

    if edges == 0:
        return cupy.empty(0, np.uint32)
    blocks = multiprocessors()
    chunks = -(-edges // _CHUNK) + blocks * THREADS // 32
    low, parent, edge = (cupy.empty(n, np.uint32) for _ in range(3))
    best = cupy.empty(n, np.uint64)
    pieces = cupy.empty(2 * (dst.size // (_LONG_ROW // 2) + 1), np.uint32)
    entries = cupy.empty(2 * chunks * _CHUNK * _ENTRY_BYTES, np.uint8)
    filled = cupy.empty(2 * chunks, np.uint32)
    sample, drawn = cupy.empty(3 * _SAMPLES, np.uint32), cupy.empty(_SAMPLES, np.uint64)
    progress = cupy.zeros(8, np.uint32)
    kernel = KERNELS.kernel("filter_boruvka_join", **defines(weights))
    kernel(
        (blocks,),
        (THREADS,),
        (
            indptr, src, dst, 0 if weights is None else weights, np.uint32(n), np.uint32(dst.size),
            low, pieces, parent, best, edge, entries, filled, np.uint32(chunks), sample, drawn,
            progress,
        ),
    )  # fmt: skip
    edge.sort()  # what is no edge comes last
    return edge[: int(progress[5])]
