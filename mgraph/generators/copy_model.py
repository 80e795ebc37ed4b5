"""The copy model: its parameters, checked in one place, and the arithmetic of rows and parts.

The model. The first d vertices form a clique. Every later vertex adds d edges to distinct earlier
vertices. For each edge, choose an earlier vertex u uniformly at random. With probability p the edge
is direct and ends at u; otherwise it is a copy and ends where a random one of u's d edges ends. A
draw that would repeat an edge is made again. Degrees follow a power law with exponent
1 + 1/(1 - p): p = 0.5 is preferential attachment, p = 1 is uniform attachment, and p = 0 connects
every vertex to the clique alone.

The start. A clique vertex has fewer than d edges, so the model has to say what a copy from one of
them does; ``start`` chooses:

- ``paper``: the edge ends at the clique vertex, as in the paper. The first vertices then attract
  more edges than in Barabási and Albert's model: at p = 0.5 each has the weight 2d, where its
  degree is d - 1. At n = 1000 and d = 1, vertex 0 has degree 68 on average instead of 35.
- ``ba``: every edge has the same weight, those of the clique too. A draw chooses a uniform earlier
  edge and p chooses one of its two ends; for an edge of the clique both ends are equally likely. At
  p = 0.5 this is exactly Barabási and Albert's model, started from a clique of d vertices.

Source: Alam, Perumalla, Sanders, "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks", 2019.

The exact core. ``cuppa_hash`` resolves a copy by repeating the random draws of the copied edge, so
it does not see whether the first draw of that edge was rejected as a parallel edge. Among the first
vertices rejections are common, and all later copies inherit the error: without a core the largest
degree is 28 % too high at d = 8 and p = 0.5, for every n. Therefore each worker generates the first
``core_vertices`` vertices by the exact copy model, and copies from those read final endpoints.
"""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.choices import Backend, CopyMethod, Start, check_choice
from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer, check_weight_bounds
from mgraph.errors import OutOfMemoryError, UsageError

if TYPE_CHECKING:
    from mgraph.generators.preferential_attachment import GeneratedEdges

MAX_D = 4096
METHODS = ("cuppa_hash", "cuppa", "copy", "copy_hash", "ba")
STARTS = ("paper", "ba")
GPU_METHODS = ("cuppa_hash", "cuppa")
STORING_METHODS = ("cuppa", "copy", "ba")  # they read stored endpoints of earlier vertices
# The version of a model's draws. Version 1 of the hashed methods had no exact core.
VERSIONS = {"cuppa_hash": 2, "copy_hash": 2, "cuppa": 1, "copy": 1, "ba": 1}
# Endpoints in the exact core: at most 16 MiB, which fit a last-level cache. With weak hubs a
# megabyte is enough, and fits the private cache of a CPU core. BENCHMARKS.md has the bias by size.
CORE_ENDPOINTS, SMALL_CORE_ENDPOINTS = 1 << 22, 1 << 18
WEAK_HUBS = 0.4  # the smallest p that needs only the small core
_GIB = 1 << 30


