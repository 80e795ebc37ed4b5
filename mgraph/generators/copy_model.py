"""The copy model's parameters, made sound in one place, and the shape of its graph.

Vertices 0 … d-1 form a clique; every later vertex v makes d edges to distinct earlier vertices.
An edge ends at a uniform earlier vertex u with probability p, else where one of u's own d edges
ends, chosen uniformly. p = 1 is uniform attachment, p = 0 a star on the clique. The exponent of the
degrees' power law is 1 + 1/(1 - p).

``start`` says what a copy from a vertex of the clique does, since such a vertex has no d edges:

- ``paper``: it ends at that vertex, as in the paper. So the first vertices attract more than
  Barabási and Albert's do: at p = 0.5 each weighs 2d, where its degree is d - 1. At n = 1000 and
  d = 1 vertex 0 has a mean degree of 68, against 35.
- ``ba``: an edge of the clique weighs what any other edge does. A draw takes a uniform earlier
  edge, of which p chooses the end; an edge of the clique gives either end with probability 1/2. At
  p = 0.5 that is Barabási and Albert's model exactly, begun from a clique of d vertices.

Source: Alam, Perumalla, Sanders, "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks", 2019.

The exact core. ``cuppa_hash`` follows a copy by repeating the draws of the slot that it copies, and
cannot know whether that slot's first draw was refused as a parallel edge. Near the first vertices
that is common, and all later copies inherit it: without a core the largest degree is 28 % too high
at d = 8 and p = 0.5, whatever n. So the first ``core_vertices`` vertices are made by the exact copy
model, on every worker for itself, and a copy from one of them reads its final endpoint.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mgraph.core.choices import check_choice
from mgraph.core.graph import MAX_N
from mgraph.errors import OutOfMemoryError, UsageError

MAX_D = 4096
MAX_WEIGHT = (1 << 31) - 1
METHODS = ("cuppa_hash", "cuppa", "copy", "copy_hash", "ba")
STARTS = ("paper", "ba")
ON_GPU = ("cuppa_hash", "cuppa")
WHOLE = ("cuppa", "copy", "ba")  # make an edge from those before, which they keep
# A model's version rises with a change of its draws. Version 1 of the hashed methods had no core.
VERSIONS = {"cuppa_hash": 2, "copy_hash": 2, "cuppa": 1, "copy": 1, "ba": 1}
# Endpoints of the exact core. At most 16 MiB, which fit a last-level cache; where hubs are weak a
# megabyte suffices, which a core of a CPU keeps for itself. BENCHMARKS.md has the bias by size.
CORE_ENDPOINTS, SMALL_CORE_ENDPOINTS = 1 << 22, 1 << 18
WEAK_HUBS = 0.4  # from this p on
_GIB = 1 << 30


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """``value`` as an int; UsageError with its name unless it is a whole number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise UsageError(f"{name} must be a whole number, and is {value!r}")
    if not low <= value <= high:
        raise UsageError(f"{name} must lie in [{low}, {high}], and is {value}")
    return int(value)


