"""Statistics of a graph of the copy model from its finished endpoints, on one core.

An edge's accepted draw is its first that leads to its endpoint: what was refused before led to
those of lower slots, which differ. So the draws are made again and compared, slot by slot along
each chain.
"""

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_draws_cpu import ALL_STORED, draw, endpoint, parameters
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_statistics import MOST, CopyStatistics, Round, trimmed


@compiled
def _accepted(v, slot, end, draws, ends, stored):
    """The number of the draw that gave a slot its endpoint."""
    attempt = uint64(0)
    while endpoint(v, slot, attempt, draws, ends, stored) != end:
        attempt += uint64(1)
    return attempt


@compiled
def _count(ends, draws, stored, stops, counted, cancelled):
    """Fill the two histograms, and each segment's dependent copies and a vertex's most.

    ends: of vertex d and on. stored: copies from vertices below it read their endpoints.
    """
    attempts, chains, dependent, most = counted
    d = draws.d
    segment, start, of_vertex = 0, d, 0
    for e in range(ends.size):
        v, slot = d + uint64(e // int64(d)), uint64(e % int64(d))
        if slot == 0:
            if cancelled[0]:
                break
            of_vertex = 0
            while stops.size > 0 and v >= stops[segment]:
                start = stops[segment]
                segment += 1
        attempt = _accepted(v, slot, uint64(ends[e]), draws, ends, min(v, stored))
        attempts[min(int64(attempt) + 1, attempts.size - 1)] += 1
        if stops.size > 0:
            u, _, final = draw(v, slot, uint64(0), draws)
            of_vertex += int64(not final and u >= start)
            if slot == d - uint64(1):
                dependent[segment] += of_vertex
                most[segment] = max(most[segment], of_vertex)
        length = 1
        u, at, final = draw(v, slot, attempt, draws)
        while not final:
            attempt = uint64(0)
            if u < stored:
                end = uint64(ends[(u - d) * d + at])
                attempt = _accepted(u, at, end, draws, ends, min(u, stored))
            u, at, final = draw(u, at, attempt, draws)
            length += 1
        chains[min(length, chains.size - 1)] += 1


def statistics(model: CopyModel, segment: int | None) -> CopyStatistics:
    """See ``copy_statistics.copy_statistics``; segment: the vertices of each, if there are some."""
    d = model.d
    stops = np.empty(0, np.uint64)
    if segment is not None:
        stops = np.minimum(np.arange(d, model.n, segment) + segment, model.n).astype(np.uint64)
    dst = preferential_attachment.generate_edges(model, backend="cpu").edges.dst
    ends = dst[model.edges_before(d) :]
    stored = ALL_STORED if model.stores_endpoints else np.uint64(model.core_vertices)
    counted = tuple(np.zeros(size, np.int64) for size in (MOST, MOST, stops.size, stops.size))
    _count(ends, parameters(model), stored, stops, counted, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    attempts, chains, dependent, most = counted
    edges = [d, *stops.tolist()]
    rounds = tuple(
        Round(*told)
        for told in zip(edges[:-1], edges[1:], dependent.tolist(), most.tolist(), strict=True)
    )
    return CopyStatistics(trimmed(attempts), trimmed(chains), rounds)
