"""Components of edges in any order on all cores, block by block.

Source: Tarjan 1975, as ``core/union_find_cpu.py`` has it. Most edges lie within one component long
before the end. So a bitmap has the vertices that are known to be in it: an edge between two of them
takes two reads of the bitmap, which the processor's cache may hold where it cannot hold the
parents; and a vertex that has an edge to one of them joins that component's root, without a search
for it. ``join_settling`` is that, for the component of a vertex, the anchor, which is chosen by a
sample of the edges.

Cost: near-linear; 12 to 15 ns per edge where the graph is mostly one component and a random read of
memory takes 16. Memory: 4 or 8 bytes per vertex and a bit, and no edge.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.union_find_cpu import flatten, join, join_edges, root
from mgraph.errors import UsageError

_SAMPLES = 256  # edges, in one of _SAMPLE_BLOCKS blocks, and in those whose number is a power of 2
_SAMPLE_BLOCKS = 16
_MIN_SHARE = 4  # a component is settled if one in so many ends of the sample are in it
_LARGE = (1 << 16) - 1  # sizes from here on are sorted, smaller ones counted
_1, _3, _7 = np.uint64(1), np.uint64(3), np.uint64(7)


class _Settled(NamedTuple):
    """A bit for each vertex that is known to be in the component of ``anchor``; -1: there is none.

    Threads set bits of a byte at the same time: one that is lost is set again.
    """

    anchor: int
    bits: np.ndarray


class EdgeComponents:
    """Takes blocks of edges, from several threads at once, and finds the components they form."""

    def __init__(self, n: int, parent: np.ndarray | None = None) -> None:
        """Begin with n vertices that no edge connects.

        parent: what ``labels`` of other edges returned; it is taken over and changed if it can be.
        """
        if parent is None:
            parent = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        # An array that came over a network may lie across words, where an atomic operation takes
        # the processor a thousand times as long.
        self._parent = np.require(parent, requirements=("C", "A", "W"))
        self._settled = _Settled(-1, np.zeros(n // 8 + 1, np.uint8))
        self._blocks = itertools.count()

    def add(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Join the ends of edges. Raises UsageError for an end outside [0, n)."""
        for piece in cancellation.chunks(src.size):
            ends = src[piece], dst[piece]
            block = next(self._blocks)
            if block % _SAMPLE_BLOCKS == 0 or block & (block - 1) == 0:
                self._choose_anchor(*ends)
            anchor, settled = self._settled
            if anchor < 0:
                wrong = int(join_edges(*ends, self._parent))
            else:
                wrong = int(join_settling(*ends, self._parent, settled, anchor))
            if wrong >= 0:
                n = self._parent.size
                outside = next(int(end[wrong]) for end in ends if not 0 <= end[wrong] < n)
                raise UsageError(f"vertices must lie in [0, {n:,}) (got {outside:,})")

    def _choose_anchor(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Choose the component that most of a sample of edges is in, if there is such a one.

        Other threads go on with the bitmap that they have, which stays right.
        """
        n, parent = self._parent.size, self._parent
        sample = np.concatenate([ends[:: max(1, ends.size // _SAMPLES)] for ends in (src, dst)])
        sample = sample[(sample >= 0) & (sample < n)]
        roots, counts = np.unique(_find_roots(parent, sample), return_counts=True)
        if not roots.size or counts.max() * _MIN_SHARE < sample.size:
            return
        anchor, previous = int(roots[counts.argmax()]), self._settled
        if previous.anchor < 0 or root(parent, parent[previous.anchor]) != anchor:
            self._settled = _Settled(anchor, np.zeros_like(previous.bits))

    def merge(self, labels: np.ndarray, threads: int) -> None:
        """Add the components that other edges form. labels: what ``labels`` returned for them."""
        self._in_threads(_join_labels, threads, labels)

    def labels(self, threads: int) -> np.ndarray:
        """Return the smallest vertex of each vertex's component: all is flattened, in place."""
        self._in_threads(flatten, threads)
        return self._parent

    def _in_threads(self, function: Any, threads: int, *arguments: Any) -> None:
        def work(piece: slice) -> None:
            function(self._parent, *arguments, piece.start, piece.stop)

        cancellation.map_in_threads(work, _pieces(self._parent.size), threads)


def _pieces(size: int) -> list[slice]:
    """Return the pieces of an array of that size for threads."""
    steps = range(0, size, cancellation.CHUNK)
    return [slice(start, min(start + cancellation.CHUNK, size)) for start in steps]


@compiled
def join_settling(src, dst, parent, settled, anchor):
    """Do the same as ``join_edges``, with the bitmap of the vertices in the anchor's component."""
    n, top = np.uint64(parent.size), np.uint64(anchor)
    for i in range(src.size):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u >= n or v >= n:
            return i
        has_u = (settled[u >> _3] >> (u & _7)) & _1
        has_v = (settled[v >> _3] >> (v & _7)) & _1
        if has_u & has_v:
            continue
        if has_u | has_v:
            other = v if has_u else u
            join(parent, parent[other], parent[top])
            settled[other >> _3] |= np.uint8(_1 << (other & _7))
            continue
        a, b = parent[u], parent[v]
        if a != b:
            join(parent, a, b)
        if root(parent, a) == root(parent, parent[top]):
            settled[u >> _3] |= np.uint8(_1 << (u & _7))
            settled[v >> _3] |= np.uint8(_1 << (v & _7))
    return -1


@compiled
def _find_roots(parent, vertices):
    """Return the roots of some vertices."""
    roots = np.empty(vertices.size, parent.dtype)
    for i in range(vertices.size):
        roots[i] = root(parent, parent[np.uint64(vertices[i])])
    return roots


@compiled
def _join_labels(parent, labels, first, stop):
    """Join vertices ``first`` to ``stop`` with what they are labelled by."""
    for v in range(np.uint64(first), np.uint64(stop)):
        if parent[v] != parent[np.uint64(labels[v])]:
            join(parent, parent[v], labels[v])


def count_labels(labels: np.ndarray) -> np.ndarray:
    """Count how often each vertex is a label: ``(n,)``, in the labels' type."""
    counts = np.zeros(labels.size, labels.dtype)  # memory that is not touched is not taken
    for piece in cancellation.chunks(labels.size):
        _count(labels[piece], counts)
    return counts


def list_counted(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that occur, in the labels' type, and how often, int64."""
    number = np.count_nonzero(counts)
    labels, sizes = np.empty(number + 1, counts.dtype), np.empty(number + 1, np.int64)
    _list_counted(counts, labels, sizes)
    return labels[:number], sizes[:number]


def order_by_size(sizes: np.ndarray) -> np.ndarray:
    """Return the order from the largest size to the smallest, int64; equal ones keep theirs.

    Two passes: nearly all sizes of a graph are small, and each of these has its place counted.
    """
    order = np.empty(sizes.size, np.int64)
    large = _order_by_size(sizes, np.zeros(_LARGE + 1, np.int64), order)
    order[:large] = order[:large][np.argsort(-sizes[order[:large]], kind="stable")]
    return order


@compiled
def _list_counted(counts, labels, sizes):
    """Write the positions of elements that are not 0, and these: one place more, not to branch."""
    place = np.uint64(0)
    for v in range(np.uint64(counts.size)):
        labels[place], sizes[place] = v, counts[v]
        place += np.uint64(counts[v] != 0)


@compiled
def _order_by_size(sizes, places, order):
    """Order by descending size, all from ``_LARGE`` on as equals; return how many these are."""
    for size in sizes:
        places[np.uint64(min(size, _LARGE))] += 1
    large, place = places[_LARGE], 0
    for size in range(_LARGE, -1, -1):
        places[size], place = place, place + places[size]
    for i in range(sizes.size):
        size = np.uint64(min(sizes[i], _LARGE))
        order[places[size]] = i
        places[size] += 1
    return large


@compiled
def _count(labels, counts):
    """Count labels; of equal ones that follow each other all at once."""
    label, run = labels[0], 0
    for each in labels:
        if each == label:
            run += 1
        else:
            counts[np.uint64(label)] += run
            label, run = each, 1
    counts[np.uint64(label)] += run
