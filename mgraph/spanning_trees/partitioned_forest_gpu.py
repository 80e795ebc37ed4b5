"""One rank's steps of ``partitioned_forest`` on a GPU: launches of ``partitioned_forest.cu``."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.core.edges import EdgeList
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import copy, copy_into
from mgraph.cuda.source import C_TYPES, Source

_VERTICES = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # by size in bytes
KERNELS = Source(
    __package__,
    "partitioned_forest.cu",
    check=tuple(
        (("MGRAPH_VERTEX_T", vertex_t), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex_t, weight_t in itertools.product(_VERTICES.values(), C_TYPES.values())
    ),
)
_NONE = (1 << 64) - 1
_FULL = 0.75  # of the room for a list
_LIGHT_ROOM = 1.06  # for light edges: their share is known by a sample, mostly within 1 %
_CROSSING_SHARE = 1 / 6  # of the edges, for which there is room before they are counted


class _Declared(NamedTuple):
    """Structs that the source declares."""

    edge_block: StructType
    edge_list: StructType


@functools.cache
def _read_declarations(**macros: str) -> _Declared:
    return _Declared(*(KERNELS.struct(name, None, **macros) for name in _Declared._fields))


class _List(NamedTuple):
    """Listed edges: packed ends, packed components or None, weights or None."""

    ends: Any
    components: Any
    weight: Any

    def shortened(self, size: int) -> "_List":
        """Return the first edges, without the memory of the others if that is much."""
        kept = [None if column is None else column[:size] for column in self]
        if size <= _FULL * self.ends.size:
            kept = [None if column is None else copy(column) for column in kept]
        return _List(*kept)


class Steps:
    """A rank's edges, and the components of all vertices, while the forest grows."""

    def __init__(self, n: int, blocks: list[EdgeList], threads: int) -> None:
        """Take a rank's edges, in blocks of any length; ``blocks`` is emptied."""
        import cupy

        self._n, self.components = n, n
        self._blocks = [EdgeList(*map(cupy.asarray, block)) for block in blocks]
        blocks.clear()
        block = self._blocks[0]
        self._weight_dtype = None if block.weight is None else block.weight.dtype
        self._macros = {
            "MGRAPH_VERTEX_T": _VERTICES[block.src.dtype.itemsize],
            "MGRAPH_WEIGHT_T": C_TYPES[str(self._weight_dtype or "int32")],
        }
        is_wide = np.dtype(self._weight_dtype or "int32").itemsize == 8
        self._key_dtype = np.uint64 if is_wide else np.uint32
        self._declared = _read_declarations(**self._macros)
        self._maps: list[Any] = []  # of each round: the components' new numbers, at first vertices'
        self._joined: list[_List] = []

    def _launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(f"forest_{name}", arguments, **self._macros)

    def _new_list(self, size: int, *, components: bool = False) -> _List:
        import cupy

        weight = None if self._weight_dtype is None else cupy.empty(size, self._weight_dtype)
        numbers = cupy.empty(size, np.uint64) if components else None
        return _List(cupy.empty(size, np.uint64), numbers, weight)

    def _pack(self, edges: _List) -> Any:
        columns = {name: 0 if array is None else array for name, array in edges._asdict().items()}
        return self._declared.edge_list.pack(columns | {"count": edges.ends.size})

    def _none_per_component(self, dtype: Any = np.uint64) -> Any:
        return primitives_gpu.full(self.components, np.iinfo(dtype).max, dtype)

    def _packed_blocks(self) -> list[Any]:
        return [
            self._declared.edge_block.pack(
                {
                    "src": block.src, "dst": block.dst, "count": len(block),
                    "weight": 0 if block.weight is None else block.weight,
                }
            )
            for block in self._blocks
            if len(block)
        ]  # fmt: skip

    def _list_between(self, size: int, launch: Any) -> None:
        """List edges between components, and offer their keys. size: how many there may be.

        launch: lists edges, as far as there is room, when it is called with a packed list, the
        components' least keys, and the counter of what passes; twice if there was no room.
        """
        while True:
            edges, listed = (
                self._new_list(size, components=True),
                primitives_gpu.full(1, 0, np.uint64),
            )
            self._keys = self._none_per_component(self._key_dtype)
            launch(self._pack(edges), self._keys, listed)
            found = int(listed.get()[0])
            if found <= size:
                self._listed = edges.shortened(found)
                return
            size = found

    def check(self) -> np.ndarray:
        """Count ends outside [0, n), weights that are NaN, and -inf and inf but of loops."""
        found = primitives_gpu.full(4, 0, np.uint64)
        for block in self._packed_blocks():
            self._launch("check", block, np.uint64(self._n), found)
        counts: np.ndarray = found.get()
        return counts

    @property
    def edges(self) -> int:
        """The number of the rank's edges."""
        return sum(map(len, self._blocks))

    def sample_keys(self, places: int) -> np.ndarray:
        """Return the keys of about so many edges, evenly spaced; none without weights."""
        import cupy

        sampled = [np.empty(0, np.uint64)]
        for block in self._blocks:
            if block.weight is not None and len(block):
                share = -(-places * len(block) // self.edges)
                keys = cupy.empty(share, np.uint64)
                sizes = np.int64(len(block)), np.int64(share)
                self._launch("sample_keys", block.weight, *sizes, keys)
                sampled.append(keys.get())
        return np.concatenate(sampled)

    def list_light(self, bound: np.uint64, expected: float) -> None:
        """List the edges whose keys are at most ``bound``. expected: about how many there are."""
        self._select(bound, np.uint64(0), int(_LIGHT_ROOM * expected))

    def list_crossing(self) -> None:
        """List the edges between components."""
        while len(self._maps) > 1:
            following = self._maps.pop()
            self._launch("relabel", self._maps[-1], np.int64(self._maps[-1].size), following)
        labels = self._maps[0] if self._maps else np.uint64(0)
        self._select(np.uint64(_NONE), labels, int(_CROSSING_SHARE * self.edges))

    def _select(self, bound: np.uint64, labels: Any, size: int) -> None:
        def launch(*arguments: Any) -> None:
            for block in self._packed_blocks():
                self._launch("select", block, bound, labels, *arguments)

        self._list_between(size, launch)

    def forget_edges(self) -> None:
        """Release the memory of edges that are not listed."""
        self._blocks.clear()

    @property
    def listed(self) -> int:
        """The number of listed edges."""
        return int(self._listed.ends.size)

    def least_keys(self) -> Any:
        """Return for each component the least key of the listed edges that leave it."""
        return self._keys

    def least_ends(self, keys: Any) -> Any:
        """Return the least ends of the listed edges with a component's least key, packed."""
        ends = self._none_per_component()
        self._launch("offer_ends", self._pack(self._listed), keys, ends)
        return ends

    def hook(self, ends: Any, share: slice) -> Any:
        """Return for each component of a share the one that its least edge leads to, or itself.

        ends: of the share's least edges.
        """
        import cupy

        parents = cupy.empty(ends.size, np.uint32)
        maps = cupy.asarray(np.array([each.data.ptr for each in self._maps] or [0], np.uint64))
        part = np.int64(share.start), np.int64(share.stop)
        self._launch("hook", ends, maps, np.int32(len(self._maps)), *part, parents)
        return parents

    def join(self, keys: Any, ends: Any, parents: Any, share: slice) -> None:
        """Let the least edges of a share of the components join the forest, each edge once.

        keys, parents: of all components. ends: of the share.
        """
        joined = self._new_list(share.stop - share.start)
        listed = primitives_gpu.full(1, 0, np.uint64)
        part = np.int64(share.start), np.int64(share.stop)
        self._launch("join", keys, ends, parents, *part, self._pack(joined), listed)
        self._joined.append(joined.shortened(int(listed.get()[0])))

    def find_roots(self, parents: Any, share: slice) -> Any:
        """Return the root of each component of a share. parents: of all; they are changed."""
        part = np.int64(share.start), np.int64(share.stop)
        more = primitives_gpu.full(1, 1, np.uint32)
        while more.get()[0]:
            primitives_gpu.fill(more, 0)
            self._launch("jump", parents, *part, more)
        return parents[share]

    def contract(self, roots: Any) -> None:
        """Unite the components that have a root in common, and keep the edges between others."""
        import cupy

        components, numbers = np.int64(roots.size), cupy.empty(roots.size, np.uint32)
        self._launch("number", roots, components, numbers)
        primitives_gpu.accumulate(numbers)
        self._launch("rename", roots, components, numbers)
        self.components = int(numbers[-1:].get()[0])
        del numbers, self._keys
        self._maps.append(roots)
        listed_before = self._pack(self._listed)

        def keep(*arguments: Any) -> None:
            self._launch("keep", listed_before, roots, *arguments)

        self._list_between(self.listed, keep)

    def forest(self) -> tuple[Any, Any]:
        """Return packed ends and weights of the edges that joined the forest, in any order.

        Weights are ignored if there are none.
        """
        joined, self._joined = self._joined, []
        del self._maps, self._listed, self._keys
        return self._columns(self._concatenate([(edges.ends, edges.weight) for edges in joined]))

    def divide(self, ends: Any, weight: Any, bounds: Sequence[int]) -> list[tuple[Any, Any]]:
        """Return the edges whose packed ends are between each bound and the next one."""
        edges = _List(ends, None, None if self._weight_dtype is None else weight)
        packed, ranges = self._pack(edges), list(itertools.pairwise(map(np.uint64, bounds)))
        counts = primitives_gpu.full(len(ranges), 0, np.uint64)
        nowhere = self._pack(self._new_list(0))

        def select(index: int, into: Any) -> None:
            self._launch("divide", packed, *ranges[index], into, counts[index : index + 1])

        for index in range(len(ranges)):
            select(index, nowhere)
        pieces = [self._new_list(count) for count in counts.get().tolist()]
        primitives_gpu.fill(counts, 0)
        for index, piece in enumerate(pieces):
            select(index, self._pack(piece))
        return [self._columns(piece) for piece in pieces]

    def arrange(self, parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return edges in ascending order of ends.

        parts: pairs of packed ends and weights; weights are ignored if there are none.
        """
        import cupy

        whole = self._concatenate(parts)
        arranged, order = self._new_list(whole.ends.size), cupy.argsort(whole.ends)
        self._launch("arrange", self._pack(whole), order, self._pack(arranged))
        return self._columns(arranged)

    def _concatenate(self, parts: Sequence[tuple[Any, Any]]) -> _List:
        whole, first = self._new_list(sum(ends.size for ends, _ in parts)), 0
        for ends, weight in parts:
            stop = first + ends.size
            copy_into(whole.ends[first:stop], ends)
            if whole.weight is not None:
                copy_into(whole.weight[first:stop], weight)
            first = stop
        return whole

    def _columns(self, edges: _List) -> tuple[Any, Any]:
        """Return packed ends, and weights, of which there is none if edges have none."""
        import cupy

        return edges.ends, cupy.empty(0, np.int32) if edges.weight is None else edges.weight

    def sample_ends(self, ends: Any, places: int) -> np.ndarray:
        """Return the values at so many places of an array of packed ends, evenly spaced."""
        import cupy

        sampled = cupy.empty(places if ends.size else 0, np.uint64)
        if ends.size:
            self._launch("sample", ends, np.int64(ends.size), np.int64(places), sampled)
        on_host: np.ndarray = sampled.get()
        return on_host

    def unpack(self, ends: Any, dtype: Any) -> tuple[Any, Any]:
        """Return the larger and the smaller ends."""
        import cupy

        src, dst = cupy.empty(ends.size, dtype), cupy.empty(ends.size, dtype)
        macros = self._macros | {"MGRAPH_VERTEX_T": _VERTICES[np.dtype(dtype).itemsize]}
        KERNELS.launch("forest_unpack", (ends, np.int64(ends.size), src, dst), **macros)
        return src, dst
