"""Borůvka's algorithm in the paper's five steps, on one core: the readable twin of ``boruvka.cu``.

Source: A. Biagiotti, "Parallel solution for the MST problem", after C. da Silva Sousa, A. Mariano,
A. Proença, "A generic and highly efficient parallel variant of Borůvka's algorithm", PDP 2015. A
round: (1) each vertex chooses its minimum arc, its candidate; (2) of two vertices that chose the
same edge, one removes its mirrored candidate; (3) colours propagate from the roots along the
candidates; (4) roots get new ids, by a scan of flags; (5) the graph is contracted: the arcs between
different colours are counted, scanned and written. The algorithm ends when no arc is left.

Departures from the paper: ties go to the smaller edge id instead of the smaller destination, so
that all methods find the same forest; the graph need not be connected.

Cost: O(n + m) per round, at most log2 n rounds; 32 bytes per arc and 24 per vertex.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.spanning_trees.edge_ids_cpu import edge_ids


def run(indptr: Any, indices: Any, keys: Any) -> np.ndarray:
    """Compute the forest's edges by id, int64, ascending.

    keys: ``(m,)``, unsigned, in the order of the weights. Rows must ascend.
    """
    edges, chosen, cancelled = edge_ids(indptr, indices), [], cancellation.cancel_flag()
    while indices.size:
        candidate = _choose_minimum(indptr, indices, keys, edges, cancelled)
        cancellation.raise_if_cancelled()
        _remove_mirrored(candidate, indices)
        chosen.append(edges[candidate[candidate >= 0]])
        colour = _propagate_colours(candidate, indices, cancelled)
        cancellation.raise_if_cancelled()
        new_id = _rename(colour)
        arrays = indptr, indices, keys, edges
        indptr, indices, keys, edges = _contract(*arrays, colour, new_id, cancelled)
        cancellation.raise_if_cancelled()
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


@compiled
def _choose_minimum(indptr, indices, keys, edges, cancelled):
    """Step 1: each vertex's minimum arc to another vertex, -1 if it has none."""
    candidate = np.full(indptr.size - 1, -1, np.int64)
    for v in range(candidate.size):
        if cancelled[0]:
            break
        minimum: Any = -1
        for arc in range(indptr[v], indptr[v + 1]):
            if indices[arc] != v and (
                minimum < 0 or (keys[arc], edges[arc]) < (keys[minimum], edges[minimum])
            ):
                minimum = arc
        candidate[v] = minimum
    return candidate


@compiled
def _remove_mirrored(candidate, indices):
    """Step 2: if two vertices chose each other, the smaller becomes a root without candidate."""
    for v in range(candidate.size):
        if candidate[v] >= 0:
            u = indices[candidate[v]]
            if v < u and candidate[u] >= 0 and indices[candidate[u]] == v:
                candidate[v] = -1


@compiled
def _propagate_colours(candidate, indices, cancelled):
    """Step 3: each vertex's root, by pointer jumping until nothing changes."""
    colour = np.arange(candidate.size)
    for v in range(candidate.size):
        if candidate[v] >= 0:
            colour[v] = indices[candidate[v]]
    changed = True
    while changed and not cancelled[0]:
        changed = False
        for v in range(colour.size):
            if colour[v] != colour[colour[v]]:
                colour[v] = colour[colour[v]]
                changed = True
    return colour


def _rename(colour: Any) -> Any:
    """Step 4: each root's position among the roots, by an exclusive scan of flags."""
    flag = colour == np.arange(colour.size)
    return np.cumsum(flag) - flag


@compiled
def _contract(indptr, indices, keys, edges, colour, new_id, cancelled):
    """Step 5: the graph of the roots, with the arcs between different colours."""
    roots = new_id[-1] + (colour[-1] == colour.size - 1)
    new_indptr = np.zeros(roots + 1, np.int64)
    for v in range(colour.size):
        if cancelled[0]:
            break
        for arc in range(indptr[v], indptr[v + 1]):
            if colour[v] != colour[indices[arc]]:
                new_indptr[new_id[colour[v]] + 1] += 1
    new_indptr = np.cumsum(new_indptr)
    cursor, m = new_indptr[:-1].copy(), new_indptr[-1]
    new_indices = np.empty(m, indices.dtype)
    new_keys, new_edges = np.empty(m, keys.dtype), np.empty(m, np.int64)
    for v in range(colour.size):
        if cancelled[0]:  # the count above may be incomplete, and the arrays too short
            break
        for arc in range(indptr[v], indptr[v + 1]):
            if colour[v] != colour[indices[arc]]:
                at = cursor[new_id[colour[v]]]
                cursor[new_id[colour[v]]] = at + 1
                new_indices[at] = new_id[colour[indices[arc]]]
                new_keys[at], new_edges[at] = keys[arc], edges[arc]
    return new_indptr, new_indices, new_keys, new_edges
