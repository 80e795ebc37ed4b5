"""Filter-Borůvka on a GPU: memory and the one launch of ``filter_boruvka.cu``.

Source: P. Sanders, M. Schimek, "Engineering massively parallel MST algorithms", IPDPS 2023, for the
name and the idea; the lists of edges and the guarded atomics are those of A. Fallin, A. Gonzalez,
J. Seo, M. Burtscher, "A high-performance MST implementation for GPUs", SC 2023 (ECL-MST).

The algorithm: (1) warps read each row once, sharing the arcs evenly, and find each vertex's minimum
arc; vertices are hooked along these arcs, then every vertex is pointed to its root. (2) From a
sample of the arcs, choose a weight up to which about twice as many edges remain as there are
components. (3) Read the arcs from their larger ends, list those edges whose ends have different
roots, and offer each to both roots by an atomic minimum of (weight, id). (4) In rounds, hook the
minimum edges, filter the list, and offer its edges to the new roots. (5) Point every vertex to its
root, and return to (2) with heavier edges until none remains. One launch does all of this.

Cost for a graph: 4 bytes per arc and 28 per vertex in (1); per band 4 bytes per edge, and 8 and a
random read of 4 for the edges in it; in (4) about 40 bytes and four random reads per listed edge
and round. At most log2 n rounds per band, with two barriers each. Device memory: 20 bytes per
vertex and 17 per arc.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation, primitives_gpu
from mgraph.core.rows import row_pieces
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, multiprocessors, threads_per_multiprocessor
from mgraph.errors import DeviceError

THREADS = 1024  # per block
MAX_BLOCKS = 2  # per multiprocessor, if they fit, to hide latency
MAX_EDGES = (1 << 32) - (1 << 16)  # or arcs of a graph: ids have 32 bits
PIECE_ARCS = 1 << 29  # of a graph that is too large for one launch
BYTES_PER_ARC, BYTES_PER_VERTEX = 17, 20
_WEIGHT_TYPES = {"int32": "int", "float32": "float", "uint32": "unsigned"}


def defines(dtype: str, blocks: int = MAX_BLOCKS) -> dict[str, str]:
    """The kernel's macros for a dtype of weights and a number of blocks per multiprocessor."""
    return {
        "MGRAPH_WEIGHT_T": _WEIGHT_TYPES[dtype],
        "MGRAPH_THREADS": str(THREADS),
        "MGRAPH_BLOCKS": str(blocks),
    }


KERNELS = Source(
    __package__,
    "filter_boruvka.cu",
    check=tuple(tuple(defines(dtype).items()) for dtype in _WEIGHT_TYPES),
)


class Declared(NamedTuple):
    """What ``filter_boruvka.cu`` declares: its arguments, and the sizes of its memory."""

    edge_input: StructType
    row_memory: StructType
    forest_memory: StructType
    id_output: StructType
    counter_bytes: int
    joined_offset: int  # in bytes, of the counter of the forest's edges
    listed_edge_bytes: int
    sampled_edge_bytes: int
    samples: int
    chunk_entries: int
    long_row: int


@functools.cache
def _read_declarations(dtype: str, blocks: int) -> Declared:
    """Read the kernel's source, once per variant."""
    macros = defines(dtype, blocks)

    def struct(name: str) -> StructType:
        return KERNELS.struct(name, None, **macros)

    counters = struct("forest_counters").dtype
    assert counters.fields is not None
    return Declared(
        edge_input=struct("edge_input"),
        row_memory=struct("row_memory"),
        forest_memory=struct("forest_memory"),
        id_output=struct("id_output"),
        counter_bytes=counters.itemsize,
        joined_offset=counters.fields["joined"][1],
        listed_edge_bytes=struct("listed_edge").dtype.itemsize,
        sampled_edge_bytes=struct("sampled_edge").dtype.itemsize,
        samples=KERNELS.constant("samples", **macros),
        chunk_entries=KERNELS.constant("chunk_entries", **macros),
        long_row=KERNELS.constant("long_row", **macros),
    )


def fits(n: int, m: int) -> bool:
    """Whether ``mark_forest`` takes a graph on the device, and there is memory for it."""
    return m <= MAX_EDGES and BYTES_PER_ARC * m + BYTES_PER_VERTEX * n < free_bytes()


