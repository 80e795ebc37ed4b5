"""The steps of ``build`` on cores."""

from typing import Any

import numpy as np

from mgraph.core import csr_cpu
from mgraph.core.compiled import compiled_when_hot
from mgraph.core.edges import EdgeList
from mgraph.partitioned.edge_source import Request, check_locals
from mgraph.partitioned.exchange import Message
from mgraph.partitioned.partition import Partition


class Steps:
    """One rank's rows while they are built."""

    def __init__(self, request: Request) -> None:
        """Allocate nothing yet."""
        self.request = request

    def to_backend(self, block: EdgeList) -> EdgeList:
        """Return a block in the memory where it is used."""
        return block

    def begin_survey(self, buckets: int, shift: int) -> None:
        """Begin to count arcs by bucket."""
        self._buckets, self._shift, self._invalid = np.zeros(buckets, np.int64), shift, 0

    def survey(self, block: EdgeList) -> None:
        """Add the arcs of a block to the counts of their tails' buckets."""
        n, directed = np.uint64(self.request.n), self.request.directed
        columns = block.src, block.dst, self._buckets, np.uint64(self._shift)
        self._invalid += int(_count_buckets(*columns, n, directed))

    def end_survey(self) -> tuple[np.ndarray, int]:
        """Return the arcs of each bucket, and the number of edges with an invalid end."""
        return self._buckets, self._invalid

    def begin(self, partition: Partition, rank: int) -> None:
        """Allocate the rank's row counts, and a bit per vertex of the graph for ghosts."""
        self._partition, self._rank = partition, rank
        own = partition.owned(rank)
        self._first, self._owned = own.start, len(own)
        self._indptr = np.zeros(self._owned + 1, np.int64)
        self._is_head = np.zeros(-(-partition.n // 64), np.uint64)

    def outgoing(
        self, block: EdgeList | None, partition: Partition, *, weights: bool
    ) -> list[Message]:
        """Return the arcs of the edges by the owner of their tail. block: None for no edges."""
        request, size = self.request, partition.bounds.size - 1
        has_weights = weights and request.weight_dtype is not None
        dtype = request.weight_dtype if has_weights else np.dtype(np.uint8)
        src: Any = np.empty(0, request.head_dtype)
        dst: Any = src
        if block is not None:
            src, dst = block.src, block.dst
        weight = block.weight if has_weights and block is not None else np.empty(0, dtype)
        ends = np.zeros(size, np.int64)
        _count_owners(src, dst, partition.bounds, request.directed, ends)
        ends = np.cumsum(ends)
        starts, total = ends.copy(), int(ends[-1])
        starts[1:], starts[0] = ends[:-1], 0
        tails, heads = np.empty(total, np.uint32), np.empty(total, request.head_dtype)
        sent = np.empty(total if has_weights else 0, dtype)
        begins = starts.copy()
        _divide(
            src, dst, weight, partition.bounds, request.directed, starts, tails, heads, sent,
            np.bool_(has_weights),
        )  # fmt: skip
        columns = (tails, heads, sent) if has_weights else (tails, heads)
        return [
            tuple(column[first:stop] for column in columns)
            for first, stop in zip(begins.tolist(), ends.tolist(), strict=True)
        ]

    def count(self, tails: Any, heads: Any) -> None:
        """Count arcs by row, and note their heads."""
        _count(tails, heads, self._indptr, self._is_head)

    def number(self) -> tuple[np.ndarray, np.ndarray]:
        """Number own vertices and ghosts; return ghosts' positions, and each owner's bounds."""
        self._indptr = np.cumsum(self._indptr)
        own = self._partition.owned(self._rank)
        _clear_range(self._is_head, own.start, own.stop)
        before = np.zeros(self._is_head.size + 1, np.int64)
        _count_bits(self._is_head, before)
        total = int(before[-1])
        check_locals(self._owned, total)
        ghosts, bounds = np.empty(total, np.uint32), self._partition.bounds
        ghost_bounds = np.zeros(bounds.size, np.int64)
        _list_ghosts(self._is_head, bounds, ghosts, ghost_bounds)
        self._before, self._below = before, int(ghost_bounds[self._rank])
        arcs = int(self._indptr[-1])
        self._heads = np.empty(arcs, np.uint32)
        dtype = self.request.weight_dtype
        self._weights = np.empty(0 if dtype is None else arcs, dtype or np.int32)
        self._cursor = self._indptr[:-1].copy()
        return ghosts, ghost_bounds

    def place(self, tails: Any, heads: Any, weights: Any = None) -> None:
        """Put arcs into their rows. A weight of -0.0 becomes 0."""
        weights = self._weights[:0] if weights is None else weights + weights.dtype.type(0)
        _place(
            tails, heads, weights, self._cursor, self._heads, self._weights, self._is_head,
            self._before, np.int64(self._first), np.int64(self._owned), np.int64(self._below),
        )  # fmt: skip

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Sort the rows; return where they begin, heads and weights."""
        del self._cursor, self._is_head, self._before
        if self.request.weight_dtype is None:
            csr_cpu.sort_rows(self._indptr, self._heads, self._weights)
            return self._indptr, self._heads, None
        csr_cpu.sort_rows_by_weight(self._indptr, self._heads, self._weights)
        return self._indptr, self._heads, self._weights


@compiled_when_hot
def _count_buckets(src, dst, counts, shift, n, directed):
    invalid = 0
    for i in range(src.size):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u >= n or v >= n:  # also where one is negative
            invalid += 1
        elif u != v:
            counts[u >> shift] += 1
            if not directed:
                counts[v >> shift] += 1
    return invalid


@compiled_when_hot
def _owner(vertex, bounds):
    owner = 0
    while vertex >= bounds[owner + 1]:
        owner += 1
    return owner


@compiled_when_hot
def _count_owners(src, dst, bounds, directed, counts):
    for i in range(src.size):
        if src[i] != dst[i]:
            counts[_owner(src[i], bounds)] += 1
            if not directed:
                counts[_owner(dst[i], bounds)] += 1


@compiled_when_hot
def _divide(src, dst, weight, bounds, directed, cursor, tails, heads, sent, has_weights):
    for i in range(src.size):
        u, v = np.int64(src[i]), np.int64(dst[i])
        if u == v:
            continue
        for is_mirror in range(1 if directed else 2):
            tail, head = (v, u) if is_mirror else (u, v)
            owner = _owner(tail, bounds)
            position = np.uint64(cursor[owner])
            cursor[owner] += 1
            tails[position] = tail - bounds[owner]
            heads[position] = head
            if has_weights:
                sent[position] = weight[i]


@compiled_when_hot
def _count(tails, heads, indptr, is_head):
    for i in range(tails.size):
        indptr[np.uint64(tails[i]) + np.uint64(1)] += 1
        head = np.uint64(heads[i])
        is_head[head >> np.uint64(6)] |= np.uint64(1) << (head & np.uint64(63))


@compiled_when_hot
def _clear_range(bits, first, stop):
    for vertex in range(first, stop):
        v = np.uint64(vertex)
        bits[v >> np.uint64(6)] &= ~(np.uint64(1) << (v & np.uint64(63)))


@compiled_when_hot
def _bit_count(word):
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word += word >> np.uint64(8)
    word += word >> np.uint64(16)
    word += word >> np.uint64(32)
    return word & np.uint64(127)


@compiled_when_hot
def _count_bits(bits, before):
    """Fill ``before``: the bits that are set in earlier words."""
    for i in range(bits.size):
        before[i + 1] = before[i] + np.int64(_bit_count(bits[i]))


@compiled_when_hot
def _list_ghosts(bits, bounds, ghosts, ghost_bounds):
    count, owner = 0, 0
    for i in range(bits.size):
        word = bits[i]
        vertex = 64 * i
        while word:
            if word & np.uint64(1):
                while vertex >= bounds[owner + 1]:
                    owner += 1
                    ghost_bounds[owner] = count
                ghosts[count] = vertex - bounds[owner]
                count += 1
            word >>= np.uint64(1)
            vertex += 1
    for later in range(owner + 1, bounds.size):
        ghost_bounds[later] = count


@compiled_when_hot
def _place(
    tails, heads, weights, cursor, out_heads, out_weights, bits, before, first, owned, below
):
    for i in range(tails.size):
        tail = np.uint64(tails[i])
        position = np.uint64(cursor[tail])
        cursor[tail] += 1
        head = np.int64(heads[i])
        if first <= head < first + owned:
            local = below + head - first
        else:
            word, bit = np.uint64(head >> 6), np.uint64(head & 63)
            earlier = bits[word] & ((np.uint64(1) << bit) - np.uint64(1))
            local = before[word] + np.int64(_bit_count(earlier))
            if head >= first:
                local += owned
        out_heads[position] = local
        if weights.size:
            out_weights[position] = weights[i]
