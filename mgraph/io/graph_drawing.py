"""Drawings of small graphs, and of trees and forests in them."""

import random
from typing import Any, NamedTuple

import numpy as np

from mgraph.core.arrays import on_gpu
from mgraph.core.graph import Graph
from mgraph.core.rows import tails
from mgraph.errors import UsageError
from mgraph.io.as_graph import as_graph
from mgraph.io.figure import SUFFIXES, FigureFile, drawing, faint_ink, ink, value_colors

MAX_ARCS = 2_000_000  # a layout of more takes many minutes
MAX_LABELS = 40  # more cover the drawing
_ROUNDS = 1000
_FEW_EDGES = 500  # which are drawn stronger
_RASTERIZED = 1500  # edges or vertices from which on a file holds their picture
_BY_STRESS = 300  # vertices up to which a layout keeps distances, which takes time n^2


class Marks(NamedTuple):
    """What stands out in a drawing. Vertices are those of the graph.

    src, dst: the edges that do. vertices: those that get a large mark and their label. values: a
    number per vertex, by which all are coloured, and its name.
    """

    src: Any
    dst: Any
    vertices: Any = ()
    values: Any = None
    name: str = ""


def plot_graph(
    graph: Any,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    coordinates: Any = None,
    title: str = "",
    seed: int = 1,
) -> Any:
    """Draw a graph, whose hubs stand out.

    Parameters
    ----------
    graph : Graph, or what becomes one
        Of at most 2,000,000 arcs.
    file : str, path-like, or a list of these, optional
        Also write the figure there: the ending says whether it is PNG, SVG or PDF.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, instead of new ones.
    coordinates : array_like of float, shape (n, 2), optional
        Where the vertices lie. By default the drawing is laid out by forces.
    title : str, optional
        Above the drawing.
    seed : int, default 1
        Of the layout, which begins at random.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UsageError
        If matplotlib is not installed, or igraph without coordinates; if the graph is too large.

    Notes
    -----
    The area of a vertex is in proportion to its degree, and so is its colour, on a logarithmic
    scale. The layout is Fruchterman and Reingold's, by igraph with a grid: some seconds for 10,000
    vertices; up to 300 vertices it is Kamada and Kawai's.
    """
    network = _to_cpu(graph)
    place, ends = _places(network, coordinates, seed), _edges(network)
    with drawing(file, ax, size=(8, 7.4)) as axes:
        _draw_dense_edges(axes, place, ends)
        degree = np.diff(network.indptr)
        ascending = np.argsort(degree, kind="stable")  # hubs on top
        area = np.clip(_BY_STRESS / max(network.n, 1), 1, 6) * (4 + 0.8 * degree)
        dots = _draw_values(axes, place, np.maximum(degree, 1), ascending, area, True)
        highest = max(int(degree.max(initial=1)), 2)
        ticks = [t for t in np.outer(10 ** np.arange(19), [1, 2, 5]).ravel() if t <= highest]
        bar = axes.figure.colorbar(dots, ax=axes, label="degree", shrink=0.6)
        bar.set_ticks(ticks, labels=[f"{tick:,}" for tick in ticks])
        bar.ax.minorticks_off()
        if network.n <= MAX_LABELS:
            _write_names(axes, place, range(network.n), network.labels)
        _finish(axes, title)
    return axes


def plot_marks(
    graph: Any,
    marks: Marks,
    file: FigureFile | None = None,
    *,
    n: int | None = None,
    ax: Any = None,
    coordinates: Any = None,
    labels: Any = None,
    title: str = "",
    seed: int = 1,
) -> Any:
    """Draw a tree or forest in its graph, or by itself if the graph is None.

    n: the number of vertices, if it is known. labels: the names of the vertices, which all those of
    a small tree get; their numbers if None. The rest is as in ``plot_graph``. Raises UsageError, as
    there, and for another graph.
    """
    if isinstance(graph, str) and graph.lower().endswith(SUFFIXES):
        raise UsageError(f"pass the name of a figure as file={graph!r}; the graph comes first")
    marked = np.column_stack([_on_cpu(marks.src), _on_cpu(marks.dst)]).astype(np.int64)
    network = None if graph is None else _to_cpu(graph)
    least = int(max(marked.max(initial=-1), np.max(marks.vertices, initial=-1))) + 1
    if network is not None and (network.n < least or n not in (None, network.n)):
        raise UsageError(f"`graph` must be the graph of the result (got {network.n:,} vertices)")
    if n is None:
        n = network.n if network is not None else least
    shown = np.arange(n)
    if network is None:  # vertices without an edge of the tree are left out
        shown = np.union1d(marked.ravel(), np.asarray(marks.vertices, np.int64))
    if coordinates is not None:
        place = _checked(coordinates, n)
    else:
        ends = np.searchsorted(shown, marked) if network is None else _edges(network)
        place = np.full((n, 2), np.nan)
        place[shown] = lay_out(len(shown), ends, seed)
    with drawing(file, ax, size=(8, 7)) as axes:
        if network is not None:
            others = _edges(network)
            bold = len(others) < _FEW_EDGES
            faint = {"lw": 0.8, "alpha": 0.9} if bold else {"lw": 0.4, "alpha": 0.5}
            draw_edges(axes, place, others, color=faint_ink(), zorder=1, **faint)
        draw_edges(axes, place, marked, color="C1", lw=1.8, zorder=2)
        if marks.values is None:
            size = 9 if len(shown) > _BY_STRESS else 16
            axes.scatter(*place[shown].T, s=size, color=faint_ink(), linewidths=0, zorder=3)
        else:
            values = np.asarray(marks.values, float)
            is_reached = np.isfinite(values[shown])
            reached = shown[is_reached]
            rest = {"s": 12, "facecolor": "none", "edgecolor": faint_ink(), "linewidths": 0.8}
            axes.scatter(*place[shown[~is_reached]].T, zorder=3, **rest)
            dots = _draw_values(axes, place, values, reached, np.full(n, 18.0), False)
            axes.figure.colorbar(dots, ax=axes, label=marks.name, shrink=0.6)
        large = np.asarray(marks.vertices, np.int64)
        style = {"s": 60, "marker": "s", "facecolor": "C0", "edgecolor": ink(), "linewidths": 0.8}
        axes.scatter(*place[large].T, zorder=4, **style)
        named = large[:MAX_LABELS]
        if labels is not None and len(np.unique(marked)) <= MAX_LABELS:
            named = np.union1d(named, marked)
        _write_names(axes, place, named, labels)
        _finish(axes, title)
    return axes


