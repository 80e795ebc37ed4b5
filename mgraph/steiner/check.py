"""The checker of Steiner trees: what a result claims is computed again, from the graph alone."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from mgraph.core.arrays import as_list, checked_vertices
from mgraph.core.graph import Graph
from mgraph.errors import MgraphError, UsageError
from mgraph.io.as_graph import as_graph
from mgraph.steiner.result import SteinerTree

RELATIVE_ERROR = 1e-9  # of a cost with fractions


def check_steiner_tree(
    graph: Graph | Any,
    tree: SteinerTree,
    *,
    terminals: ArrayLike | None = None,
    groups: Sequence[Any] | None = None,
    root: int | None = None,
    vertex_weights: ArrayLike | None = None,
    prizes: ArrayLike | None = None,
) -> None:
    """Check that a result is a tree of a graph, that it holds what it must, and what it costs.

    Parameters
    ----------
    graph : Graph, or what becomes one
        The graph that the tree was found in.
    tree : SteinerTree
        Of any function that returns one. If it has a ``root``, its arcs must lead away from there.
    terminals : array_like of int, optional
        The vertices that the tree must hold. By default ``tree.terminals``.
    groups : sequence of array_like of int, optional
        The groups of which the tree must hold a vertex each, and ``tree.terminals`` name one each.
    root : int, optional
        A vertex that the tree must hold as well, and which may be a leaf: that of a tree with
        prizes.
    vertex_weights, prizes : array_like, shape (n,), optional
        What ``tree.vertex_cost`` is compared with: the weights of the tree's vertices, or the
        prizes of the others.

    Raises
    ------
    MgraphError
        If an edge is not in the graph or has another weight there, the edges are no tree, a
        terminal or group is missing, a branch leads to no terminal, or a cost or the bound is
        wrong. That no tree is cheaper is not checked.
    UsageError
        If ``vertex_weights`` or ``prizes`` do not have a number per vertex.

    Notes
    -----
    Cost: for each edge of the tree the row of one of its ends is read.

    Examples
    --------
    >>> edges = mgraph.EdgeList([0, 1, 2, 0], [3, 3, 3, 1], [1, 1, 1, 3])
    >>> graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    >>> mgraph.check_steiner_tree(graph, mgraph.steiner_tree(graph, [0, 1, 2]))
    """
    graph = as_graph(graph, directed=tree.root is not None, backend="cpu").to_cpu()
    needed = tree.terminals
    if terminals is not None:
        needed = np.unique(checked_vertices("terminals", terminals, graph.n))
        if groups is None and needed.tolist() != np.unique(tree.terminals).tolist():
            raise _error("it was found for other terminals")
    if root is not None:
        needed = np.append(needed, checked_vertices("root", root, graph.n))
    vertices = np.unique(np.concatenate([tree.src, tree.dst]))
    if not vertices.size:
        vertices = needed[:1] if tree.root is None else np.array([tree.root])
    _check_edges(graph, tree)
    _check_shape(tree, vertices)
    missing = np.setdiff1d(needed, vertices)
    if missing.size:
        raise _error(f"it lacks the terminal {missing[0]:,}")
    ends = np.union1d(needed, tree.terminals)
    if groups is not None:
        _check_groups(tree, groups, vertices)
    degrees = np.bincount(np.searchsorted(vertices, np.concatenate([tree.src, tree.dst])))
    leaves = vertices[np.flatnonzero(degrees == 1)]
    useless = np.setdiff1d(leaves, ends if tree.root is None else np.append(ends, tree.root))
    if useless.size:
        raise _error(f"its leaf {useless[0]:,} is no terminal")
    _check_costs(graph, tree, vertices, vertex_weights, prizes)


def _sum(values: Any) -> Any:
    """Return the sum: exact for integers, rounded once for fractions."""
    return (math.fsum if values.dtype.kind == "f" else sum)(values.tolist())


def _are_equal(value: Any, expected: Any) -> bool:
    if isinstance(value, int) and isinstance(expected, int):
        return value == expected
    return math.isclose(value, expected, rel_tol=RELATIVE_ERROR)


def _error(fault: str) -> MgraphError:
    return MgraphError(f"This is not a Steiner tree of the graph: {fault}.")


def _check_edges(graph: Graph, tree: SteinerTree) -> None:
    weights = tree.weight if tree.weight is not None else np.ones(tree.src.size, np.int64)
    for u, v, weight in zip(tree.src.tolist(), tree.dst.tolist(), weights, strict=True):
        if not (0 <= u < graph.n and 0 <= v < graph.n):
            raise _error(f"its edge {u:,} to {v:,} leads to a vertex that the graph lacks")
        row = slice(int(graph.indptr[u]), int(graph.indptr[u + 1]))
        arcs = np.flatnonzero(graph.indices[row] == v)
        if not arcs.size:
            raise _error(f"the graph has no edge from {u:,} to {v:,}")
        own = 1 if graph.weights is None else graph.weights[row][arcs]
        if not np.any(own == weight):
            raise _error(f"its edge from {u:,} to {v:,} has a weight of {weight}")


def _check_shape(tree: SteinerTree, vertices: Any) -> None:
    """Check that the edges connect their vertices without a cycle, away from a root."""
    if tree.src.size != max(vertices.size - 1, 0):
        raise _error(f"it has {vertices.size:,} vertices and {tree.src.size:,} edges")
    src, dst = (np.searchsorted(vertices, ends) for ends in (tree.src, tree.dst))
    matrix = sparse.coo_matrix((np.ones(src.size), (src, dst)), (vertices.size, vertices.size))
    if vertices.size and csgraph.connected_components(matrix, directed=False)[0] > 1:
        raise _error("its edges are not connected")
    if tree.root is None:
        return
    if tree.root not in vertices:
        raise _error(f"it lacks its root {tree.root:,}")
    entered = vertices[np.flatnonzero(np.bincount(dst, minlength=vertices.size) != 1)]
    if entered.tolist() != [tree.root]:
        raise _error("its arcs do not all lead away from the root")


def _check_groups(tree: SteinerTree, groups: Any, vertices: Any) -> None:
    listed = as_list("groups", groups)
    if len(listed) != tree.terminals.size:
        raise _error(f"it names {tree.terminals.size:,} terminals for {len(listed):,} groups")
    for i, group in enumerate(listed):
        if int(tree.terminals[i]) not in {int(vertex) for vertex in group}:
            raise _error(f"its terminal {tree.terminals[i]:,} is not in group {i}")
        if tree.terminals[i] not in vertices:
            raise _error(f"it holds no vertex of group {i}")


def _check_costs(
    graph: Graph, tree: SteinerTree, vertices: Any, vertex_weights: Any, prizes: Any
) -> None:
    vertex_cost = tree.vertex_cost
    for name, values in (("vertex_weights", vertex_weights), ("prizes", prizes)):
        if values is None:
            continue
        numbers = np.asarray(values)
        if numbers.shape != (graph.n,):
            shape = f"{name} must have the shape ({graph.n},) (got {numbers.shape})"
            raise UsageError(shape, parameter=name)
        others = np.setdiff1d(np.arange(graph.n), vertices)
        vertex_cost = _sum(numbers[vertices if name == "vertex_weights" else others])
    weights = tree.weight if tree.weight is not None else np.ones(tree.src.size, np.int64)
    cost = _sum(weights) + vertex_cost
    for name, value, expected in (
        ("vertex_cost", tree.vertex_cost, vertex_cost), ("cost", tree.cost, cost)
    ):  # fmt: skip
        if not _are_equal(value, expected):
            raise _error(f"its {name} is {value}, and should be {expected}")
    bound = tree.lower_bound
    if bound is not None and bound > tree.cost and not _are_equal(bound, tree.cost):
        raise _error(f"its lower bound is {tree.lower_bound}, above its cost of {tree.cost}")
