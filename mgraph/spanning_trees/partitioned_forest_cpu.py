"""One rank's steps of ``partitioned_forest`` on cores: blocks of edges, shared by threads."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.compiled import compiled, compiled_without_counts
from mgraph.core.edges import EdgeList
from mgraph.core.union_find_cpu import compare_and_swap
from mgraph.spanning_trees.weight_keys import order_keys, weights_of

_BLOCK_EDGES = 1 << 21
_NONE = np.uint64((1 << 64) - 1)
_HALF, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)


class _Edges(NamedTuple):
    """Listed edges. ends, components: packed. key: in the order of weights."""

    ends: np.ndarray
    components: np.ndarray
    key: np.ndarray


class Steps:
    """A rank's edges, and the components of all vertices, while the forest grows."""

    def __init__(self, n: int, blocks: list[EdgeList], threads: int) -> None:
        """Take a rank's edges, in blocks of any length; ``blocks`` is emptied."""
        self._n, self._threads = n, threads
        self._blocks = [
            block.rows(first, min(first + _BLOCK_EDGES, len(block)))
            for block in blocks
            for first in range(0, len(block), _BLOCK_EDGES)
        ]
        weight = blocks[0].weight
        self._has_weights = weight is not None
        self._no_weights = np.empty(0, np.int32 if weight is None else weight.dtype)
        blocks.clear()
        self._labels = np.arange(n, dtype=np.uint32)
        self.components = n
        self._listed: list[_Edges] = []
        self._joined: list[tuple[np.ndarray, np.ndarray]] = []

    def _map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return cancellation.map_in_threads(function, items, self._threads)

    def check(self) -> np.ndarray:
        """Count ends outside [0, n), weights that are NaN, and -inf and inf but of loops."""

        def check(block: EdgeList) -> list[int]:
            beyond = sum(end.min() < 0 or end.max() >= self._n for end in (block.src, block.dst))
            if block.weight is None or np.isfinite(block.weight).all():
                return [beyond, 0, 0, 0]
            weight = block.weight[block.src != block.dst]
            nan = np.count_nonzero(np.isnan(block.weight))
            return [beyond, nan, *(np.count_nonzero(weight == sign * np.inf) for sign in (-1, 1))]

        return np.sum([[0] * 4, *self._map(check, self._blocks)], axis=0)

    @property
    def edges(self) -> int:
        """The number of the rank's edges."""
        return sum(map(len, self._blocks))

    def sample_keys(self, places: int) -> np.ndarray:
        """Return the keys of about so many edges, evenly spaced; none without weights."""
        step = max(1, self.edges // places)
        sampled = [
            order_keys(np.ascontiguousarray(block.weight[::step])).astype(np.uint64)
            for block in self._blocks
            if block.weight is not None
        ]
        return np.concatenate([np.empty(0, np.uint64), *sampled])

    def list_light(self, bound: np.uint64, expected: float) -> None:
        """List the edges whose keys are at most ``bound``. expected: about how many there are."""
        self._select(lambda src, dst, key: (key <= bound) & (src != dst))

    def list_crossing(self) -> None:
        """List the edges between components."""
        self._select(lambda src, dst, key: self._labels[src] != self._labels[dst])

    def _select(self, test: Callable[..., np.ndarray]) -> None:
        def select(block: EdgeList) -> _Edges:
            src, dst = np.asarray(block.src), np.asarray(block.dst)
            key = np.zeros(len(block), np.uint32)
            if block.weight is not None:
                key = order_keys(np.asarray(block.weight))
            chosen = test(src, dst, key)
            src, dst = src[chosen].astype(np.uint64), dst[chosen].astype(np.uint64)
            larger, smaller = np.maximum(src, dst), np.minimum(src, dst)
            components = self._labels[larger].astype(np.uint64) << _HALF | self._labels[smaller]
            return _Edges(larger << _HALF | smaller, components, key[chosen])

        self._listed = [edges for edges in self._map(select, self._blocks) if edges.ends.size]

    def forget_edges(self) -> None:
        """Release the memory of edges that are not listed."""
        self._blocks.clear()

    @property
    def listed(self) -> int:
        """The number of listed edges."""
        return sum(edges.ends.size for edges in self._listed)

    def least_keys(self) -> np.ndarray:
        """Return for each component the least key of the listed edges that leave it."""
        keys = np.full(self.components, _NONE, np.uint64)
        self._map(lambda edges: _offer_keys(edges.components, edges.key, keys), self._listed)
        return keys

    def least_ends(self, keys: np.ndarray) -> np.ndarray:
        """Return the least ends of the listed edges with a component's least key, packed."""
        ends = np.full(self.components, _NONE, np.uint64)
        self._map(lambda edges: _offer_ends(*edges, keys, ends), self._listed)
        return ends

    def hook(self, ends: np.ndarray, share: slice) -> np.ndarray:
        """Return for each component of a share the one that its least edge leads to, or itself.

        ends: of the share's least edges.
        """
        parents: np.ndarray = _hook(ends, self._labels, share.start)
        return parents

    def join(self, keys: np.ndarray, ends: np.ndarray, parents: np.ndarray, share: slice) -> None:
        """Let the least edges of a share of the components join the forest, each edge once.

        keys, parents: of all components. ends: of the share.
        """
        numbers, to = np.arange(share.start, share.stop, dtype=np.uint32), parents[share]
        is_root = (to == numbers) | ((parents[to] == numbers) & (numbers < to))
        joins = np.flatnonzero(~is_root)
        weight = weights_of(keys[share][joins], self._no_weights.dtype)
        self._joined.append((ends[joins], weight))

    def find_roots(self, parents: np.ndarray, share: slice) -> np.ndarray:
        """Return the root of each component of a share. parents: of all; they are changed."""
        _flatten(parents, share.start, share.stop)
        return parents[share]

    def contract(self, roots: np.ndarray) -> None:
        """Unite the components that have a root in common, and keep the edges between others."""
        is_root = roots == np.arange(roots.size, dtype=np.uint32)
        following = (np.cumsum(is_root, dtype=np.uint32) - np.uint32(1))[roots]
        self.components = int(is_root.sum())

        def keep(edges: _Edges) -> _Edges:
            components = edges.components.copy()
            _rename_pairs(components, following)
            kept = (components >> _HALF) != (components & _LOW)
            return _Edges(edges.ends[kept], components[kept], edges.key[kept])

        self._listed = [kept for kept in self._map(keep, self._listed) if kept.ends.size]
        pieces = [
            self._labels[first : first + _BLOCK_EDGES] for first in range(0, self._n, _BLOCK_EDGES)
        ]
        self._map(lambda piece: _rename(piece, following), pieces)

    def forest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return packed ends and weights of the edges that joined the forest, in any order.

        Weights are ignored if there are none.
        """
        joined, self._joined = self._joined, []
        del self._labels, self._listed
        return self._concatenate(joined)

    def divide(
        self, ends: np.ndarray, weight: np.ndarray, bounds: Sequence[int]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the edges whose packed ends are between each bound and the next one."""
        pieces = []
        for low, high in itertools.pairwise(map(np.uint64, bounds)):
            chosen = (ends >= low) & (ends < high)
            pieces.append((ends[chosen], weight[chosen] if weight.size else weight))
        return pieces

    def arrange(
        self, parts: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return edges in ascending order of ends.

        parts: pairs of packed ends and weights; weights are ignored if there are none.
        """
        ends, weight = self._concatenate(parts)
        order = np.argsort(ends)
        return ends[order], weight[order] if weight.size else weight

    def _concatenate(
        self, parts: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        ends = np.concatenate([np.empty(0, np.uint64), *(ends for ends, _ in parts)])
        weight = self._no_weights
        if self._has_weights:
            weight = np.concatenate([weight, *(weight for _, weight in parts)])
        return ends, weight

    def sample_ends(self, ends: np.ndarray, places: int) -> np.ndarray:
        """Return the values at so many places of an array of packed ends, evenly spaced."""
        return ends[np.arange(places if ends.size else 0) * ends.size // places]

    def unpack(self, ends: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the larger and the smaller ends."""
        return (ends >> _HALF).astype(dtype), (ends & _LOW).astype(dtype)


@compiled_without_counts
def _lower(array, index, value):
    """Lower an element to a value, while other threads may do so as well."""
    known = array[index]
    while value < known:
        previous = compare_and_swap(array, index, known, value)
        if previous == known:
            break
        known = previous


@compiled_without_counts
def _offer_keys(components, key, least):
    for i in range(components.size):
        value = np.uint64(key[i])
        _lower(least, components[i] >> _HALF, value)
        _lower(least, components[i] & _LOW, value)


@compiled_without_counts
def _offer_ends(ends, components, key, keys, least):
    for i in range(ends.size):
        value = np.uint64(key[i])
        a, b = components[i] >> _HALF, components[i] & _LOW
        if keys[a] == value:
            _lower(least, a, ends[i])
        if keys[b] == value:
            _lower(least, b, ends[i])


@compiled
def _hook(ends, labels, first):
    """Return the component that each one's least edge leads to, or itself without an edge."""
    parent = np.empty(ends.size, np.uint32)
    for i in range(np.uint64(ends.size)):
        c = np.uint32(first + i)
        parent[i] = c
        if ends[i] != _NONE:
            other = labels[ends[i] >> _HALF]
            parent[i] = labels[ends[i] & _LOW] if other == c else other
    return parent


@compiled_without_counts
def _flatten(parent, first, stop):
    """Let components from first to stop point to their roots, as ``forest_jump`` does."""
    for c in range(np.uint64(first), np.uint64(stop)):
        at = np.uint64(c)
        above = np.uint64(parent[at])
        following = np.uint64(parent[above])
        while following not in (above, at):
            at, above = above, following
            following = np.uint64(parent[above])
        root = above if following == above else min(at, above)
        parent[root] = np.uint32(root)
        at = np.uint64(c)
        while at != root:
            following = np.uint64(parent[at])
            parent[at] = np.uint32(root)
            at = following


@compiled_without_counts
def _rename(labels, following):
    for i in range(labels.size):
        labels[i] = following[labels[i]]


@compiled_without_counts
def _rename_pairs(pairs, following):
    for i in range(pairs.size):
        upper, lower = following[pairs[i] >> _HALF], following[pairs[i] & _LOW]
        pairs[i] = np.uint64(upper) << _HALF | np.uint64(lower)
