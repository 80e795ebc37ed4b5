"""The pictures of trees, forests, the heap and knapsacks."""

import numpy as np
from matplotlib.path import Path
from picture_graphs import CPU, TERMINALS, background, preferential, town

import mgraph
from mgraph.io.figure import drawing, faint_ink, ink, label_curves
from mgraph.io.graph_drawing import draw_edges

LARGE = 16  # points of text in wide pictures, which pages show smaller
TREE_INKS = ("C0", "C2", "C3", "C4", "C5")  # all but the tree's
TREE_COLORS = 6  # of Borůvka's trees
LABEL_PLACES = [  # beside a terminal, in points, from the first choice to the last
    (6, 5, "left", "bottom"), (-6, 5, "right", "bottom"), (6, -5, "left", "top"),
    (-6, -5, "right", "top"), (8, 0, "left", "center"), (-8, 0, "right", "center"),
    (0, 8, "center", "bottom"), (0, -8, "center", "top"),
]  # fmt: skip


def star(file):
    """STAR's initial tree, and the tree after its paths have been exchanged."""
    graph, places = town()
    first = mgraph.steiner_tree(graph, TERMINALS, method="star", time_limit=1e-9, **CPU)
    last = mgraph.steiner_tree(graph, TERMINALS, method="star", **CPU)
    with drawing(file, columns=2, size=(11, 5.2)) as panes:
        for axes, tree, name in zip(panes, (first, last), ("initial tree", "result"), strict=True):
            cost = f"{name}: cost {tree.cost:,}"
            tree.plot(graph, ax=axes, coordinates=places)
            axes.set_title(cost, fontsize=LARGE)
            for text in axes.texts:
                text.set_fontsize(LARGE)
        for axes, tree in zip(panes, (first, last), strict=True):
            move_labels(axes, graph, places, tree)


def move_labels(axes, graph, places, tree):
    """Write the labels of the terminals where they cover neither the tree nor many edges."""
    edges = graph.to_edges()
    weighted = [(edges, 1), (tree, 100)]
    lines = [(e, cost) for part, cost in weighted for e in np.column_stack([part.src, part.dst])]
    axes.figure.draw_without_rendering()  # sets the size of the axes
    place = axes.transData.transform(places)
    for text in axes.texts:
        costs = []
        for x, y, ha, va in LABEL_PLACES:
            text.set(position=(x, y), ha=ha, va=va)
            box = text.get_window_extent().padded(1)
            crossed = (cost for ends, cost in lines if Path(place[ends]).intersects_bbox(box))
            costs.append(sum(crossed) + 10 * box.count_contains(place))
        x, y, ha, va = LABEL_PLACES[np.argmin(costs)]
        text.set(position=(x, y), ha=ha, va=va)


def steiner_bound(file):
    """A tree that a lower bound proves to be the best."""
    graph, places = town()
    tree = mgraph.steiner_tree(graph, TERMINALS, improve=True, **CPU)
    with drawing(file, size=(8, 7)) as axes:
        tree.plot(graph, ax=axes, coordinates=places)
        move_labels(axes, graph, places, tree)


def exact_tree(file):
    """A heuristic's Steiner tree of four terminals beside the best one."""
    graph, places = town()
    terminals = [72, 88, 206, 296]
    with drawing(file, columns=2, size=(11, 5.2)) as panes:
        trees = []
        for axes, method in zip(panes, ("takahashi_matsuyama", "dreyfus_wagner"), strict=True):
            trees.append(mgraph.steiner_tree(graph, terminals, method=method, **CPU))
            trees[-1].plot(graph, ax=axes, coordinates=places)
            axes.set_title(f"{method}: cost {trees[-1].cost:,}", fontsize=LARGE)
            for text in axes.texts:
                text.set_fontsize(LARGE)
        for axes, tree in zip(panes, trees, strict=True):
            move_labels(axes, graph, places, tree)


def group_tree(file):
    """Five groups of vertices, and the cheapest tree with one of each."""
    graph, places = town()
    random = np.random.default_rng(5)
    groups = [random.choice(graph.n, 3, replace=False) for _ in range(5)]
    tree = mgraph.group_steiner_tree(graph, groups, **CPU)
    with drawing(file, size=(8, 6.6)) as axes:
        tree.plot(graph, ax=axes, coordinates=places, title=f"cost {tree.cost:,}")
        for index, (group, marker) in enumerate(zip(groups, "o^Dvp", strict=True)):
            style = {"s": 70, "color": TREE_INKS[index], "marker": marker, "zorder": 5}
            axes.scatter(*places[group].T, label=f"group {index + 1}", **style)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        move_labels(axes, graph, places, tree)


