"""The check that an undirected graph holds both arcs of every edge."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.formatting import pluralize
from mgraph.core.rows import row_pieces
from mgraph.errors import UsageError

if TYPE_CHECKING:
    from mgraph.core.graph import Graph

_CHUNK_ARCS = 1 << 23  # hashed between two checks for cancellation, in less than a second


def symmetric(graph: "Graph") -> bool:
    """Return whether each arc has its mirror, by sums of hashes: see ``symmetry_cpu``."""
    if graph.backend == "gpu":
        from mgraph.core import symmetry_gpu

        return symmetry_gpu.symmetric(graph)
    return not _hash_sums(graph).any()


def check_symmetric(graph: "Graph") -> None:
    """Raise UsageError for an undirected graph that lacks a mirror arc; computed once per graph."""
    if graph.symmetric:
        return
    from mgraph.core import symmetry_cpu

    nonzero_sum = int(_hash_sums(graph).argmax())
    arcs: Counter[Any] = Counter()
    for chunk in _chunks_on_cpu(graph):
        arcs += symmetry_cpu.count_arcs(*chunk, nonzero_sum)
    u, v, bits = min(arc for arc, count in arcs.items() if arcs[_mirror(arc)] < count)
    weight = ""
    if graph.weights is not None:
        word = np.array(bits, np.uint64).astype(f"u{graph.weights.itemsize}")
        weight = f" of weight {word.view(graph.weights.dtype)[()]}"
    mirrors = arcs[v, u, bits]
    remedy = (
        "Build it with mgraph.from_edges(edges, directed=False), which makes both arcs, or pass "
        "directed=True."
    )
    raise UsageError(
        "An undirected graph holds both arcs of each edge with one weight, and this one "
        f"has {pluralize(arcs[u, v, bits], 'arc')} from {u:,} to {v:,}{weight} and "
        f"{mirrors or 'none'} back. {remedy}",
        remedy=remedy,
    )


def _mirror(arc: tuple[int, int, int]) -> tuple[int, int, int]:
    u, v, bits = arc
    return v, u, bits


def _hash_sums(graph: "Graph") -> np.ndarray:
    """Return the sums of ``symmetry_cpu`` over all arcs."""
    from mgraph.core import symmetry_cpu

    sums = np.zeros(symmetry_cpu.SUMS, np.uint64)
    for chunk in _chunks_on_cpu(graph):
        symmetry_cpu.add_hashes(*chunk, sums)
    return sums


def _chunks_on_cpu(graph: "Graph") -> Iterator[tuple[Any, int, Any, Any]]:
    """Yield the rows in chunks, as NumPy arrays: indptr, the first row, indices and weights."""
    for first, stop, begin, end in row_pieces(graph.indptr, _CHUNK_ARCS):
        cancellation.raise_if_cancelled()
        arrays = [graph.indptr[first : stop + 1] - begin, graph.indices[begin:end]]
        if graph.weights is not None:
            arrays.append(graph.weights[begin:end])
        if graph.backend == "gpu":
            arrays = [array.get() for array in arrays]
        yield arrays[0], first, arrays[1], arrays[2] if len(arrays) > 2 else None