@dataclass(frozen=True)
class CopyModel:
    """A graph, fully determined: the same parameters give the same edges everywhere.

    n: vertices, d < n <= 2^40. d: edges a vertex, 1 to 4096. p: probability of a direct edge, in
    [0, 1]; it acts as the nearest multiple of 2^-32. seed: in [0, 2^64). method: the algorithm,
    on which the edges depend (``copy`` and ``cuppa`` make the same, as ``copy_hash`` and
    ``cuppa_hash`` do).
    weights: (low, high), both within, 0 <= low <= high < 2^31: then each edge has an int32 weight,
    a hash of its endpoints and the seed. start: ``paper`` or ``ba``, what a copy from a vertex of
    the clique does (see above; the method ``ba`` always starts as ``ba`` does). Raises UsageError
    where a parameter is out of its range.
    """

    n: int
    d: int = 8
    p: float = 0.5
    seed: int = 1
    method: str = "cuppa_hash"
    weights: tuple[int, int] | None = None
    start: str = "paper"

    def __post_init__(self) -> None:
        """Refuse what is out of range, with the parameter's name and value."""
        for name, low, high in (("d", 1, MAX_D), ("n", 1, MAX_N), ("seed", 0, (1 << 64) - 1)):
            value = whole_number(name, getattr(self, name), low, high)
            object.__setattr__(self, name, value)
        if self.n <= self.d:
            raise UsageError(
                f"n must be above d, since the first d vertices are a clique that later vertices "
                f"attach to: n is {self.n} and d is {self.d}"
            )
        if isinstance(self.p, bool) or not isinstance(self.p, (int, float, np.number)):
            raise UsageError(f"p must be a number, and is {self.p!r}")
        if math.isnan(self.p) or not 0 <= self.p <= 1:
            raise UsageError(f"p is a probability and must lie in [0, 1], and is {self.p}")
        object.__setattr__(self, "p", float(self.p))
        check_choice("method", self.method, METHODS)
        if self.method == "ba" and self.p != 0.5:
            raise UsageError(
                f"method ba is preferential attachment alone, which is p = 0.5, and p is {self.p}; "
                "the other methods take any p"
            )
        check_choice("start", self.start, STARTS)
        if self.method == "ba":
            object.__setattr__(self, "start", "ba")
        if self.weights is not None:
            if not isinstance(self.weights, (tuple, list)) or len(self.weights) != 2:
                raise UsageError(f"weights must be (low, high), and is {self.weights!r}")
            low, high = (whole_number("a weight", x, 0, MAX_WEIGHT) for x in self.weights)
            if low > high:
                raise UsageError(f"weights go from low to high, and {low} is above {high}")
            object.__setattr__(self, "weights", (low, high))

    @property
    def whole(self) -> bool:
        """Whether the method makes a graph as a whole, in one memory, and not range by range."""
        return self.method in WHOLE

    @property
    def core_vertices(self) -> int:
        """How many of the first vertices are the exact core, the clique included.

        With d = 1 there are no parallel edges, so no draw is refused, and the clique suffices. At
        p = 0.5 a chain meets a redrawn slot of vertex v about d / v times, hence the 128 d.
        """
        if self.d == 1:
            return 1
        vertices = CORE_ENDPOINTS // self.d
        if self.p >= WEAK_HUBS:
            vertices = min(vertices, max(SMALL_CORE_ENDPOINTS // self.d, 128 * self.d))
        return min(self.n, max(self.d, vertices))

    @property
    def version(self) -> int:
        """The version of the method's draws, which its datasets' manifests name."""
        return VERSIONS[self.method]

    @property
    def exponent(self) -> float:
        """The exponent γ of the power law P(k) ~ k^-γ that degrees tend to; infinite for p = 1."""
        return 1 + 1 / (1 - self.p) if self.p < 1 else math.inf

    @property
    def table_size(self) -> int:
        """Places of a GPU's hash table of a vertex's endpoints, as ``copy_model.cuh`` has it."""
        return max(64, 1 << (2 * self.d - 1).bit_length())

    def endpoint_bytes(self, stop: int) -> int:
        """What the endpoints of all vertices below ``stop`` take."""
        return self.edges_before(stop) * self.dtype.itemsize

    def other_bytes(self, part: range) -> int:
        """What a range's edges take but for their endpoints: sources and weights."""
        weight = self.weight_dtype.itemsize if self.weights else 0
        return self.edges_in(part) * (self.dtype.itemsize + weight)

    def check_room(self, stop: int, free: int, where: str, beside: int = 0) -> None:
        """Raise OutOfMemoryError unless the endpoints of vertices below ``stop`` fit.

        free: the bytes that ``where`` has, which names it; beside: what else it needs them for.
        """
        needed = self.endpoint_bytes(stop) + beside
        if needed > free:
            raise OutOfMemoryError(
                f"method {self.method} keeps all endpoints in one memory, which needs "
                f"{needed / _GIB:,.1f} GiB, and {where} has {free / _GIB:,.1f} GiB; use method "
                "cuppa_hash, which makes any range of a graph without the others"
            )

    @property
    def num_edges(self) -> int:
        """The number of edges: d(d-1)/2 in the clique, then d a vertex."""
        return self.edges_before(self.n)

    @property
    def dtype(self) -> Any:
        """The type of a vertex id: int32 while n < 2^31, else int64."""
        return np.dtype(np.int32 if self.n < 1 << 31 else np.int64)

    @property
    def threshold(self) -> int:
        """A 32-bit coin below this makes a direct edge: p in units of 2^-32."""
        return round(self.p * (1 << 32))

    @property
    def weight_dtype(self) -> Any:
        """The type of a weight, int32, or None."""
        return np.dtype(np.int32) if self.weights else None

    @property
    def columns(self) -> dict[str, Any]:
        """Names and types of an edge's columns: src, dst and, with weights, weight."""
        ends = {"src": self.dtype, "dst": self.dtype}
        return ends | ({"weight": self.weight_dtype} if self.weights else {})

    def edges_before(self, vertex: int) -> int:
        """The number of edges whose ``src`` lies below ``vertex``: its row in the edge list."""
        clique = min(vertex, self.d)
        return clique * (clique - 1) // 2 + (vertex - clique) * self.d

    def edges_in(self, part: range) -> int:
        """The number of edges whose ``src`` lies in a range of vertices."""
        return self.edges_before(part.stop) - self.edges_before(part.start)

    def vertex_at(self, row: int) -> int:
        """The largest vertex that has at most ``row`` edges before it (inverse of the above)."""
        clique = self.d * (self.d - 1) // 2
        if row >= clique:
            return min(self.n, self.d + (row - clique) // self.d)
        return (1 + math.isqrt(1 + 8 * row)) // 2

    def check_parts(self, parts: int) -> None:
        """Raise UsageError for a number of parts that this graph cannot be cut into."""
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= self.n:
            raise UsageError(f"parts must lie in [1, n] = [1, {self.n}], and is {parts}")

    def part(self, index: int, parts: int) -> range:
        """Part ``index`` of ``parts``: contiguous ranges of vertices, equal within one vertex."""
        return range(self.n * index // parts, self.n * (index + 1) // parts)

    def split(self, parts: int) -> list[range]:
        """All parts, in order."""
        self.check_parts(parts)
        return [self.part(index, parts) for index in range(parts)]

    def blocks(self, part: range, edges: int) -> list[range]:
        """Cut a part into ranges of whole vertices with about ``edges`` edges each."""
        cuts, first = [], part.start
        while first < part.stop:
            stop = self.vertex_at(self.edges_before(first) + edges)
            stop = min(max(stop, first + 1), part.stop)
            cuts.append(range(first, stop))
            first = stop
        return cuts

    def to_json(self) -> dict[str, Any]:
        """The parameters and the version, as the manifest stores them; no defaults of 0.1's later.

        ``weights`` stands there only where there are some, ``start`` where it is not ``paper``, and
        ``version`` where it is above 1, so that datasets of mgraph 0.1 read as they were written.
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
        """A model and the version of its draws, from what ``to_json`` made.

        The version may be another than ``model.version``: then the model tells the shape of the
        graph, and not its edges. Raises UsageError or TypeError for anything else.
        """
        parameters = dict(content)
        version = whole_number("version", parameters.pop("version", 1), 1, 1 << 31)
        return cls(**parameters), version