def prizes(file):
    """A tree that leaves out the vertices whose prizes are less than the way to them."""
    graph, places = town()
    random = np.random.default_rng(3)
    prize = np.where(random.random(graph.n) < 0.1, random.integers(50, 500, graph.n), 0)
    tree = mgraph.prize_collecting_steiner_tree(graph, prize)
    held = np.isin(np.arange(graph.n), tree.terminals)
    title = f"edges and prizes left out: {tree.cost:,}"
    with drawing(file, size=(8, 6.6)) as axes:
        background(axes, graph, places)
        draw_edges(axes, places, np.column_stack([tree.src, tree.dst]), color="C1", lw=2)
        for name, shown, color in (("collected", held, "C0"), ("left out", ~held, "C2")):
            shown = shown & (prize > 0)
            style = {"s": prize[shown] / 2, "color": color, "zorder": 4}
            axes.scatter(*places[shown].T, label=f"prize {name}", **style)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        axes.set_title(title)


def arborescence(file):
    """The arcs of a directed graph that lead from a root to terminals at the least cost."""
    graph, places = town()
    src, dst, weight = graph.to_edges()
    ends = np.concatenate([np.column_stack([src, dst]), np.column_stack([dst, src])])
    # Ways to the north are dear.
    north = places[ends[:, 1], 1] > places[ends[:, 0], 1]
    cost = np.concatenate([weight, weight]) * np.where(north, 5, 1)
    directed = mgraph.from_edges(mgraph.EdgeList(*ends.T, cost), graph.n, directed=True, **CPU)
    root, *terminals = TERMINALS
    tree = mgraph.steiner_arborescence(directed, root, terminals)
    with drawing(file, size=(8, 6.6)) as axes:
        background(axes, graph, places)
        for a, b in zip(tree.src, tree.dst, strict=True):
            style = {"arrowstyle": "-|>", "color": "C1", "lw": 1.6, "mutation_scale": 9}
            style |= {"shrinkA": 0, "shrinkB": 1}
            axes.annotate("", places[b], places[a], arrowprops=style)
        axes.scatter(*places[terminals].T, marker="s", s=60, color="C0", zorder=4)
        axes.scatter(*places[[root]].T, marker="*", s=220, color="C0", zorder=4, label="root")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        axes.set_title(f"cost {tree.cost:,}; arcs to the north cost five times as much")


def regions(file):
    """The terminal that is nearest to each vertex, and Mehlhorn's tree."""
    graph, places = town()
    found = mgraph.sssp(graph, TERMINALS, joint=True, predecessors=True, **CPU)
    nearest = np.full(graph.n, -1)
    for index, terminal in enumerate(TERMINALS):
        nearest[terminal] = index
    for vertex in np.argsort(found.distance, kind="stable"):
        if nearest[vertex] < 0:
            nearest[vertex] = nearest[found.predecessor[vertex]]
    tree = mgraph.steiner_tree(graph, TERMINALS, method="mehlhorn", **CPU)
    with drawing(file, size=(8, 6.6)) as axes:
        tree.plot(graph, ax=axes, coordinates=places, title=f"cost {tree.cost:,}")
        colors = [f"C{index}" for index in nearest]
        axes.scatter(*places.T, c=colors, s=24, zorder=3.5)
        move_labels(axes, graph, places, tree)


def takahashi(file):
    """The terminals in the order in which they join the tree."""
    graph, places = town()
    joined = [TERMINALS[0]]
    tree_vertices = {TERMINALS[0]}
    with drawing(file, size=(8, 6.6)) as axes:
        background(axes, graph, places)
        while len(joined) < len(TERMINALS):
            found = mgraph.sssp(graph, sorted(tree_vertices), joint=True, predecessors=True, **CPU)
            left = [each for each in TERMINALS if each not in tree_vertices]
            terminal = min(left, key=lambda each: found.distance[each])
            path = found.path(terminal).vertices
            axes.plot(*places[path].T, color="C1", lw=1.8, zorder=2)
            tree_vertices.update(path.tolist())
            joined.append(terminal)
        axes.scatter(*places.T, s=8, color=faint_ink(), zorder=1.5)
        axes.scatter(*places[joined].T, marker="s", s=60, color="C0", edgecolor=ink(), zorder=4)
        for number, terminal in enumerate(joined):
            axes.annotate(str(number + 1), places[terminal], (7, 5), textcoords="offset points")
        axes.set_title("terminals in the order in which they join")


