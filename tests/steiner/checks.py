"""What every Steiner tree must be, checked from its edges and the graph alone."""

import os
import pathlib
from fractions import Fraction

import numpy as np
import pytest

from mgraph.io.steinlib import read_steinlib

SHARED = os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
STEINLIB = pathlib.Path(SHARED) / "data" / "steinlib"
needs_steinlib = pytest.mark.skipif(
    not STEINLIB.exists(), reason=f"needs the SteinLib sets B to E in {STEINLIB} (MGRAPH_SHARED)"
)


def csr_of(graph):
    return graph.indptr, graph.indices, graph.weights


def edges_of(tree):
    """Return the edges of a ``tree_cpu.Tree``: src, dst and weight."""
    return tree.vertex[1:], tree.vertex[tree.parent[1:]], tree.weight[1:]


def cost_of(tree):
    return tree.weight.sum().item()


def exact_cost_of(tree):
    """Return the cost without rounding: a heavy edge would hide what the others gain."""
    return sum(map(Fraction, tree.weight.tolist()))


def check_tree(graph_csr, tree_edges, terminals):
    """Assert that the edges are a tree of the graph that holds the terminals; return its cost."""
    indptr, indices, weights = graph_csr
    src, dst, weight = (np.asarray(column).tolist() for column in tree_edges)
    parent = {v: v for v in [*src, *dst, *np.asarray(terminals).tolist()]}

    def root_of(v):
        while parent[v] != v:
            v = parent[v]
        return v

    degree = dict.fromkeys(parent, 0)
    for u, v, w in zip(src, dst, weight, strict=True):
        arcs = slice(indptr[u], indptr[u + 1])
        assert w in weights[arcs][indices[arcs] == v].tolist()
        assert root_of(u) != root_of(v), "a cycle"
        parent[root_of(u)] = root_of(v)
        degree[u] += 1
        degree[v] += 1
    assert len({root_of(v) for v in parent}) == 1, "more than one tree"
    leaves = {v for v in degree if degree[v] <= 1}
    assert leaves <= set(np.asarray(terminals).tolist())
    return sum(weight)


def check(graph, tree, terminals):
    """Assert that a ``tree_cpu.Tree`` is a tree of the graph and its terminals; return its cost."""
    cost = check_tree(csr_of(graph), edges_of(tree), terminals)
    assert tree.vertex[0] == terminals[0]
    assert sorted(tree.vertex[tree.terminal].tolist()) == terminals.tolist()
    assert cost == pytest.approx(cost_of(tree), rel=1e-12)
    return cost_of(tree)


def steinlib(letters):
    """Yield the instances of some sets: name, graph, terminals and optimum."""
    for line in (STEINLIB / "optima.csv").read_text().splitlines()[1:]:
        name, *_, optimum = line.split(",")
        if name[0] in letters:
            instance = read_steinlib(STEINLIB / name, backend="cpu")
            yield name, instance.graph, instance.terminals, int(optimum)
