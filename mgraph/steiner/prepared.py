"""A graph made ready for Steiner trees, once for all queries."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mgraph.core import cancellation
from mgraph.core.graph import Graph
from mgraph.core.memory import LARGER_GPU, free_memory, memory_guard
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import DisconnectedError, MgraphWarning, OutOfMemoryError, UsageError
from mgraph.shortest_paths.problem import length_dtype
from mgraph.steiner import contraction
from mgraph.steiner.contraction import Contraction
from mgraph.steiner.star import Apart, Search

CPU_BYTES = 72  # per vertex, of a search on a CPU for up to 64 terminals
_MEMORY_SHARE = 0.6  # of what is free, for the searches of all threads
_GIB = 1 << 30


class Prepared:
    """What queries on one graph share. Of several threads each gets a searcher of its own."""

    def __init__(self, graph: Graph) -> None:
        """Check the graph.

        Raises UsageError for one that is directed, lacks an arc back or has negative weights.
        """
        if not isinstance(graph, Graph):
            raise UsageError(f"graph must be a mgraph.Graph, and is {type(graph).__name__}")
        if graph.directed:
            raise UsageError(
                "Steiner trees need an undirected graph, and this one is directed; read it with "
                "symmetrise (--symmetrise), or give from_edges directed=False"
            )
        length_dtype(graph)  # raises for weights that are negative, not finite or too large
        check_symmetric(graph)
        self.n, self.labels = graph.n, graph.labels
        self.contraction: Contraction | None = None
        if graph.num_arcs and graph.weights is not None and not graph.weight_range.minimum > 0:
            self.contraction = contraction.contract(graph.to_cpu())
            contracted = self.contraction.graph
            graph = contracted.to_gpu() if graph.backend == "gpu" else contracted
        # Another object, so that the one that was given may be forgotten, and this with it.
        self.graph = Graph.unchecked(graph.indptr, graph.indices, graph.weights, False)
        self.on_gpu = graph.backend == "gpu"
        self._lock, self._device = threading.Lock(), threading.Lock()
        self._idle: dict[str, list[Search]] = {}

    @cached_property
    def reason_for_cpu(self) -> str:
        """Why the current GPU cannot take STAR's searches on this graph; empty where it can.

        Looked at once, with a warning: later these searches themselves hold the memory.
        """
        from mgraph.steiner import star_memory_gpu

        reason = star_memory_gpu.shortage(self.graph)
        if reason:
            warnings.warn(reason, MgraphWarning, stacklevel=2)
        return reason

    @cached_property
    def csr(self) -> tuple[Any, Any, Any]:
        """NumPy's indptr, indices and weights; the weights 1 where there are none.

        Raises OutOfMemoryError where a graph of a GPU does not fit beside one search on a CPU.
        """
        needed, free = self.graph.nbytes + CPU_BYTES * self.graph.n, free_memory()
        if self.on_gpu and needed > free:
            raise OutOfMemoryError(
                f"Steiner queries on the CPU need {needed / _GIB:,.1f} GiB for this graph of a GPU "
                f"and one search, and {free / _GIB:,.1f} GiB are free; use --backend gpu, or a "
                "machine with more memory"
            )
        graph = self.graph.to_cpu()
        weights = graph.weights
        if weights is None:
            weights = np.ones(graph.num_arcs, np.int32)
        return graph.indptr, graph.indices, weights

    @property
    def kind(self) -> str:
        """The type of lengths and costs: int64 or float64."""
        weights = self.graph.weights
        return "float64" if weights is not None and weights.dtype.kind == "f" else "int64"

    def inside(self, terminals: Any) -> Any:
        """Terminals as the contracted graph has them; ascending, distinct."""
        if self.contraction is None:
            return terminals
        return np.unique(self.contraction.component[terminals])

    @cached_property
    def _component(self) -> Any:
        """Of each vertex of the contracted graph."""
        if self.on_gpu and self.graph.n < 1 << 31:
            from mgraph.steiner import components_gpu

            with memory_guard("the graph's components", LARGER_GPU):
                return components_gpu.components(self.graph.indptr, self.graph.indices)
        from mgraph.steiner.components_cpu import components

        return components(*self.csr[:2])

    @cached_property
    def _cpu_slots(self) -> threading.Semaphore:
        """How many searches on a CPU there is memory for, at least one."""
        _ = self.csr
        most = int(_MEMORY_SHARE * free_memory() / (CPU_BYTES * max(self.graph.n, 1)))
        return threading.Semaphore(max(1, most))

    @property
    def component(self) -> Any:
        """Of each vertex of the graph the number of its component, ``(n,)``."""
        found = self._component
        return found if self.contraction is None else found[self.contraction.component]

    def apart(self, terminals: Any) -> Apart | None:
        """A terminal that no tree holds beside the first, if there is one; by all components."""
        component = self._component[terminals]
        others = terminals[component != component[0]]
        return Apart(int(others[0])) if others.size else None

    def disconnected(self, terminals: Any, other: int) -> DisconnectedError:
        """The error for terminals of which the first and ``other``, as inside, are apart."""
        if self.contraction is not None:
            other = int(terminals[self.contraction.component[terminals] == other][0])
        return DisconnectedError(
            f"terminals {terminals[0]:,} and {other:,} lie in different components, so that no "
            "tree holds both; leave one of them out"
        )

    @contextmanager
    def searcher(self, name: str) -> Iterator[Search]:
        """STAR's searches: cpu, gpu, node or edge.

        One at a time on a GPU, whose blocks wait for each other; on a CPU as many as fit in memory.
        """
        if name == "cpu":
            with self._lock:
                slots = self._cpu_slots
            with cancellation.acquiring(slots), self._taken(name) as search:
                yield search
        else:
            with self._taken(name) as search, cancellation.acquiring(self._device):
                yield search

    @contextmanager
    def _taken(self, name: str) -> Iterator[Search]:
        """A search that no other thread has, until the block ends."""
        with self._lock:
            idle = self._idle.setdefault(name, [])
            search = idle.pop() if idle else None
        search = search or self._new(name)
        try:
            yield search
        finally:
            with self._lock:
                idle.append(search)

    def _new(self, name: str) -> Search:
        if name == "cpu":
            from mgraph.steiner import star_cpu

            return star_cpu.Searcher(*self.csr, self.kind)

        with self._device:
            self.graph_on_device = self.graph.to_gpu()
        if name == "gpu":
            from mgraph.steiner import star_gpu

            return star_gpu.Searcher(self.graph_on_device)
        from mgraph.steiner import star_frontier_gpu

        return star_frontier_gpu.Searcher(
            self.graph_on_device, self.csr, self.kind, by_arc=name == "edge"
        )


_prepared: WeakKeyDictionary[Graph, Prepared] = WeakKeyDictionary()
_preparing = threading.Lock()


def prepared(graph: Graph) -> Prepared:
    """The graph made ready; kept as long as the graph is."""
    with cancellation.acquiring(_preparing):
        found = _prepared.get(graph) if isinstance(graph, Graph) else None
        if found is None:
            found = Prepared(graph)
            _prepared[graph] = found
        return found
