"""Statistics of a graph of the copy model from its finished endpoints, on one core.

An edge's accepted draw is its first that leads to its endpoint: what was refused before led to
those of lower slots, which differ. So the draws are made again and compared, slot by slot along
each chain.
"""

import numpy as np
from numba import int64, uint64

from mgraph.core import stopping
from mgraph.core.compiled import compiled
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_draws_cpu import NOT_STORED, digits, endpoint, hashed, parameters
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_statistics import MOST, CopyStatistics, Round, trimmed


@compiled
def _accepted(v, slot, end, d, threshold, white0, white1, key, stored):
    """The number of the draw that gave a slot its endpoint."""
    attempt = uint64(0)
    while endpoint(v, slot, attempt, d, threshold, white0, white1, key, stored) != end:
        attempt += uint64(1)
    return attempt


@compiled
def _draw(v, slot, attempt, d, threshold, white0, white1, key):
    """The vertex and slot that a draw chose, and whether the edge ends there."""
    word0, word1 = hashed(v * d + slot, attempt, white0, white1, key)
    u, slot, coin = digits(word0, word1, v, d)
    return u, slot, coin < threshold or u < d


@compiled
def _count(ends, exact, d, threshold, white0, white1, key, stored, stops, counted, stop):
    """Fill the two histograms, and each segment's dependent copies and a vertex's most.

    ends: of vertex d and on. stored: the same where copies read them, else empty.
    """
    attempts, chains, dependent, most = counted
    segment, start, of_vertex = 0, d, 0
    for e in range(ends.size):
        v, slot = d + uint64(e // int64(d)), uint64(e % int64(d))
        if slot == 0:
            if stop[0]:
                break
            of_vertex = 0
            while stops.size > 0 and v >= stops[segment]:
                start = stops[segment]
                segment += 1
        attempt = _accepted(v, slot, uint64(ends[e]), d, threshold, white0, white1, key, stored)
        attempts[min(int64(attempt) + 1, attempts.size - 1)] += 1
        if stops.size > 0:
            u, _, ended = _draw(v, slot, uint64(0), d, threshold, white0, white1, key)
            of_vertex += int64(not ended and u >= start)
            if slot == d - uint64(1):
                dependent[segment] += of_vertex
                most[segment] = max(most[segment], of_vertex)
        length = 1
        u, at, ended = _draw(v, slot, attempt, d, threshold, white0, white1, key)
        while not ended:
            attempt = uint64(0)
            if exact:
                end = uint64(ends[(u - d) * d + at])
                attempt = _accepted(u, at, end, d, threshold, white0, white1, key, stored)
            u, at, ended = _draw(u, at, attempt, d, threshold, white0, white1, key)
            length += 1
        chains[min(length, chains.size - 1)] += 1


def statistics(model: CopyModel, segment: int | None) -> CopyStatistics:
    """See ``copy_statistics.copy_statistics``; segment: the vertices of each, if there are some."""
    d = model.d
    stops = np.empty(0, np.uint64)
    if segment is not None:
        stops = np.minimum(np.arange(d, model.n, segment) + segment, model.n).astype(np.uint64)
    dst = preferential_attachment.edges(model, backend="cpu").edges.dst
    ends = dst[model.edges_before(d) :]
    stored = ends if model.whole else NOT_STORED
    counted = tuple(np.zeros(size, np.int64) for size in (MOST, MOST, stops.size, stops.size))
    draws = parameters(model)
    _count(ends, model.whole, *draws, stored, stops, counted, stopping.word())
    stopping.check()
    attempts, chains, dependent, most = counted
    edges = [d, *stops.tolist()]
    rounds = tuple(
        Round(*told)
        for told in zip(edges[:-1], edges[1:], dependent.tolist(), most.tolist(), strict=True)
    )
    return CopyStatistics(trimmed(attempts), trimmed(chains), rounds)