def boruvka(file):
    """The components after each of Borůvka's rounds."""
    graph, places = town()
    edges = graph.to_edges()
    order = np.lexsort((edges.dst, edges.src, edges.weight))
    src, dst = edges.src[order], edges.dst[order]
    label = np.arange(graph.n)
    with drawing(file, columns=3, size=(12, 4.4)) as panes:
        chosen = np.zeros(src.size, bool)
        for number, axes in enumerate(panes):
            least = {}
            for edge in np.flatnonzero(label[src] != label[dst]):
                least.setdefault(label[src[edge]], edge)
                least.setdefault(label[dst[edge]], edge)
            chosen[list(least.values())] = True
            part = mgraph.EdgeList(src[chosen], dst[chosen])
            forest = mgraph.from_edges(part, graph.n, directed=False, **CPU)
            label = mgraph.connected_components(forest, **CPU).labels
            background(axes, graph, places)
            trees, ranks = np.unique(label, return_inverse=True)
            between = np.unique(np.sort(np.column_stack([ranks[src], ranks[dst]])), axis=0)
            colors = neighbours_apart(trees.size, between)[ranks]
            ends = np.column_stack([src[chosen], dst[chosen]])
            palette = [*(f"C{index}" for index in range(TREE_COLORS - 1)), ink()]
            for index, color in enumerate(palette):
                own = ends[colors[ends[:, 0]] == index]
                draw_edges(axes, places, own, color=color, lw=1.6)
            axes.scatter(*places.T, s=7, c=[palette[index] for index in colors], zorder=3)
            axes.set_title(f"round {number + 1}: {trees.size} trees", fontsize=LARGE)


def neighbours_apart(n, ends):
    """Colours for vertices such that both ends of each edge differ, as far as there are enough.

    Of the colours that are free, the one that fewest neighbours of neighbours and others have.
    """
    is_next = np.zeros((n, n), int)
    is_next[ends[:, 0], ends[:, 1]] = is_next[ends[:, 1], ends[:, 0]] = 1
    np.fill_diagonal(is_next, 0)
    nearness = 10_000 * is_next + 100 * np.minimum(is_next @ is_next, 1) + 1
    colors = np.full(n, -1)
    for vertex in np.argsort(-is_next.sum(axis=0), kind="stable"):
        has_color = colors >= 0
        near = np.bincount(colors[has_color], nearness[vertex, has_color], minlength=TREE_COLORS)
        colors[vertex] = near.argmin()
    return colors


def forest(file):
    """A minimum spanning forest in its graph."""
    graph, places = town()
    found = mgraph.minimum_spanning_forest(graph, **CPU)
    found.plot(graph, file, coordinates=places, title=f"total weight {found.total_weight:,}")


def kruskal_filter(file):
    """How many of the edges, from the lightest to the heaviest, join two trees."""
    graph = preferential(200_000, 8, weights=(1, 1_000_000))
    weight = np.sort(graph.to_edges().weight)
    joined = np.sort(mgraph.minimum_spanning_forest(graph, **CPU).weight)
    with drawing(file, size=(7, 3.8)) as axes:
        share = np.searchsorted(weight, joined, "right") / weight.size
        axes.plot(100 * share, 100 * np.arange(joined.size) / (joined.size - 1), color="C0")
        axes.axvline(100 * 2 * graph.n / weight.size, color="C1", ls="--")
        axes.annotate(
            "the lightest edges, two per vertex", (100 * 2 * graph.n / weight.size, 8), (6, 0),
            textcoords="offset points", color="C1",
        )  # fmt: skip
        axes.set(xlabel="edges read, lightest first, %", ylabel="edges of the forest found, %")
        axes.set_title("200,000 vertices, 1.6 million edges, random weights")


