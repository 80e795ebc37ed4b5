"""Drawings of small graphs, whose hubs stand out."""

import os
import random
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.figure import new_figure, save_figure

MAX_ARCS = 2_000_000  # a layout of more takes many minutes
ROUNDS = 1000


def plot_graph(
    graph: Graph, file: str | os.PathLike[str], *, title: str = "", seed: int = 1
) -> None:
    """Draw a graph, laid out by forces.

    Parameters
    ----------
    graph : Graph
        On the CPU, of at most 2,000,000 arcs.
    file : str or path-like
        The figure: its ending says whether it is PNG, SVG or PDF.
    title : str, optional
        Above the drawing.
    seed : int, default 1
        Of the layout, which begins at random.

    Raises
    ------
    UsageError
        If igraph is not installed, or the graph is too large or on a GPU.

    Notes
    -----
    The area of a vertex is in proportion to its degree, and so is its colour, on a logarithmic
    scale. The layout is Fruchterman and Reingold's, by igraph with a grid: some seconds for 10,000
    vertices.
    """
    try:
        import igraph
    except ImportError as error:
        remedy = "pip install igraph"
        raise UsageError(
            f"a layout needs igraph ({error}); run `{remedy}`", remedy=remedy
        ) from error
    if graph.backend == "gpu":
        raise UsageError("a graph is drawn on the CPU; move it with graph.to_cpu()")
    if graph.num_arcs > MAX_ARCS:
        raise UsageError(f"a drawing has at most {MAX_ARCS:,} arcs (got {graph.num_arcs:,})")
    degree = np.diff(graph.indptr)
    tails = np.repeat(np.arange(graph.n), degree)
    once = tails < graph.indices
    ends = np.column_stack([tails[once], graph.indices[once]])
    igraph.set_random_number_generator(random.Random(seed))
    layout = igraph.Graph(graph.n, ends).layout_fruchterman_reingold(niter=ROUNDS, grid="grid")
    _draw(np.array(layout.coords), ends, degree, file, title)


def _draw(place: Any, ends: Any, degree: Any, file: str | os.PathLike[str], title: str) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LogNorm

    figure, axes = new_figure()
    figure.set_size_inches(8, 8)
    alpha = float(np.clip(3000 / max(len(ends), 1), 0.04, 0.5))
    lines = LineCollection(list(place[ends]), colors="0.4", linewidths=0.3, alpha=alpha, zorder=1)
    lines.set_rasterized(True)
    axes.add_collection(lines)
    ascending = np.argsort(degree, kind="stable")  # hubs on top
    points = axes.scatter(
        *place[ascending].T, s=2 + 0.8 * degree[ascending], c=np.maximum(degree[ascending], 1),
        norm=LogNorm(1, max(int(degree.max()), 2)), cmap="viridis", linewidths=0, zorder=2,
    )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    figure.colorbar(points, ax=axes, label="degree", shrink=0.6)
    save_figure(figure, file)
