"""The graph of all algorithms: compressed sparse rows, frozen."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mgraph.core import symmetry
from mgraph.core.array_types import Array
from mgraph.core.arrays import INDEX_DTYPES as INDEX_DTYPES
from mgraph.core.arrays import WEIGHT_DTYPES as WEIGHT_DTYPES
from mgraph.core.arrays import on_gpu as on_gpu
from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.core.graph_checks import check_content, check_shapes, checked_labels
from mgraph.core.html import html_table
from mgraph.core.rows import row_pieces, tails
from mgraph.cuda.transfer import to_device
from mgraph.errors import UsageError

MAX_N = 1 << 40
_CHUNK_ARCS = 1 << 24  # arcs among which self-loops are counted at a time
_COMPUTED = "num_edges", "weight_range", "mean_weight", "max_degree", "rows_ascend", "symmetric"


class WeightRange(NamedTuple):
    """The minimum and the maximum weight as Python numbers; NaN if any weight is NaN."""

    minimum: float
    maximum: float


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed or undirected graph in compressed sparse rows (CSR).

    The arcs of vertex v lead to ``indices[indptr[v]:indptr[v + 1]]``. An undirected graph stores
    both arcs of each edge, and one arc per self-loop. Vertices are the numbers 0 to n - 1 wherever
    a function takes or returns vertices; labels are their names.

    Parameters
    ----------
    indptr : array of int64, shape (n + 1,)
        Where each row begins: from 0 to the number of arcs, never decreasing.
    indices : array of int32 or int64, shape (num_arcs,)
        The vertex that each arc leads to.
    weights : array of int32, int64, float32 or float64, shape (num_arcs,), optional
        Any values: a spanning forest takes negative ones. None: an unweighted graph.
    directed : bool, default True
        False: every arc must have its mirror, the arc back with the same weight.
    labels : sequence of hashable, length n, optional
        A different value per vertex.

    Raises
    ------
    UsageError
        If an array's shape, type or content is not as above. The mirror arcs of an undirected graph
        are checked when an algorithm first needs them.

    Notes
    -----
    Arrays are NumPy arrays, or all are CuPy arrays of one device. They are not copied and must not
    be changed. The checks cost O(n + num_arcs). ``from_edges``, ``read_graph``, ``from_networkx``
    and ``from_sparse`` build graphs.

    Examples
    --------
    >>> graph = mgraph.Graph(np.array([0, 2, 2, 3]), np.array([1, 2, 0]))
    >>> graph
    Graph(n=3, num_arcs=3, directed, unweighted, cpu)
    >>> graph.with_labels(["Bonn", "Ulm", "Jena"]).vertex("Jena")
    2
    """

    indptr: Array
    indices: Array
    weights: Array | None = None
    directed: bool = True
    labels: Sequence[Hashable] | None = None

    __networkx_backend__: ClassVar[str] = "mgraph"  # NetworkX's functions take it as it is

    def __post_init__(self) -> None:
        """Check everything but the mirror arcs of an undirected graph."""
        check_shapes(self)
        check_content(self)
        if self.labels is not None:
            object.__setattr__(self, "labels", checked_labels(self.labels, self.n))

    @classmethod
    def unchecked(
        cls, indptr: Any, indices: Any, weights: Any = None, directed: bool = True, **known: Any
    ) -> "Graph":
        """Make a graph of arrays that are known to be correct, such as a builder's.

        known: labels, and properties that need not be computed again.
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
        """The labels and the properties computed so far, which hold for copies as well."""
        return {name: vars(self)[name] for name in (*_COMPUTED, "labels") if name in vars(self)}

    def with_labels(self, labels: Iterable[Hashable] | None) -> "Graph":
        """Return the same graph with these labels, one per vertex, or None; copies no array."""
        arrays = self.indptr, self.indices, self.weights, self.directed
        checked = None if labels is None else checked_labels(labels, self.n)
        return Graph.unchecked(*arrays, **self.known | {"labels": checked})

    @cached_property
    def _vertices(self) -> dict[Hashable, int]:
        return {label: vertex for vertex, label in enumerate(self.labels or ())}

    def vertex(self, label: Hashable) -> int:
        """Return the vertex with this label; in a graph without labels vertices are their labels.

        Raises UsageError if there is no such vertex.
        """
        if isinstance(self.labels, tuple) and isinstance(label, Hashable):
            if label in self._vertices:
                return self._vertices[label]
        elif self.labels is not None and label in self.labels:
            return int(self.labels.index(label))
        if self.labels is None and isinstance(label, Integral) and 0 <= label < self.n:
            return int(label)
        raise UsageError(f"the graph has no vertex {label!r}", parameter="label")

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
        """The number of arcs; an undirected edge counts as two, a self-loop as one."""
        return int(self.indices.shape[0])

    @cached_property
    def num_edges(self) -> int:
        """The number of edges, which are the arcs of a directed graph.

        An undirected graph stores two arcs per edge, and one per self-loop. Counting the loops
        costs O(num_arcs), once.
        """
        if self.directed:
            return self.num_arcs
        return (self.num_arcs + self._count_loops()) // 2

    def _count_loops(self) -> int:
        loops = 0
        for row, stop, begin, end in row_pieces(self.indptr, _CHUNK_ARCS):
            heads = self.indices[begin:end]
            starts = self.indptr[row : stop + 1] - begin
            loops += int((tails(starts, heads) + row == heads).sum())
        return loops

    def is_directed(self) -> bool:
        """The same as ``directed``, as NetworkX asks."""
        return self.directed

    def is_multigraph(self) -> bool:
        """``False``: NetworkX's functions take parallel arcs for one edge."""
        return False

    @property
    def backend(self) -> Device:
        """``"cpu"`` or ``"gpu"``: where the arrays lie."""
        return "gpu" if on_gpu(self.indptr) else "cpu"

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        arrays = (self.indptr, self.indices, self.weights)
        return sum(int(array.nbytes) for array in arrays if array is not None)

    def to_cpu(self) -> "Graph":
        """Return the graph with NumPy arrays; the graph itself if it has them."""
        if self.backend == "cpu":
            return self
        indptr, indices, weights = map(_to_host, (self.indptr, self.indices, self.weights))
        return Graph.unchecked(indptr, indices, weights, self.directed, **self.known)

    def to_gpu(self) -> "Graph":
        """Return the graph on the current device; the graph itself if it is on a GPU.

        Raises DeviceError without a device.
        """
        from mgraph.core import backend

        if self.backend == "gpu":
            return self
        backend.resolve("gpu")
        indptr, indices, weights = map(_to_device, (self.indptr, self.indices, self.weights))
        return Graph.unchecked(indptr, indices, weights, self.directed, **self.known)

    def to_edges(self) -> EdgeList:
        """Return the edges, on the same backend: every arc of a directed graph, in order.

        Of an undirected graph each edge is listed once, as (u, v) with u >= v, so that
        ``from_edges(edges, graph.n, directed=graph.directed)`` builds the same graph again. Raises
        UsageError for an undirected graph that lacks the mirror of an arc.
        """
        if not self.directed:
            symmetry.check_symmetric(self)
        edges = EdgeList(tails(self.indptr, self.indices), self.indices, self.weights)
        if self.directed:
            return edges
        is_listed = edges.src >= edges.dst
        return EdgeList(*(array[is_listed] for array in edges))

    def to_networkx(self, *, vertices: Any = None) -> Any:
        """Convert to a NetworkX graph.

        Parameters
        ----------
        vertices : array_like of int, optional
            The vertices that become nodes, with the edges among them; by default all.

        Returns
        -------
        networkx.Graph or networkx.DiGraph
            A MultiGraph or MultiDiGraph if there are parallel edges. Nodes are the labels if the
            graph has labels, else the vertices' numbers. Edges have the attribute ``weight`` if the
            graph has weights.

        Raises
        ------
        UsageError
            If a vertex is outside [0, n), or an undirected graph lacks the mirror of an arc.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1], [1, 2])
        >>> mgraph.from_edges(edges, backend="cpu").to_networkx().edges
        OutEdgeView([(0, 1), (1, 2)])
        """
        from mgraph.core import export

        return export.to_networkx(self, vertices)

    def to_sparse(self) -> Any:
        """Convert to a sparse matrix whose entry (u, v) is the weight of the arc from u to v.

        Returns
        -------
        scipy.sparse.csr_array or cupyx.scipy.sparse.csr_matrix
            CuPy's if the graph is on a GPU. Entries are the weights, or ones (int8; CuPy: float32)
            if the graph has none. Parallel arcs stay apart as repeated entries, which SciPy adds up
            in many operations.

        Raises
        ------
        DeviceError
            If the graph is on a GPU and has 2^31 arcs or more.

        Notes
        -----
        SciPy's matrix shares the graph's arrays; CuPy's is a copy with int32 indices.

        Examples
        --------
        >>> edges = mgraph.EdgeList([0, 1], [1, 2], [7, 9])
        >>> mgraph.from_edges(edges, backend="cpu").to_sparse().toarray()
        array([[0, 7, 0],
               [0, 0, 9],
               [0, 0, 0]])
        """
        from mgraph.core import export

        return export.to_sparse(self)

    @cached_property
    def weight_range(self) -> WeightRange:
        """The minimum and the maximum weight; (1, 1) for an unweighted graph."""
        if self.weights is None or self.num_arcs == 0:
            return WeightRange(1, 1)
        return WeightRange(self.weights.min().item(), self.weights.max().item())

    @cached_property
    def mean_weight(self) -> float:
        """The mean weight; 1 for an unweighted graph."""
        if self.weights is None or self.num_arcs == 0:
            return 1.0
        with np.errstate(over="ignore"):  # the sum may overflow where no weight does
            if self.backend == "gpu":
                from mgraph.core import primitives_gpu

                mean = primitives_gpu.sum_as_float(self.weights) / self.num_arcs
            else:
                mean = float(self.weights.mean(dtype=np.float64))
        return min(mean, self.weight_range.maximum)

    @cached_property
    def max_degree(self) -> int:
        """The maximum number of arcs that leave one vertex; 0 without vertices."""
        if self.backend == "gpu":
            from mgraph.core import primitives_gpu

            return primitives_gpu.summarize_degrees(self.indptr, self.num_arcs).maximum
        return int((self.indptr[1:] - self.indptr[:-1]).max()) if self.n else 0

    @cached_property
    def rows_ascend(self) -> bool:
        """Whether rows ascend by destination, and parallel arcs by weight."""
        descends = self.indices[1:] < self.indices[:-1]
        if self.weights is not None:
            is_parallel = self.indices[1:] == self.indices[:-1]
            descends |= is_parallel & (self.weights[1:] < self.weights[:-1])
        begins = self.indptr[1:-1]
        descends[begins[(begins > 0) & (begins < self.num_arcs)] - 1] = False
        return not bool(descends.any())

    @cached_property
    def symmetric(self) -> bool:
        """Whether each arc has its mirror, the arc back with the same weight.

        Computed once, by sums of 64-bit hashes of the arcs; the answer is wrong with a probability
        of 2^-64.
        """
        return symmetry.symmetric(self)

    def __repr__(self) -> str:
        """Return the sizes, the weights' type, and where the arrays lie."""
        direction = "directed" if self.directed else "undirected"
        weights = "unweighted" if self.weights is None else f"{self.weights.dtype} weights"
        labels = "" if self.labels is None else "labels, "
        size = f"n={self.n}, num_arcs={self.num_arcs}"
        return f"Graph({size}, {direction}, {weights}, {labels}{self.backend})"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        return html_table(
            "Graph",
            {
                "vertices": self.n, "edges": None if self.directed else self.num_edges,
                "arcs": self.num_arcs, "directed": self.directed,
                "weights": "none" if self.weights is None else str(self.weights.dtype),
                "labels": None if self.labels is None else "yes", "memory": self.backend,
            },
        )  # fmt: skip


def _to_host(array: Any) -> Any:
    """Return a device's array as NumPy's."""
    return None if array is None else array.get()


def _to_device(array: Any) -> Any:
    """Return NumPy's array on the current device."""
    return None if array is None else to_device(array)
