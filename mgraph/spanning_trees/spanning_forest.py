"""What every spanning forest method answers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.exact_sum import exact_sum, rounded
from mgraph.core.formatting import pluralize
from mgraph.core.graph import Graph, on_gpu


@dataclass(frozen=True, eq=False)
class SpanningForest:
    """The lightest edges that join all that the graph joins, in ascending order of ``edge_id``.

    n: the graph's vertices. src, dst: ``(k,)``, of the graph's ids, src above dst. weight: ``(k,)``
    of the graph's type; int32 ones where it has none. edge_id: ``(k,)`` int64, where the arc from
    src to dst stands in ``graph.indices``. method, backend: what found it. step_times: milliseconds
    by step, of boruvka if asked. labels: the graph's, the nodes of ``to_networkx``.
    """

    n: int
    src: Any
    dst: Any
    weight: Any
    edge_id: Any
    method: str
    backend: str
    step_times: dict[str, float] | None = None
    labels: Any = None

    def __len__(self) -> int:
        """The number of edges."""
        return int(self.edge_id.shape[0])

    def __repr__(self) -> str:
        """How large it is, and what found it."""
        return (
            f"SpanningForest({pluralize(len(self), 'edge')}, "
            f"{pluralize(self.components, 'component')}, total weight {self.total_weight:,}, "
            f"{self.method} on the {self.backend})"
        )

    @property
    def components(self) -> int:
        """Trees, those of a single vertex included."""
        return self.n - len(self)

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, the exact sum rounded once for floats."""
        return rounded(exact_sum(self.weight))

    def to_graph(self, weighted: bool = True) -> Graph:
        """The forest as an undirected graph of the same vertices, on the same backend."""
        weight = self.weight if weighted else None
        graph = from_edges(EdgeList(self.src, self.dst, weight), self.n, directed=False)
        return graph.with_labels(self.labels)

    def to_networkx(self) -> Any:
        """The forest as a NetworkX graph of all vertices; nodes are the labels, if any."""
        return self.to_graph().to_networkx()

    def to_cpu(self) -> "SpanningForest":
        """The same with NumPy arrays; itself where it has them."""
        if not on_gpu(self.edge_id):
            return self
        names = ("src", "dst", "weight", "edge_id")
        return replace(self, **{name: getattr(self, name).get() for name in names})
