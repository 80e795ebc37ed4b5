"""NetworkX graphs to graphs of this package; ``export.py`` has the opposite direction.

The vertices of a ``Graph`` are numbers. Nodes that are the integers 0 to n - 1 keep their numbers,
in whatever order they were added. Other nodes become the graph's labels.
"""

import re
import warnings
from collections.abc import Hashable, Iterable
from numbers import Integral, Number
from typing import Any

import numpy as np

from mgraph.core.array_types import Array
from mgraph.core.arrays import as_array, as_dtype, as_weights
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import MgraphWarning, UsageError

RENUMBERED = (
    "the nodes are integers other than 0 to n - 1, so they are renumbered in ascending order: "
    "vertex v is node graph.labels[v], and graph.vertex(node) is the vertex"
)


def from_networkx(graph: Any, *, weight: str = "weight") -> Graph:
    """Convert a NetworkX graph of any class.

    Parameters
    ----------
    graph : networkx.Graph
        Also a DiGraph, MultiGraph or MultiDiGraph.
    weight : str, default "weight"
        The edge attribute that holds the weights. Either all edges have it or none.

    Returns
    -------
    Graph
        On the CPU; directed if the NetworkX graph is. Nodes that are the integers 0 to n - 1 are
        the vertices of these numbers. Other nodes become ``labels``: other integers in ascending
        order, nodes of any other type in the order of ``graph.nodes``.

    Raises
    ------
    UsageError
        If ``graph`` is not a NetworkX graph, if only some edges have a weight, or if a weight is
        not a real number.

    Warns
    -----
    MgraphWarning
        If the nodes are integers other than 0 to n - 1, which are easily taken for vertices.

    Examples
    --------
    >>> import networkx
    >>> graph = mgraph.from_networkx(networkx.Graph([("a", "b"), ("b", "c")]))
    >>> graph.labels
    ('a', 'b', 'c')
    >>> graph.vertex("c")
    2
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise UsageError(
            f"from_networkx takes a NetworkX graph, not {type(graph).__name__}", parameter="graph"
        )
    numbers, labels = number_nodes(graph.nodes)
    if labels is not None and None not in map(parse_integer, labels):
        warnings.warn(f"from_networkx: {RENUMBERED}", MgraphWarning, stacklevel=2)
    return convert_edges(graph, numbers, weight).with_labels(labels)


def number_nodes(
    nodes: Iterable[Hashable], textual: bool = False
) -> tuple[dict[Hashable, int], tuple[Hashable, ...] | None]:
    """Return each node's number, and the labels; None if the nodes are the numbers themselves.

    textual: the nodes are names from a file, so that "17" is the integer 17.
    """
    ordered = list(nodes)
    integers = [parse_integer(node, textual) for node in ordered]
    if ordered and None not in integers:
        if min(integers) == 0 and max(integers) == len(integers) - 1:
            return dict(zip(ordered, integers, strict=True)), None
        ordered = [node for _, node in sorted(zip(integers, ordered, strict=True))]
    elif not ordered:
        return {}, None
    return {node: i for i, node in enumerate(ordered)}, tuple(ordered)


def parse_integer(node: Any, textual: bool = False) -> Any:
    """Return the integer that a node is, or None. textual: see ``number_nodes``."""
    if textual:
        return int(node) if re.fullmatch("0|-?[1-9][0-9]{0,17}", node) else None
    return int(node) if isinstance(node, Integral) else None


def convert_edges(graph: Any, numbers: dict[Hashable, int], weight: str = "weight") -> Graph:
    """Build a graph without labels from a NetworkX graph whose nodes have these numbers."""
    edges = [
        (numbers[u], numbers[v], attributes.get(weight))
        for u, v, attributes in graph.edges(data=True)
    ]
    values = [value for *_, value in edges if value is not None]
    if values and len(values) < len(edges):
        raise UsageError(
            f"{len(values)} of {len(edges)} edges have a {weight}; give it to all or to none",
            parameter="weight",
        )
    src, dst = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    weights = _as_weights(values, weight) if values else None
    return from_edges(
        EdgeList(src, dst, weights), len(numbers), directed=graph.is_directed(), backend="cpu"
    )


def _as_weights(values: list[Any], name: str) -> np.ndarray:
    """Return the edges' weights in one of the weight types, exactly, or raise UsageError."""
    for value in values:
        if not isinstance(value, (Number, np.bool_)):
            raise UsageError(
                f"an edge's {name} must be a number (got {value!r:.60})", parameter="weight"
            )
    weights = as_array(name, values)
    if weights.dtype == object:  # integers that a double rounds, or numbers of other types
        weights = as_dtype(name, values, np.float64)
    array: np.ndarray = as_weights(weights)
    return array


def tree_to_networkx(edges: EdgeList, terminals: Array, labels: Any) -> Any:
    """Convert a tree to a NetworkX graph whose nodes are the tree's own vertices.

    labels: of all vertices of the graph that the tree is in, or None.
    """
    vertices = np.unique(np.concatenate([edges.src, edges.dst, terminals]))
    n = int(vertices[-1]) + 1 if labels is None else len(labels)
    graph = from_edges(edges, n, directed=False, backend="cpu").with_labels(labels)
    return graph.to_networkx(vertices=vertices)
