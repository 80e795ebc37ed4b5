"""The device memory of STAR's searches: what a group of blocks works in, and how many there are.

Bytes of a group, of n vertices and lengths of b bytes: (4·b + 24)·n and a queue of at most 2^20
pieces of 24 + 2·b. A team of groups also has its query's tree, four times.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import csr_gpu, rows_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import multiprocessors
from mgraph.errors import UsageError
from mgraph.shortest_paths.length_types_gpu import key_dtype, length_defines

THREADS = 512  # of a block, which has a multiprocessor to itself, and so more registers
_SPECULATION = 16  # loose paths of a query that are searched for at a time, at most,
_PATHS_OF_A_GROUP = 3  # and so many times fewer than there are
_STEPS = 4  # as in arc_queue.cuh
_MOST_PIECES = 1 << 20
SHARED_COUNTERS_BYTES = 640  # at most, on which the blocks of a group tell each other what they do
_STATE_BYTES = 64  # of a team
_TREES_BYTES = 1 << 32  # of all teams, at most
_MEMORY_SHARE = 0.6  # of what is free, at most
_FEWEST_GROUPS = 2
_GIB = 1 << 30
_FEW_ARCS = 8  # a vertex: then rows need not be sorted
_BYTES_SORTED = 40  # an arc
# Mean weights in the first bucket, on a graph of few arcs a vertex: of one block, and of more.
_WIDE, _WIDER = 4, 16
# Of all arcs, those no heavier than a row's marks; the last mark is the heaviest arc.
_MARKED_SHARES = (0.02, 0.05, 0.12, 0.25, 0.5, 1.0)
_ROW = np.dtype([("begin", "i8"), ("counts", "u4", len(_MARKED_SHARES))])  # as in star_state.cuh
# What kernels are checked for: lengths are whole, see whole_lengths_cpu.
LENGTHS = tuple(
    tuple(length_defines(*types).items())
    for types in (
        ("int32", "int32"),
        ("int32", "int64"),
        ("int64", "int64"),
        ("float32", "int64"),
        ("float64", "int64"),
    )
)


def _group_bytes(n: int, pieces: int, key: np.dtype) -> int:
    return n * (4 * key.itemsize + 24) + 2 * pieces * (12 + key.itemsize) + 4096


def shortage(graph: Graph) -> str:
    """Why the current device cannot hold the graph and some groups; empty where it can.

    To be asked before the first search: its memory is kept and not free any more.
    """
    if graph.n > csr_gpu.MOST_VERTICES:
        return (
            f"STAR's searches on a GPU take graphs of fewer than 2^31 vertices, and this one has "
            f"{graph.n:,}, so queries run on the CPU."
        )
    arcs = graph.nbytes + (4 * graph.num_arcs if graph.indices.itemsize > 4 else 0)
    group = _group_bytes(graph.n, _MOST_PIECES, np.dtype(np.int64)) + 16 * graph.n
    needed = (0 if graph.backend == "gpu" else arcs) + _FEWEST_GROUPS * group
    free = int(_MEMORY_SHARE * free_bytes())
    if needed <= free:
        return ""
    return (
        f"STAR's searches on this graph need {needed / _GIB:,.1f} GiB of device memory, and may "
        f"take {free / _GIB:,.1f} GiB of what is free there, so queries run on the CPU."
    )


def step_dtype(key: np.dtype) -> np.dtype:
    """A step of a path: a vertex, and the key of the weight to the next, or from the last one."""
    return np.dtype([("weight", key), ("vertex", "i4")], align=True)


def path_dtype(key: np.dtype) -> np.dtype:
    """A loose path, as ``star_tree.cuh`` has it."""
    names = ("vertex", "up", "start", "size", "terminal")
    return np.dtype([("length", key), *((name, "i4") for name in names)], align=True)


class Shape(NamedTuple):
    """Teams of a launch, groups of a team, and blocks of a group."""

    teams: int
    groups: int
    blocks: int


def groups_for(queries: int) -> int:
    """For how many groups at most ``shape_for`` asks."""
    return min(queries * _SPECULATION, multiprocessors())


def shape_for(queries: int, paths: int, most: int) -> Shape:
    """How the device is shared out among queries of at most so many loose paths.

    most: groups for which there is memory.
    """
    teams = min(queries, multiprocessors(), most)
    blocks = multiprocessors() // teams
    groups = min(-(-paths // _PATHS_OF_A_GROUP), _SPECULATION, blocks, most // teams)
    return Shape(teams, groups, blocks // groups)


class GraphOnDevice:
    """A graph as the kernels take it. kind: of weights and costs that are returned."""

    def __init__(self, graph: Graph, *, sort_rows: bool = True) -> None:
        """Convert what must be. graph: on the device. sort_rows: by weight, where that pays."""
        self.n, self.num_arcs = graph.n, graph.num_arcs
        self.indptr, self.weights = graph.indptr, graph.weights
        self.indices = graph.indices.astype(np.int32, copy=False)
        self.weight = "int32" if self.weights is None else str(self.weights.dtype)
        self.kind = np.dtype(np.float64 if self.weight.startswith("float") else np.int64)
        self.mean_degree = graph.num_arcs / max(graph.n, 1)
        self.mean_weight, self.heaviest = graph.mean_weight, graph.weight_range.largest
        fitting = (size for size in (1, 2, 4, 8, 16) if self.mean_degree <= _STEPS * size)
        self.tile = next(fitting, 32)  # lanes to a piece
        every = self.n + self.num_arcs // (_STEPS * self.tile)
        self.max_degree = graph.max_degree
        largest = self.max_degree // (_STEPS * self.tile)  # one vertex must fit
        self.pieces = max(min(every, _MOST_PIECES), largest) + 64
        self.sorted_rows: tuple[Any, Any] = (0, 0)  # marks, and rows, as kernels take them
        if sort_rows:
            self._sort_rows()
        self.arguments = (
            self.indptr, self.indices, 0 if self.weights is None else self.weights,
            np.int32(self.n), np.int32(self.tile),
        )  # fmt: skip

    def _sort_rows(self) -> None:
        """Order rows by weight, where that spares work and there is room to do it."""
        import cupy

        few = self.mean_degree <= _FEW_ARCS or self.weights is None
        if few or _BYTES_SORTED * self.num_arcs > _MEMORY_SHARE * free_bytes():
            return
        tails = rows_gpu.tails(self.indptr, self.num_arcs)
        by_weight = cupy.argsort(self.weights)  # stable, as the next is
        order = by_weight[cupy.argsort(tails[by_weight])]
        del by_weight
        self.indices, self.weights = self.indices[order], self.weights[order]
        del order
        rising = cupy.sort(self.weights)
        places = [int(share * (self.num_arcs - 1)) for share in _MARKED_SHARES]
        marks = rising[cupy.asarray(places)]
        del rising
        rows = cupy.empty((self.n, _ROW.itemsize // 4), np.uint32)
        rows[:, :2] = self.indptr[:-1].view(np.uint32).reshape(-1, 2)
        counts = cupy.zeros(self.num_arcs + 1, np.int64)
        for i in range(len(places)):
            cupy.cumsum(self.weights <= marks[i], out=counts[1:])
            rows[:, 2 + i] = counts[self.indptr[1:]] - counts[self.indptr[:-1]]
        self.sorted_rows = marks, rows

    def bucket(self, blocks: int) -> np.float64:
        """The range of weights with which a search by so many blocks begins."""
        if self.mean_degree <= _FEW_ARCS:
            return np.float64(self.mean_weight * (_WIDE if blocks == 1 else _WIDER))
        return np.float64(self.mean_weight / self.mean_degree)

    def defines(self, length: str) -> dict[str, str]:
        """The kernels' macros for lengths of this type."""
        return length_defines(self.weight, length)

    def lengths(self, longest: float) -> str:
        """The type for paths of this length: two are added, and one more arc is tried.

        Fractional weights have whole lengths that fit 64 bits. Raises UsageError where whole ones
        do not.
        """
        if self.kind.kind == "i" and 2 * longest + self.heaviest >= 1 << 63:
            raise UsageError(
                f"Twice a path of length {longest:,} does not fit 64 bits on a GPU; scale the "
                "weights down, or use --backend cpu."
            )
        wide = self.weight != "int32" or 2 * longest + self.heaviest >= 1 << 31
        return "int64" if wide else "int32"

    def weights_of(self, steps: Any) -> Any:
        """The weights that a path's steps hold as keys; a view, to be read or written."""
        keys = steps["weight"]
        return keys.view(self.kind) if self.kind.kind == "f" else keys


