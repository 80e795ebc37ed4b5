"""Statistics of a graph of the copy model from its final endpoints, on one core.

The accepted draw of an edge is its first draw that leads to its endpoint: those rejected before led
to endpoints of lower slots, which are different. So all draws are repeated and compared, edge after
edge along each chain.
"""

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_draws_cpu import ALL_STORED, draw, endpoint, parameters
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_statistics import HISTOGRAM_SIZE, CopyStatistics, Round, trim_zeros


@compiled
def _accepted(v, slot, end, draws, ends, stored):
    """The number of the draw that gave a slot its endpoint."""
    attempt = uint64(0)
    while endpoint(v, slot, attempt, draws, ends, stored) != end:
        attempt += uint64(1)
    return attempt


@compiled
def _count(ends, draws, stored, stops, counts, cancelled):
    """Fill the histograms, and count the dependent copies of each segment.

    ends: the endpoints of vertex d and on. stored: copies from vertices below it read their
    endpoints. counts: histograms of attempts and chains; dependent copies per segment, and their
    maximum per vertex. Ends early once ``cancelled[0]`` is not 0.
    """
    attempts, chains, dependent, most_dependent = counts
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
                most_dependent[segment] = max(most_dependent[segment], of_vertex)
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
    """Generate a graph and count its draws; see ``chain_statistics.copy_statistics``.

    segment: vertices per segment, if segments are to be counted.
    """
    d = model.d
    stops = np.empty(0, np.uint64)
    if segment is not None:
        stops = np.minimum(np.arange(d, model.n, segment) + segment, model.n).astype(np.uint64)
    dst = preferential_attachment.generate_edges(model, backend="cpu").edges.dst
    ends = dst[model.edges_before(d) :]
    stored = ALL_STORED if model.stores_endpoints else np.uint64(model.core_vertices)
    sizes = (HISTOGRAM_SIZE, HISTOGRAM_SIZE, stops.size, stops.size)
    counts = tuple(np.zeros(size, np.int64) for size in sizes)
    _count(ends, parameters(model), stored, stops, counts, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
    attempts, chains, dependent, most_dependent = counts
    starts = [d, *stops.tolist()]
    columns = starts[:-1], starts[1:], dependent.tolist(), most_dependent.tolist()
    rounds = tuple(Round(*row) for row in zip(*columns, strict=True))
    return CopyStatistics(trim_zeros(attempts), trim_zeros(chains), rounds)
