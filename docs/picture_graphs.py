"""The graphs of the pictures, and how they are drawn behind results."""

import numpy as np
from scipy.spatial import Delaunay

import mgraph
from mgraph.io.figure import faint_ink
from mgraph.io.graph_drawing import draw_edges

TERMINALS = [3, 50, 77, 120, 200, 211, 290]
CPU = {"backend": "cpu"}


def town(n=300, seed=4):
    """A graph like a map: points of the plane with their nearest neighbours, and where they lie."""
    places = np.random.default_rng(seed).random((n, 2))
    corners = Delaunay(places).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    src, dst = np.unique(np.sort(sides, axis=1), axis=0).T
    lengths = np.linalg.norm(places[src] - places[dst], axis=1)
    near = lengths < 0.25
    weights = (1000 * lengths).astype(np.int64) + 1
    edges = mgraph.EdgeList(src[near], dst[near], weights[near])
    return mgraph.from_edges(edges, n, directed=False, **CPU), places


def grid(side):
    """A square grid, its weights drawn at random."""
    vertex = np.arange(side * side).reshape(side, side)
    src = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    dst = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    weight = np.random.default_rng(1).integers(1, 1000, src.size)
    edges = mgraph.EdgeList(src, dst, weight)
    return mgraph.from_edges(edges, side * side, directed=False, **CPU)


def preferential(n, d, **options):
    """A generated graph."""
    edges = mgraph.CopyModel(n, d, **options).edges(**CPU).edges
    return mgraph.from_edges(edges, n, directed=False, **CPU)


def background(axes, graph, places):
    """The edges of a graph, faint."""
    edges = graph.to_edges()
    ends = np.column_stack([edges.src, edges.dst])
    draw_edges(axes, places, ends, color=faint_ink(), lw=0.4, alpha=0.5, zorder=1)
    axes.set_aspect("equal")
    axes.set_axis_off()
