"""What Steiner queries on one graph share: checks, contraction, components, and idle searches."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mgraph.components.connected_components import connected_components
from mgraph.core import cancellation
from mgraph.core.graph import Graph
from mgraph.core.memory import free_memory
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import DisconnectedError, MgraphWarning, OutOfMemoryError, UsageError
from mgraph.shortest_paths.problem import length_dtype
from mgraph.steiner import contraction
from mgraph.steiner.contraction import Contraction
from mgraph.steiner.star import Search, UnreachableTerminal

CPU_BYTES = 72  # per vertex, of one search on a CPU for up to 64 terminals
_MEMORY_SHARE = 0.6  # of the free memory, for the searches of all threads
_GIB = 1 << 30


class PreparedGraph:
    """A graph that is ready for queries; each thread gets a search of its own."""

    def __init__(self, graph: Graph) -> None:
        """Check the graph, and contract its edges of weight 0.

        Raises UsageError for one that is directed, lacks the mirror of an arc or has negative
        weights.
        """
        if not isinstance(graph, Graph):
            raise UsageError(f"graph must be a mgraph.Graph (got {type(graph).__name__})")
        if graph.directed:
            raise UsageError(
                "Steiner trees need an undirected graph, and this one is directed; pass "
                "`symmetrise=True` when it is read, or directed=False when it is made from edges"
            )
        length_dtype(graph)  # raises for weights that are negative, not finite or too large
        check_symmetric(graph)
        self.n, self.labels = graph.n, graph.labels
        self.contraction: Contraction | None = None
        if graph.num_arcs and graph.weights is not None and not graph.weight_range.minimum > 0:
            self.contraction = contraction.contract(graph.to_cpu())
            contracted = self.contraction.graph
            graph = contracted.to_gpu() if graph.backend == "gpu" else contracted
        # A new object, so that the caller's graph can be freed, and with it what is kept here.
        self.graph = Graph.unchecked(
            graph.indptr, graph.indices, graph.weights, False, symmetric=True
        )
        self.on_gpu = graph.backend == "gpu"
        self._lock, self._device = threading.Lock(), threading.Lock()
        self._idle: dict[str, list[Search]] = {}

    @cached_property
    def reason_for_cpu(self) -> str:
        """Why the current GPU cannot take STAR's searches on this graph; empty if it can.

        Computed once, with a warning: later these searches themselves hold the memory.
        """
        from mgraph.steiner import star_memory_gpu

        reason = star_memory_gpu.describe_shortage(self.graph)
        if reason:
            warnings.warn(reason, MgraphWarning, stacklevel=2)
        return reason

    @cached_property
    def csr(self) -> tuple[Any, Any, Any]:
        """NumPy's indptr, indices and weights; weights of 1 if the graph has none.

        Raises OutOfMemoryError if a graph on a GPU does not fit in memory beside one search on a
        CPU.
        """
        needed, available = self.graph.nbytes + CPU_BYTES * self.graph.n, free_memory()
        if self.on_gpu and needed > available:
            raise OutOfMemoryError(
                f"Steiner queries on the CPU need {needed / _GIB:,.1f} GiB for this graph of a GPU "
                f'and one search, and {available / _GIB:,.1f} GiB are free; use backend="gpu", or '
                "a machine with more memory"
            )
        graph = self.graph.to_cpu()
        weights = graph.weights
        if weights is None:
            weights = np.ones(graph.num_arcs, np.int32)
        return graph.indptr, graph.indices, weights

    @property
    def cost_dtype(self) -> str:
        """The type of lengths and costs: int64 or float64."""
        weights = self.graph.weights
        return "float64" if weights is not None and weights.dtype.kind == "f" else "int64"

    def contract(self, vertices: Any) -> Any:
        """Return the contracted graph's vertex of each vertex."""
        return vertices if self.contraction is None else self.contraction.component[vertices]

    def contract_terminals(self, terminals: Any) -> Any:
        """Return the contracted graph's vertices of some terminals: ascending, distinct."""
        return terminals if self.contraction is None else np.unique(self.contract(terminals))

    @cached_property
    def _contracted_component(self) -> Any:
        """The smallest vertex of the component of each vertex of the contracted graph."""
        return connected_components(self.graph).to_cpu().labels

    @cached_property
    def _cpu_slots(self) -> threading.Semaphore:
        """A semaphore of as many searches on a CPU as fit in memory, at least one."""
        _ = self.csr
        fitting = int(_MEMORY_SHARE * free_memory() / (CPU_BYTES * max(self.graph.n, 1)))
        return threading.Semaphore(max(1, fitting))

    @property
    def component(self) -> Any:
        """Which component each vertex is in, ``(n,)``: a vertex of the contracted graph."""
        component = self._contracted_component
        return component if self.contraction is None else component[self.contraction.component]

    def find_unreachable(self, terminals: Any) -> UnreachableTerminal | None:
        """Return a contracted terminal that no tree connects to the first, if there is one."""
        component = self._contracted_component[terminals]
        others = terminals[component != component[0]]
        return UnreachableTerminal(int(others[0])) if others.size else None

    def in_common_component(self, groups: list[Any]) -> Any:
        """Return the vertices of the smallest group whose component has a vertex of each group.

        groups: arrays of contracted vertices.
        """
        smallest = min(groups, key=len)
        component = self._contracted_component
        is_common = np.ones(smallest.size, bool)
        for group in groups:
            is_common &= np.isin(component[smallest], component[group])
        return smallest[is_common]

    def disconnected_error(self, terminals: Any, unreachable: int) -> DisconnectedError:
        """Return the error for terminals of which a contracted one cannot reach the first."""
        if self.contraction is not None:
            is_there = self.contraction.component[terminals] == unreachable
            unreachable = int(terminals[is_there][0])
        first, other = (
            f"{vertex:,}" if self.labels is None else f"{self.labels[vertex]}"
            for vertex in (int(terminals[0]), unreachable)
        )
        return DisconnectedError(
            f"terminals {first} and {other} lie in different components, so that no tree holds "
            "both; leave one of them out"
        )

    @contextmanager
    def borrow_search(self, name: str) -> Iterator[Search]:
        """Borrow one of STAR's searches for the block: cpu, gpu, node or edge.

        One at a time on a GPU, whose blocks wait for each other; on a CPU as many as fit in memory.
        """
        if name == "cpu":
            with self._lock:
                slots = self._cpu_slots
            with cancellation.acquiring(slots), self._borrow_idle(name) as search:
                yield search
        else:
            with self._borrow_idle(name) as search, cancellation.acquiring(self._device):
                yield search

    @contextmanager
    def _borrow_idle(self, name: str) -> Iterator[Search]:
        """Take an idle search, or a new one, and give it back when the block ends."""
        with self._lock:
            idle = self._idle.setdefault(name, [])
            search = idle.pop() if idle else None
        search = search or self._new_search(name)
        try:
            yield search
        finally:
            with self._lock:
                idle.append(search)

    def _new_search(self, name: str) -> Search:
        if name == "cpu":
            from mgraph.steiner import star_cpu

            return star_cpu.new_search(*self.csr, self.cost_dtype)

        with self._device:
            self.graph_on_device = self.graph.to_gpu()
        if name == "gpu":
            from mgraph.steiner import star_gpu

            return star_gpu.Searcher(self.graph_on_device)
        from mgraph.steiner import star_frontier_gpu

        return star_frontier_gpu.new_search(
            self.graph_on_device, self.csr, self.cost_dtype, by_arc=name == "edge"
        )


_prepared: WeakKeyDictionary[Graph, PreparedGraph] = WeakKeyDictionary()
_preparing = threading.Lock()


def prepare(graph: Graph) -> PreparedGraph:
    """Return the graph prepared; the result is kept as long as the graph is."""
    with cancellation.acquiring(_preparing):
        ready = _prepared.get(graph) if isinstance(graph, Graph) else None
        if ready is None:
            ready = PreparedGraph(graph)
            _prepared[graph] = ready
        return ready
