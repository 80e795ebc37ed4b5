"""The graph that every question is asked of: compressed sparse rows, frozen."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import symmetry
from mgraph.core.arrays import INDEX_DTYPES as INDEX_DTYPES
from mgraph.core.arrays import WEIGHT_DTYPES as WEIGHT_DTYPES
from mgraph.core.arrays import as_list
from mgraph.core.arrays import on_gpu as on_gpu
from mgraph.core.edges import EdgeList
from mgraph.core.rows import row_pieces, tails
from mgraph.cuda.transfer import to_device
from mgraph.errors import UsageError

MAX_N = 1 << 40
_COUNTED_ARCS = 1 << 24  # arcs among which self-loops are counted at a time
_COMPUTED = "num_edges", "weight_range", "mean_weight", "max_degree", "rows_ascend", "symmetric"


class WeightRange(NamedTuple):
    """The least and the largest weight as Python numbers; NaN where any weight is NaN."""

    least: float
    largest: float


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed or undirected graph as compressed sparse rows (CSR).

    Vertex v's arcs are ``indices[indptr[v]:indptr[v + 1]]``. An undirected graph holds both arcs
    of an edge, and one arc for a self-loop. All arrays are NumPy arrays, or all are CuPy arrays of
    one device; they are not copied and must not be changed.

    indptr: ``(n + 1,)`` int64, from 0 to m, never falling. indices: ``(m,)`` int32 or int64, in
    [0, n). weights: ``(m,)`` int32, int64, float32 or float64, or None; any value, since a
    spanning forest takes negative ones. directed: whether an arc stands for itself alone.
    labels: what the vertices were called where they come from, n different values, or None.
    Raises UsageError where one of these does not hold (O(n + m) to check). What needs an undirected
    graph raises it for one that lacks an arc back, when it is first asked.

    Vertices are the numbers 0 to n - 1 in all questions and answers. Where the graph has labels,
    ``graph.labels[v]`` is that of vertex v, and ``graph.vertex(label)`` is the vertex:

    >>> graph = mgraph.from_networkx(networkx.Graph([("Bonn", "Ulm"), ("Ulm", "Jena")]))
    >>> found = mgraph.sssp(graph, graph.vertex("Ulm"))
    >>> found.by_label()
    {'Bonn': 1, 'Ulm': 0, 'Jena': 1}
    """

    indptr: Any
    indices: Any
    weights: Any = None
    directed: bool = True
    labels: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        """Check everything but the symmetry of an undirected graph, which is read when needed."""
        check_shapes(self)
        check_content(self)
        if self.labels is not None:
            object.__setattr__(self, "labels", checked_labels(self.labels, self.n))

    @classmethod
    def unchecked(
        cls, indptr: Any, indices: Any, weights: Any = None, directed: bool = True, **known: Any
    ) -> "Graph":
        """A graph from arrays that are known to be right, as a builder's are.

        known: properties that are known, too, and need not be computed.
        """
        graph = cls.__new__(cls)
        for name, value in zip(
            ("indptr", "indices", "weights", "directed"),
            (indptr, indices, weights, directed),
            strict=True,
        ):
            object.__setattr__(graph, name, value)
        vars(graph).update(known)
        return graph

    @property
    def known(self) -> dict[str, Any]:
        """The labels, and the properties that have been computed: they hold elsewhere, too."""
        return {name: vars(self)[name] for name in (*_COMPUTED, "labels") if name in vars(self)}

    def with_labels(self, labels: Iterable[Hashable] | None) -> "Graph":
        """The same graph with these labels, one a vertex, or with none. Copies no array."""
        arrays = self.indptr, self.indices, self.weights, self.directed
        checked = None if labels is None else checked_labels(labels, self.n)
        return Graph.unchecked(*arrays, **self.known | {"labels": checked})

    @cached_property
    def _vertices(self) -> dict[Hashable, int]:
        return {label: vertex for vertex, label in enumerate(self.labels or ())}

    def vertex(self, label: Hashable) -> int:
        """The number of the vertex with this label; without labels a vertex is its own.

        Raises UsageError where there is none.
        """
        if self.labels is not None and isinstance(label, Hashable) and label in self._vertices:
            return self._vertices[label]
        if self.labels is None and isinstance(label, Integral) and 0 <= label < self.n:
            return int(label)
        raise UsageError(f"the graph has no vertex {label!r}")

    @property
    def n(self) -> int:
        """The number of vertices, which are numbered 0 to n - 1."""
        return int(self.indptr.shape[0]) - 1

    @property
    def num_vertices(self) -> int:
        """The same as ``n``."""
        return self.n

    @property
    def num_arcs(self) -> int:
        """The number of arcs, both directions of an undirected edge counted."""
        return int(self.indices.shape[0])

    @cached_property
    def num_edges(self) -> int:
        """The number of edges: of a directed graph its arcs.

        An undirected graph stores two arcs per edge, and one per self-loop. Counting the loops
        costs O(num_arcs), once.
        """
        if self.directed:
            return self.num_arcs
        return (self.num_arcs + self._count_loops()) // 2

    def _count_loops(self) -> int:
        loops = 0
        for row, stop, begin, end in row_pieces(self.indptr, _COUNTED_ARCS):
            heads = self.indices[begin:end]
            starts = self.indptr[row : stop + 1] - begin
            loops += int((tails(starts, heads) + row == heads).sum())
        return loops

    @property
    def backend(self) -> str:
        """``cpu`` or ``gpu``: where the arrays are."""
        return "gpu" if on_gpu(self.indptr) else "cpu"

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        arrays = (self.indptr, self.indices, self.weights)
        return sum(int(array.nbytes) for array in arrays if array is not None)

    def to_cpu(self) -> "Graph":
        """The graph with NumPy arrays; itself where it has them."""
        if self.backend == "cpu":
            return self
        weights = None if self.weights is None else self.weights.get()
        arrays = self.indptr.get(), self.indices.get(), weights
        return Graph.unchecked(*arrays, self.directed, **self.known)

    def to_gpu(self) -> "Graph":
        """The graph on the current device; itself where it is. DeviceError without a device."""
        from mgraph.core import backend

        if self.backend == "gpu":
            return self
        backend.resolve("gpu")
        weights = None if self.weights is None else to_device(self.weights)
        arrays = to_device(self.indptr), to_device(self.indices), weights
        return Graph.unchecked(*arrays, self.directed, **self.known)

    def to_edges(self) -> EdgeList:
        """The edges, where the arrays are: every arc of a directed graph, in order.

        Of an undirected graph each edge once, as (u, v) with u >= v; ``from_edges(…, n=graph.n,
        directed=graph.directed)`` makes the same graph again. Raises UsageError for an undirected
        one that lacks an arc back.
        """
        if not self.directed:
            symmetry.check_symmetric(self)
        edges = EdgeList(tails(self.indptr, self.indices), self.indices, self.weights)
        if self.directed:
            return edges
        once = edges.src >= edges.dst
        return EdgeList(*(array[once] for array in edges))

    @cached_property
    def weight_range(self) -> WeightRange:
        """The least and the largest weight; (1, 1) where none are given, as if each were 1."""
        if self.weights is None or self.num_arcs == 0:
            return WeightRange(1, 1)
        return WeightRange(self.weights.min().item(), self.weights.max().item())

    @cached_property
    def mean_weight(self) -> float:
        """The mean weight; 1 where none are given."""
        if self.weights is None or self.num_arcs == 0:
            return 1.0
        with np.errstate(over="ignore"):  # the sum may overflow where no weight does
            mean = float(self.weights.mean(dtype=np.float64))
        return min(mean, self.weight_range.largest)

    @cached_property
    def max_degree(self) -> int:
        """The most arcs that leave one vertex; 0 without vertices."""
        return int((self.indptr[1:] - self.indptr[:-1]).max()) if self.n else 0

    @cached_property
    def rows_ascend(self) -> bool:
        """Whether rows ascend by destination, parallel arcs by weight, as builders leave them."""
        falls = self.indices[1:] < self.indices[:-1]
        if self.weights is not None:
            same = self.indices[1:] == self.indices[:-1]
            falls |= same & (self.weights[1:] < self.weights[:-1])
        begins = self.indptr[1:-1]
        falls[begins[(begins > 0) & (begins < self.num_arcs)] - 1] = False
        return not bool(falls.any())

    @cached_property
    def symmetric(self) -> bool:
        """Whether each arc has one back of the same weight, as an undirected graph must.

        Looked at once: by sums of 64-bit hashes of the arcs, which differ but for a chance of 2^-64
        where arcs do.
        """
        return symmetry.symmetric(self)

    def __repr__(self) -> str:
        """N, arcs, the weights' type and where the graph lies."""
        kind = "directed" if self.directed else "undirected"
        weights = "unweighted" if self.weights is None else f"{self.weights.dtype} weights"
        labels = "" if self.labels is None else "labels, "
        size = f"n={self.n}, num_arcs={self.num_arcs}"
        return f"Graph({size}, {kind}, {weights}, {labels}{self.backend})"


