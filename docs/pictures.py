"""The pictures of the documentation: python docs/pictures.py [--only NAME …] [--out docs/images].

Each function below draws one, from results of mgraph itself, light and dark.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import tree_pictures
from picture_graphs import CPU, background, preferential, town

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
    with drawing(file, size=(8, 3.4)) as axes:
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
        axes.plot([], [], color="C0", label="edge to the vertex that was drawn")
        axes.plot(
            [], [], color="C1", label="copied edge: to where the edge of the drawn vertex leads"
        )
        axes.plot([], [], color=faint_ink(), ls=":", label="the vertex that was drawn then")
        axes.set(xlim=(-1, 16), ylim=(-4.2, 7.2))
        axes.legend(loc="upper right")
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
    found.plot(graph, file, coordinates=places, title="Shortest paths from vertex 77")


def rounds(file):
    """Which vertices a frontier search settles in which round."""
    graph, places = town()
    trace = mgraph.sssp(graph, 77, method="bfs", **CPU) if graph.weights is None else None
    distance = mgraph.sssp(graph, 77, **CPU).distance if trace is None else trace.distance
    least = min_incident(graph)
    settled = np.full(graph.n, -1)
    number = 0
    pending = settled < 0
    while pending.any():
        bound = (distance + least)[pending].min()
        now = pending & (distance <= max(bound, distance[pending].min()))
        settled[now] = number
        number, pending = number + 1, settled < 0
    with drawing(file, size=(8, 6.6)) as axes:
        background(axes, graph, places)
        dots = axes.scatter(*places.T, c=settled, cmap=value_colors(), s=26, zorder=3)
        axes.figure.colorbar(dots, ax=axes, label="round in which a vertex is settled", shrink=0.6)
        axes.scatter(*places[77], marker="s", s=80, color="C1", zorder=4)


def min_incident(graph):
    """The minimum weight of each vertex's arcs."""
    return np.minimum.reduceat(graph.weights, graph.indptr[:-1])


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
    experiments.plot_distributions(
        traces | {"near_far\ndelta 1,600": fixed}, file, set_points=points, title=title
    )


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
        draw_edges(axes, places, ends[between], color="C1", lw=1.2)
        for rank in range(4):
            axes.scatter(
                *places[owner == rank].T, s=22, color=f"C{(0, 2, 3, 5)[rank]}", zorder=3,
                label=f"worker {rank}",
            )  # fmt: skip
        axes.plot([], [], color="C1", label="messages cross")
        axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")


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
        axes.set(xlabel="neighbours of each vertex that are read", ylabel="%", ylim=(0, 112))
        axes.set_title("a random graph of 200,000 vertices and 400,000 edges")
        label_curves(axes)


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
        network, copies, chains, degrees, paths, rounds, near_far, self_tuning, partition,
        components, *tree_pictures.PICTURES,
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
