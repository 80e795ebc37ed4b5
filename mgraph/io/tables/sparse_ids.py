"""Ids with gaps: when they cannot be the numbers of vertices, and the sentence that says so."""

from collections.abc import Iterable, Sequence

import numpy as np

from mgraph.core.graph import MAX_N
from mgraph.errors import DatasetError

_SMALL_N, _NUMBERS_PER_EDGE = 1 << 24, 32
_EXACT_IDS = 1 << 22  # distinct ids that are counted exactly
_SMALLEST_HASHES = 1 << 14  # by which more are estimated, within 1 %


class SparseIdsError(ValueError):
    """Ids are whole numbers that cannot number the vertices; the message says so."""


class UnnumberedError(DatasetError):
    """The ids of a graph are not the numbers of its vertices: strings, or numbers with gaps."""


def renumbering_remedy(location: str) -> str:
    """Return what to do about ids that are not the numbers of vertices."""
    return (
        f"mgraph convert {location} OUT numbers the vertices from 0 and keeps the ids, and so does "
        "read_graph(…, renumber=True) in memory"
    )


def is_sparse(n: int, num_edges: int) -> bool:
    """Return whether n vertices are far too many for so few edges to be numbered by their ids."""
    return n > max(_SMALL_N, _NUMBERS_PER_EDGE * num_edges)


def explain_unnumbered(
    location: str | None, low: int, high: int, blocks: Iterable[Sequence[np.ndarray]]
) -> str:
    """Return the sentence on ids that are not numbers from 0 on, or have gaps.

    location: of the tables; None for one in memory. low, high: the smallest and the largest id.
    blocks: all ids.
    """
    remedy = "`renumber=True` numbers the vertices from 0, and keeps the ids as labels"
    if location is not None:
        remedy = renumbering_remedy(location)
    if low < 0:
        return f"vertices must be numbered from 0 (got {low:,}); {remedy}"
    count, is_exact = count_distinct(blocks)
    about = "" if is_exact else "about "
    beyond = f", and must lie below 2^40 (got {high:,})" if high >= MAX_N else f" up to {high:,}"
    return f"its ids are sparse, {about}{count:,} distinct ones{beyond}; {remedy}"


def count_distinct(blocks: Iterable[Sequence[np.ndarray]]) -> tuple[int, bool]:
    """Return the number of distinct values in blocks of columns, and whether it is exact.

    Memory: the distinct values, or a fixed number of hashes if there are many.
    """
    distinct, smallest = np.empty(0, np.int64), None
    for columns in blocks:
        values = np.concatenate([column.astype(np.int64, copy=False) for column in columns])
        if smallest is None:
            distinct = np.union1d(distinct, values)
            if distinct.size <= _EXACT_IDS:
                continue
            smallest, values = np.empty(0, np.uint64), distinct
        hashes = np.union1d(smallest, _mix(values.view(np.uint64)))
        smallest = hashes[:_SMALLEST_HASHES]
    if smallest is None:
        return int(distinct.size), True
    share = float(smallest[-1]) / 2.0**64  # of all hashes, the smallest of which are known
    return round((_SMALLEST_HASHES - 1) / share), False


def _mix(values: np.ndarray) -> np.ndarray:
    """Return 64-bit hashes of 64-bit values (the finalizer of MurmurHash3)."""
    mixed = values ^ (values >> np.uint64(33))
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = mixed * np.uint64(factor)
        mixed ^= mixed >> np.uint64(33)
    return mixed
