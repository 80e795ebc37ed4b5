"""One rank's steps of ``partitioned_forest`` on cores: blocks of edges, shared by threads."""

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
        self._components = n
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
        keys = np.full(self._components, _NONE, np.uint64)
        self._map(lambda edges: _offer_keys(edges.components, edges.key, keys), self._listed)
        return keys

    def least_ends(self, keys: np.ndarray) -> np.ndarray:
        """Return the least ends of the listed edges with a component's least key, packed."""
        ends = np.full(self._components, _NONE, np.uint64)
        self._map(lambda edges: _offer_ends(*edges, keys, ends), self._listed)
        return ends

    def contract(self, keys: np.ndarray, ends: np.ndarray, share: slice) -> None:
        """Unite the components that each one's least edge connects.

        share: of the components, whose edges join the forest at this rank.
        """
        parent = _hook(keys, ends, self._labels)
        numbers = np.arange(self._components, dtype=np.uint32)
        joins = np.flatnonzero(parent[share] != numbers[share]) + share.start
        self._joined.append((ends[joins], weights_of(keys[joins], self._no_weights.dtype)))
        _flatten(parent)
        is_root = parent == numbers
        following = (np.cumsum(is_root, dtype=np.uint32) - np.uint32(1))[parent]
        self._components = int(is_root.sum())

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
        """Return packed ends and weights of the edges that joined the forest, see ``arrange``."""
        joined, self._joined = self._joined, []
        del self._labels, self._listed
        return self.arrange(joined)

    def arrange(
        self, parts: Sequence[tuple[np.ndarray, np.ndarray]], *, ascends: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return edges in ascending order of ends.

        parts: pairs of packed ends and weights; weights are ignored if there are none. ascends:
        whether they are in order.
        """
        ends = np.concatenate([np.empty(0, np.uint64), *(ends for ends, _ in parts)])
        weight = self._no_weights
        if self._has_weights:
            weight = np.concatenate([weight, *(weight for _, weight in parts)])
        if ascends:
            return ends, weight
        order = np.argsort(ends)
        return ends[order], weight[order] if weight.size else weight

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
def _hook(keys, ends, labels):
    """Return the component that each one joins; of two that choose the same edge, one stays."""
    parent = np.empty(keys.size, np.uint32)
    for c in range(np.uint64(keys.size)):
        parent[c] = np.uint32(c)
        if ends[c] == _NONE:
            continue
        other = np.uint64(labels[ends[c] >> _HALF])
        if other == c:
            other = np.uint64(labels[ends[c] & _LOW])
        is_mutual = ends[other] == ends[c] and keys[other] == keys[c]
        if not (is_mutual and c < other):
            parent[c] = np.uint32(other)
    return parent


@compiled_without_counts
def _flatten(parent):
    for c in range(np.uint64(parent.size)):
        root = np.uint64(parent[c])
        while parent[root] != root:
            root = np.uint64(parent[root])
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
