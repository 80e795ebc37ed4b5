"""Steiner problems that Hypothesis draws: with ties, loops, parallel edges and other components."""

import numpy as np
from hypothesis import strategies as st

from mgraph.core import csr_cpu
from mgraph.core.edges import EdgeList
from mgraph.steiner import tree_cpu
from tests.strategies import decades

DTYPES = ("int32", "float32", "float64")


@st.composite
def weights(draw, m, dtype):
    if np.dtype(dtype).kind == "i":
        values = st.integers(1, draw(st.sampled_from([1, 3, 1000, 10**9])))
    else:  # with ties, or of any size
        tenths = st.integers(1, 8).map(lambda number: number / 10)
        values = draw(st.sampled_from([tenths, st.floats(1e-3, 1e6), decades(dtype, zeros=False)]))
    return np.array(draw(st.lists(values, min_size=m, max_size=m)), dtype)


@st.composite
def problems(draw, max_vertices=10, max_terminals=5, dtypes=DTYPES):
    """A graph, perhaps with isolated vertices, and two or more terminals of its large component."""
    size = draw(st.integers(2, max_vertices))
    n = size + draw(st.integers(0, 2))
    path = [(draw(st.integers(0, v - 1)), v) for v in range(1, size)]
    vertex = st.integers(0, size - 1)
    chords = draw(st.lists(st.tuples(vertex, vertex), max_size=2 * size))
    order = np.array(draw(st.permutations(range(n))))
    src, dst = order[np.array(path + chords).T]
    dtype = draw(st.sampled_from(dtypes))
    edges = EdgeList(src.astype(np.int32), dst.astype(np.int32), draw(weights(src.size, dtype)))
    graph = csr_cpu.build(edges, n, directed=False, drop_loops=False, merge=draw(st.booleans()))
    terminals = draw(st.sets(vertex, min_size=2, max_size=max_terminals))
    return graph, np.sort(order[list(terminals)])


@st.composite
def trees(draw, graph, terminals):
    """Any tree of the graph that holds the terminals, good or bad."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    parent = list(range(graph.n))

    def root_of(v):
        while parent[v] != v:
            v = parent[v]
        return v

    kept = []
    for arc in draw(st.permutations(range(graph.num_arcs))):
        u, v = root_of(tails[arc]), root_of(graph.indices[arc])
        if u != v:
            parent[u] = v
            kept.append(arc)
    reached = [arc for arc in kept if root_of(tails[arc]) == root_of(terminals[0])]
    dtype = np.int64 if graph.weights.dtype.kind == "i" else np.float64
    weight = graph.weights[reached].astype(dtype)
    return tree_cpu.from_edges(tails[reached], graph.indices[reached], weight, terminals)
