"""The graph that some vertices form whose arcs lead to each other alone, such as a component."""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph


def component_graph(graph: Graph, is_member: np.ndarray) -> Graph:
    """Return the graph of a component, with NumPy arrays; its labels are those of the vertices.

    is_member: bool, ``(n,)``. Members are numbered again, in the same order. Without labels, their
    numbers in ``graph`` become the labels. Cost: O(n + num_arcs), 9 bytes per arc of the component.
    """
    graph = graph.to_cpu()
    members = np.flatnonzero(is_member)
    degrees = np.diff(graph.indptr)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees[members])])
    is_kept = np.repeat(is_member, degrees)
    rank = np.cumsum(is_member) - 1
    indices = rank[graph.indices[is_kept]].astype(graph.indices.dtype)
    weights = None if graph.weights is None else graph.weights[is_kept]
    known: dict[str, Any] = {
        name: value
        for name, value in graph.known.items()
        if name in ("rows_ascend", "symmetric") and value
    }
    labels = members.tolist() if graph.labels is None else _take(graph.labels, members)
    component = Graph.unchecked(indptr, indices, weights, graph.directed, **known)
    return component.with_labels(labels)


def _take(labels: Any, members: np.ndarray) -> list[Any]:
    return [labels[vertex] for vertex in members.tolist()]
