"""NetworkX graphs of all classes, with nodes and weights of all sorts."""

import networkx
import numpy as np
from hypothesis import strategies as st

CLASSES = networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph
WEIGHTS = {
    "small": st.integers(0, 5),
    "int": st.integers(0, 1 << 40),
    "float": st.floats(0, 100, allow_nan=False),
    "mixed": st.one_of(st.integers(0, 9), st.sampled_from([0.25, 1.5]), st.booleans()),
    "odd": st.sampled_from(
        [1, 2, 2.5, -1, float("nan"), float("inf"), 1 << 70, (1 << 60) + 1, 0.1, None, "3"]
    ),
}
NODES = {
    "range": lambda i: i,
    "reversed": lambda i: 20 - i,
    "text": str,
    "mixed": lambda i: (i, str(i), float(i), (i, i))[i % 4],
}


@st.composite
def graphs(draw, classes=CLASSES, kinds=tuple(WEIGHTS), min_nodes=0):
    """A graph of up to nine nodes."""
    graph = draw(st.sampled_from(classes))()
    n = draw(st.integers(min_nodes, 9))
    name = NODES[draw(st.sampled_from(list(NODES)))]
    nodes = [name(i) for i in draw(st.permutations(range(n)))]
    graph.add_nodes_from(nodes, colour="red")
    graph.graph["name"] = "drawn"
    if not n:
        return graph
    weight = WEIGHTS[draw(st.sampled_from(kinds))]
    node = st.sampled_from(nodes)
    for u, v in draw(st.lists(st.tuples(node, node), max_size=20)):
        attributes = {"weight": draw(weight)} if draw(st.integers(0, 4)) else {"other": 1}
        graph.add_edge(u, v, **attributes)
    return graph


def random_graph(n=3000, m=60_000, seed=1):
    """An undirected graph with weights from 1 to 99."""
    random = np.random.default_rng(seed)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    ends, weights = random.integers(0, n, (2, m)), random.integers(1, 100, m)
    graph.add_weighted_edges_from(zip(*ends.tolist(), weights.tolist(), strict=True))
    return graph


def nodes_of(draw, graph):
    """A node, or seldom what is none."""
    others = ["none of them", 99, -1, None, 0.5, ()]
    return draw(st.sampled_from(list(graph) * 4 + others)) if len(graph) else 7
