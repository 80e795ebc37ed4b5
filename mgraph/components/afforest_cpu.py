"""Afforest on all cores: ``afforest.cu`` has the algorithm, and why no edge is missed.

Source: M. Sutton, T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via
subgraph sampling", IPDPS 2018. Cost: about 100 bytes and three random reads per vertex, and the
rows outside the largest component; all rows if arcs may lack their mirrors. Memory: 4 or 8 bytes
per vertex. The threads share one array of parents (``core/union_find_cpu.py``).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.host import available_cores
from mgraph.core.rows import row_pieces
from mgraph.core.union_find_cpu import flatten, join, root

_CHUNK_ARCS = 1 << 20
_1 = np.uint64(1)
_SAMPLES = 1024  # vertices whose roots are counted


def label_components(
    indptr: Any, indices: Any, is_symmetric: bool, threads: int | None = None
) -> np.ndarray:
    """Return the smallest vertex of each vertex's component, ``(n,)``, in the type of ``indices``.

    is_symmetric: whether each arc has its mirror. threads: by default one per core.
    """
    n = indptr.size - 1
    parent = np.empty(n, indices.dtype)
    chunks = [tuple(rows) for *rows, _, _ in row_pieces(indptr, _CHUNK_ARCS)]
    threads = threads or available_cores()

    def for_all_rows(function: Callable[..., Any], *arguments: Any) -> None:
        cancellation.map_in_threads(lambda rows: function(*arguments, *rows), chunks, threads)

    for_all_rows(_begin, indptr, indices, parent)
    sampled = -1
    if is_symmetric and n:
        for_all_rows(flatten, parent)
        sample = parent[np.random.default_rng(1).integers(0, n, _SAMPLES)]
        roots, counts = np.unique(sample, return_counts=True)
        sampled = int(roots[counts.argmax()])
    for_all_rows(_link, indptr, indices, parent, sampled)
    for_all_rows(flatten, parent)
    return parent


@compiled
def _begin(indptr, indices, parent, first, stop):
    """Let vertices ``first`` to ``stop`` hang below the first vertex of their rows, if smaller."""
    for v in range(np.uint64(first), np.uint64(stop)):
        begin = np.uint64(indptr[v])
        parent[v] = v
        if begin < np.uint64(indptr[v + _1]) and indices[begin] < parent[v]:
            parent[v] = indices[begin]


@compiled
def _link(indptr, indices, parent, sampled, first, stop):
    """Join vertices with the heads of their arcs, unless they are in the sampled component.

    sampled: a vertex of that, or -1: all rows are read.
    """
    for v in range(np.uint64(first), np.uint64(stop)):
        if sampled >= 0 and root(parent, parent[v]) == root(parent, parent[np.uint64(sampled)]):
            continue
        for arc in range(np.uint64(indptr[v]), np.uint64(indptr[v + _1])):
            u = parent[np.uint64(indices[arc])]
            if u != parent[v]:
                join(parent, parent[v], u)
