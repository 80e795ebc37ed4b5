"""The device memory of STAR's searches: the graph, and the memory of groups of blocks.

Bytes per group, for n vertices and lengths of b bytes: (4·b + 24)·n, and a bucket queue of at most
2^20 pieces of 24 + 2·b bytes each. A team of groups also has its query's tree, four times. What
does not change between launches is packed into the kernels' structs once (``star_memory.cuh``).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import csr_gpu, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, multiprocessors
from mgraph.errors import UsageError
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.steiner import star_rows_gpu
from mgraph.steiner.star_types_gpu import kernel_defines

# What both of STAR's kernels include: structs and constants, no kernel.
DECLARATIONS = Source(__package__, "star_state.cuh", check=())

_MAX_ATTEMPTS = 16  # loose paths of a query that are tried at a time, at most,
_PATHS_PER_GROUP = 3  # and at most one group per so many loose paths
_MAX_PIECES = 1 << 20
_SPARE_PIECES = 64  # of a bucket queue, beyond what it must hold
_TREES_BYTES = 1 << 32  # of all teams, at most
_MEMORY_SHARE = 0.6  # of the free memory, at most
_MIN_GROUPS = 2
_GIB = 1 << 30
_LOW_DEGREE = 8  # mean: up to this rows need not be sorted
_SORT_BYTES_PER_ARC = 28
# The width of the first bucket in mean weights, on graphs of low degree: of one block, and of more.
_WIDTH_OF_BLOCK, _WIDTH_OF_BLOCKS = 4, 16


@functools.cache
def constant(name: str) -> int:
    """Return a constant of STAR's headers."""
    return DECLARATIONS.constant(name)


@functools.cache
def struct_type(source: Source, name: str, weight: str, length: str) -> StructType:
    """Return a struct of one of STAR's sources, for weights and lengths of these types."""
    key = str(key_dtype(np.dtype(length)))
    return source.struct(name, {"key_t": key}, **kernel_defines(weight, length))


def _struct_dtype(name: str, length: str) -> np.dtype:
    return struct_type(DECLARATIONS, name, "int32", length).dtype


def step_dtype(length: str) -> np.dtype:
    """Return the layout of a path's step: a vertex, and the weight's key (``path_length.cuh``)."""
    return _struct_dtype("path_step", length)


def path_dtype(length: str) -> np.dtype:
    """Return the layout of a loose path (``star_tree.cuh``)."""
    return _struct_dtype("loose_path", length)


def counter_words(groups: int, blocks: int) -> int:
    """Return how many 64-bit words of shared counters groups of so many blocks each need."""
    return constant("shared_counters_bytes") // 8 * groups if blocks > 1 else 0


def _bytes_per_group(n: int, pieces: int, key: np.dtype) -> int:
    return n * (4 * key.itemsize + 24) + 2 * pieces * (12 + key.itemsize) + 4096


def describe_shortage(graph: Graph) -> str:
    """Return why the current device cannot hold the graph and some groups; empty if it can.

    To be called before the first search, whose memory is kept and is not free any more.
    """
    if graph.n > csr_gpu.MAX_VERTICES:
        return (
            f"STAR's searches on a GPU take graphs of fewer than 2^31 vertices, and this one has "
            f"{graph.n:,}, so queries run on the CPU."
        )
    arcs = graph.nbytes + (4 * graph.num_arcs if graph.indices.itemsize > 4 else 0)
    group = _bytes_per_group(graph.n, _MAX_PIECES, np.dtype(np.int64)) + 16 * graph.n
    needed = (0 if graph.backend == "gpu" else arcs) + _MIN_GROUPS * group
    available = int(_MEMORY_SHARE * free_bytes())
    if needed <= available:
        return ""
    return (
        f"STAR's searches on this graph need {needed / _GIB:,.1f} GiB of device memory, and may "
        f"take {available / _GIB:,.1f} GiB of what is free there, so queries run on the CPU."
    )


class Shape(NamedTuple):
    """Teams per launch, groups per team, and blocks per group."""

    teams: int
    groups: int
    blocks: int


def max_groups(queries: int) -> int:
    """Return how many groups ``choose_shape`` asks for at most."""
    return min(queries * _MAX_ATTEMPTS, multiprocessors())