def clusters(file):
    """Three clusters of points, by single linkage."""
    from scipy.spatial import cKDTree

    random = np.random.default_rng(1)
    turn, area = random.random((2, 3, 300))
    discs = np.sqrt(area) * np.exp(2j * np.pi * turn) + np.array([[0], [3], [1.5 + 2.5j]])
    places = np.stack([discs.real.ravel(), discs.imag.ravel()], axis=1)
    points = cKDTree(places)
    near = points.sparse_distance_matrix(points, 2.5, output_type="coo_matrix")
    graph = mgraph.from_sparse(near, directed=False)
    labels = mgraph.single_linkage(graph, 3).labels
    tree = mgraph.minimum_spanning_forest(graph, **CPU)
    with drawing(file, size=(7, 5.2)) as axes:
        ends = np.column_stack([tree.src, tree.dst])
        across = labels[ends[:, 0]] != labels[ends[:, 1]]
        for label in range(3):
            own = ends[~across & (labels[ends[:, 0]] == label)]
            draw_edges(axes, places, own, color=f"C{label}", lw=0.8, alpha=0.6)
        draw_edges(axes, places, ends[across], color=ink(), ls="--", lw=1.4)
        axes.scatter(*places.T, s=8, c=[f"C{label}" for label in labels], zorder=3)
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title("the two heaviest edges of the forest are left out")


def heap(file):
    """The keys of each node of a heap of batches: sorted, and none below those of its parent."""
    keys = np.random.default_rng(2).integers(0, 1000, 31 * 8)
    nodes = 31
    batches = np.sort(keys.reshape(nodes, 8), axis=1)
    with drawing(file, size=(9, 4.2)) as axes:
        for node in range(1, nodes):  # inserted from the bottom up
            child = node
            while child:
                parent = (child - 1) // 2
                both = np.sort(np.concatenate([batches[parent], batches[child]]))
                batches[parent], batches[child] = both[:8], both[8:]
                child = parent
        for node in range(nodes):
            level = (node + 1).bit_length() - 1
            x = (node + 1 - (1 << level) + 0.5) / (1 << level)
            bar = [batches[node][0], batches[node][-1]]
            axes.plot([x, x], bar, lw=5, color="C0", solid_capstyle="butt")
            if node:
                parent, above = (node - 1) // 2, level - 1
                px = (parent + 1 - (1 << above) + 0.5) / (1 << above)
                link = [batches[parent][-1], batches[node][0]]
                axes.plot([px, x], link, color=faint_ink(), lw=0.8, zorder=1)
        axes.invert_yaxis()
        axes.set(ylabel="key", xticks=[])
        axes.set_title("31 nodes of 8 keys each: a bar from the least to the greatest of them")
        axes.grid(visible=False, axis="x")


def knapsack(file):
    """The best profit for each capacity, which the dynamic program finds one item at a time."""
    random = np.random.default_rng(3)
    weights = random.integers(20, 100, 12)
    profits = weights + random.integers(0, 40, 12)
    best = np.zeros(401, np.int64)
    with drawing(file, size=(7, 3.8)) as axes:
        for count, (profit, weight) in enumerate(zip(profits, weights, strict=True), 1):
            best[weight:] = np.maximum(best[weight:], best[:-weight] + profit)
            if count in (1, 3, 6, 12):
                label = f"{count} item{'s' if count > 1 else ''}"
                color = f"C{(1, 3, 6, 12).index(count)}"
                axes.plot(best, drawstyle="steps-post", label=label, color=color)
        answer = mgraph.knapsack(profits, weights, 400, **CPU)
        axes.plot(400, answer.profit, "o", color=ink())
        axes.annotate(
            f"mgraph.knapsack, capacity 400: profit {answer.profit}", (400, answer.profit),
            (-8, 8), textcoords="offset points", ha="right", va="bottom",
        )  # fmt: skip
        axes.set(xlabel="capacity", ylabel="best profit", ylim=(-30, 660))
        axes.set_title("the best profit of the first 1, 3, 6 and 12 items")
        label_curves(axes)


PICTURES = (
    star, steiner_bound, exact_tree, group_tree, prizes, arborescence, regions, takahashi, boruvka,
    forest, kruskal_filter, clusters, heap, knapsack,
)  # fmt: skip