def mark_forest(indptr: Any, indices: Any, weights: Any) -> Any:
    """Compute a graph's forest as one bit per arc, uint32 ``(ceil(m / 32),)``, without waiting.

    indptr: int64; indices: int32, rows in ascending order; weights: int32, float32, uint32 or None.
    """
    return _launch(indptr, None, indices, weights, indptr.size - 1, indices.size // 2)[0]


def select_forest(src: Any, dst: Any, weights: Any, n: int) -> Any:
    """Compute the forest of a list of at most ``MAX_EDGES`` edges between n vertices.

    src, dst: int32, in any direction. Among edges of equal weight, those earlier in the list are
    preferred. Returns the positions of the forest's edges, uint32, ascending.
    """
    import cupy

    if dst.size > MAX_EDGES:
        raise DeviceError(
            f"a GPU takes at most {MAX_EDGES:,} edges at a time (got {dst.size:,}); split the "
            "graph into smaller parts"
        )
    ids = cupy.empty(n, np.uint32)
    _, joined = _launch(None, src, dst, weights, n, dst.size, ids)
    return ids[: int(joined[0])]


def select_forest_in_pieces(indptr: Any, indices: Any, weights: Any) -> Any:
    """Compute the forest of a graph of any size: its edges by id, int64, ascending.

    Pieces of the rows follow each other: the edges of a piece, together with the forest of those
    before, are reduced to their forest. Device memory: about 52 bytes per edge of a piece and of
    the forest, and 24 per vertex.
    """
    import cupy

    n = indptr.size - 1
    forest, src = cupy.empty(0, np.int64), cupy.empty(0, np.int32)
    for first, stop, begin, end in row_pieces(indptr, PIECE_ARCS):
        cancellation.raise_if_cancelled()
        tails = primitives_gpu.tails(indptr[first : stop + 1], end - begin, first)
        from_larger_end = cupy.flatnonzero(tails > indices[begin:end])
        src = cupy.concatenate([src, tails[from_larger_end]])
        forest = cupy.concatenate([forest, from_larger_end + begin])
        del tails, from_larger_end
        edge_weights = None if weights is None else weights[forest]
        kept = select_forest(src, indices[forest], edge_weights, n)
        forest, src = forest[kept], src[kept]
    return forest


def _launch(
    indptr: Any, src: Any, dst: Any, weights: Any, n: int, edges: int, ids: Any = None
) -> tuple[Any, Any]:
    """Launch the kernel; return the bits, and the number of edges, uint32 ``(1,)``.

    indptr: None for a list of edges. ids: an array for the edges' ids, or None.
    """
    import cupy

    dtype = "int32" if weights is None else str(weights.dtype)
    blocks_per_multiprocessor = min(MAX_BLOCKS, threads_per_multiprocessor() // THREADS)
    blocks = blocks_per_multiprocessor * multiprocessors()
    declared = _read_declarations(dtype, blocks_per_multiprocessor)
    counters = cupy.zeros(declared.counter_bytes, np.uint8)
    joined = counters[declared.joined_offset :][:4].view(np.uint32)
    bits = cupy.empty(-(-dst.size // 32), np.uint32)
    if edges == 0:
        bits.fill(0)
        return bits, joined
    lower_degree = min_arc = pieces = None
    if indptr is not None:
        lower_degree, min_arc = cupy.empty(n, np.uint32), cupy.empty(n, np.uint32)
        pieces = cupy.empty(2 * (dst.size // (declared.long_row // 2) + 1), np.uint32)
    parent, min_edge = cupy.empty(n, np.uint32), cupy.empty(n, np.uint64)
    chunks = -(-edges // declared.chunk_entries) + blocks * THREADS // 32
    entries = 2 * chunks * declared.chunk_entries
    entry_memory = cupy.empty(entries * declared.listed_edge_bytes, np.uint8)
    filled = cupy.empty(2 * chunks, np.uint32)
    sample = cupy.empty(declared.samples * declared.sampled_edge_bytes, np.uint8)
    remaining_sample = cupy.empty(declared.samples, np.uint64)
    counts = cupy.empty(blocks, np.uint32)
    arguments = (
        declared.edge_input.pack(
            {"indptr": indptr, "src": src, "dst": dst, "n": n, "m": dst.size}
        ),
        0 if weights is None else weights,
        declared.row_memory.pack(
            {"lower_degree": lower_degree, "min_arc": min_arc, "pieces": pieces}
        ),
        declared.forest_memory.pack(
            {
                "parent": parent, "min_edge": min_edge, "bits": bits, "entries": entry_memory,
                "filled": filled, "chunks_per_list": chunks, "sample": sample,
                "remaining_sample": remaining_sample, "counters": counters,
            }
        ),
        declared.id_output.pack({"ids": ids, "counts": counts}),
    )  # fmt: skip
    macros = defines(dtype, blocks_per_multiprocessor)
    kernel = KERNELS.kernel("filter_boruvka_join", **macros)
    launch_resident(kernel, blocks, THREADS, arguments)
    return bits, joined