def choose_shape(queries: int, paths: int, available: int) -> Shape:
    """Divide the device among queries of at most ``paths`` loose paths each.

    available: the number of groups for which there is memory.
    """
    teams = min(queries, multiprocessors(), available)
    blocks = multiprocessors() // teams
    groups = min(-(-paths // _PATHS_PER_GROUP), _MAX_ATTEMPTS, blocks, available // teams)
    return Shape(teams, groups, blocks // groups)


class GraphOnDevice:
    """A graph as the kernels take it. cost_dtype: of the weights and costs that are returned."""

    def __init__(self, graph: Graph, *, sort_rows: bool = True) -> None:
        """Convert a graph on the device. sort_rows: by weight, where that pays."""
        self.n, self.num_arcs = graph.n, graph.num_arcs
        self.indptr, self.weights = graph.indptr, graph.weights
        self.indices = graph.indices.astype(np.int32, copy=False)
        self.weight = "int32" if self.weights is None else str(self.weights.dtype)
        self.cost_dtype = np.dtype(np.float64 if self.weight.startswith("float") else np.int64)
        self.mean_degree = graph.num_arcs / max(graph.n, 1)
        self.mean_weight, self.max_weight = graph.mean_weight, graph.weight_range.maximum
        per_lane = constant("arcs_per_lane")
        tiles = (size for size in (1, 2, 4, 8, 16) if self.mean_degree <= per_lane * size)
        self.tile = next(tiles, 32)  # lanes per piece of arcs
        arcs_per_piece = per_lane * self.tile
        self.max_degree = graph.max_degree
        all_pieces = self.n + self.num_arcs // arcs_per_piece
        pieces_of_vertex = -(-self.max_degree // arcs_per_piece)  # one vertex must fit
        self.bucket_capacity = max(min(all_pieces, _MAX_PIECES), pieces_of_vertex)
        self.bucket_capacity += _SPARE_PIECES
        self.row_marks = self.rows = None
        if sort_rows:
            self._sort_rows()

    def _sort_rows(self) -> None:
        """Sort rows by weight, if that saves work and there is memory to do it."""
        if self.weights is None or self.mean_degree <= _LOW_DEGREE:
            return
        if _SORT_BYTES_PER_ARC * self.num_arcs > _MEMORY_SHARE * free_bytes():
            return
        self.indices, self.weights, self.row_marks, self.rows = star_rows_gpu.sort_by_weight(
            self.indptr, self.indices, self.weights
        )

    @functools.cached_property
    def argument(self) -> np.ndarray:
        """The struct ``star_graph``."""
        return struct_type(DECLARATIONS, "star_graph", self.weight, "int64").pack(
            {
                "indptr": self.indptr, "indices": self.indices, "weights": self.weights,
                "rows": self.rows, "row_marks": self.row_marks, "n": self.n, "tile": self.tile,
                "mean_degree": self.mean_degree,
            }
        )  # fmt: skip

    def first_bucket(self, blocks: int) -> float:
        """Return the range of weights with which a search by so many blocks begins."""
        if self.mean_degree <= _LOW_DEGREE:
            return self.mean_weight * (_WIDTH_OF_BLOCK if blocks == 1 else _WIDTH_OF_BLOCKS)
        return self.mean_weight / self.mean_degree

    def defines(self, length: str) -> dict[str, str]:
        """Return the kernels' macros for lengths of this type."""
        return kernel_defines(self.weight, length)

    def length_type(self, cost: float) -> str:
        """Return the type for paths as long as a tree of this cost: two and an arc are added.

        Fractional weights have integer lengths that fit 64 bits. Raises UsageError where integer
        weights do not.
        """
        if self.cost_dtype.kind == "i" and 2 * cost + self.max_weight >= 1 << 63:
            raise UsageError(
                f"twice a path of length {cost:,} does not fit 64 bits on a GPU; scale the weights "
                'down, or use backend="cpu"'
            )
        needs_64_bits = self.weight != "int32" or 2 * cost + self.max_weight >= 1 << 31
        return "int64" if needs_64_bits else "int32"

    def weights_of(self, steps: Any) -> Any:
        """Return a view of the weights of a path's steps, which hold their keys."""
        keys = steps["weight"]
        return keys.view(self.cost_dtype) if self.cost_dtype.kind == "f" else keys


class Workspace:
    """The memory of some groups, for lengths of one type. requested: the groups asked for."""

    def __init__(self, graph: GraphOnDevice, length: str, groups: int) -> None:
        """Allocate memory for so many groups, or as many as fit."""
        import cupy

        n, pieces = graph.n, graph.bucket_capacity
        key = key_dtype(np.dtype(length))
        self.requested = groups
        fitting = int(_MEMORY_SHARE * free_bytes() / _bytes_per_group(n, pieces, key))
        groups = max(1, min(groups, fitting))
        self.groups, self.key, self.length = groups, key, length
        self.labels = cupy.zeros((groups, n, constant("keys_per_label")), key)
        primitives_gpu.fill_leading(self.labels, 2, np.iinfo(key).max)
        self._arrays = {
            "labels": self.labels,
            "bucket_vertex": cupy.empty((groups, 2, pieces), np.int32),
            "bucket_arcs": cupy.empty((groups, 2, pieces), np.uint64),
            "bucket_key": cupy.empty((groups, 2, pieces), key),
            "far": cupy.empty((groups, 4, n), np.int32),
            "touched": cupy.empty((groups, 2, n), np.int32),
            "path_size": cupy.empty(groups, np.uint32),
        }
        # The struct search_memory.
        self.argument = struct_type(DECLARATIONS, "search_memory", graph.weight, length).pack(
            {**self._arrays, "bucket_capacity": pieces}
        )
        self.step = step_dtype(length)


class _TeamMemory:
    """The memory of teams' trees, of at most so many slots and bytes of steps each."""

    def __init__(self, teams: int, slots: int, step_bytes: int) -> None:
        """Allocate the memory."""
        import cupy

        self.size = teams, slots, step_bytes
        state_bytes = _struct_dtype("team_state", "int64").itemsize
        self._arrays = {
            "states": cupy.empty(teams * state_bytes, np.uint8),
            "paths": cupy.empty(teams * slots * path_dtype("int64").itemsize, np.uint8),
            "orders": cupy.empty(teams * slots * 2, np.int32),
            "steps": cupy.empty(teams * 2 * step_bytes, np.uint8),
        }
        # The struct team_memory.
        self.argument = struct_type(DECLARATIONS, "team_memory", "int32", "int64").pack(
            self._arrays
        )


class Memory:
    """A graph's workspaces, allocated when they are first needed."""

    def __init__(self, graph: GraphOnDevice) -> None:
        """Allocate nothing yet."""
        self.graph = graph
        self._workspaces: dict[str, Workspace] = {}
        self._pool: Any = None
        self._teams: _TeamMemory | None = None

    def workspace(self, length: str, groups: int) -> Workspace:
        """Return a workspace of so many groups, or as many as fit."""
        workspace = self._workspaces.get(length)
        if workspace is None or workspace.requested < groups:
            del workspace
            self._workspaces.pop(length, None)
            self._workspaces[length] = workspace = Workspace(self.graph, length, groups)
        return workspace

    def pool(self, size: int) -> Any:
        """Return so many bytes for the paths of initial trees."""
        import cupy

        if self._pool is None or self._pool.size < size:
            self._pool = cupy.empty(size, np.uint8)
        return self._pool

    def allocate_exchanges(
        self, length: str, queries: int, paths: int, slots: int, capacity: int, shape: Shape | None
    ) -> tuple[Workspace, np.ndarray, Shape]:
        """Return what a launch works in: a workspace, the struct ``team_memory``, and its shape.

        paths: of a query, at most. slots, capacity: of the paths and steps of a team's tree.
        shape: to be used in place of the best one.
        """
        bytes_per_team = 2 * capacity * step_dtype("int64").itemsize
        max_teams = max(1, min(multiprocessors(), _TREES_BYTES // bytes_per_team))
        chosen = shape or choose_shape(queries, paths, max_teams)
        workspace = self.workspace(length, chosen.teams * chosen.groups)
        if workspace.groups < chosen.teams * chosen.groups:
            chosen = choose_shape(queries, paths, min(max_teams, workspace.groups))
        needed = chosen.teams, slots, capacity * workspace.step.itemsize
        size = self._teams.size if self._teams else needed
        if self._teams is None or any(a > b for a, b in zip(needed, size, strict=True)):
            self._teams = None  # so that its memory is free
            teams, max_slots, step_bytes = map(max, needed, size)
            self._teams = _TeamMemory(teams, max_slots, step_bytes)
        return workspace, self._teams.argument, chosen