class Workspace:
    """The memory of some groups, for lengths of one type. asked: for how many it was wanted."""

    def __init__(self, graph: GraphOnDevice, length: str, groups: int) -> None:
        """Allocate for so many groups, or as many as there is room for."""
        import cupy

        n, pieces = graph.n, graph.pieces
        key = key_dtype(np.dtype(length))
        each = _group_bytes(n, pieces, key)
        self.asked = groups
        groups = max(1, min(groups, int(_MEMORY_SHARE * free_bytes() / each)))
        self.groups, self.key, self.length = groups, key, np.dtype(length)
        self.labels = cupy.zeros((groups, n, 4), key)
        self.labels[..., :2] = np.iinfo(key).max
        self.near = (
            cupy.empty((groups, 2, pieces), np.int32),
            cupy.empty((groups, 2, pieces), np.uint64),
            cupy.empty((groups, 2, pieces), key),
            np.uint32(pieces),
        )
        self.lists = cupy.empty((groups, 4, n), np.int32)
        self.touched = cupy.empty((groups, 2, n), np.int32)
        self.path_sizes = cupy.empty(groups, np.uint32)
        self.steps = step_dtype(key)


class Memory:
    """A graph's workspaces, made when they are first needed."""

    def __init__(self, graph: GraphOnDevice) -> None:
        """Allocate nothing yet."""
        self.graph = graph
        self._workspaces: dict[str, Workspace] = {}
        self._pool: Any = None
        self._teams: tuple[int, ...] = ()
        self._trees: tuple[Any, ...] = ()

    def workspace(self, length: str, groups: int) -> Workspace:
        """One of so many groups, or as many as there is room for."""
        found = self._workspaces.get(length)
        if found is None or found.asked < groups:
            del found
            self._workspaces.pop(length, None)
            self._workspaces[length] = found = Workspace(self.graph, length, groups)
        return found

    def pool(self, size: int) -> Any:
        """So many bytes for the paths that are found."""
        import cupy

        if self._pool is None or self._pool.size < size:
            self._pool = cupy.empty(size, np.uint8)
        return self._pool

    def for_exchanges(
        self, length: str, queries: int, paths: int, slots: int, capacity: int, shape: Shape | None
    ) -> tuple[Workspace, tuple[Any, ...], Shape]:
        """What a launch works in: its groups' memory, its teams' as the kernel takes it, its shape.

        paths, slots, capacity: of a query at most, of paths now and ever, and of their steps.
        """
        import cupy

        each = 2 * capacity * step_dtype(np.dtype("i8")).itemsize
        most = max(1, min(multiprocessors(), _TREES_BYTES // each))
        taken = shape or shape_for(queries, paths, most)
        work = self.workspace(length, taken.teams * taken.groups)
        if work.groups < taken.teams * taken.groups:
            taken = shape_for(queries, paths, min(most, work.groups))
        key = work.key
        wanted = taken.teams, slots, capacity * step_dtype(key).itemsize
        if not self._teams or any(a > b for a, b in zip(wanted, self._teams, strict=True)):
            largest = tuple(map(max, wanted, self._teams or wanted))
            teams, slots_each, size = largest
            self._trees = self._teams = ()
            self._trees = (
                cupy.empty(teams * _STATE_BYTES, np.uint8),
                cupy.empty(teams * slots_each * path_dtype(np.dtype("i8")).itemsize, np.uint8),
                cupy.empty(teams * slots_each * 2, np.int32),
                cupy.empty(teams * 2 * size, np.uint8),
            )
            self._teams = largest
        states, table, orders, steps = self._trees
        given = states, table, orders, np.int32(slots), steps, np.int32(capacity)
        return work, given, taken
