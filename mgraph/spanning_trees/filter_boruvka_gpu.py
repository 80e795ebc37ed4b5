"""Filter-Borůvka on a GPU: memory and the one launch of ``filter_boruvka.cu``.

Source: P. Sanders, M. Schimek, "Engineering massively parallel MST algorithms", IPDPS 2023, for the
name and the idea; the lists of edges and the guarded atomics are those of A. Fallin, A. Gonzalez,
J. Seo, M. Burtscher, "A high-performance MST implementation for GPUs", SC 2023 (ECL-MST).

Data flow: (1) each row is read once, by warps that share its arcs out evenly, for its lightest
arc; vertices are hooked along those, and then know their roots. (2) A sample of the arcs tells up
to which weight there are about twice as many edges left as components. (3) A pass over the arcs
from their larger ends lists those edges whose ends have different roots, and offers each to both,
by an atomic minimum of (weight, id). (4) Rounds: the best edges are hooked, the list is filtered,
its edges are offered to the roots there are now. (5) Every vertex learns its root, and on to (2)
with what is heavier, until nothing is left. All in one launch.

Cost of a graph: 4 bytes an arc and 28 a vertex in (1); 4 bytes an edge for each band, 8 and a
random read of 4 for those in it; (4) about 40 bytes and four random reads a listed edge and round.
At most log2 n rounds a band, of two barriers each. Device bytes: 20 a vertex, 17 an arc.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation, rows_gpu
from mgraph.core.rows import row_pieces
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors, threads_per_multiprocessor
from mgraph.errors import DeviceError

THREADS = 1024  # a block
MOST_BLOCKS = 2  # a multiprocessor, where they fit, to hide latency
MOST_EDGES = (1 << 32) - (1 << 16)  # or arcs of a graph: ids are words
PIECE_ARCS = 1 << 29  # of a graph that is too large
BYTES_AN_ARC, BYTES_A_VERTEX = 17, 20
_JOINED = 5  # the word of the kernel's progress that counts the forest's edges
_CHUNK, _ENTRY_BYTES, _SAMPLES, _LONG_ROW = 128, 16, 2048, 1024  # as in the kernels
_KINDS = {"int32": "int", "float32": "float", "uint32": "unsigned"}


def defines(dtype: str, blocks: int = MOST_BLOCKS) -> dict[str, str]:
    """The kernel's macros for weights of this type, and blocks of a multiprocessor."""
    return {
        "MGRAPH_WEIGHT_T": _KINDS[dtype],
        "MGRAPH_THREADS": str(THREADS),
        "MGRAPH_BLOCKS": str(blocks),
    }


KERNELS = Source(
    __package__,
    "filter_boruvka.cu",
    check=tuple(tuple(defines(dtype).items()) for dtype in _KINDS),
)


def fits(n: int, m: int) -> bool:
    """Whether ``of_graph`` takes a graph that is on the device, and finds room beside it."""
    return m <= MOST_EDGES and BYTES_AN_ARC * m + BYTES_A_VERTEX * n < free_bytes()


def of_graph(indptr: Any, indices: Any, weights: Any) -> Any:
    """The forest's edges as a bit an arc, uint32 ``(ceil(m / 32),)``; nothing is waited for.

    indptr: int64; indices: int32, rows in ascending order; weights: int32, float32, uint32 or None.
    """
    return _launch(indptr, None, indices, weights, indptr.size - 1, indices.size // 2)[0]


def of_list(src: Any, dst: Any, weights: Any, n: int) -> Any:
    """The forest of a list of at most ``MOST_EDGES`` edges of n vertices, by their places.

    src, dst: int32, in any direction; among edges of one weight the first is the lightest. Returns
    the places of the forest's edges, uint32, ascending.
    """
    import cupy

    if dst.size > MOST_EDGES:
        raise DeviceError(
            f"a GPU takes {MOST_EDGES:,} edges at a time at most, not {dst.size:,}; take the "
            "graph in smaller parts"
        )
    ids = cupy.empty(n, np.uint32)
    _, progress = _launch(None, src, dst, weights, n, dst.size, ids)
    return ids[: int(progress[_JOINED])]


def in_pieces(indptr: Any, indices: Any, weights: Any) -> Any:
    """``of_graph`` for any graph: the forest's edges by id, int64, ascending.

    A piece of the rows after another, each one's edges beside the forest of those before. Device
    bytes: about 52 an edge of a piece and of the forest, 24 a vertex.
    """
    import cupy

    n = indptr.size - 1
    forest, src = cupy.empty(0, np.int64), cupy.empty(0, np.int32)
    for first, stop, begin, end in row_pieces(indptr, PIECE_ARCS):
        cancellation.raise_if_cancelled()
        tails = rows_gpu.tails(indptr[first : stop + 1] - begin, end - begin) + np.int32(first)
        own = cupy.flatnonzero(tails > indices[begin:end])
        src = cupy.concatenate([src, tails[own]])
        forest = cupy.concatenate([forest, own + begin])
        del tails, own
        kept = of_list(src, indices[forest], None if weights is None else weights[forest], n)
        forest, src = forest[kept], src[kept]
    return forest


def _launch(
    indptr: Any, src: Any, dst: Any, weights: Any, n: int, edges: int, ids: Any = None
) -> tuple[Any, Any]:
    """Returns bits and progress. ids: where to write them, if anywhere."""
    import cupy

    progress = cupy.zeros(10, np.uint32)
    if edges == 0:
        return cupy.zeros(-(-dst.size // 32), np.uint32), progress
    blocks_each = min(MOST_BLOCKS, threads_per_multiprocessor() // THREADS)
    blocks = blocks_each * multiprocessors()
    low = chosen = pieces = None
    if indptr is not None:
        low, chosen = cupy.empty(n, np.uint32), cupy.empty(n, np.uint32)
        pieces = cupy.empty(2 * (dst.size // (_LONG_ROW // 2) + 1), np.uint32)
    parent, best = cupy.empty(n, np.uint32), cupy.empty(n, np.uint64)
    bits = cupy.empty(-(-dst.size // 32), np.uint32)
    chunks = -(-edges // _CHUNK) + blocks * THREADS // 32
    entries = cupy.empty(2 * chunks * _CHUNK * _ENTRY_BYTES, np.uint8)
    filled = cupy.empty(2 * chunks, np.uint32)
    sample, drawn = cupy.empty(3 * _SAMPLES, np.uint32), cupy.empty(_SAMPLES, np.uint64)
    counts = cupy.empty(blocks, np.uint32)
    structs = {
        "edge_input": {"indptr": indptr, "src": src, "dst": dst, "n": n, "m": dst.size},
        "row_memory": {"low": low, "chosen": chosen, "pieces": pieces},
        "forest_memory": {
            "parent": parent, "best": best, "bits": bits, "entries": entries, "filled": filled,
            "chunks": chunks, "sample": sample, "drawn": drawn, "progress": progress,
        },
        "id_output": {"ids": ids, "counts": counts},
    }  # fmt: skip
    kind = "int32" if weights is None else str(weights.dtype)
    macros = defines(kind, blocks_each)
    edges_in, *rest = (KERNELS.struct(name, None, **macros).pack(structs[name]) for name in structs)
    arguments = (edges_in, 0 if weights is None else weights, *rest)
    kernel = KERNELS.kernel("filter_boruvka_join", **macros)
    launch_resident(kernel, blocks, THREADS, arguments)
    return bits, progress
