"""Graphs to and from NetworkX, for what is small enough for it.

Vertices of a ``Graph`` are numbers. Nodes that are the integers 0 to n - 1 keep their numbers, in
whatever order they were added. Others are the graph's labels, which ``to_networkx`` gives back.
"""

import re
import warnings
from collections.abc import Hashable, Iterable
from numbers import Integral, Number
from typing import Any

import numpy as np

from mgraph.core.arrays import as_array, as_dtype, as_weights, checked_vertices
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import MgraphWarning, UsageError

NUMBERED_ANEW = (
    "the nodes are integers other than 0 to n - 1, so they are renumbered in ascending order: "
    "vertex v is node graph.labels[v], and graph.vertex(node) is the vertex"
)


def from_networkx(graph: Any, *, weight: str = "weight") -> Graph:
    """A graph from a NetworkX graph of any class.

    weight: the edge attribute that holds weights; either all edges have it or none.

    Nodes that are the integers 0 to n - 1 are the vertices of these numbers. Other nodes become
    ``graph.labels``: other integers are numbered in ascending order, with a MgraphWarning, since
    they are easily taken for vertices; nodes of any other kind in the order of ``graph.nodes``.

    >>> graph = mgraph.from_networkx(networkx.Graph([("a", "b"), ("b", "c")]))
    >>> graph.labels
    ('a', 'b', 'c')
    >>> graph.vertex("c")
    2
    >>> mgraph.sssp(graph, graph.vertex("c")).by_label()
    {'a': 2, 'b': 1, 'c': 0}
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise UsageError(f"from_networkx takes a NetworkX graph, not {type(graph).__name__}")
    number, labels = numbered(graph.nodes)
    if labels is not None and None not in map(integer, labels):
        warnings.warn(f"from_networkx: {NUMBERED_ANEW}", MgraphWarning, stacklevel=2)
    return converted(graph, number, weight).with_labels(labels)


def numbered(
    nodes: Iterable[Hashable], textual: bool = False
) -> tuple[dict[Hashable, int], tuple[Hashable, ...] | None]:
    """Each node's number, and the labels; None where the nodes are the numbers themselves.

    textual: nodes are what a file calls them, so that "17" is the integer 17.
    """
    given = list(nodes)
    keys = [integer(node, textual) for node in given]
    if given and None not in keys:
        if min(keys) == 0 and max(keys) == len(keys) - 1:
            return dict(zip(given, keys, strict=True)), None
        given = [node for _, node in sorted(zip(keys, given, strict=True))]
    elif not given:
        return {}, None
    return {node: i for i, node in enumerate(given)}, tuple(given)


def integer(node: Any, textual: bool = False) -> Any:
    """The integer that a node is, or None. textual: as ``numbered`` takes it."""
    if textual:
        return int(node) if re.fullmatch("0|-?[1-9][0-9]{0,17}", node) else None
    return int(node) if isinstance(node, Integral) else None


def converted(graph: Any, number: dict[Hashable, int], weight: str = "weight") -> Graph:
    """A NetworkX graph whose nodes have these numbers; without labels."""
    ends = [(number[u], number[v], data.get(weight)) for u, v, data in graph.edges(data=True)]
    given = [w for _, _, w in ends if w is not None]
    if given and len(given) < len(ends):
        raise UsageError(
            f"{len(given)} of {len(ends)} edges have a {weight}; give it to all or to none"
        )
    src, dst = (np.array([end[side] for end in ends], np.int64) for side in (0, 1))
    weights = _weights(given, weight) if given else None
    return from_edges(
        EdgeList(src, dst, weights), len(number), directed=graph.is_directed(), backend="cpu"
    )


def _weights(given: list[Any], name: str) -> np.ndarray:
    """Edges' weights as one of a weight's types, exactly. Raises UsageError where one is none."""
    for value in given:
        if not isinstance(value, (Number, np.bool_)):
            raise UsageError(f"an edge's {name} must be a number, and one is {value!r:.60}")
    weights = as_array(name, given)
    if weights.dtype == object:  # integers that a double rounds, or numbers of other types
        weights = as_dtype(f"each {name}", given, np.float64)
    return as_weights(weights)


def to_networkx(graph: Any, *, vertices: Any = None) -> Any:
    """A graph, a Steiner tree or a spanning forest as a NetworkX graph.

    Nodes are the labels where the graph has some, else the vertices' numbers, with a ``weight`` on
    each edge where there is one. graph: a ``Graph``, of which all vertices become nodes; a
    ``SpanningForest``, likewise; or a ``SteinerTree``, of which its own vertices do. vertices:
    those that become nodes, with the edges among them; by default all.
    Returns a Graph or DiGraph; MultiGraph or MultiDiGraph where there are parallel arcs.
    """
    import networkx

    if not isinstance(graph, Graph):
        graph, vertices = _as_graph(graph, vertices)
    graph = graph.to_cpu()
    row_ends = np.zeros(graph.num_arcs, bool)
    row_ends[graph.indptr[1:-1][graph.indptr[1:-1] < graph.num_arcs]] = True
    parallel = bool(((graph.indices[1:] == graph.indices[:-1]) & ~row_ends[1:]).any())
    kind = "Multi" * parallel + "Di" * graph.directed + "Graph"
    made = getattr(networkx, kind)()
    name = range(graph.n) if graph.labels is None else graph.labels
    edges = graph.to_edges()
    if vertices is None:
        made.add_nodes_from(name)
    else:
        vertices = checked_vertices("vertices", vertices, graph.n)
        made.add_nodes_from(name[v] for v in vertices.tolist())
        chosen = np.zeros(graph.n, bool)
        chosen[vertices] = True
        kept = chosen[edges.src] & chosen[edges.dst]
        edges = EdgeList(*(column[kept] for column in edges))
    ends = [(name[v] for v in side.tolist()) for side in (edges.src, edges.dst)]
    if edges.weight is None:
        made.add_edges_from(zip(*ends, strict=True))
    else:
        made.add_weighted_edges_from(zip(*ends, edges.weight.tolist(), strict=True))
    return made


def _as_graph(found: Any, vertices: Any) -> tuple[Graph, Any]:
    """The graph of a tree's or forest's edges, and its vertices where they are not all."""
    if not all(hasattr(found, name) for name in ("src", "dst", "weight", "labels")):
        raise UsageError(
            "to_networkx takes a Graph, a SteinerTree or a SpanningForest, not "
            f"{type(found).__name__}"
        )
    if hasattr(found, "to_cpu"):
        found = found.to_cpu()
    n = getattr(found, "n", None)
    if n is None:  # a tree, which knows its own vertices alone
        used = np.unique(np.concatenate([found.src, found.dst, found.terminals]))
        vertices = used if vertices is None else vertices
        n = int(used[-1]) + 1 if found.labels is None else len(found.labels)
    edges = EdgeList(found.src, found.dst, found.weight)
    graph = from_edges(edges, n, directed=False, backend="cpu")
    return graph.with_labels(found.labels), vertices
