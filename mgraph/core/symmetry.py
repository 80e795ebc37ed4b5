"""Whether an undirected graph holds both arcs of every edge, and which arc lacks one back."""

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

_PIECE_ARCS = 1 << 23  # looked at together, so that no piece takes a second


def symmetric(graph: "Graph") -> bool:
    """Whether each arc has one back of the same weight: by sums of hashes, see ``symmetry_cpu``."""
    if graph.backend == "gpu":
        from mgraph.core import symmetry_gpu

        return symmetry_gpu.symmetric(graph)
    return not _hash_sums(graph).any()


def check_symmetric(graph: "Graph") -> None:
    """Raise UsageError for an undirected graph that lacks an arc back; looked at once a graph."""
    if graph.symmetric:
        return
    from mgraph.core import symmetry_cpu

    place = int(_hash_sums(graph).argmax())
    arcs: Counter[Any] = Counter()
    for piece in _pieces_on_cpu(graph):
        arcs += symmetry_cpu.pick(*piece, place)
    u, v, bits = min(arc for arc, count in arcs.items() if arcs[_turned(arc)] < count)
    weight = ""
    if graph.weights is not None:
        word = np.array(bits, np.uint64).astype(f"u{graph.weights.itemsize}")
        weight = f" of weight {word.view(graph.weights.dtype)[()]}"
    back = arcs[v, u, bits]
    raise UsageError(
        "An undirected graph holds both arcs of each edge with one weight, so each arc in both "
        f"directions, and this one has {pluralize(arcs[u, v, bits], 'arc')} from {u:,} to "
        f"{v:,}{weight} and {back or 'none'} back. Build it with mgraph.from_edges(edges, "
        "directed=False), which makes both arcs, or say that it is directed."
    )


def _turned(arc: tuple[int, int, int]) -> tuple[int, int, int]:
    u, v, bits = arc
    return v, u, bits


def _hash_sums(graph: "Graph") -> np.ndarray:
    """What ``symmetry_cpu`` adds up over all arcs."""
    from mgraph.core import symmetry_cpu

    sums = np.zeros(symmetry_cpu.SUMS, np.uint64)
    for piece in _pieces_on_cpu(graph):
        symmetry_cpu.add(*piece, sums)
    return sums


def _pieces_on_cpu(graph: "Graph") -> Iterator[tuple[Any, int, Any, Any]]:
    """Of some rows after another indptr, the first row, indices and weights, as NumPy's arrays."""
    for first, stop, begin, end in row_pieces(graph.indptr, _PIECE_ARCS):
        cancellation.raise_if_cancelled()
        arrays = [graph.indptr[first : stop + 1] - begin, graph.indices[begin:end]]
        if graph.weights is not None:
            arrays.append(graph.weights[begin:end])
        if graph.backend == "gpu":
            arrays = [array.get() for array in arrays]
        yield arrays[0], first, arrays[1], arrays[2] if len(arrays) > 2 else None