def lay_out(n: int, ends: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return places of vertices by forces, shape (n, 2); UsageError without igraph."""
    try:
        import igraph
    except ImportError as error:
        remedy = "pip install igraph"
        raise UsageError(
            f"a layout needs igraph ({error}); run `{remedy}`", remedy=remedy
        ) from error
    network = igraph.Graph(n, ends)
    igraph.set_random_number_generator(random.Random(seed))
    if n <= _BY_STRESS and network.is_connected():  # distances between components are none
        layout = network.layout_kamada_kawai()
    else:
        grid = "grid" if n > _BY_STRESS else "nogrid"
        layout = network.layout_fruchterman_reingold(niter=_ROUNDS, grid=grid)
    return np.array(layout.coords).reshape(n, 2)


def _to_cpu(graph: Any) -> Graph:
    """Return a graph on the CPU; UsageError if it is too large to be drawn."""
    network = as_graph(graph, directed=False, backend="cpu")
    if network.num_arcs > MAX_ARCS:
        raise UsageError(f"a drawing has at most {MAX_ARCS:,} arcs (got {network.num_arcs:,})")
    return network.to_cpu()


def _on_cpu(array: Any) -> np.ndarray:
    return np.asarray(array.get() if on_gpu(array) else array)


def _edges(graph: Graph) -> np.ndarray:
    """Return the ends of each pair of neighbours once, shape (m, 2)."""
    src, dst = tails(graph.indptr, graph.indices), np.asarray(graph.indices)
    once = src < dst if not graph.directed else src != dst
    return np.column_stack([src[once], dst[once]])


def _checked(coordinates: Any, n: int) -> np.ndarray:
    place = np.asarray(coordinates, float)
    if place.shape != (n, 2):
        raise UsageError(f"`coordinates` must be of shape ({n:,}, 2) (got {place.shape})")
    return place


def _places(graph: Graph, coordinates: Any, seed: int) -> np.ndarray:
    if coordinates is not None:
        return _checked(coordinates, graph.n)
    return lay_out(graph.n, _edges(graph), seed)


def draw_edges(axes: Any, place: np.ndarray, ends: np.ndarray, **style: Any) -> None:
    """Draw edges as one curve with gaps, which keeps files small. ends: shape (m, 2)."""
    x, y = np.insert(place[ends], 2, np.nan, axis=1).reshape(-1, 2).T
    axes.plot(x, y, **style)


def _draw_dense_edges(axes: Any, place: np.ndarray, ends: np.ndarray) -> None:
    """Draw the edges of a graph one by one, so that where many lie it is darker."""
    from matplotlib.collections import LineCollection

    alpha = 0.9 if len(ends) < _FEW_EDGES else float(np.clip(3000 / len(ends), 0.04, 0.5))
    width = 0.8 if len(ends) < _FEW_EDGES else 0.4
    style: dict[str, Any] = {"colors": faint_ink(), "linewidths": width, "alpha": alpha}
    style["zorder"] = 1
    lines = LineCollection(list(place[ends]), rasterized=len(ends) > _RASTERIZED, **style)
    axes.add_collection(lines)


def _draw_values(
    axes: Any, place: Any, values: Any, order: Any, size: Any, is_logarithmic: bool
) -> Any:
    """Draw vertices, coloured by their values; those that come later on top."""
    from matplotlib.colors import LogNorm, Normalize

    high = max(float(values[order].max()), 1.0) if order.size else 1.0
    norm = LogNorm(1, max(high, 2)) if is_logarithmic else Normalize(0, high)
    return axes.scatter(
        *place[order].T, s=size[order], c=values[order], norm=norm, cmap=value_colors(),
        linewidths=0, zorder=3, rasterized=order.size > _RASTERIZED,
    )  # fmt: skip


def _write_names(axes: Any, place: Any, vertices: Any, labels: Any) -> None:
    """Write names beside vertices, such that lines do not strike them through."""
    from matplotlib.patheffects import withStroke

    around = [withStroke(linewidth=2.5, foreground=axes.get_facecolor())]
    for vertex in vertices:
        name = str(vertex if labels is None else labels[vertex])
        axes.annotate(
            name, place[vertex], xytext=(6, 5), textcoords="offset points", zorder=5,
            path_effects=around,
        )  # fmt: skip


def _finish(axes: Any, title: str) -> None:
    axes.autoscale_view()
    x, y = (np.array(limits) for limits in (axes.get_xlim(), axes.get_ylim()))
    least = max(x[1] - x[0], y[1] - y[0]) / 3  # a path may be laid out as a line
    axes.set_xlim(_widened(x, least))
    axes.set_ylim(_widened(y, least))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)


def _widened(limits: np.ndarray, least: float) -> np.ndarray:
    """Return an axis' limits, or some around their middle where they are too close."""
    middle, half = limits.mean(), max(limits[1] - limits[0], least) / 2
    return np.array([middle - half, middle + half])
