"""The pictures of the documentation: python docs/pictures.py [--only NAME …] [--out docs/images].

Each function below draws one, from results of mgraph itself, light and dark.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import tree_pictures
from matplotlib.collections import PolyCollection
from picture_graphs import CPU, background, grid, preferential, town

import mgraph
from mgraph import experiments
from mgraph.io.figure import drawing, faint_ink, ink, label_curves, value_colors
from mgraph.io.graph_drawing import draw_edges


def network(file):
    """A generated graph, its hubs in the middle."""
    experiments.plot_graph(preferential(700, 2), file, title="700 vertices, 1,397 edges")


def copies(file):
    """The edges of the first vertices: drawn uniformly, or copied from another edge."""
    from matplotlib.patches import Arc

    model = mgraph.CopyModel(16, 1, seed=21, method="copy")
    p1 = mgraph.CopyModel(16, 1, p=1, seed=21, method="copy")
    edges, uniform = (m.edges(**CPU).edges for m in (model, p1))
    with drawing(file, size=(8, 3.9)) as axes:
        for u, v, drawn in zip(edges.src, edges.dst, uniform.dst, strict=True):
            color = "C0" if v == drawn else "C1"
            middle, width = (u + v) / 2, abs(int(u) - int(v))
            axes.add_patch(Arc((middle, 0), width, width * 0.7, theta2=180, color=color, lw=1.6))
            if v != drawn:
                middle, width = (u + drawn) / 2, abs(int(u) - int(drawn))
                below = {"theta1": 180, "theta2": 360, "ls": ":", "lw": 1.2}
                axes.add_patch(Arc((middle, 0), width, width * 0.5, color=faint_ink(), **below))
        axes.scatter(range(16), np.zeros(16), s=230, color=ink(), zorder=3)
        for v in range(16):
            number = {"color": axes.get_facecolor(), "fontsize": 8, "zorder": 4}
            axes.annotate(str(v), (v, 0), ha="center", va="center_baseline", **number)
        axes.plot([], [], color="C0", label="not copied: the edge leads to the drawn vertex")
        axes.plot([], [], color="C1", label="copied: it leads where the drawn vertex's edge leads")
        copied = "from a vertex to the one whose edge it copies"
        axes.plot([], [], color=faint_ink(), ls=":", label=copied)
        axes.set(xlim=(-0.6, 15.6), ylim=(-4.2, 9))
        axes.legend(loc="upper left", fontsize=11)
        axes.set_axis_off()


def chains(file):
    """How many edges have to be followed until a copy is resolved."""
    with drawing(file, size=(7, 3.6)) as axes:
        for index, p in enumerate((0.25, 0.5, 0.75)):
            model = mgraph.CopyModel(200_000, 4, p=p, method="cuppa")
            counts = experiments.copy_statistics(model, **CPU).chains
            share = counts / counts.sum()
            length = np.flatnonzero(share)
            axes.plot(length, share[length], "o-", ms=4, color=f"C{index}", label=f"p = {p}")
        axes.set(xlabel="draws until the endpoint is known", ylabel="share of the edges")
        axes.set(yscale="log", title="n = 200,000, d = 4")
        axes.xaxis.get_major_locator().set_params(integer=True)
        label_curves(axes)


def ends(file):
    """The list of the ends of all edges, from which preferential attachment draws."""
    edges = mgraph.CopyModel(13, 1, method="ba", start="ba", seed=3).edges(**CPU).edges
    places = np.column_stack([edges.src, edges.dst]).ravel()
    degree = np.bincount(places)
    hubs = np.argsort(-degree, kind="stable")[:2]
    colors = {vertex: f"C{index}" for index, vertex in enumerate(hubs)}
    with drawing(file, rows=2, size=(8, 3.9), height_ratios=(1, 3)) as (row, bars):
        row.figure.get_layout_engine().set(hspace=0.1)
        for place, vertex in enumerate(places):
            x = place + 0.25 * (place // 2)  # the two ends of an edge stand together
            box = {"facecolor": colors.get(vertex, "none"), "edgecolor": faint_ink()}
            row.bar(x, 1, width=1, **box)
            color = row.get_facecolor() if vertex in colors else ink()
            row.annotate(str(vertex), (x, 0.5), ha="center", va="center_baseline", color=color)
        row.set(xlim=(-0.6, x + 0.6), ylim=(0, 1))
        row.set_axis_off()
        row.set_title("the list: both ends of each edge, one edge after the other")
        bars.bar(
            range(degree.size), degree, edgecolor=faint_ink(),
            color=[colors.get(vertex, "none") for vertex in range(degree.size)],
        )  # fmt: skip
        bars.set(xticks=range(degree.size), xlabel="vertex", ylabel="places in the list")
        bars.set_title("how often a vertex stands in it: its degree")
        bars.grid(visible=False, axis="x")


def degrees(file):
    """The degree distribution of the four starts and probabilities."""
    with drawing(file, size=(7, 4.4)) as axes:
        for index, p in enumerate((0.25, 0.5, 0.75, 1.0)):
            graph = preferential(200_000, 4, p=p)
            degree, count = graph.to_edges().degree_histogram(graph.n)
            tail = np.cumsum(count[::-1])[::-1] / graph.n
            axes.plot(degree, tail, color=f"C{index}", label=f"p = {p:g}")
        axes.set(xscale="log", yscale="log", xlabel="degree k")
        axes.set(ylabel="share of the vertices with degree k or more", title="n = 200,000, d = 4")
        axes.set_xlim(left=4)
        label_curves(axes)


def paths(file):
    """A tree of shortest paths, by distance."""
    graph, places = town()
    found = mgraph.sssp(graph, 77, predecessors=True, **CPU)
    with drawing(file, size=(8, 7)) as axes:
        found.plot(graph, ax=axes, coordinates=places, title="shortest paths from vertex 77")
        bar = axes.figure.axes[-1]
        bar.set_ylabel("distance (1,000: the side of the map)")


def rounds(file):
    """Which vertices a frontier search with the bound per vertex settles in which round."""
    graph, places = town()
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    min_weight = np.minimum.reduceat(graph.weights, graph.indptr[:-1])
    distance = np.where(np.arange(graph.n) == 77, 0, np.iinfo(np.int64).max // 2)
    settled = np.zeros(graph.n, int)
    is_waiting = distance == 0
    number = 0
    while is_waiting.any():
        number += 1
        bound = (distance + min_weight)[is_waiting].min()
        frontier = is_waiting & (distance <= bound)
        settled[frontier] = number
        arcs = frontier[tails]
        lengths = distance[tails[arcs]] + graph.weights[arcs]
        np.minimum.at(distance, graph.indices[arcs], lengths)
        is_waiting[graph.indices[arcs]] = True
        is_waiting &= settled == 0
    with drawing(file, size=(8, 6.6)) as axes:
        background(axes, graph, places)
        dots = axes.scatter(*places.T, c=settled, cmap=value_colors(), s=26, zorder=3)
        axes.figure.colorbar(dots, ax=axes, label="round in which a vertex is settled", shrink=0.6)
        axes.scatter(*places[77], marker="s", s=80, color="C1", zorder=4)
        axes.set_title(f"a search from the square settles all vertices in {number} rounds")


def near_far(file):
    """The near and the far queue of a search, iteration by iteration."""
    graph = preferential(200_000, 8, weights=(1, 99))
    trace = mgraph.sssp(graph, 0, method="near_far", delta=16, trace=True, **CPU).trace
    with drawing(file, size=(7, 3.8)) as axes:
        iteration = np.arange(1, len(trace) + 1)
        axes.plot(iteration, np.maximum(trace["x1"], 1), "o-", ms=3, label="near: expanded")
        axes.plot(iteration, np.maximum(trace["far_size"], 1), "o-", ms=3, label="far: pending")
        axes.set(yscale="log", xlabel="iteration", ylabel="vertices")
        axes.set_title("1.6 million edges, weights 1 to 99, delta 16")
        label_curves(axes)


def heap_search(file):
    """The frontier of a search, with all vertices in it and with a heap for those beyond N."""
    graph = grid(150)
    with drawing(file, size=(7, 3.8)) as axes:
        for threshold in (1 << 31, 500, 100):
            options = {"method": "heap", "heap_threshold": threshold, "trace": True}
            frontier = mgraph.sssp(graph, graph.n // 2 + 75, **options, **CPU).trace["x1"]
            name = "no heap" if threshold > graph.n else f"N = {threshold}"
            label = f"{name}: each vertex {frontier.sum() / graph.n:.1f} times"
            axes.plot(np.arange(1, len(frontier) + 1), frontier, label=label)
        axes.set(xlabel="iteration", ylabel="vertices expanded")
        axes.set_title("a grid of 150 × 150, weights 1 to 999, from its middle")
        axes.legend()


def self_tuning(file):
    """The parallelism that the controller keeps, for three set-points."""
    graph = preferential(200_000, 8, weights=(1, 9999))
    points = [20_000, 50_000, 100_000]
    traces = {
        f"P = {point:,}": mgraph.sssp(graph, 0, set_point=point, trace=True, **CPU).trace
        for point in points
    }
    fixed = mgraph.sssp(graph, 0, method="near_far", delta=1600, trace=True, **CPU).trace
    title = "1.6 million edges, weights 1 to 9,999: arcs in each iteration"
    traces["near_far\ndelta 1,600"] = fixed
    with drawing(file) as axes:
        experiments.plot_distributions(traces, ax=axes, set_points=points, title=title)
        for shape in axes.findobj(PolyCollection):  # an outline holds its thin parts together
            shape.set(edgecolor="C0", linewidth=0.8)


def partition(file):
    """Which of four workers holds a vertex and its arcs, and the arcs between workers."""
    graph, places = town(400)
    order = np.argsort(np.argsort(places[:, 0] + 0.01 * places[:, 1]))
    owner = order * 4 // graph.n
    edges = graph.to_edges()
    ends = np.column_stack([edges.src, edges.dst])
    between = owner[ends[:, 0]] != owner[ends[:, 1]]
    with drawing(file, size=(8, 6.4)) as axes:
        background(axes, graph, places)
        draw_edges(axes, places, ends[between], color=ink(), lw=1.2)
        for rank in range(4):
            axes.scatter(
                *places[owner == rank].T, s=22, color=f"C{(0, 2, 3, 5)[rank]}", zorder=3,
                label=f"worker {rank}",
            )  # fmt: skip
        axes.plot([], [], color=ink(), label="edge between workers")
        handles = axes.get_legend_handles_labels()
        axes.figure.legend(*handles, loc="outside right upper", fontsize="medium")
        axes.set_title("400 vertices, divided among four workers")


def components(file):
    """The components that a few neighbours of each vertex show already."""
    ends = np.random.default_rng(1).integers(0, 200_000, (2, 400_000))
    graph = mgraph.from_edges(mgraph.EdgeList(*ends), directed=False, merge=True, **CPU)
    with drawing(file, size=(7, 3.6)) as axes:
        shares = []
        for count in range(1, 9):
            part = first_neighbours(graph, count)
            found = mgraph.connected_components(part, **CPU)
            shares.append((found.sizes.max() / graph.n, part.num_edges / graph.num_edges))
        largest, read = np.array(shares).T
        axes.plot(range(1, 9), 100 * largest, "o-", label="vertices in the largest component")
        axes.plot(range(1, 9), 100 * read, "o-", label="edges read")
        axes.set(xlabel="neighbours of each vertex that are read", ylim=(0, 112))
        axes.set(ylabel="share of all vertices or edges, %")
        axes.set_title("a random graph of 200,000 vertices and 400,000 edges")
        label_curves(axes, points=17)


def first_neighbours(graph, count):
    """The graph of each vertex's first arcs."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    place = np.arange(graph.num_arcs) - graph.indptr[tails]
    few = place < count
    edges = mgraph.EdgeList(tails[few], graph.indices[few])
    return mgraph.from_edges(edges, graph.n, directed=False, merge=True, **CPU)


PICTURES = {
    function.__name__: function
    for function in (
        network, copies, chains, ends, degrees, paths, rounds, near_far, heap_search, self_tuning,
        partition, components, *tree_pictures.PICTURES,
    )
}  # fmt: skip


DECIMALS = re.compile(r"\b([1-9]\d*\.\d\d)\d+")  # of places: hundredths of a point are enough


def main():
    """Draw the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(PICTURES), choices=list(PICTURES))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    options = parser.parse_args()
    for name in options.only:
        for theme, ending in (("light", ""), ("dark", "-dark")):
            with experiments.plot_theme(theme):
                file = options.out / f"{name}{ending}.svg"
                PICTURES[name](file)
                file.write_text(DECIMALS.sub(r"\1", file.read_text()))
        print(name, flush=True)


if __name__ == "__main__":
    main()