def checked_labels(labels: Iterable[Hashable], n: int) -> tuple[Hashable, ...]:
    """The labels of n vertices as a tuple. Raises UsageError unless they are n different values."""
    given = tuple(labels if isinstance(labels, str) else as_list("labels", labels))
    try:
        different = len(set(given))
    except TypeError as error:
        raise UsageError(f"labels must be hashable: {error}") from None
    if len(given) != n or different != n:
        raise UsageError(
            f"a graph of {n:,} vertices has {n:,} different labels, and given are {len(given):,}, "
            f"{different:,} of them different"
        )
    return given


def check_shapes(graph: Graph) -> None:
    """Raise UsageError unless shapes, types and homes of the arrays fit together."""
    arrays = {"indptr": graph.indptr, "indices": graph.indices}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    for name, array in arrays.items():
        if not (isinstance(array, np.ndarray) or on_gpu(array)) or array.ndim != 1:
            raise UsageError(
                f"{name} must be a NumPy or CuPy array of one dimension, and is "
                f"{type(array).__name__}{getattr(array, 'shape', '')}"
            )
        if not array.flags.c_contiguous:
            raise UsageError(f"{name} must be contiguous, and is a view with gaps; copy it")
    if len({on_gpu(array) for array in arrays.values()}) > 1:
        raise UsageError("a graph's arrays must all be NumPy arrays or all CuPy arrays")
    for name, dtypes in (
        ("indptr", ("int64",)),
        ("indices", INDEX_DTYPES),
        ("weights", WEIGHT_DTYPES),
    ):
        if name in arrays and str(arrays[name].dtype) not in dtypes:
            raise UsageError(f"{name} must be {' or '.join(dtypes)}, and is {arrays[name].dtype}")
    if graph.indptr.shape[0] < 1:
        raise UsageError("indptr must have n + 1 elements, and is empty")
    if graph.weights is not None and graph.weights.shape != graph.indices.shape:
        raise UsageError(
            f"weights must be as many as indices, {graph.indices.shape[0]:,}, and are "
            f"{graph.weights.shape[0]:,}"
        )


def check_content(graph: Graph) -> None:
    """Raise UsageError unless ``indptr`` never falls and every arc ends at a vertex."""
    indptr, n, m = graph.indptr, graph.n, graph.num_arcs
    if int(indptr[0]) != 0 or int(indptr[-1]) != m or bool((indptr[1:] < indptr[:-1]).any()):
        raise UsageError(
            f"indptr must rise from 0 to the number of arcs, {m:,}, and goes from "
            f"{int(indptr[0]):,} to {int(indptr[-1]):,}, or falls in between"
        )
    if m and not 0 <= int(graph.indices.min()) <= int(graph.indices.max()) < n:
        raise UsageError(
            f"indices must lie in [0, {n:,}), and lie in [{int(graph.indices.min()):,}, "
            f"{int(graph.indices.max()):,}]"
        )