@dataclass(frozen=True)
class CopyModel:
    """A random graph of the copy model, fully determined by its parameters.

    The first d vertices form a clique. Every later vertex adds d edges to distinct earlier
    vertices: for each edge an earlier vertex u is chosen uniformly at random; with probability p
    the edge ends at u, otherwise it ends where a random edge of u ends. p = 0.5 is preferential
    attachment and gives a power law of degrees with exponent 3.

    Parameters
    ----------
    n : int
        Number of vertices, d < n <= 2^40.
    d : int, default 8
        Edges per vertex, 1 to 4096.
    p : float, default 0.5
        Probability of a direct edge, in [0, 1], rounded to a multiple of 2^-32. The exponent of the
        degree distribution is 1 + 1/(1 - p).
    seed : int, default 1
        In [0, 2^64).
    method : str, default "cuppa_hash"
        ``cuppa_hash`` computes every edge independently, on a CPU or any number of GPUs.
        ``cuppa`` is the exact copy model on one GPU, ``copy`` the same graph on one CPU core.
        ``copy_hash`` makes the graph of ``cuppa_hash`` edge after edge on CPUs. ``ba`` is Batagelj
        and Brandes' algorithm for p = 0.5, on one core.
    weights : (int, int), optional
        Smallest and largest weight, 0 <= low <= high < 2^31. Every edge then has an int32 weight, a
        hash of its endpoints and the seed.
    start : str, default "paper"
        ``paper`` or ``ba``: whether a copy from a clique vertex ends at that vertex, or the graph
        grows as in Barabási and Albert's model. Method ``ba`` always uses ``ba``.

    Raises
    ------
    UsageError
        If a parameter is out of range.

    Notes
    -----
    The graph has exactly d(d-1)/2 + (n-d)d edges, no self-loop and no parallel edge. The same
    parameters give the same edges on CPUs and GPUs, for any number of workers and parts.

    If a draw would create a parallel edge, it is repeated. ``cuppa_hash`` replays only the first
    draw of a copied edge, except for the first vertices; ``cuppa`` reads its final endpoint. For p
    from 0.5 on, the hubs of both agree within about 1 %, at p = 0.25 within 3 %. At p = 0.1 the
    largest degree of ``cuppa_hash`` is 1 to 11 % too high in graphs of 10^7 to 1.6·10^8 edges; use
    ``cuppa``, which follows the model exactly. ``cuppa``, ``copy`` and ``ba`` cannot be split:
    every worker builds the entire graph, so its endpoints must fit in one worker's memory.

    Examples
    --------
    >>> model = mgraph.CopyModel(n=1000, d=4, seed=7)
    >>> model.num_edges
    3990
    >>> (src, dst), checksum = model.edges(range(2, 5), backend="cpu")
    >>> src
    array([2, 2, 3, 3, 3, 4, 4, 4, 4], dtype=int32)
    >>> dst[:5]
    array([0, 1, 0, 1, 2], dtype=int32)
    """

    n: int
    d: int = 8
    p: float = 0.5
    seed: int = 1
    method: CopyMethod = "cuppa_hash"
    weights: tuple[int, int] | None = None
    start: Start = "paper"

    def __post_init__(self) -> None:
        """Check and normalise every parameter; UsageError names the parameter and its value."""
        for name, low, high in (("d", 1, MAX_D), ("n", 1, MAX_N), ("seed", 0, (1 << 64) - 1)):
            value = check_integer(name, getattr(self, name), low, high)
            object.__setattr__(self, name, value)
        if self.n <= self.d:
            raise UsageError(
                "n must be above d, since the first d vertices form a clique that later vertices "
                f"attach to (got n = {self.n}, d = {self.d})"
            )
        if isinstance(self.p, bool) or not isinstance(self.p, (int, float, np.number)):
            raise UsageError(f"p must be a number (got {self.p!r})")
        if math.isnan(self.p) or not 0 <= self.p <= 1:
            raise UsageError(f"p is a probability and must lie in [0, 1] (got {self.p})")
        object.__setattr__(self, "p", float(self.p))
        check_choice("method", self.method, METHODS)
        if self.method == "ba" and self.p != 0.5:
            raise UsageError(
                f"method ba is preferential attachment alone, so p must be 0.5 (got {self.p}); "
                "the other methods take any p"
            )
        check_choice("start", self.start, STARTS)
        if self.method == "ba":
            object.__setattr__(self, "start", "ba")
        if self.weights is not None:
            object.__setattr__(self, "weights", check_weight_bounds(self.weights))

    def edges(
        self, part: range | None = None, *, backend: Backend = "auto", threads: int | None = None
    ) -> "GeneratedEdges":
        """Generate the edges of a range of vertices as arrays in memory, without a cluster.

        Parameters
        ----------
        part : range, optional
            The vertices whose edges are generated, by default all. ``split(k)`` gives k such ranges
            of equal size. Methods ``cuppa``, ``copy`` and ``ba`` generate all vertices before the
            range as well.
        backend : {"auto", "cpu", "gpu"}, default "auto"
            ``auto`` uses a GPU if there is one and the method runs on it.
        threads : int, optional
            CPU threads, by default one per core.

        Returns
        -------
        GeneratedEdges
            A named tuple ``(edges, checksum)``. ``edges`` is an EdgeList with ``src`` ascending and
            dtype ``self.dtype``, and with ``weight`` if the model has weights: NumPy arrays from
            the CPU, CuPy arrays from the GPU, equal bit for bit. ``checksum`` is the sum of the
            edges' hashes modulo 2^64, which does not depend on order or partition.

        Raises
        ------
        UsageError
            If ``part`` is not a range of the model's vertices, or the method lacks the backend.
        DeviceError
            If ``backend="gpu"`` and there is no GPU.
        OutOfMemoryError
            If a method that stores all endpoints has too little memory.

        Examples
        --------
        >>> model = mgraph.CopyModel(n=100, d=2)
        >>> parts = [model.edges(part, backend="cpu") for part in model.split(4)]
        >>> sum(len(part.edges) for part in parts) == model.num_edges
        True
        """
        from mgraph.generators import preferential_attachment

        return preferential_attachment.generate_edges(self, part, backend=backend, threads=threads)

    @property
    def runs_on_gpu(self) -> bool:
        """Whether the method runs on a GPU as well as on a CPU."""
        return self.method in GPU_METHODS

    @property
    def stores_endpoints(self) -> bool:
        """Whether the method stores all endpoints, so that it cannot generate a part by itself."""
        return self.method in STORING_METHODS

    @property
    def core_vertices(self) -> int:
        """The number of vertices in the exact core, the clique included.

        With d = 1 there are no parallel edges, so no draw is rejected and the clique is enough. At
        p = 0.5 a chain of copies meets a redrawn slot of vertex v about d / v times, hence 128 d.
        """
        if self.d == 1:
            return 1
        vertices = CORE_ENDPOINTS // self.d
        if self.p >= WEAK_HUBS:
            vertices = min(vertices, max(SMALL_CORE_ENDPOINTS // self.d, 128 * self.d))
        return min(self.n, max(self.d, vertices))

    @property
    def version(self) -> int:
        """The version of the method's draws, which manifests record."""
        return VERSIONS[self.method]

    @property
    def exponent(self) -> float:
        """The exponent γ of the power law P(k) ~ k^-γ that degrees tend to; infinite for p = 1."""
        return 1 + 1 / (1 - self.p) if self.p < 1 else math.inf

    def endpoint_bytes(self, stop: int) -> int:
        """The size in bytes of the endpoints of all vertices below ``stop``."""
        return self.edges_before(stop) * self.dtype.itemsize

    def source_and_weight_bytes(self, part: range) -> int:
        """The size in bytes of a range's sources and weights, without its endpoints."""
        weight = self.weight_dtype.itemsize if self.weight_dtype else 0
        return self.edges_in(part) * (self.dtype.itemsize + weight)

    def check_memory(self, stop: int, free_bytes: int, location: str, extra_bytes: int = 0) -> None:
        """Raise OutOfMemoryError unless the endpoints of vertices below ``stop`` fit in memory.

        free_bytes: the free memory of ``location``, which the message names. extra_bytes: what the
        caller needs in addition.
        """
        needed = self.endpoint_bytes(stop) + extra_bytes
        if needed > free_bytes:
            raise OutOfMemoryError(
                f"method {self.method} stores all endpoints in one memory: it needs "
                f"{needed / _GIB:,.1f} GiB, and {location} has {free_bytes / _GIB:,.1f} GiB free; "
                "use method cuppa_hash, which generates any part of a graph by itself"
            )

    @property
    def num_edges(self) -> int:
        """The number of edges: d(d-1)/2 in the clique, then d per vertex."""
        return self.edges_before(self.n)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of vertex ids: int32 if n < 2^31, else int64."""
        return np.dtype(np.int32 if self.n < 1 << 31 else np.int64)

    @property
    def threshold(self) -> int:
        """p as a multiple of 2^-32: a random 32-bit word below it makes a direct edge."""
        return round(self.p * (1 << 32))

    @property
    def weight_dtype(self) -> np.dtype | None:
        """The dtype of weights: int32, or None if the model has none."""
        return np.dtype(np.int32) if self.weights else None

    @property
    def columns(self) -> dict[str, Any]:
        """Names and dtypes of an edge's columns: src, dst and, with weights, weight."""
        ends = {"src": self.dtype, "dst": self.dtype}
        return ends | ({"weight": self.weight_dtype} if self.weights else {})

    def edges_before(self, vertex: int) -> int:
        """The number of edges with ``src`` below ``vertex``: the row of its first edge."""
        clique = min(vertex, self.d)
        return clique * (clique - 1) // 2 + (vertex - clique) * self.d

    def edges_in(self, part: range) -> int:
        """The number of edges with ``src`` in a range of vertices."""
        return self.edges_before(part.stop) - self.edges_before(part.start)

    def vertex_at(self, row: int) -> int:
        """The largest vertex with at most ``row`` edges before it; inverts ``edges_before``."""
        clique = self.d * (self.d - 1) // 2
        if row >= clique:
            return min(self.n, self.d + (row - clique) // self.d)
        return (1 + math.isqrt(1 + 8 * row)) // 2

    def check_parts(self, parts: int) -> None:
        """Raise UsageError unless the vertices can be split into this number of parts."""
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= self.n:
            raise UsageError(f"parts must lie in [1, n] = [1, {self.n}] (got {parts})")

    def part(self, index: int, parts: int) -> range:
        """Part ``index`` of ``parts`` ranges of vertices, whose sizes differ by one at most."""
        return range(self.n * index // parts, self.n * (index + 1) // parts)

    def split(self, parts: int) -> list[range]:
        """Split the vertices into contiguous ranges whose sizes differ by one at most."""
        self.check_parts(parts)
        return [self.part(index, parts) for index in range(parts)]

    def blocks(self, part: range, block_edges: int) -> list[range]:
        """Split a range into ranges of consecutive vertices with about ``block_edges`` edges."""
        cuts, first = [], part.start
        while first < part.stop:
            stop = self.vertex_at(self.edges_before(first) + block_edges)
            stop = min(max(stop, first + 1), part.stop)
            cuts.append(range(first, stop))
            first = stop
        return cuts

    def to_json(self) -> dict[str, Any]:
        """The parameters and the version, as manifests record them.

        ``weights`` is present only if the model has weights, ``start`` only if it is not ``paper``,
        and ``version`` only above 1, so that datasets of mgraph 0.1 keep their content.
        """
        parameters = asdict(self)
        weights, start = parameters.pop("weights"), parameters.pop("start")
        if weights:
            parameters["weights"] = list(weights)
        if start != "paper" and self.method != "ba":
            parameters["start"] = start
        if self.version > 1:
            parameters["version"] = self.version
        return parameters

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> tuple["CopyModel", int]:
        """A model and the version of its draws from what ``to_json`` returned.

        If the version differs from ``model.version``, the model describes the shape of that graph
        but not its edges. Raises UsageError or TypeError for other content.
        """
        parameters = dict(content)
        version = check_integer("version", parameters.pop("version", 1), 1, 1 << 31)
        return cls(**parameters), version
