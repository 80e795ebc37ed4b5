"""Random graphs as the 10th DIMACS challenge made them: Delaunay, geometric and Kronecker graphs.

Sources: M. Holtgrewe, P. Sanders, C. Schulz, the graphs delaunay_n* and rgg_n_2_*_s0 of the 10th
DIMACS Implementation Challenge (2011); Graph500's generator, whose initiator is that of
D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: a recursive model for graph mining" (2004).
The models are theirs and the random numbers are not, so that the graphs differ edge by edge.
"""

import math
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.core.numbers import check_integer, check_weight_bounds
from mgraph.errors import UsageError

RGG_FACTOR = 0.55
# Graph500's initiator: the probabilities of the quadrants are A, B, C and 1 - A - B - C.
A, B, C = 0.57, 0.19, 0.19
EDGE_FACTOR = 48
MAX_POINTS = 1 << 26
MAX_SCALE = 26
MAX_SEED = (1 << 63) - 1
_BLOCK_EDGES = 1 << 22


def delaunay_edges(n: int, *, weights: tuple[int, int] | None = None, seed: int = 0) -> EdgeList:
    """Triangulate random points of the unit square by Delaunay's criterion.

    Parameters
    ----------
    n : int
        The number of points, from 3 to 2^26.
    weights : (int, int), optional
        Draw int32 weights uniformly from [low, high]; by default the edges have none.
    seed : int, default 0
        The same seed gives the same graph with the same versions of NumPy and SciPy.

    Returns
    -------
    EdgeList
        Each edge of the triangulation once, 3n - 3 - h of them if h points are on the hull.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Notes
    -----
    Expected work O(n log n) on one core, by Qhull; about 0.8 KB of memory per point.

    Examples
    --------
    >>> len(mgraph.experiments.delaunay_edges(3))
    3
    """
    from scipy.spatial import Delaunay

    random = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    mesh = Delaunay(random.random((check_integer("n", n, 3, MAX_POINTS), 2)))
    # Two triangles share an inner edge, and the later one has it; a hull's edge has neighbour -1.
    kept = mesh.neighbors < np.arange(len(mesh.simplices))[:, None]
    src, dst = (np.roll(mesh.simplices, -shift, axis=1)[kept] for shift in (1, 2))
    return _with_weights(src, dst, weights, random)


def random_geometric_edges(
    n: int,
    *,
    radius: float | None = None,
    weights: tuple[int, int] | None = None,
    seed: int = 0,
) -> EdgeList:
    """Connect random points of the unit square that lie close together.

    Parameters
    ----------
    n : int
        The number of points, from 2 to 2^26.
    radius : float, optional
        Points at most this far apart are connected; by default 0.55 sqrt(ln n / n), with which
        nearly all points of a large graph are connected.
    weights, seed
        As for ``delaunay_edges``.

    Returns
    -------
    EdgeList
        Each edge once.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Notes
    -----
    Work O(n log n + m) on one core, with a k-d tree; about 40 bytes of memory per edge.

    Examples
    --------
    >>> len(mgraph.experiments.random_geometric_edges(4, radius=2))
    6
    """
    from scipy.spatial import KDTree

    random = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    points = random.random((check_integer("n", n, 2, MAX_POINTS), 2))
    if radius is None:
        radius = RGG_FACTOR * math.sqrt(math.log(n) / n)
    if not 0 < radius < math.inf:
        raise UsageError(f"radius must be positive and finite (got {radius})", parameter="radius")
    pairs = KDTree(points).query_pairs(radius, output_type="ndarray").astype(np.int32)
    return _with_weights(pairs[:, 0].copy(), pairs[:, 1].copy(), weights, random)


def kronecker_edges(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    weights: tuple[int, int] | None = None,
    seed: int = 0,
) -> EdgeList:
    """Draw a stochastic Kronecker graph (R-MAT) with Graph500's numbers, as a simple graph.

    Parameters
    ----------
    scale : int
        The graph has 2^scale vertices, with numbers in random order; from 1 to 26.
    edge_factor : int, default 48
        Edges drawn per vertex, at most 1024. Self-loops and repeated edges are then dropped.
    weights, seed
        As for ``delaunay_edges``.

    Returns
    -------
    EdgeList
        Each edge once. Many vertices have none.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Notes
    -----
    Work O(scale m + m log m) for m drawn edges, on one core; about 30 bytes of memory for each.

    Examples
    --------
    >>> edges = mgraph.experiments.kronecker_edges(4, edge_factor=1)
    >>> bool((edges.src < edges.dst).all())
    True
    """
    check_integer("scale", scale, 1, MAX_SCALE)
    random = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    number = random.permutation(1 << scale)
    draws = check_integer("edge_factor", edge_factor, 1, 1024) << scale
    blocks = (min(_BLOCK_EDGES, draws - first) for first in range(0, draws, _BLOCK_EDGES))
    keys = np.concatenate([_draw_keys(number, scale, count, random) for count in blocks])
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]  # numpy.unique hashes, which takes longer
    src, dst = (end.astype(np.int32) for end in (keys >> scale, keys & ((1 << scale) - 1)))
    return _with_weights(src, dst, weights, random)


def with_random_weights(graph: Graph, weights: tuple[int, int], *, seed: int = 0) -> Graph:
    """Return a graph with drawn weights in place of its own, for files that have none or negative.

    Parameters
    ----------
    graph : Graph
        On a CPU or a GPU. Both arcs of an undirected graph's edge get the same weight.
    weights, seed
        As for ``delaunay_edges``.

    Returns
    -------
    Graph
        Where the given one is, with int32 weights. Of parallel arcs one is left.

    Raises
    ------
    UsageError
        If the bounds or the seed are wrong, or an undirected graph lacks the mirror of an arc.
    """
    check_weight_bounds(weights)
    edges = graph.to_cpu().to_edges()
    random = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    edges = _with_weights(edges.src, edges.dst, weights, random)
    return from_edges(edges, graph.n, directed=graph.directed, merge=True, backend=graph.backend)


def _draw_keys(
    number: np.ndarray, scale: int, count: int, random: np.random.Generator
) -> np.ndarray:
    """Draw edges: a word of both ends per edge, the smaller first; loops are left out."""
    src, dst = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        draw = random.random(count, np.float32)
        src = 2 * src + (draw >= A + B)
        dst = 2 * dst + ((draw >= A) & (draw < A + B) | (draw >= A + B + C))
    src, dst = number[src], number[dst]
    keys: np.ndarray = (np.minimum(src, dst) << scale) | np.maximum(src, dst)
    return keys[src != dst]


def _with_weights(
    src: Any,
    dst: Any,
    weights: tuple[int, int] | None,
    random: np.random.Generator,
) -> EdgeList:
    """Return the edges, with weights if they have bounds."""
    if weights is None:
        return EdgeList(src, dst)
    low, high = check_weight_bounds(weights)
    return EdgeList(src, dst, random.integers(low, high + 1, src.size).astype(np.int32))
